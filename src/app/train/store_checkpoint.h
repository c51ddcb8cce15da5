/*
 * store_checkpoint.h: checkpoints in a durable place.
 *
 *     checkpoint-N/part-R-of-W/FILES       the files; W is 1 unless the script is sharded
 *     checkpoint-N/manifest-R-of-W.json    their sizes and SHA-256 digests, written last
 *
 * A checkpoint is complete if it has all W manifests. What a manifest does not name does not exist.
 */
#pragma once

#include "app/train/store_place.h"

#include <stdbool.h>
#include <stdint.h>

struct store_part {
    int64_t number;      /* of the checkpoint */
    int64_t part, parts; /* 0 of 1: all of it */
};

/* Stores the files of a folder. */
bool store_put(struct store_place *place, const struct store_part *part, const char *folder,
               struct err *err) MUST_USE;

/* The newest complete checkpoint with a lower number than `below`; 0: none. */
bool store_newest(struct store_place *place, int64_t below, int64_t *ret_number,
                  struct err *err) MUST_USE;

/* Removes all that are older than the newest `keep` complete ones. */
bool store_expire(struct store_place *place, int64_t keep, struct err *err) MUST_USE;

/* Fetches all parts to a new folder, and verifies them. ERR_PROTOCOL: it is damaged. */
bool store_get(struct store_place *place, int64_t number, const char *folder,
               struct err *err) MUST_USE;
