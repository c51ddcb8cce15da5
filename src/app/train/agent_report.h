/*
 * agent_report.h: reads a line that an agent sends to its trainer. Pure.
 *
 * All reports have the same fields; those that a report does not have are zero or empty. Numbers
 * are limited to what the trainer can calculate with.
 */
#pragma once

#include "app/train/step_counter.h"
#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/train/job.h"

#include <stdbool.h>
#include <stdint.h>

enum agent_report_kind {
    AGENT_UNKNOWN, /* of another release */
    AGENT_HELLO,
    AGENT_STEPS,
    AGENT_RETURNED,
    AGENT_CHECKPOINT,
    AGENT_PREPARED,
    AGENT_STARTED,
    AGENT_LEAVING,
    AGENT_NOT_COPIED,
    AGENT_DURABLE,
    AGENT_TROUBLE,
    AGENT_FOREIGN, /* the durable store belongs to another job */
    AGENT_REPORT_KINDS,
};

/* The next generation and its checkpoints can still be numbered. */
#define AGENT_GENERATION_MAX TRAIN_GENERATION_MAX
#define AGENT_CHECKPOINT_MAX TRAIN_CHECKPOINT_MAX
/* Seconds of wall time. */
#define AGENT_TIME_MAX 1e12

struct agent_report {
    enum agent_report_kind kind;
    uint32_t slot;
    int64_t state_port, port;
    int64_t generation, rank, parts;
    int64_t checkpoint, complete; /* of the slot: the newest one, the newest complete one */
    int64_t number, bad;          /* the checkpoint of this report; one that is damaged */
    int64_t highest;              /* of all in the durable store, complete or not */
    int64_t load_ms;
    int code, signal;
    bool is_prepared, is_running, is_returned;
    struct step_counts counts;
    struct str mac, nonce, tail, what, reason;
};

/* Fails with ERR_PROTOCOL. Texts are in `arena`. */
bool agent_report_read(struct str line, struct arena *arena, struct agent_report *ret_report,
                       struct err *err) MUST_USE;
