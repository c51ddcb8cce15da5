/*
 * goodput_fit.h: finds the parameters of step times that explain measured ones best.
 *
 * Minimizes AdaptDL's objective: the errors of the logarithms of both step times, plus small
 * penalties that prefer little overlap and little growth of network time. What was never measured
 * keeps an optimistic value, so that a larger size is tried.
 */
#pragma once

#include "core/train/goodput.h"

#include <stddef.h>

/* Mean times of one configuration. */
struct step_sample {
    struct placement_size size;
    int64_t atomic;
    double accum_seconds; /* of a pass without exchange; > 0 */
    double optim_seconds; /* of a pass with exchange; > 0 */
};

double goodput_fit_objective(const struct perf_params *perf, const struct step_sample *samples,
                             size_t count);

/* `count` is at least 1. */
struct perf_params goodput_fit(const struct step_sample *samples, size_t count);
