/*
 * store_run.h: commands that a slot's agent runs as children: storing a checkpoint durably, and
 * fetching one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses: the checkpoint is there, but cannot be used; the place belongs to another job. */
enum { STORE_DAMAGED = 3, STORE_FOREIGN = 4 };

struct store_run {
    const char *output; /* "s3://BUCKET/PREFIX" or a directory */
    const char *job;
    const char *folder;  /* root of the slot's files */
    int64_t checkpoint;  /* 0: only looks for the newest one */
    int64_t part, parts; /* parts 0: all of it */
    int64_t keep;        /* complete checkpoints that stay */
    const char *save;    /* random, the same for all parts; NULL: none */
    const char *owner;   /* random id of the job */
    bool is_adopting;    /* take the place from another job */
};

/* Stores the checkpoint from kept/. Prints the number of the newest complete one, and the highest
 * of all. */
int store_run_put(const struct store_run *run);

/* Fetches the checkpoint to kept/. If it is damaged, prints the newest older one, and exits with
 * STORE_DAMAGED. */
int store_run_get(const struct store_run *run);
