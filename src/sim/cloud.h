/*
 * cloud.h: a simulated cloud like EC2, with more faults.
 *
 * Calls are sent, take effect and are answered at different times; each step can fail. Tokens: the
 * same token in the same zone with the same parameters returns the same instances, with other
 * parameters it is refused; in another zone it is a new launch. Listings lag: each instance and
 * each state change is visible only after a while, and listings may disagree. In all cases a call
 * takes effect within call_timeout or never, and every change is visible within listing_lag.
 */
#pragma once

#include "base/table.h"
#include "core/event.h"
#include "core/offering.h"
#include "sim/event_queue.h"
#include "sim/faults.h"

enum cloud_verb { CLOUD_LAUNCH, CLOUD_TERMINATE, CLOUD_LIST, CLOUD_VERB_COUNT };

enum ended_by {
    ENDED_BY_NOBODY,
    ENDED_BY_CONTROLLER, /* a terminate call */
    ENDED_BY_SPOT,       /* interrupted by the cloud */
    ENDED_BY_DEATH,      /* the machine failed and the cloud noticed */
    ENDED_BY_HAND,       /* a user */
};

/*
 * One machine as the cloud knows it. Times may be in the future; INT64_MAX means never or not known
 * yet. After termination starts, it is terminating until gone_at and then listed as gone until
 * vanishes_at.
 */
struct instance {
    uint64_t id;       /* index + 1 */
    uint64_t launch;   /* tag */
    uint32_t offering; /* tag */
    bool is_ours;      /* has our uid */
    bool is_head;      /* listed as the head, so it is not treated as a worker */
    int64_t created_at;
    int64_t shows_at; /* visible in listings from then on */
    int64_t running_at;
    int64_t ssh_at; /* booting until then; INT64_MAX if sshd never answers */
    int64_t ended_at;
    int64_t gone_at;
    int64_t vanishes_at;
    int64_t notice_at;
    int64_t taken_at;   /* planned interruption by the cloud, or failure of the machine */
    int64_t died_at;    /* nothing on it answers from then on, whatever the cloud reports */
    int64_t setup_time; /* duration of its setup steps */
    bool fails_setup;
    bool never_joins;
    bool will_die;  /* taken_at is a failure of the machine */
    bool will_hang; /* the cloud does not notice the failure: it stays listed as running */
    /* who terminated it; the controller and its incarnation for ENDED_BY_CONTROLLER */
    enum ended_by ended_by;
    uint32_t ended_by_controller;
    uint64_t ended_by_incarnation;
    /* the setup runs detached on the machine; set by cluster.c and controller.c */
    int64_t setup_begun_at;
    int64_t setup_done_at;
};

struct cloud_listed {
    uint64_t instance;
    uint64_t launch;
    uint32_t offering;
    enum cloud_state state;
    bool is_ours;
    bool is_head;
    bool is_outdated; /* launched before the file changed */
};

/* A call, from sending until release. */
struct cloud_call {
    enum cloud_verb verb;
    uint32_t sim_controller;
    uint64_t incarnation; /* of the controller; a later one gets no reply */
    int64_t sent_at;
    uint64_t launch; /* the token, with the cluster's uid */
    uint32_t offering;
    int64_t count;
    uint64_t instance;
    /* the reply */
    enum outcome outcome;
    const uint64_t *instances; /* for launches */
    size_t instance_count;
    const struct cloud_listed *listed;
    size_t listed_count;
    bool is_complete; /* for listings */
    /* cloud.c: the planned course of the call */
    int64_t reply_at;
    int64_t effect_at;   /* may be later than the reply; 0 if never */
    bool is_forgotten;   /* released before its effect */
    bool is_lost_before; /* no effect */
    bool is_lost_after;  /* takes effect, but the reply is lost */
    bool is_done;        /* the time of its effect has passed */
    /* cloud.c: reuse of the record */
    bool is_open;
    uint32_t use;
    uint32_t next_free; /* index + 1 */
    struct cloud_listed *room;
    size_t room_capacity;
};

struct cloud_token; /* cloud_launch.c */

struct cloud {
    struct arena *arena;
    struct event_queue *event_queue;
    struct faults *faults;
    struct rng rng;
    const struct offering *offerings;
    size_t offering_count;
    bool *has_capacity;    /* by offering */
    bool is_away;          /* calls get no reply */
    uint64_t old_launches; /* launches up to this number used an older file */
    struct instance *instances;
    size_t instance_count;
    size_t instance_capacity;
    uint32_t *listable; /* indexes of instances that have not vanished, oldest first */
    size_t listable_count;
    size_t listable_capacity;
    struct cloud_call **calls;
    size_t call_count;
    size_t call_capacity;
    uint32_t free_call; /* index + 1 */
    struct cloud_token *tokens;
    size_t token_count;
    size_t token_capacity;
    struct table token_index;
    uint64_t calls_made[CLOUD_VERB_COUNT];
};

void cloud_init(struct cloud *cloud, struct event_queue *event_queue, struct faults *faults,
                const struct offering *offerings, size_t offering_count, uint64_t seed,
                struct arena *arena);

/* Adds a machine that runs from the beginning: the head, or one of another user. */
uint64_t cloud_plant(struct cloud *cloud, uint32_t offering, bool is_ours, bool is_head);

/* Sends a call (verb, controller, incarnation and parameters are taken from `call`). Its reply
 * comes as EVENT_QUEUE_CALL_REPLY with this number, exactly once for every call. */
uint64_t cloud_send(struct cloud *cloud, const struct cloud_call *call);

/* The record does not move, and does not change after the reply, until it is released. */
const struct cloud_call *cloud_call(const struct cloud *cloud, uint64_t number);

/* Call after the reply, even if the recipient no longer exists: the record may then be reused. A
 * paused controller may release it at any later time. */
void cloud_release(struct cloud *cloud, uint64_t number);

/*
 * Handles the cloud's entries of the event queue. Returns false if the entry is obsolete (a
 * cancelled plan, a machine that ended earlier) and must not be passed on. Instances that end by a
 * call or manually are reported as EVENT_QUEUE_INSTANCE_GONE; interrupted ones as
 * EVENT_QUEUE_INSTANCE_TAKEN at once and, unless the cloud does not notice, as GONE later.
 */
bool cloud_on(struct cloud *cloud, const struct event_queue_entry *entry);

/* Call after faults_stop(): ends outages and shortages, and cancels all planned interruptions
 * without a notice. */
void cloud_heal(struct cloud *cloud);

/* Live means pending or running, and billed. */
bool instance_is_live(const struct instance *instance, int64_t now);

/* Does anything on it respond: sshd, the setup steps, the raylet? */
bool instance_answers(const struct instance *instance, int64_t now);

/* NULL if there is no such instance. Valid until the next entry is handled. */
const struct instance *cloud_instance(const struct cloud *cloud, uint64_t id);
