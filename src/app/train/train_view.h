/*
 * train_view.h: the state of a training job for `shoal train ls`, `status` and the live line.
 *
 * A running trainer answers on FOLDER/ctl.sock; the state of any other job is in FOLDER/job.json.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/train/job.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct train_view_slot {
    uint32_t id;
    enum train_slot_state state;
    int64_t rank; /* -1: none */
    int64_t checkpoint;
    struct str node, host;
};

struct train_view {
    struct str name;
    struct str file;   /* the cluster file that the user named, for suggested commands */
    bool is_running;   /* it has a trainer */
    struct str holder; /* "shoal train, pid 4711" */
    enum train_phase phase;
    struct str why; /* of the phase; may be empty */
    double since;   /* of the phase: seconds since 1970 */
    int64_t generation, replicas, min, max;
    int64_t step;
    double rate;             /* steps per second; 0: unknown */
    double samples;          /* per second; 0: unknown */
    double stalled;          /* seconds since the last report of progress; 0: not training */
    int64_t checkpoint;      /* the newest; 0: none */
    int64_t checkpoint_step; /* -1: unknown */
    int64_t stored;          /* the newest in FOLDER/kept; 0: none */
    double dollars_per_hour; /* of the cluster; 0: unknown */
    struct str ray, gcs, token;
    const struct train_view_slot *slots;
    size_t slot_count;
};

/* Reads the object that a trainer wrote. Texts live in `arena`. */
void train_view_read(const json_t *object, struct arena *arena, struct train_view *ret_view);

/* Finds out about the job in FOLDER. ERR_NOT_FOUND: there is none. */
bool train_view_of(const char *folder, struct str name, struct arena *arena,
                   struct train_view *ret_view, struct err *err) MUST_USE;

/* "training", "waiting", ...; "interrupted" if the job has not ended and has no trainer. */
const char *train_view_phase(const struct train_view *view);

/* ---- talking to a trainer ---- */

/* Sends the request ("status", "stop", "store") to the trainer and waits for its answer, or for its
 * end. ERR_NOT_FOUND: the job has no trainer. Release the answer; NULL: the trainer ended. */
bool trainer_ask(const char *folder, const char *request, int64_t timeout_ms, json_t **ret_answer,
                 struct err *err) MUST_USE;
