/*
 * ray_find.h: the Ray that the user's shell finds, and its versions.
 *
 * `ray --version` takes a second; the Python behind `ray` is asked instead, which takes 15 ms.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

#define RAY_FIND_VENV "~/.shoal/ray" /* our own, where the machine had none */
#define RAY_FIND_NOTE "~/.shoal/ray-version"

/* Its script: on the PATH, else in our environment. */
bool ray_find(struct arena *arena, struct str *ret_path);

/* What to run to learn its versions, and to make sense of what that says. */
const char *const *ray_find_words(struct arena *arena, struct str path);

struct ray_found {
    struct str ray, python; /* "2.60.0", "3.11.2"; ray is empty when that Python has none */
};
bool ray_find_read(struct str said, struct arena *arena, struct ray_found *ret_found) MUST_USE;

/* The version that was found last, written down for those who come later, and read; empty: none is
 * known. */
bool ray_find_note(struct arena *arena, struct str version, struct err *err) MUST_USE;
struct str ray_find_noted(struct arena *arena);
/* Is it one that knows neither tokens nor our autoscaler? What is not known counts as new. */
bool ray_find_is_old(struct str version);

/* The interpreter in the first line of a script; empty: none is named there. */
struct str ray_find_interpreter(struct str script);
