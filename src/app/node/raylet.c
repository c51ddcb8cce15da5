/* raylet.c: Ray's process among those of this machine. */
#include "app/node/raylet.h"

#include "io/file.h"

#include <stdint.h>
#include <stdio.h>

enum { NAME_BYTES = 64 };

bool raylet_is_one(int pid)
{
    char path[64];
    struct err err;
    AUTO_BUF struct buf name;
    buf_init(&name, NAME_BYTES);
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    return pid > 0 && file_read(path, &name, &err) && str_is(str_trim(buf_str(&name)), "raylet");
}

static void look_at(void *context, const struct file_entry *entry)
{
    int *found = context;
    int64_t pid;
    if (*found == 0 && str_to_i64(entry->name, &pid) && pid > 0 && pid < INT32_MAX &&
        raylet_is_one((int)pid)) {
        *found = (int)pid;
    }
}

int raylet_find(void)
{
    int found = 0;
    file_list("/proc", look_at, &found);
    return found;
}
