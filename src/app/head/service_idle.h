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
    size_t gpus;      /* of the head, in use when last asked */
    bool has_no_gpu;  /* nvidia-smi is missing: it is not asked again */
    struct child *gpu_query;
    const char *proc;                         /* where processes are listed: "/proc" */
    char kept_by[IDLE_STOP_REASON_BYTES_MAX]; /* why the cluster is not idle; empty: idle */
    int64_t stops_at_ms;                      /* wall clock; 0: not idle */
    /* The view without the number of drivers. */
    struct idle_stop_view (*view)(void *context);
    bool (*terminate)(void *context, struct err *err);
    void *context;
};

/* `head`, `view`, `terminate`, `context` and `proc` are set. The timer belongs to the loop. */
void idle_watch_open(struct idle_watch *watch);
/* Handles the number of connected drivers. */
void idle_watch_on_drivers(void *watch, const struct gcs_answer *answer, size_t count);
/* "kept running by 1 ssh session on the head", "idle and stops at 2026-11-17 19:40 UTC"; empty if
 * idle_stop is off or the first check is pending. */
struct str idle_watch_text(const struct idle_watch *watch, struct arena *arena);
/* Counts nodes of the cluster by what they do. */
void idle_watch_add_nodes(const struct cluster_status *cluster_status, struct idle_stop_view *view);
