/*
 * slot_sweep.h: what agents that are gone have left behind.
 *
 * An agent holds a lock in its folder while it runs. When its trainer is gone for long, or when the
 * agent was killed, the checkpoints in its folder may be the only ones: the next agent of the same
 * job on this machine takes them. Those of other jobs stay for a day, within a limit of bytes,
 * because the folder is in memory. Folders without checkpoints are removed at once.
 */
#pragma once

#include "app/train/slot_folder.h"
#include "io/lock.h"

#include <stddef.h>

/* Marks the folder as used until the process ends. `job` is the job's random id; empty: none, and
 * no other agent takes its checkpoints. */
bool slot_sweep_hold(const struct slot_folder *folder, const char *job, struct lock **ret_lock,
                     struct err *err) MUST_USE;

struct slot_sweep_rules {
    const char *job; /* as above */
    bool may_take;   /* false: this slot ends, and its folder goes */
    int64_t age_ms;  /* folders of other jobs are removed after this time, */
    int64_t bytes;   /* and the oldest of them if all have more than this. The newest one stays */
};

/* A day, and a quarter of the file system. */
struct slot_sweep_rules slot_sweep_usual(const struct slot_folder *folder, const char *job);

/* Looks at the folders next to this one. Returns how many were removed. */
size_t slot_sweep(const struct slot_folder *folder, const struct slot_sweep_rules *rules);

/* The slot of this folder ends, but its newest checkpoint stays, if it has one. */
void slot_sweep_leave(const struct slot_folder *folder);
