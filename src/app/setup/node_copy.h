/* node_copy.h: copies a file or the contents of a folder to a node, as Ray does. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "config/config.h"
#include "io/child.h"
#include "remote/ssh.h"

struct node_copy {
    struct child_pool *children;
    const struct config *config; /* source of rsync's exclusions */
    const struct ssh_target *place;
    struct str here, there;
    int64_t deadline_ms; /* 0 for none */
    child_done_fn *done; /* called with the last output of rsync */
    void *context;
};

/* NULL after an error. `arena` must live until the copy is done. */
struct child *node_copy_start(const struct node_copy *copy, struct arena *arena, struct err *err);

/* The command that lists what such a copy of `path` contains (rsync.h). */
const char *const *node_copy_list_argv(const struct config *config, struct str path,
                                       struct arena *arena);
