/* train_logs.h: the output of a job's slots, which Ray keeps as the logs of their Ray jobs. */
#pragma once

#include "app/train/train_view.h"
#include "base/attr.h"
#include "base/err.h"

/* New output of a slot; `rank` is -1 if it has none now. Called with whole lines, except at the
 * end. */
typedef void train_logs_fn(void *context, uint32_t slot, int64_t rank, struct str text);

struct train_logs_setup {
    const char *folder;
    const char *job;
    int64_t rank; /* only this one; -1: all slots */
    bool follows; /* until the job ends, or Ctrl-C */
    train_logs_fn *text;
    void *context;
};

/* ERR_NOT_FOUND: no slot has this rank, or Ray has no logs of this job. */
bool train_logs_run(const struct train_logs_setup *setup, struct err *err) MUST_USE;
