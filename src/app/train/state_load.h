/*
 * state_load.h: commands that a slot's agent runs as children, because they block: fetching a
 * checkpoint or the user's files from another machine, and copying checkpoints.
 */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { STATE_SOURCES_MAX = 256 };

/* The token is in the variable SHOAL_TRAIN_TOKEN. */
struct state_load {
    const char *folder;  /* root of the slot's files */
    int64_t checkpoint;  /* > 0: this one is made complete in kept/ */
    int64_t parts;       /* > 0: no source has all of it; it is the union of so many parts */
    bool is_installed;   /* also copied to state/ */
    bool is_durable;     /* flushed to the disk */
    bool is_code;        /* "code" is fetched instead of a checkpoint */
    const char *sources; /* "10.0.0.5:4711,10.0.0.6:4711"; may be NULL if it is here */
};

/* Subcommands of `shoal node`: return the exit status, and print errors on standard error. */
int state_load(const struct state_load *load);
/* Copies state/ to kept/NUMBER: a checkpoint that the script made while it runs. */
int state_snapshot(const char *folder, int64_t number);
