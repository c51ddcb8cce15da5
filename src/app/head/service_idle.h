/* service_idle.h: stops a cluster that has been idle for long enough, and counts drivers. */
#pragma once

#include "app/head/head_context.h"
#include "app/idle_stop.h"
#include "ray/gcs.h"

struct idle_watch {
    struct head_context *head;
    struct idle_stop idle_stop;
    struct loop_timer *timer;
    bool has_drivers; /* `drivers` is known */
    size_t drivers;   /* connected to Ray: running jobs */
    /* The view without the number of drivers. */
    struct idle_stop_view (*view)(void *context);
    bool (*terminate)(void *context, struct err *err);
    void *context;
};

/* `head`, `view`, `terminate` and `context` are set. The timer belongs to the loop. */
void idle_watch_open(struct idle_watch *watch);
/* Handles the number of connected drivers. */
void idle_watch_on_drivers(void *watch, const struct gcs_answer *answer, size_t count);
/* Counts nodes of the cluster by what they do. */
void idle_watch_add_nodes(const struct cluster_status *cluster_status, struct idle_stop_view *view);
