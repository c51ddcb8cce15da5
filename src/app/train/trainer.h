/*
 * trainer.h: runs one elastic training job: executes the decisions of core/train/job.h.
 *
 * Submits slots as Ray jobs, talks to their agents, and watches Ray for nodes that come, drain and
 * die. It writes what a restart needs to its folder before it acts: a trainer that is killed and
 * started again finds its agents, whose replicas kept running.
 */
#pragma once

#include "app/train/script_kind.h"
#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/train/job.h"
#include "core/train/size.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line of progress for the user, or one JSON object. */
typedef void trainer_line_fn(void *context, struct str line);

/* Called once a second with the state of the job. */
struct train_view;
typedef void trainer_live_fn(void *context, const struct train_view *view);

/* In the folder of a job. */
#define TRAINER_LOCK "trainer.lock"
#define TRAINER_SOCKET "ctl.sock"

struct trainer_setup {
    const char *job;            /* name: letters, digits and dashes */
    const char *folder;         /* where its records are */
    const char *ray;            /* "http://10.0.0.4:8265" */
    const char *gcs;            /* "10.0.0.4:6379" */
    const char *program;        /* path of this program on the nodes; NULL: the same as here */
    const char *working_folder; /* the user's files */
    const char *script;         /* relative to it */
    const char *const *args;
    size_t arg_count;
    const char *python;
    enum script_kind kind;
    double cpus, gpus;   /* of one replica */
    const char *output;  /* where checkpoints are stored durably; NULL: nowhere */
    int64_t keep;        /* how many of them */
    bool is_adopting;    /* take them from the job that they belong to */
    const char *prepare; /* command that prepares a node; NULL: none */
    bool is_cuda_warm;   /* new slots initialize CUDA before they are ready */
    struct train_settings settings;
    int64_t batch; /* samples of one step, or with goal.is_scaled of one replica; 0: unknown */
    struct size_goal goal; /* which number of replicas to prefer */
    bool is_json;
    const char *const *command; /* the words after `shoal train`, to continue the job */
    size_t command_count;
    const char *directory; /* where they were given */
    trainer_line_fn *line;
    trainer_live_fn *live; /* NULL: none */
    void *context;
};

/* Two trainers of one job exclude each other. Creates the folder. The lock is held until it is
 * dropped or the process ends. */
struct lock;
bool trainer_lock(const char *folder, const char *job, struct lock **ret_lock,
                  struct err *err) MUST_USE;

/* What the ids of the slots' Ray jobs begin with. Differs between jobs of the same name, of other
 * users for example. */
struct str trainer_slot_prefix(const char *job, struct str token, struct arena *arena);

/*
 * Runs until the job has ended. The caller has the lock. On SIGINT or SIGTERM the replicas save and
 * the job stops. A second signal ends the trainer at once, and the job continues without it.
 * `ret_phase` is the last phase of the job. Fails with ERR_EXISTS if --output belongs to another
 * job, and this one has not begun.
 */
bool trainer_run(const struct trainer_setup *setup, enum train_phase *ret_phase,
                 struct err *err) MUST_USE;
