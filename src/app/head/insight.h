/*
 * insight.h: what the head's service knows beyond its machines: what waits, what runs where, what
 * was decided last and why. Filled by whoever watches Ray; read by status, explain, top, metrics.
 *
 * Everything is a copy and valid until the loop goes on.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insight_source {
    INSIGHT_TASKS,      /* tasks and actors */
    INSIGHT_GROUP,      /* a placement group */
    INSIGHT_CONSTRAINT, /* request_resources() */
    INSIGHT_SOURCE_COUNT,
};

/* What keeps a request waiting; what would help follows from it. */
enum insight_cause {
    CAUSE_NONE,
    CAUSE_PASSING, /* it goes by itself */
    CAUSE_TOO_LARGE,
    CAUSE_COMBINATION,
    CAUSE_LABELS,
    CAUSE_TYPE_LIMIT,    /* max_workers of a node type */
    CAUSE_CLUSTER_LIMIT, /* max_workers of the cluster */
    CAUSE_TOGETHER,
    CAUSE_UNAVAILABLE, /* refused by the cloud */
    CAUSE_PRICE_UNKNOWN,
    CAUSE_PRICE, /* max_hourly_cost */
    CAUSE_RAMP,  /* upscaling_speed */
    INSIGHT_CAUSE_COUNT,
};

struct insight_demand {
    enum insight_source source;
    struct str shape;         /* "{CPU: 4, GPU: 1}"; of a group "{CPU: 1} * 3 (STRICT_SPREAD)" */
    struct str labels;        /* what it asks of labels, in words; empty: nothing */
    int64_t count;            /* that wait */
    int64_t unmet;            /* of them: no place, and none can be launched; `why` says it */
    struct str why;           /* in words; empty: it fits, or something on its way will take it */
    enum insight_cause cause; /* known to the service only */
    bool is_infeasible;       /* no node type could ever take it, whatever the limits */
    int64_t since_ms;         /* wall clock: first seen */
    struct str bytes;         /* as Ray told it, for the report */
};

struct insight_use {
    struct str name; /* "CPU" */
    double used, total;
};

/* A node as Ray sees it; the machine behind it is in the view (view.h). */
struct insight_node {
    uint64_t instance;
    struct str ray_id;              /* 56 hexadecimal digits */
    const struct insight_use *uses; /* of a dead node: none */
    size_t use_count;
    int64_t idle_ms;     /* -1: busy */
    struct str activity; /* why it is busy; empty: idle, or Ray did not say */
    bool is_draining, is_dead;
};

/* Something that happened, in words, for `shoal events` and drivers. */
enum insight_event_kind {
    EVENT_WORD_LAUNCH,
    EVENT_WORD_JOIN,
    EVENT_WORD_DRAIN,
    EVENT_WORD_END,
    EVENT_WORD_NOTICE,
    EVENT_WORD_FAILURE,
    EVENT_WORD_REFUSAL, /* the cloud's */
    EVENT_WORD_INFEASIBLE,
    EVENT_WORD_SERVICE, /* started, stood down, lost sight */
    EVENT_WORD_COUNT,
};

struct insight_event {
    int64_t number; /* grows by one, over restarts too */
    int64_t wall_ms;
    enum insight_event_kind kind;
    struct str node;   /* "worker-3"; empty: none in particular */
    struct str text;   /* "launched 2 x m5.large (spot) in us-west-2a" */
    struct str reason; /* "for 9 waiting {CPU: 4}" */
};

struct insight {
    const struct insight_demand *demands;
    size_t demand_count;
    const struct insight_node *nodes; /* the head among them */
    size_t node_count;
    int64_t seen_ms;                /* wall clock: Ray was last seen; 0: never */
    int64_t decided_ms;             /* wall clock: the last decision */
    const char *launching, *ending; /* why not, in words; empty: it may */
    int64_t price; /* micro-dollars an hour of what runs and is on its way; -1: not all known */
    int64_t price_limit; /* max_hourly_cost; -1: none */
    int64_t polls;       /* of Ray, since this process began */
    double poll_ms;      /* what the last one took, from asking to decision */
};
