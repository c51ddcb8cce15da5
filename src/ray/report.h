/*
 * report.h: what an autoscaler tells Ray of itself, so that `ray status`, the dashboard and drivers
 * can show it.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Asked of the cloud, without an answer so far. In bytes it is one entry for each machine. */
struct ray_pending_request {
    struct str machine, type;
    int64_t count;
    int64_t asked_s; /* since 1970 */
};

/* The cloud has given it a name. */
struct ray_pending_node {
    struct str machine, type, instance_id, address;
    struct str details; /* "setting up, step 2 of 5" */
};

/* Did not come. Kept in reports until something of that type did. */
struct ray_failed_request {
    struct str machine, type;
    int64_t count;
    struct str reason;
    int64_t asked_s, failed_s;
};

struct ray_report {
    int64_t seen_version; /* of the state on which it is based */
    int64_t version; /* never smaller than before, over restarts too: microseconds since 1970 */
    const struct ray_pending_request *requests;
    size_t request_count;
    const struct ray_pending_node *nodes;
    size_t node_count;
    const struct ray_failed_request *failures;
    size_t failure_count;
    const struct str *infeasible; /* bytes of requests as Ray gave them (state.h) */
    size_t infeasible_count;
    const struct str *infeasible_gangs;
    size_t infeasible_gang_count;
};

/* The message ReportAutoscalingStateRequest. */
struct str ray_report_bytes(const struct ray_report *report, struct arena *arena);
