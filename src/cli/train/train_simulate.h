/* train_simulate.h: what a training job would cost, by simulated days on spot instances. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "cli/command.h"
#include "core/train/job.h"
#include "core/train/size.h"

/* Prints expected time, cost and restarts. `speed` is "1:2.0,4:7.1": steps per second by number of
 * replicas. */
bool train_simulate(const struct cli *cli, const struct train_settings *settings,
                    const struct size_goal *goal, const char *speed, struct err *err) MUST_USE;
