/*
 * sched_hints.h: reads the hints that AdaptDL sends to its supervisor. Pure.
 *
 * Rank 0 sends them every 30 s: the fitted parameters of its step times and gradients, and the
 * batch sizes that the script accepts.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/train/goodput.h"

enum { SCHED_HINTS_BYTES_MAX = 16 * 1024 };

struct sched_hints {
    struct goodput_model model;
    struct batch_limits limits;
    int64_t profiled; /* the largest number of replicas with measured steps; at least 1 */
};

/* Fails with ERR_PROTOCOL. All numbers are finite and in a range that the model accepts. */
bool sched_hints_read(struct str text, struct sched_hints *ret_hints, struct err *err) MUST_USE;
