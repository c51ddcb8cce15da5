/*
 * controller.h: the simulated shell around one core.
 *
 * Does what the real shell does, in virtual time: polls, writes down intents and answers, carries
 * actions out, renews its lease. It can be killed between any two of these, stand still for
 * minutes, and be started again from what it had written down.
 */
#pragma once

#include "core/core.h"
#include "sim/agenda.h"
#include "sim/cloud.h"
#include "sim/cluster.h"
#include "sim/lease.h"

/* Events worth keeping: intents, instances launched, answers to launches. Survives the process. */
struct journal {
    struct event *events;
    size_t count;
    size_t capacity;
    uint64_t epoch; /* the last one held */
    uint64_t reign; /* the first one since which nobody else has had it */
    int64_t reign_since;
};

/* The intent of a launch as it was first written down; NULL: it never was. */
const struct event *journal_intent(const struct journal *journal, uint64_t launch);

struct held_action {
    struct action action;
    struct held_action *next;
};

/* Whoever watches a controller; the yard's checks and its trace. */
struct watcher {
    void *context;
    void (*on_event)(void *context, uint32_t controller, const struct event *event,
                     const struct core_answer *answer);
    void (*on_action)(void *context, uint32_t controller, const struct action *action);
};

struct controller {
    uint32_t number;
    uint64_t incarnation; /* counts starts */
    bool is_alive;
    int64_t paused_until; /* 0: not paused */
    const struct core_settings *settings;
    struct agenda *agenda;
    struct cloud *cloud;
    struct cluster *cluster;
    struct faults *faults;
    struct lease *lease;
    bool is_lease_local; /* kept on the head: an outage of the cloud does not touch it */
    enum goal goal;
    struct dice dice;
    struct watcher watcher;
    int64_t tick;
    int64_t restart; /* after a death it is started again within this */

    struct arena *arena; /* of the whole run: the journal */
    struct arena life;   /* of this incarnation: core and view */
    struct arena scratch;
    struct core *core;
    struct cluster_view *view;
    struct journal journal;
    bool has_started;         /* the records were played and the lease was held once */
    bool is_listing;          /* a listing is under way */
    struct held_action *held; /* to be carried out after a pause */
};

void controller_init(struct controller *controller, uint32_t number, struct arena *arena);

/* Releases what lives outside the arena of the run. */
void controller_clear(struct controller *controller);

void controller_start(struct controller *controller);
void controller_kill(struct controller *controller);
void controller_restart(struct controller *controller); /* after a while */
void controller_pause(struct controller *controller, int64_t length);

/* Every entry of the agenda that is for a controller. */
void controller_on(struct controller *controller, const struct agenda_entry *entry);

/* The user wants something else from now on. Remembered over restarts. */
void controller_aim(struct controller *controller, enum goal goal);

/* The cloud tells a node that it will be taken, and the node's watcher tells the controller. */
void controller_notice(struct controller *controller, uint64_t instance, int64_t until);

bool controller_holds_lease(const struct controller *controller);
