/* open_files.h: counts the open descriptors of this program, to detect leaks. */
#pragma once

#include "io/file.h"

static inline void open_files_add(void *context, const struct file_entry *entry)
{
    (void)entry;
    ++*(int *)context;
}

static inline int open_files_count(void)
{
    int count = 0;
    file_list("/proc/self/fd", open_files_add, &count);
    return count;
}
