/*
 * mount_sync.h: copies changed file mounts from the head to running workers, with
 * file_mounts_sync_continuously.
 *
 * Every few seconds rsync lists names, sizes and times of the mounts and synced files on the head,
 * without what rsync_exclude and rsync_filter leave out. If they differ from what a worker got
 * last, they are copied to it as in its setup, over a connection of their own. Nothing restarts
 * there, and a copy that fails does not end the worker.
 */
#pragma once

#include "app/head/head_context.h"
#include "app/head/service_setup.h"

struct mount_sync;

struct mount_sync_setup {
    struct head_context *head;
    struct worker_records *workers;
    struct setup_scheduler *scheduler;
    const struct worker_setups_setup *setups; /* as for setups; its hooks are replaced */
};

/* NULL if the file does not ask for it, or has nothing to copy. */
struct mount_sync *mount_sync_open(const struct mount_sync_setup *setup);
void mount_sync_close(struct mount_sync *sync); /* NULL is fine */

/* The worker's machine is gone. NULL is fine. Not from a hook. */
void mount_sync_end(struct mount_sync *sync, uint64_t instance);
