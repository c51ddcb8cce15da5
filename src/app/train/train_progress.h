/*
 * train_progress.h: counts the steps of a job over its generations.
 *
 * A generation starts from a checkpoint, and its replicas count their steps from zero. The step of
 * the job is the step of that checkpoint plus this count, so it goes back when steps are repeated.
 * The step of a checkpoint that a script made by itself is known to about half a second. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_CHECKPOINTS_MAX = 8 };

/* More are not of a real job, and their sums could overflow. */
#define TRAIN_STEPS_MAX (INT64_C(1) << 50)

struct progress_checkpoint {
    int64_t number, step;
};

struct train_progress {
    int64_t base; /* the step from which the generation started */
    int64_t step;
    int64_t known;                                                    /* the highest step so far */
    struct progress_checkpoint checkpoints[PROGRESS_CHECKPOINTS_MAX]; /* the newest last */
    size_t checkpoint_count;
    double rate;   /* steps per second; 0: unknown */
    bool has_rate; /* it is that of this generation, not of the one before */
    double rate_at;
    int64_t rate_step;
};

/* A generation starts from this checkpoint (0: from the beginning). Returns how many steps are
 * repeated. */
int64_t train_progress_start(struct train_progress *progress, int64_t checkpoint);

/* The replicas of the generation have made `steps` steps at the time `now`, in seconds. */
void train_progress_count(struct train_progress *progress, int64_t steps, double now);

/* There is a checkpoint of the current step. */
void train_progress_saved(struct train_progress *progress, int64_t number);

/* The step of a checkpoint; -1 if it is not known. */
int64_t train_progress_step_of(const struct train_progress *progress, int64_t number);
