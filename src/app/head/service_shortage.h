/* service_shortage.h: are there too few workers, and none pending? */
#pragma once

#include "app/head/head_context.h"
#include "app/head/workers/worker_records.h"

struct shortage {
    const struct head_context *head;
    const struct worker_records *workers;
    struct loop_timer *timer;
    int64_t since_ms; /* monotonic; 0 if there is none */
};

/* `head` and `workers` are set. The timer belongs to the loop. */
void shortage_open(struct shortage *shortage);
/* With too few workers for this long, no more are expected soon: the cloud refused, or launched
 * fewer than requested. */
bool shortage_is_lasting(const struct shortage *shortage);
