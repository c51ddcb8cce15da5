/*
 * worker_past.h: with what each worker was set up, and whether that is still what is wanted.
 *
 * What is wanted of a worker is the key of its steps (bundle.h), which follows from the file and
 * from the contents of its mounts. A later `up` changes it; and when Ray on the head is started
 * anew, workers that were in the Ray of before must start theirs again. Both are an update: the
 * same machine, a new session, all steps that were not done before.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "remote/bundle.h"
#include "remote/node_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAY_NODE_SIZE = 64 }; /* 56 hexadecimal digits and a zero byte */

struct worker_past {
    uint64_t instance;
    uint64_t launch; /* a machine that is started again, by another launch, has no past */
    /* Of the last set-up, written down before it begins; empty: none is known. */
    char key[STEP_KEY_SIZE];
    char run[NODE_RUN_SIZE];  /* the name of its request */
    char head[RAY_NODE_SIZE]; /* Ray's id of the head when this worker was last seen in Ray */
    bool kept_ray;            /* its start commands were left out */
    bool is_done;             /* it went well to its end */
    /* Of this process, not written down. */
    char wanted[STEP_KEY_SIZE]; /* empty: not known yet */
    char next_run[NODE_RUN_SIZE];
    bool is_updating; /* its set-up runs again */
    bool keeps_ray;   /* in which its start commands are left out */
};

/* For a journal: one line of text, and back. What is not understood, or of another launch, is
 * nothing. */
struct str worker_past_text(const struct worker_past *past, struct arena *arena);
void worker_past_read(struct str text, struct worker_past *past);

/* What is begun, and how it ended. */
void worker_past_begin(struct worker_past *past);
void worker_past_end(struct worker_past *past, bool is_fine);

/* How things are now. */
struct worker_present {
    struct str head; /* Ray's id of it; empty: Ray does not answer */
    bool is_in_ray;  /* the worker */
    bool keeps_ray;  /* --no-restart */
};

bool worker_past_is_outdated(const struct worker_past *past, const struct worker_present *now);

/* The name of a request for it. A first set-up has the same one whoever asks, and so has whatever
 * was begun and is gone on with; an update has one of its own for every `up` (serial) and every
 * start of Ray on the head. */
void worker_past_name(struct worker_past *past, struct str id, int64_t serial, struct str head);

/* ---- all of them ---- */

struct worker_pasts {
    struct worker_past *items; /* on the heap */
    size_t count, capacity;
};

void worker_pasts_clear(struct worker_pasts *pasts);
/* NULL: not known. Valid until one is added. */
struct worker_past *worker_pasts_find(const struct worker_pasts *pasts, uint64_t instance);
/* Anew, if it is known. */
struct worker_past *worker_pasts_add(struct worker_pasts *pasts, uint64_t instance,
                                     uint64_t launch);
