/*
 * need.h: how many replicas of a training job need room that Ray does not have.
 *
 * Slots that run or start occupy resources in Ray, so they are not part of the need. A slot on a
 * node that is about to be interrupted counts as missing, so that its replacement is launched
 * first. Pure.
 */
#pragma once

#include "core/train/job.h"

/* Ray reports the resources of an ended slot as used for some seconds. Until then its room counts
 * as free: another node for it would be one too many. */
enum { TRAIN_FREED_MS = 5000, TRAIN_LEFT_MS = 30 * 1000 };

/* 0 once the job ends or was asked to. */
int64_t train_need(const struct train_job *job, int64_t now);

/* How many slots are on nodes that are about to be interrupted, or were until TRAIN_LEFT_MS ago.
 * The autoscaler must not replace them itself: their replacements are part of the need, or run. */
int64_t train_leaving(const struct train_job *job, int64_t now);
