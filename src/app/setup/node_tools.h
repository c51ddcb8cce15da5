/*
 * node_tools.h: helpers of the subcommands on a node: find programs on the user's PATH and run
 * them.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* Searches the PATH like a shell. `but` is a folder to skip, or NULL. */
bool tools_find(struct arena *arena, const char *name, const char *but, struct str *ret_path);

/* Expands "~/x" to a NUL-terminated path in the user's home. */
const char *tools_home(struct arena *arena, const char *path);

/* The names of all environment variables, for child_spec.env_names: programs that run here run on
 * the user's behalf. */
const char *const *tools_environment(struct arena *arena);

/*
 * Runs a program and waits for it. Standard output goes to `out`; if `out` is NULL, both streams
 * are printed line by line. Returns false unless it exits with status 0. `ret_status` is -1 if it
 * did not run or did not exit normally.
 */
bool tools_run(const char *const *argv, int64_t deadline_ms, struct buf *out, int *ret_status,
               struct err *err) MUST_USE;

/* The same with text for its standard input. */
bool tools_run_fed(const char *const *argv, struct str input, int64_t deadline_ms, struct buf *out,
                   int *ret_status, struct err *err) MUST_USE;

/* Like tools_run(), for a laptop: passes only the usual environment variables, because others may
 * hold secrets. */
bool tools_run_clean(const char *const *argv, int64_t deadline_ms, struct buf *out,
                     struct err *err) MUST_USE;

/* The command that installs packages on this distribution, for example "sudo apt-get install
 * -y". */
const char *tools_installer(struct arena *arena);

/* Finds the first Python, by its usual names, that is new enough for the tested Ray release; if
 * none is, the first one found. False if there is no Python. */
bool tools_find_python(struct arena *arena, struct str *ret_path, struct str *ret_version);

/* Is `version` at least `least`? Compares number by number: "3.10" is greater than "3.9". */
bool tools_at_least(struct str version, struct str least);
