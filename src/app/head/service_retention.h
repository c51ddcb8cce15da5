/* service_retention.h: removes what is left of machines that are gone, and watches the journal. */
#pragma once

#include "app/head/head_context.h"
#include "app/head/workers/worker_records.h"
#include "app/retention.h"

struct retention_task {
    struct head_context *head;
    struct worker_records *workers;
    struct retention retention;
    struct loop_timer *tidy;  /* removes files and records of machines that are gone */
    struct loop_timer *probe; /* checks whether the journal can be written */
    bool was_journal_failing;
};

struct retention_task *retention_task_open(struct head_context *head,
                                           struct worker_records *workers);
void retention_task_close(struct retention_task *task); /* NULL is fine */
/* Removes logs, host keys and records of machines that have been gone for a day. */
void retention_task_sweep(struct retention_task *task, int64_t wall_ms);
/* Are the files of a machine that is gone since `gone_since_ms` due for removal? `newer` machines
 * went away after it. Pure. */
bool tidy_is_due(const struct retention *keep, int64_t gone_since_ms, size_t newer, int64_t now_ms);
