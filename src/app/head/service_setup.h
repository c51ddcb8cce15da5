/* service_setup.h: decides when each worker is set up, and set up again. */
#pragma once

#include "app/head/head_context.h"
#include "app/head/service_events.h"
#include "app/head/workers/worker_records.h"
#include "app/head/workers/worker_setup.h"

struct setup_scheduler;

struct setup_scheduler_setup {
    struct head_context *head;
    struct worker_records *workers;
    struct worker_setups *setups;
    struct event_log *event_log;
};

struct setup_scheduler *setup_scheduler_open(const struct setup_scheduler_setup *setup);
void setup_scheduler_close(struct setup_scheduler *scheduler); /* NULL is fine */

/* The controller was opened: checks all workers with Ray's next reply. */
void setup_scheduler_begin(struct setup_scheduler *scheduler);
/* The core requests a setup. */
void setup_scheduler_set_up(struct setup_scheduler *scheduler,
                            const struct managed_node *managed_node);
void setup_scheduler_news(struct setup_scheduler *scheduler, uint64_t instance,
                          enum setup_news news);
/* A setup failed. True if its Ray on the head is being replaced; then it is repeated. */
bool setup_scheduler_is_outdated(struct setup_scheduler *scheduler, uint64_t instance);
/* A setup failed. True if it was the first one of its machine, and could not start Ray there. */
bool setup_scheduler_is_unused(struct setup_scheduler *scheduler, uint64_t instance);
/* Ray replied: starts setups that were requested too early, and repeats those of workers whose
 * configuration changed, whose head's Ray was replaced, or that have not joined for too long. */
void setup_scheduler_ray_seen(struct setup_scheduler *scheduler);
/* Ray reports the node dead. True if only restored GCS tables had it; then it is set up again. */
bool setup_scheduler_lost_restored(struct setup_scheduler *scheduler, uint64_t instance);
/* Had it joined the current Ray, according to the journal? */
bool setup_scheduler_had_joined(struct setup_scheduler *scheduler, uint64_t instance);
/* Is it in Ray, and neither being set up nor terminating? Then fills in `ret_machine`; its texts
 * are the node's, or live in `arena`. */
bool setup_scheduler_is_set_up(struct setup_scheduler *scheduler,
                               const struct managed_node *managed_node, struct arena *arena,
                               struct worker_machine *ret_machine);
void setup_scheduler_tag(struct setup_scheduler *scheduler, uint64_t instance, struct str status);
