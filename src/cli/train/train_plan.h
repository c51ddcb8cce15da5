/*
 * train_plan.h: the options of `shoal train`, and what they mean.
 */
#pragma once

#include "app/train/trainer.h"
#include "base/attr.h"
#include "cli/command.h"
#include "cli/verb.h"

struct train_fields {
    struct target_fields target;
    struct command_fields command;
    struct operand_rest args;
    const char *script, *working_folder;
    const char *uri, *gcs, *job, *python, *kind;
    const char *max, *min;
    const char *cpus, *gpus;
    const char *checkpoint_timeout, *rescale_timeout, *checkpoint_every;
    const char *objective, *price, *head_price, *max_cost, *finish_by;
    const char *total_steps, *batch;
    bool is_scaled, is_simulated, is_cuda_warm;
    const char *speed;
    const char *format;
    bool is_continued; /* by `train resume`: the files are copied already */
    const char *output, *prepare;
    const char *keep;
    bool is_adopting;
    const char *called; /* the cluster file that the user named on another machine */
};

struct train_plan {
    struct trainer_setup setup;
    struct arena *arena;
};

/* Sizes, times and prices: all that --simulate needs. */
bool train_plan_goal(struct train_plan *plan, const struct train_fields *given,
                     struct err *err) MUST_USE;
/* All options. Reads the script. */
bool train_plan_read(struct train_plan *plan, const struct train_fields *given,
                     struct err *err) MUST_USE;
/* Addresses and folders on this machine, which is the head. */
bool train_plan_places(struct train_plan *plan, const struct train_fields *given,
                       struct err *err) MUST_USE;
