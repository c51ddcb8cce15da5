/* service_events.h: writes decisions and node changes as events, and sends messages to drivers. */
#pragma once

#include "app/head/head_context.h"
#include "app/head/service_decision.h"
#include "app/head/service_report.h"
#include "app/head/workers/worker_records.h"
#include "app/head/workers/worker_setup.h"

struct event_log;

struct event_log_setup {
    struct head_context *head;
    struct worker_records *workers;
    const struct worker_setups *setups;   /* source of the step that failed */
    const struct last_decision *decision; /* source of the pending load */
    struct reporter *reporter;
};

struct event_log *event_log_open(const struct event_log_setup *setup);
void event_log_close(struct event_log *event_log); /* NULL is fine */

/* After decision_apply(). */
void event_log_decided(struct event_log *event_log, const struct core_answer *answer);
void event_log_changed(struct event_log *event_log, const struct managed_node *managed_node);
void event_log_joined(struct event_log *event_log, const struct managed_node *managed_node);
void event_log_drained(struct event_log *event_log, uint64_t instance, enum drain_answer answer,
                       struct str why);
/* A launch was refused, or a call without which none is sent (`launch` is 0). */
void event_log_refused(struct event_log *event_log, uint64_t launch, struct str why);
/* A node has no dead-man switch, or kept the host key of its first boot. Called once for each
 * setup; clients get the message, too. */
void event_log_no_switch(struct event_log *event_log, struct str name);
void event_log_kept_host_key(struct event_log *event_log, struct str name, struct str why);
