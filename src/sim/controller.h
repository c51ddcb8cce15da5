/*
 * controller.h: the simulated shell around one core.
 *
 * Does what the real shell does, in virtual time: polls, records intents and replies, executes
 * actions, renews its lease. It can be killed between any two of these, pause for minutes, and
 * restart from its records.
 */
#pragma once

#include "core/core.h"
#include "sim/cloud.h"
#include "sim/cluster.h"
#include "sim/event_queue.h"
#include "sim/lease.h"

/* The recorded events: intents, launched instances, replies to launches. Survives the process. */
struct sim_journal {
    struct event *events;
    size_t count;
    size_t capacity;
    uint64_t epoch; /* the last one held */
    /* The first epoch since which no other controller has held the lease. */
    uint64_t sole_writer_epoch;
    int64_t sole_writer_since;
};

/* The intent of a launch as first recorded; NULL if it was not. */
const struct event *journal_intent(const struct sim_journal *sim_journal, uint64_t launch);
uint64_t
journal_last_launch(const struct sim_journal *sim_journal); /* the highest number; 0 if none */

struct held_action {
    struct action action;
    struct held_action *next;
};

/* Observes a controller: the checks and the trace of the simulation. */
struct watcher {
    void *context;
    void (*on_event)(void *context, uint32_t sim_controller, const struct event *event,
                     const struct core_answer *answer);
    void (*on_action)(void *context, uint32_t sim_controller, const struct action *action);
};

struct sim_controller {
    uint32_t number;
    uint64_t incarnation; /* number of starts */
    bool is_alive;
    int64_t paused_until; /* 0 if not paused */
    const struct core_settings *settings;
    struct event_queue *event_queue;
    struct cloud *cloud;
    struct cluster *cluster;
    struct faults *faults;
    struct lease *lease;
    bool is_lease_local; /* stored on the head: cloud outages do not affect it */
    enum goal goal;
    struct rng rng;
    struct watcher watcher;
    int64_t tick;
    int64_t restart; /* maximum delay of a restart after a death */

    struct arena *arena; /* memory of the whole run: the journal */
    struct arena life;   /* memory of this incarnation: core and view */
    struct arena scratch;
    struct core *core;
    struct cluster_view *view;
    struct sim_journal sim_journal;
    bool has_started;         /* the records were replayed and the lease was held once */
    bool is_listing;          /* a listing is in flight */
    struct held_action *held; /* actions to be executed after a pause */
};

void controller_init(struct sim_controller *sim_controller, uint32_t number, struct arena *arena);

/* Frees what is not in the arena of the run. */
void controller_clear(struct sim_controller *sim_controller);

void controller_start(struct sim_controller *sim_controller);
void controller_kill(struct sim_controller *sim_controller);
void controller_restart(struct sim_controller *sim_controller); /* restarts after a delay */
void controller_pause(struct sim_controller *sim_controller, int64_t length);

/* Handles the controller's entries of the event queue. */
void controller_on(struct sim_controller *sim_controller, const struct event_queue_entry *entry);

/* Changes the user's goal. Survives restarts. */
void controller_aim(struct sim_controller *sim_controller, enum goal goal);

/* The cloud gives a node an interruption notice, and the node's watcher reports it to the
 * controller. */
void controller_notice(struct sim_controller *sim_controller, uint64_t instance, int64_t until);

bool controller_holds_lease(const struct sim_controller *sim_controller);
