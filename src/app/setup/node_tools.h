/* node_tools.h: what the jobs on a node share: programs on the user's PATH, and running them. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* As a shell finds it. `but` is a folder that does not count; NULL: all do. */
bool tools_find(struct arena *arena, const char *name, const char *but, struct str *ret_path);

/* "~/x" in the user's home, with a zero byte behind it. */
const char *tools_home(struct arena *arena, const char *path);

/* The names of all our variables, for child_spec.env_names: what runs here runs for the user. */
const char *const *tools_environment(struct arena *arena);

/*
 * Runs a program to its end. What it says goes to `out`; without one it is shown line by line.
 * False when it did not end with status 0, which is in `ret_status` (-1: it never ran).
 */
bool tools_run(const char *const *argv, int64_t deadline_ms, struct buf *out, int *ret_status,
               struct err *err) MUST_USE;

/* The command that installs a package here, by the distribution: "sudo apt-get install -y". */
const char *tools_installer(struct arena *arena);

/* "3.11.2" out of `python3 -V`; false when it does not run. */
bool tools_python_version(struct arena *arena, const char *python, struct str *ret_version);

/* The first Python that Ray's tested release runs with, under its usual names; else python3,
 * whatever it is. False: there is none at all. */
bool tools_find_python(struct arena *arena, struct str *ret_path, struct str *ret_version);

/* Is `version` at least `least`, number by number? "3.10" is more than "3.9". */
bool tools_at_least(struct str version, struct str least);
