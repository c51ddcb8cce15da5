/* report.h: the autoscaler's report to Ray, which `ray status`, the dashboard and drivers show. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Requested from the cloud, without a reply so far. Encoded as one entry per machine. */
struct ray_pending_request {
    struct str machine, type;
    int64_t count;
    int64_t asked_s; /* since 1970 */
};

/* The cloud has assigned an id. */
struct ray_pending_node {
    struct str machine, type, instance_id, address;
    struct str details; /* "setting up, step 2 of 5" */
};

/* A failed launch. Reported until a launch of that type succeeds. */
struct ray_failed_request {
    struct str machine, type;
    int64_t count;
    struct str reason;
    int64_t asked_s, failed_s;
};

struct ray_report {
    int64_t seen_version; /* version of the state on which the report is based */
    int64_t version;      /* must never decrease, even over restarts: microseconds since 1970 */
    const struct ray_pending_request *requests;
    size_t request_count;
    const struct ray_pending_node *nodes;
    size_t node_count;
    const struct ray_failed_request *failures;
    size_t failure_count;
    const struct str *infeasible; /* encoded requests, as received from Ray (state.h) */
    size_t infeasible_count;
    const struct str *infeasible_gangs;
    size_t infeasible_gang_count;
};

/* The message ReportAutoscalingStateRequest. */
struct str ray_report_bytes(const struct ray_report *report, struct arena *arena);
