/* rsync.h: the argv of the user's rsync between this machine and a node, with Ray's options. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "remote/ssh.h"

#include <stdbool.h>
#include <stddef.h>

struct rsync_copy {
    const struct ssh_target *place;
    struct str here, there;     /* paths; for a folder both end with '/' */
    bool is_down;               /* copies from the node to this machine */
    const struct str *excludes; /* --exclude */
    size_t exclude_count;
    const struct str *filters; /* names for --filter 'dir-merge,- NAME' */
    size_t filter_count;
    bool makes_parents; /* up only: creates the parent folder of `there` */
    bool has_progress;  /* shows one line of progress (rsync_has_progress()) */
    /* "docker" or "podman": copies to or from this container on the node; NULL: the node itself */
    const char *container_program;
    struct str container;
};

/* The argv ends with NULL. */
bool rsync_argv(const struct rsync_copy *copy, struct arena *arena, const char *const **ret_argv,
                struct err *err) MUST_USE;

/* Lists what a copy of `here` would contain: mode, size, time and name per line. Uses only `here`
 * and the rules. */
const char *const *rsync_list_argv(const struct rsync_copy *copy, struct arena *arena);

/* True if `said`, the output of `rsync --version`, shows a version older than 3.4.0. A compromised
 * node could make such an rsync read and write other files of this machine. */
bool rsync_is_old(struct str said, struct str *ret_version) MUST_USE;

/* True if it supports --info=progress2: rsync from 3.1.0 on does, openrsync of macOS does not. */
bool rsync_has_progress(struct str said) MUST_USE;
