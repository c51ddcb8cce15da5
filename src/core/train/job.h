/*
 * job.h: decides when the replicas of an elastic training job start, save and restart.
 *
 * A job has slots: Ray jobs, each with an agent that can run one replica of the user's script. A
 * generation is a set of slots whose replicas train together; its size is the world size. To change
 * the size, all replicas save and end, and a new generation starts from the checkpoint. Slots
 * outlive generations.
 *
 * Pure: events in, actions with a cause out. The trainer (app/train) executes the actions.
 *
 * Guarantees, whatever the events are:
 *  - at most one generation runs; an event of an older one only updates what is known about its
 *    slot, for example its checkpoint;
 *  - a generation has at least min and at most max replicas, and none on a slot that is silent or
 *    about to be interrupted;
 *  - it starts from the newest complete checkpoint that connected slots, the trainer or the
 *    durable store have; a sharded one is complete if all of its parts are there;
 *  - a script that was asked to end has not succeeded, whatever its exit status.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRAIN_SLOTS_MAX = 256 };

/* A checkpoint's number is its generation times this, plus its order in it. A replica that saves
 * every second needs 31 years to use all of them. */
#define TRAIN_SAVES_PER_GENERATION (INT64_C(1000000000))
#define TRAIN_GENERATION_MAX (INT64_C(1) << 32)
#define TRAIN_CHECKPOINT_MAX (TRAIN_GENERATION_MAX * TRAIN_SAVES_PER_GENERATION)

/* ---- settings ---- */

/* Times in milliseconds. train_settings_default() sets the defaults. */
struct train_settings {
    int64_t min_replicas, max_replicas;
    int64_t checkpoint_timeout; /* from the request to save until the replicas are killed */
    int64_t rescale_timeout;    /* how long slots that are ready wait for those that are not */
    int64_t checkpoint_every;   /* the longest time that replicas run without one; 0: no limit */
    int64_t connect_timeout;    /* from the submission of a slot until its agent connects */
    int64_t silence_timeout;    /* a slot without a connection is lost after this time */
    int64_t settle;             /* after a failure: time for the reports of the other slots */
    int64_t hang_min;           /* the shortest time without a step that is a hang */
    int64_t hang_start;         /* the same before the first step of a generation */
    int64_t surplus_timeout;    /* an unused slot leaves after this time */
    int64_t failures_max;       /* failures in a row without a new checkpoint */
    bool is_sharded;            /* every replica saves its own part of a checkpoint */
};
void train_settings_default(struct train_settings *settings);

/* ---- slots ---- */

enum train_slot_state {
    TRAIN_SLOT_NONE,      /* unused entry */
    TRAIN_SLOT_PENDING,   /* submitted; its agent has not connected */
    TRAIN_SLOT_PREPARING, /* connected; imports modules, copies files */
    TRAIN_SLOT_READY,     /* could start a replica now */
    TRAIN_SLOT_RUNNING,   /* has a replica of the current generation */
    TRAIN_SLOT_RETURNED,  /* its replica of the current generation has ended */
};

struct train_slot {
    uint32_t id; /* never reused within a job */
    enum train_slot_state state;
    int64_t since;      /* time of the last change of state */
    int64_t silent_at;  /* when the connection was lost; -1: connected */
    int64_t deadline;   /* when its node is interrupted; -1: not announced */
    int64_t checkpoint; /* the newest complete one that it has; 0: none */
    int64_t part;       /* sharded: the newest one of which it has a part */
    int64_t parts;      /* how many parts that one has */
    int64_t node;       /* differs by node; 0: unknown */
    int64_t rank;       /* in the current generation; -1: not a member */
    bool is_asked;      /* to save and end */
};

/* ---- events ---- */

enum train_event_kind {
    TRAIN_TICK,
    TRAIN_ROOM,       /* value: how many more slots Ray could place now */
    TRAIN_TARGET,     /* value: the wanted number of replicas */
    TRAIN_CONNECTED,  /* value: the newest checkpoint that the slot has, 0 if none */
    TRAIN_ADOPTED,    /* after TRAIN_CONNECTED: its replica of this generation runs as value */
    TRAIN_PREPARED,   /* the slot can start a replica */
    TRAIN_SILENT,     /* the connection was lost */
    TRAIN_LOST,       /* the slot no longer exists */
    TRAIN_NOTICE,     /* value: when the slot's node is interrupted */
    TRAIN_STEPPED,    /* value: steps of this generation so far; its replica makes progress */
    TRAIN_CHECKPOINT, /* value: a checkpoint that the slot has now */
    TRAIN_PLACED,     /* value: the node of the slot */
    TRAIN_NOT_COPIED, /* the slot could not fetch the checkpoint of REPLICATE */
    TRAIN_RETURNED,   /* the replica ended; value: its newest checkpoint, 0 if none */
    TRAIN_STOP,       /* save, then end the job */
    TRAIN_STORED,     /* value: the checkpoint that the trainer has now; 0: STORE failed */
    TRAIN_DURABLE,    /* value: the newest one in the durable store; bad: one that is damaged;
                         highest: of all there, complete or not */
};

struct train_event {
    enum train_event_kind kind;
    int64_t now; /* milliseconds, never decreasing */
    uint32_t slot;
    int64_t generation; /* for STEPPED, RETURNED and ADOPTED; CONNECTED: of its last replica */
    int64_t value;
    int64_t parts; /* CONNECTED, CHECKPOINT, RETURNED: of the checkpoint; 0: the slot has all */
    int64_t bad, highest;
    int code;   /* RETURNED: exit status, if signal is 0 */
    int signal; /* RETURNED: the signal that ended it */
};

/* ---- causes ---- */

/* Why a generation ended, or an action is needed. */
enum train_cause {
    TRAIN_CAUSE_NONE,
    TRAIN_CAUSE_GROW,       /* more slots are ready */
    TRAIN_CAUSE_SHRINK,     /* fewer replicas are wanted */
    TRAIN_CAUSE_NOTICE,     /* a node is about to be interrupted */
    TRAIN_CAUSE_INTERVAL,   /* a checkpoint is due */
    TRAIN_CAUSE_EXIT,       /* a replica failed: `code` */
    TRAIN_CAUSE_KILLED,     /* a replica was killed by a signal: `code` */
    TRAIN_CAUSE_SLOT_LOST,  /* an agent or its node is gone */
    TRAIN_CAUSE_HANG,       /* no step for too long */
    TRAIN_CAUSE_SCRIPT,     /* the script ended by itself as if it had been asked to */
    TRAIN_CAUSE_SURPLUS,    /* the slot is not needed */
    TRAIN_CAUSE_NO_CONNECT, /* the agent of a slot did not connect in time */
    TRAIN_CAUSE_SAVE_LATE,  /* the replicas did not save in time */
    TRAIN_CAUSE_STOP,       /* the user asked for it */
    TRAIN_CAUSE_DONE,       /* the script is complete */
    TRAIN_CAUSE_FAILURES,   /* too many failures in a row */
    TRAIN_CAUSE_COUNT,
};

/* "a node is about to be interrupted", ... */
const char *train_cause_text(enum train_cause cause);

/* ---- actions ---- */

enum train_action_kind {
    TRAIN_SUBMIT,    /* submit the slot to Ray */
    TRAIN_START,     /* start a replica; kills one of an older generation first */
    TRAIN_SAVE,      /* ask the replica to save and end */
    TRAIN_KILL,      /* kill the replica */
    TRAIN_STACKS,    /* print the stack traces of the replica */
    TRAIN_REPLICATE, /* fetch the checkpoint from a slot that has it */
    TRAIN_STORE,     /* the trainer fetches the checkpoint: no other place is safe */
    TRAIN_LEAVE,     /* end the slot */
    TRAIN_END,       /* the job has ended; see its phase */
};

struct train_action {
    enum train_action_kind kind;
    uint32_t slot;
    int64_t generation;
    int64_t rank, world; /* START */
    int64_t checkpoint;  /* START, REPLICATE, STORE: 0 if there is none */
    int64_t parts;       /* of the checkpoint, if no slot has all of it; else 0 */
    enum train_cause cause;
};

enum { TRAIN_ACTIONS_MAX = TRAIN_SLOTS_MAX * 4 };

struct train_actions {
    struct train_action items[TRAIN_ACTIONS_MAX];
    size_t count;
};

/* ---- the job ---- */

enum train_phase {
    TRAIN_WAITING, /* for slots */
    TRAIN_RUNNING,
    TRAIN_SAVING,   /* the replicas were asked to save and end */
    TRAIN_SETTLING, /* a replica failed: waiting for reports */
    TRAIN_SUCCEEDED,
    TRAIN_FAILED,
    TRAIN_STOPPED,
};

struct train_job {
    struct train_settings settings;
    struct train_slot slots[TRAIN_SLOTS_MAX];
    enum train_phase phase;
    int64_t since; /* time of the last change of phase */
    int64_t now;
    int64_t target, room;
    uint32_t last_slot;     /* the highest id so far */
    int64_t generation;     /* the current or last one; 0: none yet */
    int64_t world;          /* its size */
    int64_t started_from;   /* its checkpoint; 0: none, or unknown after a restart of the trainer */
    int64_t checkpoint;     /* the newest that a slot reported; 0: none */
    int64_t checkpoint_at;  /* when it was reported, or when the first generation started */
    int64_t stepped_at;     /* the last progress of the generation */
    int64_t steps;          /* of the generation */
    int64_t step_ms;        /* mean duration of its steps; 0: unknown */
    int64_t save_ms;        /* the longest save so far */
    int64_t failures;       /* in a row without a new checkpoint */
    enum train_cause cause; /* why the last generation ended, or the job */
    int code;               /* for TRAIN_CAUSE_EXIT and _KILLED */
    uint32_t culprit;       /* slot that caused it; 0: none */
    bool is_stopping;       /* the user asked to end the job */
    int64_t stored;         /* the checkpoint that the trainer itself has; 0: none */
    int64_t freed, freed_at; /* recently ended slots whose room is not used again; need.h */
    int64_t left, left_at;   /* recently ended slots of interrupted nodes; need.h */
    int64_t durable;         /* the newest one in the durable store; 0: none */
    int64_t bad;             /* a damaged one in the durable store */
    int64_t durable_floor;   /* the highest generation in it: the next one is higher */
    int64_t replicated;      /* the checkpoint that a second slot was asked to fetch */
    uint32_t copier;         /* that slot; 0: none fetches */
    int64_t copy_after;      /* not again before this time */
    int64_t storing;         /* the checkpoint that the trainer fetches; 0: none */
    int64_t store_after;     /* not again before this time */
    int64_t storing_at;      /* when it began to fetch, or the job began */
    int64_t copy_due;        /* it then fetches a checkpoint that two nodes have */
    bool has_stacks;         /* stack traces of a hang were requested */
    bool has_stepped;        /* some generation reported a step */
};

void train_job_init(struct train_job *job, const struct train_settings *settings);

/* After a restart of the trainer: the slots of the recorded job are silent until they connect. */
void train_job_resume(struct train_job *job, int64_t now);

/* Applies the event and decides. `actions` is overwritten. */
void train_job_step(struct train_job *job, const struct train_event *event,
                    struct train_actions *actions);

/* The number of replicas that should run: the target within the limits. */
int64_t train_job_wanted(const struct train_job *job);
bool train_job_is_over(const struct train_job *job);

/* How many parts of the checkpoint connected slots must still exchange; 0: one of them, or another
 * place, has all of it. */
int64_t train_job_parts(const struct train_job *job, int64_t checkpoint);

/* NULL if there is none. */
const struct train_slot *train_job_slot(const struct train_job *job, uint32_t id);
