/*
 * store_owner.h: which job the checkpoints in a durable place belong to.
 *
 *     owner.json    the job's random id, and since when
 *
 * Two jobs of one name, of two users for example, would continue from and remove each other's
 * checkpoints. The first one creates the file, under a condition of the place, so that only one of
 * several can. A job keeps its id until it is complete.
 */
#pragma once

#include "app/train/store_place.h"

#include <stdbool.h>

struct store_claim {
    const char *job, *id;
    bool is_adopting; /* the user said so: what belongs to another job becomes this one's */
    bool is_known;    /* this job has used the place before */
};

/* Makes sure that the place belongs to the job. ERR_EXISTS: to another one. */
bool store_claim(struct store_place *place, const struct store_claim *claim,
                 struct err *err) MUST_USE;
