/* process.h: the processes of this machine, as Linux tells of them. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Every one, in no order. `take` returns false to stop. */
typedef bool process_fn(void *context, int64_t pid);
void process_each(process_fn *take, void *context);

/* One of a process's own files, such as "cmdline", in place of what `out` holds. False: it has
 * ended, it may not be read, or it is longer than `out` may be. */
bool process_read(int64_t pid, const char *file, struct buf *out);

/* "cmdline" likewise, with blanks between its words in place of the system's zero bytes. */
bool process_read_line(int64_t pid, struct buf *out);

/* Is "comm" this? The kernel keeps 15 bytes of a program's name there. */
bool process_is_named(int64_t pid, const char *name);

struct process_kin {
    int64_t parent; /* 0: none, or not known */
    int64_t group;
    bool has_ended; /* and its parent has not asked how */
};
struct process_kin process_kin(int64_t pid);
