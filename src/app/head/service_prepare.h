/* service_prepare.h: runs the preflight early, so that the first launch does not wait for it. */
#pragma once

#include "app/head/head_context.h"

struct early_prepare {
    const struct head_context *head;
    struct loop_timer *timer;
    bool (*is_settled)(const void *context); /* nothing is pending any more */
    const void *context;
};

/* `head`, `is_settled` and `context` are set. The timer belongs to the loop. */
void early_prepare_open(struct early_prepare *prepare);
/* The controller has started: prepares once the cluster is settled. */
void early_prepare_begin(struct early_prepare *prepare);
