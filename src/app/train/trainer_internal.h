/* trainer_internal.h: shared by the files of the trainer. */
#pragma once

#include "app/head/ray/gcs_poller.h"
#include "app/train/sched_hints.h"
#include "app/train/step_counter.h"
#include "app/train/train_progress.h"
#include "app/train/trainer.h"
#include "app/train/trainer_demand.h"
#include "base/arena.h"
#include "core/train/slot_backoff.h"
#include "io/child.h"
#include "io/http.h"
#include "io/http_server.h"
#include "io/json_line.h"
#include "io/line_socket.h"
#include "io/loop.h"
#include "ray/jobs.h"

enum { TRAINER_WAITING_MAX = 1024 };
enum { TRAINER_HOST_SIZE = 64, TRAINER_NODE_SIZE = 64, TRAINER_TOKEN_SIZE = 65 };

/* What the trainer knows about a slot, in addition to its state in the core. */
struct slot_link {
    uint32_t slot; /* 0: unused */
    struct line_link *link;
    struct caller *caller; /* owner of the link */
    char host[TRAINER_HOST_SIZE];
    char node[TRAINER_NODE_SIZE];
    int64_t state_port; /* where it serves its checkpoints */
    int64_t free_port;  /* for a process group */
    int64_t price;      /* micro-dollars per hour of its node; 0: unknown */
    bool is_prepared;
};

/* The times of one generation, in seconds of wall time; for the report. */
struct generation_times {
    int64_t generation, world, old_world;
    enum train_cause cause;
    double last_step;                 /* of the generation before */
    double saved;                     /* rank 0 of the generation before had ended */
    double begun, joined, first_step; /* of rank 0 of this generation */
    int64_t load_ms;
    int64_t checkpoint;
    int64_t repeated; /* steps */
    bool is_reported;
};

/* What is known about the speed of the job, to choose its size. */
struct trainer_size {
    struct speed_samples samples;          /* measured steps, by number of replicas */
    struct sched_hints hints;              /* of AdaptDL; profiled is 0 before the first ones */
    int64_t generation;                    /* the measured one */
    double done;                           /* progress of all generations; see step_progress() */
    int64_t steps;                         /* of this generation, in `done` */
    double counted_steps, counted_seconds; /* of this generation, in `samples` */
    double pause;           /* mean seconds without a step at a restart; 0: unknown */
    double replica_seconds; /* all replicas together */
    int64_t interruptions;  /* nodes that were interrupted or lost */
    int64_t looked_at;      /* monotonic time of the last decision */
    bool has_chosen;
};

struct trainer {
    const struct trainer_setup *setup;
    struct loop *loop;
    struct http *http;
    struct child_pool *pool;
    const char *program; /* path of this program here */
    struct jobs *jobs;
    struct gcs_poller *poller;
    struct line_server *server;
    struct http_serve *supervisor; /* NULL unless it is an AdaptDL script */
    uint16_t supervisor_port;
    struct trainer_size size;
    bool has_hints_error;      /* was reported */
    struct line_server *ctl;   /* NULL: none */
    struct caller *strangers;  /* connections that have not proven that they know the token */
    struct loop_timer *expire; /* closes them in time */
    struct asker *askers;      /* connections of ctl */
    struct caller *callers;    /* all connections of agents */
    struct loop_timer *tick, *look;
    struct loop_signal *interrupt, *terminate;
    struct arena arena;
    struct train_job job;
    struct slot_link slots[TRAIN_SLOTS_MAX];
    struct generation_times times;
    struct train_progress progress;
    double begun;     /* when the job first started: wall time, seconds */
    double sampled;   /* time of the last rate in the history */
    double shown;     /* time of the last live line */
    double priced;    /* time of the last request for prices */
    double last_step; /* of the current generation */
    char token[TRAINER_TOKEN_SIZE];
    char id[TRAINER_TOKEN_SIZE];   /* random; another one after the job was complete */
    char save[TRAINER_TOKEN_SIZE]; /* of all saves of the generation `save_generation` */
    int64_t save_generation;
    bool is_old_owner;            /* an earlier release has used --output, and left no owner */
    bool has_output;              /* --output is this job's */
    struct err refusal;           /* why the job cannot begin; ERR_NONE: it can */
    char host[TRAINER_HOST_SIZE]; /* where agents connect; empty until Ray reports it */
    uint16_t port;
    int server_pid; /* serves the user's files */
    uint16_t code_port;
    unsigned signals;
    struct asker *storing;  /* waits for a checkpoint to be stored; NULL: none */
    int64_t storing_number; /* that checkpoint */
    bool is_storing;
    bool is_stepping;
    bool has_record_error;                           /* was reported */
    struct train_event waiting[TRAINER_WAITING_MAX]; /* until the record can be written */
    size_t waiting_count;
    bool is_storing_last; /* the job ends when its last checkpoint is in the durable store */
    bool has_left;        /* the job has ended, its last checkpoint is stored, its slots are gone */
    struct slot_backoff backoff;
    bool has_said_waiting;
    bool has_jobs_error;     /* was reported */
    bool has_history_error;  /* was reported */
    bool is_asking_draining; /* a request to the GCS is open */
    struct trainer_demand *demand;
};

/* ---- trainer.c ---- */

/* Passes an event to the core and executes its actions. `event->now` is set here. */
void trainer_event(struct trainer *trainer, struct train_event event);
struct slot_link *trainer_slot(struct trainer *trainer, uint32_t slot); /* NULL: unknown */
double trainer_now(const struct trainer *trainer);                      /* wall time, seconds */
/* Stores the newest checkpoint in FOLDER/kept. False: it is there, or there is none. */
bool trainer_store(struct trainer *trainer, child_done_fn *done);
/* The replicas save, and the job ends. */
void trainer_stop(struct trainer *trainer);

/* ---- trainer_ctl.c: other commands ---- */

void trainer_open_ctl(struct trainer *trainer);
void trainer_close_ctl(struct trainer *trainer);

/* ---- trainer_agents.c: connections of agents ---- */

bool trainer_listen(struct trainer *trainer, struct err *err) MUST_USE;
void trainer_close_agents(struct trainer *trainer);
/* Closes the connection of a slot at once. */
void trainer_hang_up(struct slot_link *slot);
void trainer_send(struct slot_link *slot, json_t *message);
void trainer_start_replica(struct trainer *trainer, const struct train_action *action);
void trainer_replicate(struct trainer *trainer, const struct train_action *action);
/* "HOST:PORT,..." of all slots that have the checkpoint, and of this trainer if it has it. */
void trainer_add_sources(struct trainer *trainer, int64_t checkpoint, struct buf *out);
json_t *trainer_message(const char *type, int64_t generation);

/* Fetches it to FOLDER/kept. */
void trainer_store_checkpoint(struct trainer *trainer, int64_t checkpoint, child_done_fn *done);
/* The core asked for it: reports the result to the core. */
void trainer_store_now(struct trainer *trainer, const struct train_action *action);

/* The job has ended, and this checkpoint is in the durable store. */
void trainer_check_durable(struct trainer *trainer, int64_t checkpoint);

/* ---- trainer_ray.c: slots as Ray jobs, and Ray's nodes ---- */

bool trainer_open_ray(struct trainer *trainer, struct err *err) MUST_USE;
void trainer_submit(struct trainer *trainer, uint32_t slot);
void trainer_end_slot(struct trainer *trainer, uint32_t slot);
void trainer_look(void *context); /* lists the jobs of the slots */

/* ---- trainer_supervisor.c: the API that AdaptDL calls ---- */

bool trainer_open_supervisor(struct trainer *trainer, struct err *err) MUST_USE;
/* Adds its URL to a request to start a replica, if there is one. */
void trainer_put_supervisor(struct trainer *trainer, json_t *message);

/* ---- trainer_size.c: the number of replicas ---- */

void trainer_take_hints(struct trainer *trainer, const struct sched_hints *hints);
void trainer_measure(struct trainer *trainer, const struct step_counts *counts);
/* Chooses again every few seconds, unless the user has no preference. */
void trainer_choose_size(struct trainer *trainer);
int64_t trainer_steps_done(const struct trainer *trainer);
/* Samples of one step of all replicas; 0: unknown. */
int64_t trainer_batch(const struct trainer *trainer);
/* Dollars per hour and replica: what the user gave, or the nodes cost; 0: unknown. */
double trainer_price(const struct trainer *trainer);
/* A node of the cluster, from the head's service. */
void trainer_take_node(void *context, const struct node_view *view);
/* The measured speeds, for a trainer that is started again. */
json_t *trainer_speeds(const struct trainer *trainer);
void trainer_load_speeds(struct trainer *trainer, const json_t *speeds);

/* ---- trainer_record.c: what survives a restart, and what users see ---- */

bool trainer_load(struct trainer *trainer, bool *ret_is_resumed, struct err *err) MUST_USE;
/* The phase of the job. It has not ended before its last checkpoint is stored: until then only
 * its slots have it. */
enum train_phase trainer_phase(const struct trainer *trainer);
/* False: nothing may be done that the record does not say. */
bool trainer_save(struct trainer *trainer) MUST_USE;
/* A checkpoint was stored in FOLDER/kept: records it, then removes the oldest ones. */
void trainer_expire_kept(struct trainer *trainer);
/* The state of the job for other programs, without its secrets. */
json_t *trainer_status(struct trainer *trainer);
/* Prints the line, and records it in the history of the job. */
void trainer_say(struct trainer *trainer, const char *fmt, ...) PRINTF_LIKE(2, 3);
void trainer_report_action(struct trainer *trainer, const struct train_action *action);
/* A trainer was started. */
void trainer_report_run(struct trainer *trainer, bool is_resumed);
/* Shows and records the progress, from time to time. */
void trainer_report_progress(struct trainer *trainer);
void trainer_report_counts(struct trainer *trainer, const struct step_counts *counts,
                           bool is_rank_0);
