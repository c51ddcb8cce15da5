/* process.h: the processes of this machine, from /proc. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Every process, in no particular order. `take` returns false to stop. */
typedef bool process_fn(void *context, int64_t pid);
void process_each(process_fn *take, void *context);

/* Replaces the contents of `out` with a file of the process, such as "cmdline". False if it has
 * exited, may not be read, or does not fit into `out`. */
bool process_read(int64_t pid, const char *file, struct buf *out);

/* Like process_read() for "cmdline", with blanks instead of NULs between the arguments. */
bool process_read_line(int64_t pid, struct buf *out);

/* Compares with "comm", which holds the first 15 bytes of a program's name. */
bool process_is_named(int64_t pid, const char *name);

/* The user id of a process; false if it has exited. */
bool process_owner(int64_t pid, uint32_t *ret_user);

struct process_parentage {
    int64_t parent; /* 0: none or unknown */
    int64_t group;
    bool has_ended; /* a zombie */
};
struct process_parentage process_parentage(int64_t pid);
