/*
 * controller_internal.h: struct controller, for the files that own a part of it.
 *
 * All events enter through controller_apply(); all actions come from the turn that follows
 * (controller.c). A turn is one step: its events, actions and launch intents are one journal
 * transaction, and calls are made after it.
 */
#pragma once

#include "app/control/calls.h"
#include "app/control/control_events.h"
#include "app/control/controller.h"
#include "app/control/execute.h"
#include "app/control/heads.h"
#include "app/control/inventory.h"
#include "app/control/journaling.h"
#include "app/control/launching.h"
#include "app/control/lease.h"
#include "app/control/machine_table.h"
#include "app/control/notify.h"
#include "app/control/reuse.h"
#include "app/control/tags.h"
#include "app/control/timing.h"

/* A journaled launch without a definite result. */
struct open_launch {
    uint64_t launch;
    int64_t unsure_until; /* an earlier call may take effect until then; 0 if none can */
};

struct preparer {
    provider_resources_fn *done;
    void *context;
};

enum preparing { PREPARING_NOT, PREPARING_PREFLIGHT, PREPARING_REST, PREPARING_DONE };

struct controller {
    struct controller_setup setup;
    struct loop *loop;
    struct provider *provider;
    struct journal *journal;
    struct core_settings settings;
    struct core *core;
    struct arena life;    /* lives as long as the controller */
    struct arena scratch; /* cleared after a turn once it is large */
    struct machine_table machine_table;
    struct call_list calls;
    struct notifier notifier;
    struct tags tags;
    struct reuser reuser;
    struct heads heads;
    struct executor executor;
    struct journaling journaling;

    /* lease.c */
    struct cluster_lease lease;
    struct arena lease_memory;
    struct loop_timer *lease_timer;
    int64_t lease_retry_ms;
    uint64_t take_from;
    bool is_handed_over; /* the holder of `take_from` handed the lease over; not tried yet */
    uint64_t refused_by; /* epoch of the holder that was reported in a warning */
    int64_t refused_at;
    int64_t confirmed_at; /* start time of the last call that confirmed the lease */
    int64_t doubted_at;   /* calls started earlier do not confirm the lease */
    /* The wall clock minus the loop's, when the last call about the lease and the one that
     * confirmed it were sent. */
    int64_t asked_ahead_ms, confirmed_ahead_ms;
    bool is_lease_waiting; /* the timer is running */
    bool has_started, is_over;
    provider_done_fn *released;
    void *released_context;

    /* controller.c: turns */
    enum permission launching; /* of the last turn: PERMIT_OK, or why nothing may be launched */
    bool is_replaying;         /* the journal is being replayed */
    struct loop_task turn;
    struct loop_timer *wake;
    struct event *answers; /* events for the next turn; heap */
    size_t answer_count, answer_capacity;
    bool was_empty, has_told_waiting;

    /* inventory.c */
    struct loop_timer *listing_timer;
    bool is_listing, lists_again, has_listed;
    uint32_t listings;
    uint32_t listing_failures; /* consecutive */
    int64_t left_at;           /* time of the last termination of leftovers; 0: none */
    int64_t listed_at;         /* time of the last answer */
    int64_t listing_pause_ms, listing_took_ms;
    const struct str *config_hashes; /* hash of node_config, by type; NULL until computed */
    int64_t expects_until; /* a change is expected, although no known node is in transition */

    /* launching.c */
    enum preparing preparing;
    bool is_prepare_wanted; /* prepare() must run too, not only the preflight */
    struct str *misfits;    /* by node type: why it does not fit the account; empty: it fits */
    struct arena misfits_memory;
    struct loop_task prepared_task;
    struct preparer *preparers; /* heap */
    size_t preparer_count, preparer_capacity;
    struct action *held; /* launches waiting for preparation or a confirmed lease; heap */
    size_t held_count, held_capacity;
    struct open_launch *open; /* heap */
    size_t open_count, open_capacity;

    /* controller.c: rate limit of load records */
    int64_t load_noted_at;
};

static inline int64_t controller_now(const struct controller *controller)
{
    return loop_now_ms(controller->loop);
}
