/* service_report.h: sends reports and messages for drivers to Ray. */
#pragma once

#include "app/head/head_context.h"
#include "app/head/ray_autoscaler.h"
#include "ray/report.h"

struct reporter;

typedef void reporter_done_fn(void *context);

struct reporter_setup {
    struct head_context *head;
    const struct ray_autoscaler *ray_autoscaler; /* an active one reports itself */
    /* Adds pending nodes and infeasible requests to a report. Texts are in `arena`. Has no side
     * effects. */
    void (*fill)(void *context, struct arena *arena, struct ray_report *report);
    void *context;
};

struct reporter *reporter_open(const struct reporter_setup *setup);
void reporter_close(struct reporter *reporter); /* NULL is fine */

/* Schedules a report. reporter_reset(): the GCS may be new, report the node types too. */
void reporter_soon(struct reporter *reporter);
void reporter_reset(struct reporter *reporter);
/* The client was closed: calls in flight will not be answered. */
void reporter_lost(struct reporter *reporter);
/* Sends an empty report, then calls `done`, after FAREWELL_MS at the latest. */
void reporter_farewell(struct reporter *reporter, reporter_done_fn *done, void *context);

/* A launch of that type failed (requested at `asked_ms`, wall clock), or succeeded. */
void reporter_launch_failed(struct reporter *reporter, uint32_t type, int64_t count,
                            int64_t asked_ms, struct str reason);
void reporter_launched(struct reporter *reporter, uint32_t type);

/* Prints "(autoscaler +9s) TEXT" in every driver. */
void reporter_tell_drivers(struct reporter *reporter, struct str text, bool is_warning);
