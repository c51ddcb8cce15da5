/*
 * training_demand.h: the nodes that training jobs request from this autoscaler.
 *
 * A trainer sends its request again every few seconds. A request that is not repeated is valid for
 * TRAINING_VALID_MS, so that a restart of the trainer or of its connection changes nothing, and a
 * trainer that died or hangs does not keep nodes. Pure: times are arguments.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "ray/gcs.h"

enum {
    TRAINING_VALID_MS = 60 * 1000,
    TRAINING_JOBS_MAX = 32,
    TRAINING_BUNDLES_MAX = 4, /* of one job */
    TRAINING_AMOUNTS_MAX = 8, /* of one bundle */
    TRAINING_COUNT_MAX = 1000,
    TRAINING_NAME_SIZE = 64,
};

struct training_job {
    char name[TRAINING_NAME_SIZE];
    int64_t until; /* monotonic */
    struct gcs_bundle bundles[TRAINING_BUNDLES_MAX];
    size_t bundle_count;
    struct ray_quantity amounts[TRAINING_BUNDLES_MAX][TRAINING_AMOUNTS_MAX];
    char names[TRAINING_BUNDLES_MAX][TRAINING_AMOUNTS_MAX][TRAINING_NAME_SIZE];
};

struct training_demand {
    struct training_job jobs[TRAINING_JOBS_MAX]; /* contains pointers: do not copy */
    size_t job_count;
};

/* Replaces the request of the job; without bundles it is withdrawn. A request that exceeds a limit
 * is an error and changes nothing. `ret_is_new`: it differs from the last one. */
bool training_demand_set(struct training_demand *demand, struct str job,
                         const struct gcs_bundle *bundles, size_t count, int64_t now,
                         bool *ret_is_new, struct err *err) MUST_USE;

/* Removes requests that were not repeated in time. True if there was one. */
bool training_demand_expire(struct training_demand *demand, int64_t now);
