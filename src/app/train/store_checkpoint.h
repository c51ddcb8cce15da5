/*
 * store_checkpoint.h: checkpoints in a durable place.
 *
 *     checkpoint-N/part-R-of-W/FILES          the files; W is 1 unless the script is sharded
 *     checkpoint-N/manifest-R-of-W.SAVE.json  their sizes and SHA-256 digests, written last
 *
 * SAVE is the same in all parts of one save, and random: parts of two saves are not one checkpoint,
 * even if they have the same number. Earlier releases wrote none. A checkpoint is complete if all W
 * manifests of one save are there. What a manifest does not name does not exist.
 */
#pragma once

#include "app/train/store_place.h"

#include <stdbool.h>
#include <stdint.h>

struct store_part {
    int64_t number;      /* of the checkpoint */
    int64_t part, parts; /* 0 of 1: all of it */
    const char *save;    /* letters and digits; empty: none */
};

enum { STORE_SAVE_MAX = 64 };

/* Stores the files of a folder. Does nothing if they are stored, or a newer checkpoint is complete.
 * After a failure the files of this part are removed; if that fails too, the error names them. */
bool store_put(struct store_place *place, const struct store_part *part, const char *folder,
               struct err *err) MUST_USE;

/* The newest complete checkpoint with a lower number than `below`; 0: none. */
bool store_newest(struct store_place *place, int64_t below, int64_t *ret_number,
                  struct err *err) MUST_USE;

/* The highest number of all, complete or not; 0: there is none. */
bool store_highest(struct store_place *place, int64_t *ret_number, struct err *err) MUST_USE;

/* Removes all that are older than the newest `keep` complete ones, and the incomplete ones that are
 * older than the newest complete one: no process stores their parts any more. */
bool store_expire(struct store_place *place, int64_t keep, struct err *err) MUST_USE;

/* Fetches all parts to a new folder, and verifies them. ERR_PROTOCOL: it is damaged. */
bool store_get(struct store_place *place, int64_t number, const char *folder,
               struct err *err) MUST_USE;
