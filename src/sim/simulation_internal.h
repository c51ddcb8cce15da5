/*
 * simulation_internal.h: state of the simulation, shared by simulation.c, checks.c and billing.c.
 */
#pragma once

#include "sim/cloud.h"
#include "sim/cluster.h"
#include "sim/controller.h"
#include "sim/simulation.h"

enum { CONTROLLERS_MOST = 2 };

/* State of the checks for one instance. */
struct book {
    bool is_known[CONTROLLERS_MOST]; /* was in the controller's core */
    bool is_counted;                 /* was live in an earlier check */
    uint8_t end_reason;              /* enum reason_kind of the last terminate action */
    int64_t joined_at;               /* when the node appeared in Ray; -1 if never */
};

/* Consecutive, within a time window. */
struct refusals {
    int64_t count;
    int64_t first_at;
    int64_t last_at;
};

struct checks {
    struct book *books; /* by instance - 1 */
    size_t book_capacity;
    int64_t *live_by_type;
    struct refusals *refusals; /* by offering */
    int64_t *failures;         /* by type: failed setups that failures_of knows */
    uint32_t failures_of;      /* the controller that acted last: another one starts from zero */
    bool *works;               /* by type: a node has joined since then */
    int64_t outage_since;      /* -1 if none */
    int64_t outage_calls;      /* mutating calls in the current window */
    int64_t outage_window;     /* start of the window */
    uint32_t outage_caller;    /* the lease holder */
    int64_t last_change_at;    /* a launch or a termination by a controller */
    int64_t last_drain_at;     /* time of the last drain of an idle node */
};

struct simulation {
    struct simulation_setup setup;
    struct core_settings settings; /* copy of the setup's, with the head */
    struct arena *arena;
    struct arena texts; /* memory of on_line */
    struct event_queue event_queue;
    struct faults faults;
    struct cloud cloud;
    struct cluster cluster;
    struct lease lease;
    struct sim_controller controllers[CONTROLLERS_MOST];
    size_t controller_count;
    struct rng rng;
    struct measure measure;
    struct checks checks;
    struct violation violation;
    uint64_t hash;
    uint64_t events[EVENT_KIND_COUNT];
    bool is_healing;
    int64_t next_up;       /* the user does not run `up` again before this time */
    bool has_stopped_type; /* from the last decision, as `shoal status` shows it */
    bool is_over;
};

/* Records the first violation, which ends the run. */
void simulation_violate(struct simulation *simulation, const char *invariant, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* checks.c */
void checks_init(struct simulation *simulation);
void checks_after_entry(struct simulation *simulation, const struct event_queue_entry *entry);
void checks_after_event(struct simulation *simulation, uint32_t sim_controller,
                        const struct event *event);
void checks_before_action(struct simulation *simulation, uint32_t sim_controller,
                          const struct action *action);
void checks_forget(struct simulation *simulation, uint32_t sim_controller); /* after a restart */
void checks_at_end(struct simulation *simulation);

/* billing.c: the cloud's bill, and the figures of the report. */
void billing_sample(struct simulation *simulation);
void billing_finish(struct simulation *simulation);
