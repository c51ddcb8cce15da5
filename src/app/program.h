/* program.h: the running program. program_linux.c and program_macos.c have the only code of this
 * layer that is specific to a system. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

#include <stdint.h>

/* The absolute path of the program, with links resolved. If its file was replaced while running,
 * the path of the new file. */
bool program_path(struct arena *arena, struct str *ret_path, struct err *err) MUST_USE;

/* Does the ELF file run without the system's dynamic linker and libraries? Also false if it cannot
 * be read. */
bool program_is_static(const char *path) MUST_USE;

/* Is this process owned by this user, and does it run a program of the same name? */
bool program_is_same(int64_t pid) MUST_USE;

/* Disables core dumps, and prevents other processes of this user from reading our memory and
 * environment, which both contain keys. Programs that we start are not affected: execve() resets
 * it. */
void program_keep_private(void);

/* From now on the process receives SIGTERM when its parent exits. */
void program_end_with_parent(void);

/*
 * Forks a daemon: a copy of this process in its own session, with standard streams on /dev/null and
 * no other descriptors. Returns true in the daemon and false in the caller, where `ret_errno` is 0
 * on success.
 */
bool program_leave(int *ret_errno);

/* Executes argv[0], a path, in this process. Returns only on failure, with errno set. */
void program_become(const char *const *argv);
