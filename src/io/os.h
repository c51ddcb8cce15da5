/*
 * os.h: what Linux and macOS do in different ways: os_linux.c, os_macos.c.
 *
 * The event loop, children, pipes and file notices are libuv's on both. The rest of the tree uses
 * only what both systems have, except for what runs on nodes, which is built for Linux alone.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The names that POSIX has for the times of a file. */
#ifdef __APPLE__
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

/* Milliseconds since the boot or another fixed moment. Counts the time the machine slept, and
 * setting the wall clock does not change it. */
int64_t os_monotonic_ms(void);

/* An identifier of the current boot, terminated; empty if unknown. */
void os_boot_id(char *ret_id, size_t size);

/* The path of the running program with links resolved, terminated. If its file was replaced, the
 * path of the new file. False with errno if it is unknown. */
bool os_program_path(char *ret_path, size_t size);

/* A number that others are unlikely to get, for names and intervals; not for secrets. Never waits:
 * early in the boot of a machine, random numbers can be missing for long. */
uint64_t os_seed(void);

/* socket(), closed on exec. */
int os_socket(int family, int type, int protocol);

/* Marks all descriptors but the standard three as closed on exec. False if the system cannot do
 * this in one step. */
bool os_close_on_exec_all(void);

/* Copies `size` bytes from the positions of two files. False with errno on failure; it is EIO if
 * `from` ends before. */
bool os_copy_bytes(int from, int to, int64_t size);

/* Waits for one of these blocked signals. `ret_is_sent` is false if the keyboard sent it, so that
 * every process of the terminal got it. Returns a number <= 0 if it was interrupted. */
int os_wait_signal(const sigset_t *set, bool *ret_is_sent);
