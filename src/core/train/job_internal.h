/* job_internal.h: shared by job.c and job_decide.c. */
#pragma once

#include "core/train/job.h"

/* The trainer gets a copy of the newest checkpoint, wherever else it is, at least this often. */
enum { TRAIN_COPY_EVERY_MS = 3 * 60 * 1000 };

/* Decides what follows from the state of the job. */
void train_decide(struct train_job *job, struct train_actions *actions);

/* Connected slots that have a part of the checkpoint. */
int64_t train_part_count(const struct train_job *job, int64_t number);

void train_slot_set(struct train_job *job, struct train_slot *slot, enum train_slot_state state);
void train_phase_set(struct train_job *job, enum train_phase phase);
/* The slot is gone; its entry becomes free. */
void train_slot_lose(struct train_job *job, struct train_slot *slot);

/* The current generation cannot continue. The first cause is kept, unless a slot is lost later. */
void train_fail_generation(struct train_job *job, enum train_cause cause, uint32_t culprit,
                           int code);
