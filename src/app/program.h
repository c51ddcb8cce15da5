/* program.h: the program that is running. Each system tells it in its own way: the one file of this
 * layer that knows which. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#include <stdint.h>

/* Its full path, links followed, whatever it was called by; that of its successor when it was
 * replaced by one. */
bool program_path(struct arena *arena, struct str *ret_path, struct err *err) MUST_USE;

/* Is that process of this user, and does it run a program of the same name? */
bool program_is_same(int64_t pid) MUST_USE;

/* From now on it gets SIGTERM when its parent ends. */
void program_end_with_parent(void);

/* All descriptors but the standard three. */
void program_close_others(void);

/*
 * Leaves a copy of this process behind that belongs to nobody: a session of its own, standard
 * streams that lead nowhere, nothing else open. True in the copy. False in the one that goes on;
 * `ret_errno` says why there is no copy, 0: there is one.
 */
bool program_leave(int *ret_errno);

/* This process becomes that program, argv[0] by path. Only returns when that failed, with errno. */
void program_become(const char *const *argv);
