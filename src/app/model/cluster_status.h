/*
 * cluster_status.h: what the head's service knows beyond its machines: pending demand, usage of
 * each node, the last decision and its reasons. Filled from the state of Ray; read by status,
 * explain, top and metrics.
 *
 * Everything is a copy and valid until control returns to the loop.
 */
#pragma once

#include "app/model/fields.h"
#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum demand_source {
    DEMAND_TASKS, /* tasks and actors */
    DEMAND_PLACEMENT_GROUP,
    DEMAND_REQUEST_RESOURCES, /* request_resources() */
    DEMAND_TRAINING,          /* replicas of a job of `shoal train` */
    DEMAND_SOURCE_COUNT,
};

/* Why a request is pending; the remedy follows from it. */
enum pending_cause {
    CAUSE_NONE,
    CAUSE_PASSING, /* resolves itself */
    CAUSE_TOO_LARGE,
    CAUSE_COMBINATION,
    CAUSE_LABELS,
    CAUSE_TYPE_LIMIT,    /* max_workers of a node type */
    CAUSE_CLUSTER_LIMIT, /* max_workers of the cluster */
    CAUSE_TOGETHER,
    CAUSE_UNAVAILABLE, /* the cloud refuses the launch */
    CAUSE_PRICE_UNKNOWN,
    CAUSE_PRICE,   /* max_hourly_cost */
    CAUSE_RAMP,    /* upscaling_speed */
    CAUSE_STOPPED, /* setups of this type failed */
    PENDING_CAUSE_COUNT,
};

struct pending_demand {
    enum demand_source source;
    struct str shape;         /* "{CPU: 4, GPU: 1}"; of a group "{CPU: 1} * 3 (STRICT_SPREAD)" */
    struct str labels;        /* label requirements as text; may be empty */
    struct str job;           /* name of the training job; empty for other sources */
    int64_t count;            /* pending requests */
    int64_t unmet;            /* of these, requests that no node has room for and no launch can
                               * serve; see `why` */
    struct str why;           /* text; empty if it fits or capacity is on its way */
    enum pending_cause cause; /* set only in the service */
    bool is_infeasible;       /* no node type could ever hold it, whatever the limits */
    int64_t since_ms;         /* wall clock, first seen */
    struct str bytes;         /* bytes as received from Ray, for the report */
};

struct resource_usage {
    struct str name; /* "CPU" */
    double used, total;
};

/* A node as Ray sees it. The machine is in model/node_view.h. */
struct node_usage {
    uint64_t instance;
    struct str ray_id;                 /* 56 hexadecimal digits */
    const struct resource_usage *uses; /* none for a dead node */
    size_t use_count;
    int64_t idle_ms;     /* -1 if busy */
    struct str activity; /* why it is busy; empty if idle or not reported by Ray */
    bool is_draining, is_dead;
};

/* An event as text, for `shoal events` and drivers. */
enum cluster_event_kind {
    CLUSTER_EVENT_LAUNCH,
    CLUSTER_EVENT_JOIN,
    CLUSTER_EVENT_DRAIN,
    CLUSTER_EVENT_TERMINATE,
    CLUSTER_EVENT_SPOT_INTERRUPTION,
    CLUSTER_EVENT_FAILURE,
    CLUSTER_EVENT_LAUNCH_FAILED,
    CLUSTER_EVENT_INFEASIBLE,
    CLUSTER_EVENT_AUTOSCALER, /* started, stopped, lost or regained its view */
    CLUSTER_EVENT_COUNT,
};

struct cluster_event {
    int64_t number; /* increases by one, also across restarts */
    int64_t wall_ms;
    enum cluster_event_kind kind;
    struct str node;   /* "worker-3"; empty if none */
    struct str text;   /* "launched 2 x m5.large (spot) in us-west-2a" */
    struct str reason; /* "for 9 waiting {CPU: 4}" */
    uint64_t launch;   /* launch number, or 0; set only in the service */
};

/* "{CPU: 4}", "{CPU: 4} with zone=a", "{CPU: 4} of training job NAME". */
struct str pending_demand_text(const struct pending_demand *demand, struct arena *arena);

extern const struct field_table pending_demand_table, cluster_event_table;

/* "launch", "join", ...: in JSON, in the journal and in `shoal events`. An unknown name, of a newer
 * version, is an event of the autoscaler. */
const char *cluster_event_kind_name(enum cluster_event_kind kind);
enum cluster_event_kind cluster_event_kind_of(struct str name);

struct cluster_status {
    const struct pending_demand *demands;
    size_t demand_count;
    const struct node_usage *nodes; /* including the head */
    size_t node_count;
    const struct str *held; /* why fewer workers run than min_workers, a line each */
    size_t held_count;
    size_t billed_count;            /* instances that cost money now or soon, including the head */
    int64_t seen_ms;                /* wall clock; 0 if Ray was never seen */
    int64_t decided_ms;             /* wall clock of the last decision */
    const char *launching, *ending; /* why not permitted, as text; empty if permitted */
    int64_t price; /* micro-dollars per hour of running and pending nodes; -1 if any is unknown */
    int64_t price_limit; /* max_hourly_cost; -1 if unset */
    int64_t polls;       /* polls of Ray since this process started */
    double poll_ms;      /* duration of the last one, from request to decision */
};
