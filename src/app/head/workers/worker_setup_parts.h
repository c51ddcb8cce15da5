/* worker_setup_parts.h: the set-up of one worker from inside: its session, copies, and telling. */
#pragma once

#include "app/head/workers/worker_setup.h"
#include "app/node_log.h"
#include "app/setup/setup_plan.h"
#include "remote/node_session.h"

struct worker {
    struct worker *next;
    struct worker_setups *all;
    struct arena arena; /* as long as the worker is known */
    struct arena words; /* of the detail; cleared with every change */
    struct node_log log;
    struct worker_machine machine;
    struct worker_progress progress;
    struct ssh_place place;
    struct node_session *session; /* NULL: ended */
    struct child *copy;           /* rsync, while one runs */
    size_t copies_done;           /* of the mounts, then of the synced files */
    struct setup_plan plan;
    struct str host_key; /* that it will show */
    bool has_contact, has_plan, is_sent, is_over;
    bool waits; /* for the token or for the head */
};

struct worker_setups {
    struct worker_setups_setup setup;
    struct worker *workers;
    /* Apart from the sessions': those hold their places until they are done, and would never be
     * if copies had to wait for one. */
    struct child_pool *copies;
    struct loop_timer *look; /* for what is waited for */
    int64_t look_ms;
};

/* ---- worker_setup.c ---- */

void worker_phase(struct worker *worker, enum node_phase phase, struct str detail);
/* Gives up: `failure` is copied, the log and the hooks are told. */
void worker_fail(struct worker *worker, const struct node_failure *failure);
/* The files are there, or need not be: the steps can be sent. */
void worker_send(struct worker *worker);
/* It waits for something that is looked for from now on. */
void worker_wait(struct worker *worker, struct str what);

/* ---- worker_copy.c ---- */

/* Copies the next file or folder; when there is none left, worker_send(). */
void worker_copy_next(struct worker *worker);

/* ---- worker_tell.c ---- */

#define worker_log(worker, ...) node_log_say(&(worker)->log, __VA_ARGS__)
void worker_tell_event(struct worker *worker, const struct step_event *event);
