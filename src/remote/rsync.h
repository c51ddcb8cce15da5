/*
 * rsync.h: the words that start the user's rsync between here and one machine, as Ray starts it.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "remote/ssh.h"

#include <stdbool.h>
#include <stddef.h>

struct rsync_copy {
    const struct ssh_place *place;
    struct str here, there;     /* a folder ends with '/' on both sides */
    bool is_down;               /* from there to here */
    const struct str *excludes; /* --exclude */
    size_t exclude_count;
    const struct str *filters; /* names for --filter 'dir-merge,- NAME' */
    size_t filter_count;
    bool makes_parents; /* up only: the folder above `there` may be missing */
};

/* Ends with NULL. */
bool rsync_words(const struct rsync_copy *copy, struct arena *arena, const char *const **ret_argv,
                 struct err *err) MUST_USE;
