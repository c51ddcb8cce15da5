/*
 * controller.h: the live shell around one core: what the simulator's controller is in virtual time.
 *
 * Asks the cloud for listings, writes down intents and answers, carries out what the core asks for,
 * renews its lease. Runs on the laptop during `up` and `down` and for good on the head. Everything
 * it knows is in the journal before it acts, so that it can be killed between any two lines.
 *
 * The head is instance HEAD_INSTANCE, whatever its id is: the core never makes or ends it; whoever
 * launches the cluster does (launch/head_launch.h).
 */
#pragma once

#include "app/cloud_session.h"
#include "app/core_setup.h"
#include "base/attr.h"
#include "core/core.h"
#include "provider/provider.h"
#include "store/journal.h"

#define HEAD_INSTANCE 1 /* the journal gives this number to the word "head", first of all */

struct controller;

/* A machine as both the cloud and the core see it. Valid until the loop goes on. */
struct controlled {
    uint64_t instance;
    const struct machine *machine; /* from the latest listing or launch; NULL: none yet */
    const struct node *node;       /* of the core; NULL for what it does not know */
    bool is_head;
};

struct controller_hooks {
    void *context;
    /* The lease is ours, everything written down was played, the first listing is in. */
    void (*started)(void *context, const struct cluster_lease *lease);
    /* Set this machine up; asked again for one that is being set up: go on. Tell how it goes with
     * controller_set_up(). NULL: nobody sets up here (the laptop leaves that to the head). */
    void (*set_up)(void *context, const struct controlled *controlled);
    /* Its state, its address or its end: whatever a view of it depends on. */
    void (*changed)(void *context, const struct controlled *controlled);
    /* A call did not go well; it goes on. `what` says all of it: "launch 1.2: no capacity for
     * m5.large in us-west-2a". */
    void (*trouble)(void *context, const struct provider_answer *answer, struct str what);
    /* The lease was lost to `lease` (NULL: not known to whom): nothing is done any more. */
    void (*deposed)(void *context, const struct cluster_lease *lease);
    /* controller_is_empty() has become true: not always with a change of a machine. May be NULL. */
    void (*emptied)(void *context);
    /* Ask its raylet to let go of it; answer with controller_drained(), also from inside. NULL:
     * nobody can be asked, and nothing is concluded. Must not close the controller. */
    void (*drain)(void *context, const struct controlled *controlled, const struct action *action);
    /* Something was decided, or is to be done: what is launched, what ends, what has no place, each
     * with its reason. Told before it is done, valid during the call; only takes note: it asks the
     * controller for nothing. May be NULL. */
    void (*decided)(void *context, const struct core_answer *answer);
    /* The cloud has answered a launch of so many machines, after so long; `came` of them are there.
     * Only takes note. May be NULL. */
    void (*launched)(void *context, enum outcome outcome, size_t count, size_t came,
                     int64_t took_ms);
};

struct controller_setup {
    struct cloud_session *session;
    struct provider *provider;
    struct journal *journal;
    const struct config *config;
    const struct core_setup *core; /* head_instance is set */
    struct str holder;             /* of the lease */
    struct str secret;             /* of which host keys are made */
    struct str public_key;         /* for prepare(); empty: on a head, which only finds */
    uint64_t take_from;            /* an epoch whose lease is to be broken; 0: none */
    struct str uid, anchor;        /* when its holder has handed it over to us; else empty */
    bool gives_way;                /* deposed() at once when somebody has it, instead of waiting */
    bool is_surveyed;              /* survey() was done by the caller */
    bool is_prepared;              /* survey() and prepare() were */
    /* Machines without a market are stopped when all are to go, and used again by launches. False:
     * all are ended, the stopped ones too. */
    bool keeps_stopped;
    enum goal goal;
    struct controller_hooks hooks;
};

/*
 * Nothing happens before the loop runs; hooks are called from the loop and never from inside a
 * call. Everything given must outlive it. A lease that an earlier process took with the same
 * journal is broken at once: the journal has one writer, so that process is gone.
 */
struct controller *controller_open(const struct controller_setup *setup);
/* Drops everything under way. The lease stays taken until it runs out. Also from a hook. */
void controller_close(struct controller *controller);
/* Renews the lease now, or tries to get it: done by itself in time, but sooner is better after a
 * long sleep, or when somebody is known to have given it back. */
void controller_renew(struct controller *controller);
/* Acts no more; the lease is left to whom it is handed over. */
void controller_stand_down(struct controller *controller);
/* Acts no more and hands the lease back; `done` may then close it. */
void controller_release(struct controller *controller, provider_done_fn *done, void *context);

/*
 * survey() and prepare(), once, whoever asks first: launches of workers wait for it by themselves,
 * that of the head asks for it. Things are told to those who wait while they are made. May be asked
 * for as soon as it has started.
 */
void controller_prepare(struct controller *controller, provider_things_fn *done, void *context);

void controller_want(struct controller *controller, enum goal goal);
void controller_set_up(struct controller *controller, uint64_t instance, enum setup_news news);

/* ---- Ray, told by whoever watches it ---- */

/* One node: only when something of it has changed. Its arrays stay as they are until it is told
 * again. */
void controller_ray_node(struct controller *controller, const struct ray_node *node);
/* All that waits, likewise. */
void controller_ray_load(struct controller *controller, const struct ray_load *load);
/* Everything told so far is Ray's state as of then (monotonic). Only this counts as sight. */
void controller_ray_seen(struct controller *controller, int64_t asked_at_ms);
/* Ray has begun anew, with less than it knew before: nothing ends for a while. */
void controller_ray_anew(struct controller *controller);
void controller_drained(struct controller *controller, uint64_t instance, enum drain_answer answer);

/* ---- looking ---- */

/* Machines in the order in which they were heard of, then what was only asked for: that has no
 * instance (INSTANCE_NONE) and no machine. */
typedef void controlled_fn(void *context, const struct controlled *controlled);
void controller_each(const struct controller *controller, controlled_fn *take, void *context);
bool controller_find(const struct controller *controller, uint64_t instance,
                     struct controlled *ret_controlled) MUST_USE;
/* By the cloud's id; 0: not known. */
uint64_t controller_instance_of(const struct controller *controller, struct str id);

/* Sets tags of one machine some time soon, together with those of others; nobody waits for it. A
 * passing one is set only if it stays for a while. */
void controller_tag(struct controller *controller, uint64_t instance, struct str key,
                    struct str value, bool is_passing);

/* The goal is down and every worker is known to be gone. */
bool controller_is_empty(const struct controller *controller);

/* The answer to a launch that is not the core's (the head's): it is known before a listing shows
 * it. */
void controller_learn(struct controller *controller, const struct machine *machines, size_t count);

/* A listing now rather than later: something is expected. Done by itself while nodes come or go. */
void controller_look(struct controller *controller);

const struct cluster_lease *controller_lease(const struct controller *controller);
