/*
 * ray_find.h: finds the Ray on the user's PATH and its versions.
 *
 * `ray --version` takes a second, so its Python is queried instead, which takes 15 ms.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

#define RAY_FIND_VENV "~/.shoal/ray" /* our own, if the machine had none */
#define RAY_FIND_NOTE "~/.shoal/ray-version"

/* Finds the `ray` script: on the PATH, else in RAY_FIND_VENV. */
bool ray_find(struct arena *arena, struct str *ret_path);

/* The command that prints the versions, and the parser of its output. */
const char *const *ray_find_argv(struct arena *arena, struct str path);

struct ray_found {
    struct str ray, python; /* "2.60.0", "3.11.2"; `ray` is empty if that Python has no Ray */
};
bool ray_find_read(struct str said, struct arena *arena, struct ray_found *ret_found) MUST_USE;

/* Store and read the version that was found last; empty if unknown. */
bool ray_find_note(struct arena *arena, struct str version, struct err *err) MUST_USE;
struct str ray_find_noted(struct arena *arena);
/* Is it too old for tokens and for our autoscaler? An unknown version is assumed to be new. */
bool ray_find_is_old(struct str version);

/* The interpreter in the first line of a script; empty if it names none. */
struct str ray_find_interpreter(struct str script);
