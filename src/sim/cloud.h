/*
 * cloud.h: a cloud like EC2, only nastier.
 *
 * Calls travel, take effect and are answered at different times; each step can fail. What it
 * knows about tokens: the same token in the same zone with the same parameters gives the same
 * instances, with other parameters it is refused; in another zone it is a new launch. Listings
 * lag behind: each instance and each change of state shows only after a while, and different
 * listings may disagree. Whatever happens, a call has its effect within call_timeout after it
 * was sent or never, and everything shows within listing_lag after it happened.
 */
#pragma once

#include "base/table.h"
#include "core/event.h"
#include "core/offering.h"
#include "sim/agenda.h"
#include "sim/faults.h"

enum cloud_verb { CLOUD_LAUNCH, CLOUD_TERMINATE, CLOUD_LIST, CLOUD_VERB_COUNT };

enum ended_by {
    ENDED_BY_NOBODY,
    ENDED_BY_CONTROLLER, /* a terminate call */
    ENDED_BY_SPOT,       /* the cloud wanted it back */
    ENDED_BY_DEATH,      /* the machine failed and the cloud noticed */
    ENDED_BY_HAND,       /* a person */
};

/*
 * One machine as the cloud knows it. Times may lie ahead; INT64_MAX is never, or not known yet.
 * After the end it is ending until gone_at and then listed as gone until vanishes_at.
 */
struct instance {
    uint64_t id;       /* its position + 1 */
    uint64_t launch;   /* tag */
    uint32_t offering; /* tag */
    bool is_ours;      /* carries our uid */
    bool is_head;      /* listed as such, so that nobody takes it for a worker */
    int64_t created_at;
    int64_t shows_at; /* in listings */
    int64_t running_at;
    int64_t ssh_at; /* boots until then; INT64_MAX for one whose sshd never comes */
    int64_t ended_at;
    int64_t gone_at;
    int64_t vanishes_at;
    int64_t notice_at;
    int64_t taken_at;   /* planned end by the cloud itself, or of the machine */
    int64_t died_at;    /* from here on nothing on it answers, whatever the cloud says */
    int64_t setup_time; /* how long its steps take */
    bool fails_setup;
    bool never_joins;
    bool will_die;  /* taken_at is the failure of the machine */
    bool will_hang; /* and the cloud does not notice: it stays listed as running */
    /* who did it; the controller and its incarnation for ENDED_BY_CONTROLLER */
    enum ended_by ended_by;
    uint32_t ended_by_controller;
    uint64_t ended_by_incarnation;
    /* the set-up runs detached on the machine; cluster.c and controller.c keep these */
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
};

/* A call from the moment it is sent until it is released. */
struct cloud_call {
    enum cloud_verb verb;
    uint32_t controller;
    uint64_t incarnation; /* of the controller: a later one does not hear the answer */
    int64_t sent_at;
    uint64_t launch; /* the token, with the cluster's uid */
    uint32_t offering;
    int64_t count;
    uint64_t instance;
    /* the answer */
    enum outcome outcome;
    const uint64_t *instances; /* of a launch */
    size_t instance_count;
    const struct cloud_listed *listed;
    size_t listed_count;
    bool is_complete; /* of a listing */
    /* cloud.c: what will become of it */
    int64_t reply_at;
    int64_t effect_at;   /* may be later than the reply; 0: never */
    bool is_forgotten;   /* released before its effect */
    bool is_lost_before; /* has no effect */
    bool is_lost_after;  /* has its effect, the answer is lost */
    bool is_done;        /* the moment of its effect has passed */
    /* cloud.c: the record itself, which is used again */
    bool is_open;
    uint32_t use;
    uint32_t next_free; /* position + 1 */
    struct cloud_listed *room;
    size_t room_capacity;
};

struct cloud_token; /* cloud_launch.c */

struct cloud {
    struct arena *arena;
    struct agenda *agenda;
    struct faults *faults;
    struct dice dice;
    const struct offering *offerings;
    size_t offering_count;
    bool *has_capacity; /* by offering */
    bool is_away;       /* no call is answered */
    struct instance *instances;
    size_t instance_count;
    size_t instance_capacity;
    uint32_t *listable; /* positions of instances that have not vanished, oldest first */
    size_t listable_count;
    size_t listable_capacity;
    struct cloud_call **calls;
    size_t call_count;
    size_t call_capacity;
    uint32_t free_call; /* position + 1 */
    struct cloud_token *tokens;
    size_t token_count;
    size_t token_capacity;
    struct table token_index;
    uint64_t calls_made[CLOUD_VERB_COUNT];
};

void cloud_init(struct cloud *cloud, struct agenda *agenda, struct faults *faults,
                const struct offering *offerings, size_t offering_count, uint64_t seed,
                struct arena *arena);

/* A machine that is there from the beginning and runs: the head, or somebody else's. */
uint64_t cloud_plant(struct cloud *cloud, uint32_t offering, bool is_ours, bool is_head);

/* Sends a call (verb, controller, incarnation and its parameters are taken from `call`); its
 * answer comes as AGENDA_CALL_REPLY with this number, for every call exactly once. */
uint64_t cloud_send(struct cloud *cloud, const struct cloud_call *call);

/* The record stays where it is, and as it is from the reply on, until it is released. */
const struct cloud_call *cloud_call(const struct cloud *cloud, uint64_t number);

/* After the reply, by whoever got it or should have got it: the record may be used again. A
 * controller that stands still may release it as late as it likes. */
void cloud_release(struct cloud *cloud, uint64_t number);

/*
 * Every entry of the agenda that is the cloud's. False: it was overtaken (a plan that was
 * cancelled, a machine that ended before) and nobody else must hear of it. Instances that end by
 * a call or by hand are reported as AGENDA_INSTANCE_GONE; those that are taken as
 * AGENDA_INSTANCE_TAKEN at once and, unless the cloud does not notice, as GONE later.
 */
bool cloud_on(struct cloud *cloud, const struct agenda_entry *entry);

/* After faults_stop(): ends outages and shortages and cancels every planned end that was not
 * announced. */
void cloud_heal(struct cloud *cloud);

/* Live: pending or running, and paid for. */
bool instance_is_live(const struct instance *instance, int64_t now);

/* Does anything on it answer: sshd, the steps of the set-up, the raylet? */
bool instance_answers(const struct instance *instance, int64_t now);

/* NULL: no such instance. Valid until the next entry is handled. */
const struct instance *cloud_instance(const struct cloud *cloud, uint64_t id);
