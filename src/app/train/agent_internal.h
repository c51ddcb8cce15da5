/* agent_internal.h: shared by the files of the agent. */
#pragma once

#include "app/train/agent.h"
#include "app/train/runner.h"
#include "app/train/script_kind.h"
#include "app/train/slot_folder.h"
#include "app/train/step_counter.h"
#include "app/train/trainer_order.h"
#include "base/arena.h"
#include "base/buf.h"
#include "io/child.h"
#include "io/json_line.h"
#include "io/line_socket.h"
#include "io/loop.h"
#include "io/mac.h"

#include <stdbool.h>
#include <stdint.h>

enum { AGENT_TAIL_BYTES = 8 * 1024 };

/* What the trainer said about the job. Texts are in the agent's arena. */
struct agent_job {
    bool is_known;
    enum script_kind kind;
    struct str python;
    struct str script; /* relative to the folder of the user's files */
    const char **args;
    size_t arg_count;
    struct str output;  /* where checkpoints are stored durably; empty: nowhere */
    int64_t keep;       /* how many of them */
    struct str prepare; /* command that prepares a node; empty: none */
    bool is_cuda_warm;  /* see runner.h */
    bool is_adopting;   /* see trainer_order.h */
};

enum { AGENT_SAVE_SIZE = 72 };

enum replica_state {
    REPLICA_NONE,
    REPLICA_LOADING,  /* its state is being fetched and copied */
    REPLICA_STARTING, /* the runner was asked to start it */
    REPLICA_RUNNING,
    REPLICA_RETURNED, /* the script has ended; its process may still exist */
};

struct replica {
    enum replica_state state;
    int64_t generation, rank, world;
    int pid;
    bool is_stopping;   /* was asked to save */
    bool is_alive;      /* the process exists */
    int code, signal;   /* if returned */
    int64_t checkpoint; /* the newest one of the slot */
    int64_t parts;      /* of it, if the slot has only a part; else 0 */
    int64_t complete;   /* the newest one that the slot has completely */
    int64_t saves;      /* checkpoints of this generation */
    uint64_t mark;      /* of state/ when it was last kept */
    uint64_t seen;      /* of state/ at the last look */
    int64_t load_ms;
    int64_t stop_ms;            /* wall time of the request to save */
    char save[AGENT_SAVE_SIZE]; /* see trainer_order.h */
};

struct agent_setup {
    const char *host; /* of the trainer */
    uint16_t port;
    const char *token;
    const char *job;
    const char *id; /* of the job: random; empty: none */
    uint32_t slot;
};

struct agent {
    const struct agent_setup *setup;
    const char *program; /* path of this program */
    struct loop *loop;
    struct child_pool *pool;
    struct arena arena;
    struct slot_folder folder;
    struct lock *lock; /* of the folder */
    struct agent_job job;
    /* the trainer */
    struct line_link *link;
    struct loop_timer *dial, *tick;
    int64_t looked_at; /* time of the last look at checkpoints */
    struct loop_signal *term;
    bool is_greeted;
    bool is_trusted;           /* the trainer has proven that it knows the token */
    char nonce[MAC_TEXT_SIZE]; /* for that proof */
    int64_t away_since;        /* -1: connected */
    /* the slot */
    int server_pid;
    uint16_t server_port;
    struct runner *runner;
    struct loop_timer *runner_again;
    unsigned runner_ends; /* in a row, before it was ready */
    bool has_code, is_warm, is_prepared;
    bool has_output; /* it was looked at */
    bool has_node;   /* the command that prepares it has succeeded, or there is none */
    struct child *preparing;
    struct loop_timer *prepare_again;
    unsigned prepare_fails;
    /* the durable copy */
    struct child *storing, *restoring;
    struct loop_timer *store_again;
    int64_t store_number, store_part, store_parts; /* the newest one to store; 0: none */
    int64_t storing_number;
    char store_save[AGENT_SAVE_SIZE];
    int64_t durable, durable_highest; /* the newest one in it, and the highest number there */
    unsigned store_fails;
    bool is_ending; /* when the last checkpoint is stored */
    struct child *fetching_code, *loading, *snapping, *replicating;
    int64_t replicating_number;
    int64_t snap_generation, snap_number; /* of the snapshot that is being made */
    uint64_t snap_mark;
    struct replica replica;
    const struct trainer_order *next; /* a start that waits for the end of the old replica */
    struct trainer_order next_order;
    struct arena next_arena; /* its texts */
    struct step_counter steps;
    struct buf tail;   /* the last output */
    bool is_leaving;   /* Ray stops the slot; the script got the signal too */
    bool is_dismissed; /* the trainer needs neither the slot nor its checkpoints */
    bool has_given_up; /* the trainer is gone: the script saves, and the checkpoints stay */
    int status;
};

/* ---- agent.c: messages to the trainer ---- */

json_t *agent_message(const char *type);
void agent_send(struct agent *agent, json_t *message);
/* Reports that the slot can start a replica, if it can. */
void agent_prepare(struct agent *agent);
void agent_end(struct agent *agent, int status);

/* ---- agent_output.c: the durable copy, and the preparation of the node ---- */

void agent_open_output(struct agent *agent);
void agent_close_output(struct agent *agent);
/* The job is known: looks for stored checkpoints, and prepares the node. */
void agent_begin_output(struct agent *agent);
/* The slot has made the newest checkpoint, or its part of it. */
void agent_store(struct agent *agent);
/* Fetches the checkpoint of a start from the durable store; calls `done` as a load would. */
struct child *agent_restore(struct agent *agent, const struct trainer_order *order,
                            child_done_fn *done);
/* A stored checkpoint was fetched, but is damaged: the trainer uses an older one. */
void agent_report_damage(struct agent *agent, const struct child_result *result);
/* Ends the slot when its last checkpoint is stored. */
void agent_leave(struct agent *agent);

/* Starts Python again after a while. The slot stays, because others may need its checkpoints. */
void agent_open_runner_again(struct agent *agent);

/* ---- agent_replica.c: the replica ---- */

void agent_start(struct agent *agent, const struct trainer_order *order);
/* The runner exists again: a start may wait for it. */
void agent_continue(struct agent *agent);
void agent_stop(struct agent *agent, const struct trainer_order *order);
void agent_kill(struct agent *agent, int64_t generation);
void agent_replicate(struct agent *agent, const struct trainer_order *order);
void agent_stacks(struct agent *agent);
/* The trainer is gone: the script saves and ends, then the slot ends. */
void agent_give_up(struct agent *agent);
/* Looks at steps and checkpoints. */
void agent_look(struct agent *agent);
/* The script was asked to save and continues afterwards: look often. */
bool agent_is_waiting_for_save(const struct agent *agent);
void agent_add_replica(struct agent *agent, json_t *message);
extern const struct runner_hooks agent_runner_hooks;
