/* worker_setup_internal.h: the state of a worker's setup, shared by the files that implement it. */
#pragma once

#include "app/head/workers/worker_setup.h"
#include "app/node_log.h"
#include "app/setup/setup_plan.h"
#include "remote/node_session.h"

struct worker {
    struct worker *next;
    struct worker_setups *all;
    struct arena arena; /* lives as long as the worker is known */
    struct arena words; /* memory of the detail; cleared with every change */
    struct node_log log;
    struct worker_machine machine;
    struct worker_progress progress;
    struct ssh_target place;
    struct node_session *session; /* NULL once closed */
    struct child *copy;           /* running rsync, or NULL */
    size_t copies_done;           /* number of copied mounts and synced files */
    struct setup_plan plan;
    struct str host_key; /* host key that the worker will present */
    bool has_contact, has_plan, is_sent, is_over;
    bool waits_for_key; /* for the host key from the cloud */
    bool waits;         /* the setup waits for the token or the head */
};

struct worker_setups {
    struct worker_setups_setup setup;
    struct worker *workers;
    /* Separate from the sessions' pool: a session keeps its place until its setup is done, so a
     * copy that had to wait for a place there would deadlock. */
    struct child_pool *copies;
    struct loop_timer *look; /* poll interval while a worker waits */
    int64_t look_ms;
};

/* ---- worker_setup.c ---- */

void worker_phase(struct worker *worker, enum node_phase phase, struct str detail);
/* Fails the setup: copies `failure`, logs it and calls the hooks. */
void worker_fail(struct worker *worker, const struct node_failure *failure);
/* Sends the steps, after all files were copied. */
void worker_send(struct worker *worker);
/* Waits; worker_copy_next() is retried periodically. */
void worker_wait(struct worker *worker, struct str what);

/* ---- worker_copy.c ---- */

/* Copies the next file or folder, or calls worker_send() after the last. */
void worker_copy_next(struct worker *worker);

#define worker_log(worker, ...) node_log_say(&(worker)->log, __VA_ARGS__)
