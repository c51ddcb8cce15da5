/* yard_parts.h: the yard from the inside, for yard.c and checks.c. */
#pragma once

#include "sim/cloud.h"
#include "sim/cluster.h"
#include "sim/controller.h"
#include "sim/yard.h"

enum { CONTROLLERS_MOST = 2 };

/* What the checks remember about one instance. */
struct book {
    bool is_known[CONTROLLERS_MOST]; /* was in the controller's core */
    bool is_counted;                 /* seen live by the checks */
    uint8_t end_reason;              /* enum reason_kind of the last terminate action */
    int64_t joined_at;               /* appeared in Ray; -1: never */
};

/* In a row, within a window of time. */
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
    int64_t outage_since;      /* -1: none */
    int64_t outage_calls;      /* that change something, in the current window */
    int64_t outage_window;     /* when it began */
    uint32_t outage_caller;    /* who leads */
    int64_t last_change_at;    /* a launch or an end by a controller */
    int64_t last_drain_at;     /* of a node for being idle */
};

struct yard {
    struct yard_setup setup;
    struct core_settings settings; /* the setup's, with the head */
    struct arena *arena;
    struct arena texts; /* of on_line */
    struct agenda agenda;
    struct faults faults;
    struct cloud cloud;
    struct cluster cluster;
    struct lease lease;
    struct controller controllers[CONTROLLERS_MOST];
    size_t controller_count;
    struct dice dice;
    struct measure measure;
    struct checks checks;
    struct violation violation;
    uint64_t hash;
    uint64_t events[EVENT_KIND_COUNT];
    bool is_healing;
    bool is_over;
};

/* Notes the first violation; the run ends with it. */
void yard_violate(struct yard *yard, const char *invariant, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* checks.c */
void checks_init(struct yard *yard);
void checks_after_entry(struct yard *yard, const struct agenda_entry *entry);
void checks_after_event(struct yard *yard, uint32_t controller, const struct event *event);
void checks_before_action(struct yard *yard, uint32_t controller, const struct action *action);
void checks_forget(struct yard *yard, uint32_t controller); /* it was started anew */
void checks_at_end(struct yard *yard);

/* billing.c: what the cloud would put on the bill, and the figures of the report. */
void billing_sample(struct yard *yard);
void billing_finish(struct yard *yard);
