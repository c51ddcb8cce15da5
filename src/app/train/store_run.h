/*
 * store_run.h: commands that a slot's agent runs as children: storing a checkpoint durably, and
 * fetching one.
 */
#pragma once

#include <stdint.h>

enum { STORE_DAMAGED = 3 }; /* exit status: the checkpoint is there, but cannot be used */

struct store_run {
    const char *output; /* "s3://BUCKET/PREFIX" or a directory */
    const char *job;
    const char *folder;  /* root of the slot's files */
    int64_t checkpoint;  /* 0: only looks for the newest one */
    int64_t part, parts; /* parts 0: all of it */
    int64_t keep;        /* complete checkpoints that stay */
};

/* Stores the checkpoint from kept/. Prints the number of the newest complete one. */
int store_run_put(const struct store_run *run);

/* Fetches the checkpoint to kept/. If it is damaged, prints the newest older one, and exits with
 * STORE_DAMAGED. */
int store_run_get(const struct store_run *run);
