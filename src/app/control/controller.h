/*
 * controller.h: runs one core against a real cloud.
 *
 * Lists instances, journals intents and results, executes the core's actions and renews the lease.
 * Runs on the laptop during `up` and permanently on the head. Everything is in the journal before
 * it is acted on, so the process can be killed at any point.
 *
 * The head is instance HEAD_INSTANCE whatever its cloud id. The core never launches or terminates
 * it; the launcher does (launch/head_launch.h).
 */
#pragma once

#include "app/cloud_session.h"
#include "app/core_setup.h"
#include "base/attr.h"
#include "core/core.h"
#include "provider/provider.h"
#include "store/journal.h"

#define HEAD_INSTANCE 1 /* the journal assigns number 1 to the name "head" first */

struct controller;

/* A machine as the cloud and the core see it. Valid until control returns to the loop. */
struct managed_node {
    uint64_t instance;
    const struct machine *machine; /* from the latest listing or launch; NULL if none yet */
    const struct node *node;       /* the core's; NULL if the core does not know it */
    bool is_head;
};

struct controller_hooks {
    void *context;
    /* The lease is held, the journal is replayed and the first listing has arrived. */
    void (*started)(void *context, const struct cluster_lease *lease);
    /* Start or resume setup of this machine; may be called again while it runs. Report progress
     * with controller_set_up(). NULL if setup happens elsewhere (the laptop leaves it to the
     * head). */
    void (*set_up)(void *context, const struct managed_node *managed_node);
    /* The state, address or existence of a machine changed. */
    void (*changed)(void *context, const struct managed_node *managed_node);
    /* A call failed and will be retried. `what` is the complete message, such as "launch 1.2: no
     * capacity for m5.large in us-west-2a". */
    void (*trouble)(void *context, const struct provider_answer *answer, struct str what);
    /* The lease was lost to `lease` (NULL if unknown), or cannot be taken because of `why`
     * (otherwise NULL). The controller does nothing any more. */
    void (*lease_lost)(void *context, const struct cluster_lease *lease, const struct err *why);
    /* controller_is_empty() became true, not necessarily with a machine change. May be NULL. */
    void (*emptied)(void *context);
    /* Ask the node's raylet to drain. Reply with controller_drained(), also from inside this hook.
     * If NULL, drains are declined with DRAIN_UNKNOWN. Must not close the controller. */
    void (*drain)(void *context, const struct managed_node *managed_node,
                  const struct action *action);
    /* Decisions and actions with their reasons: launches, terminations, unmet demand. Called before
     * they are executed; `answer` is valid during the call. Must not call the controller. May be
     * NULL. */
    void (*decided)(void *context, const struct core_answer *answer);
    /* The cloud answered a launch of `count` machines after `took_ms`; `came` of them exist. Must
     * not call the controller. May be NULL. */
    void (*launched)(void *context, enum outcome outcome, size_t count, size_t came,
                     int64_t took_ms);
    /* A launch failed, completely or in part: "no capacity for m5.large in us-west-2a". If NULL,
     * trouble() is called. */
    void (*launch_failed)(void *context, uint64_t launch, const struct provider_answer *answer,
                          struct str why);
};

struct controller_setup {
    struct cloud_session *session;
    struct provider *provider;
    struct journal *journal;
    const struct config *config;
    const struct core_setup *core; /* the field head_instance is ignored */
    struct str holder;             /* name of the lease holder */
    struct str secret;             /* host keys are derived from it */
    struct str cluster_key;        /* public; machines accept it from first boot */
    struct str public_key;         /* given to prepare(); empty on a head, which creates nothing */
    uint64_t take_from;            /* epoch whose lease is to be broken, or 0 */
    struct str uid, lease_object;  /* set if the previous holder handed the lease to us */
    bool fails_if_held;            /* call lease_lost() instead of retrying if the lease is held or
                                    * taking it is not permitted */
    bool is_surveyed;              /* the caller has run preflight() */
    bool is_prepared;              /* the caller has run preflight() and prepare() */
    /* With GOAL_DOWN, stop on-demand machines instead of terminating them; launches reuse stopped
     * ones. If false, terminate all machines, including stopped ones. */
    bool keeps_stopped;
    enum goal goal;
    struct controller_hooks hooks;
};

/*
 * Nothing happens before the loop runs. Hooks are called from the loop, never from inside a
 * controller_*() call. Everything in `setup` must outlive the controller. A lease that an earlier
 * process took with the same journal is broken at once: a journal has one writer, so that process
 * is dead.
 */
struct controller *controller_open(const struct controller_setup *setup);
/* Abandons all calls in flight. The lease is kept until it expires. May be called from a hook. */
void controller_close(struct controller *controller);
/* Renews or requests the lease now. Useful after a suspend, or when the holder is known to have
 * released it; otherwise renewal is automatic. */
void controller_renew(struct controller *controller);
/* Stops acting and keeps the lease, for a handover. */
void controller_stand_down(struct controller *controller);
/* Stops acting and releases the lease; `done` may close the controller. */
void controller_release(struct controller *controller, provider_done_fn *done, void *context);

/*
 * Runs preflight() and prepare() at most once. Worker launches wait for it; the launcher calls it
 * for the head. Resources that are created while `done` waits are passed to it. May be called as
 * soon as the controller has started.
 */
void controller_prepare(struct controller *controller, provider_resources_fn *done, void *context);

/*
 * May the caller launch a machine that the core does not manage (the head) now? Requires a recently
 * confirmed lease and a listing that shows everything earlier holders may have launched. If false,
 * the missing part has been requested: ask again soon, unless lease_lost() comes first.
 */
bool controller_may_launch(struct controller *controller) MUST_USE;
/* First epoch since which no other process held the lease. Earlier launches are not repeated. */
uint64_t controller_sole_writer_epoch(const struct controller *controller);
/* The time for journal records. It does not jump when the wall clock is set. */
int64_t controller_time_ms(const struct controller *controller);

void controller_set_goal(struct controller *controller, enum goal goal);
void controller_set_up(struct controller *controller, uint64_t instance, enum setup_news news,
                       bool is_unused);

/* ---- state of Ray ---- */

/* Reports a changed node. Its arrays must stay valid until it is reported again. */
void controller_ray_node(struct controller *controller, const struct ray_node *node);
/* Reports all pending demand, with the same rule. */
void controller_ray_load(struct controller *controller, const struct ray_load *load);
/* Everything reported so far is Ray's state as of this monotonic time. Only this call makes the
 * view of Ray fresh. */
void controller_ray_seen(struct controller *controller, int64_t asked_at_ms);
/* Ray restarted and lost state; scale-down pauses for a while. */
void controller_ray_restarted(struct controller *controller);
/* Can workers join? Repeat it after a start. */
void controller_head(struct controller *controller, enum head_state state);
/* The prices in setup->core have changed. */
void controller_reprice(struct controller *controller);
void controller_drained(struct controller *controller, uint64_t instance, enum drain_answer answer);

/* ---- queries ---- */

/* Machines in the order of discovery, then requested nodes, which have no instance (INSTANCE_NONE)
 * and no machine. */
typedef void managed_node_fn(void *context, const struct managed_node *managed_node);
void controller_each(const struct controller *controller, managed_node_fn *take, void *context);
bool controller_find(const struct controller *controller, uint64_t instance,
                     struct managed_node *ret_managed_node) MUST_USE;
/* By cloud id; 0 if unknown. */
uint64_t controller_instance_of(const struct controller *controller, struct str id);

/* Sets a tag of a machine soon, batched with others. Best effort. A passing value is set only if it
 * persists for a while. */
void controller_tag(struct controller *controller, uint64_t instance, struct str key,
                    struct str value, bool is_passing);

/* True with GOAL_DOWN once every worker is known to be gone. */
bool controller_is_empty(const struct controller *controller);

/* Adds the machines of a launch that the core did not request (the head's), before a listing. */
void controller_learn(struct controller *controller, const struct machine *machines, size_t count);

/* Lists instances now because a change is expected. Automatic while nodes start or terminate. */
void controller_refresh(struct controller *controller);

const struct cluster_lease *controller_lease(const struct controller *controller);
