/*
 * setup_record.h: what each worker was set up with, and whether it must be set up again.
 *
 * The required setup is the key of a worker's steps (bundle.h), which depends on the file and on
 * the contents of its mounts; a later `up` may change it. When Ray on the head is replaced, workers
 * must run their start commands again, whether they had joined the old Ray or only started theirs.
 * Both are updates: the same machine, a new session, and all steps that are not done yet.
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

struct setup_record {
    uint64_t instance;
    uint64_t launch; /* a machine started again by another launch has no record */
    /* The last setup, journaled before it starts; empty if unknown. */
    char key[STEP_KEY_SIZE];
    char run[NODE_RUN_SIZE];    /* name of its request */
    char head[RAY_NODE_SIZE];   /* Ray's id of the head when this worker was last in Ray */
    char target[RAY_NODE_SIZE]; /* Ray's id of the head that its start commands ran for */
    bool kept_ray;              /* the last setup skipped its start commands */
    bool is_done;               /* it succeeded */
    /* Not journaled. */
    char wanted[STEP_KEY_SIZE]; /* empty if unknown */
    char next_run[NODE_RUN_SIZE];
    bool is_first;    /* the last setup is the only one of this machine */
    bool is_updating; /* being set up again */
    bool keeps_ray;   /* the running setup skips its start commands */
    int64_t done_ms;  /* monotonic; when a setup of this process succeeded; 0 if none did */
    /* Monotonic time when a Ray other than its target first listed it, because the GCS kept its
     * tables on disk; 0 if not so. */
    int64_t restored_ms;
    unsigned rejoins; /* restarts of its Ray because it did not join */
};

/* With the machine's id: the name of its record in the journal. */
#define WORKER_FACT "worker "

/* One line of text for the journal. Reading ignores invalid text and records of another launch. */
struct str setup_record_text(const struct setup_record *past, struct arena *arena);
void setup_record_read(struct str text, struct setup_record *past);

/* A setup starts or ends; `head` is Ray's id of the head, empty if Ray does not answer. */
void setup_record_begin(struct setup_record *past, struct str head);
void setup_record_end(struct setup_record *past, bool is_fine, struct str head, int64_t now_ms);
/* Ray on the head answers. True if that determines its target; the time to join starts now. */
bool setup_record_see(struct setup_record *past, struct str head, int64_t now_ms);
/* It joined Ray. */
void setup_record_join(struct setup_record *past, struct str head, int64_t now_ms);
/* Ray reports it dead. True if it was only in restored tables; WORKER_HAS_NEW_HEAD follows. */
bool setup_record_die(struct setup_record *past, int64_t now_ms);

/* Was Ray on the head replaced after the worker's start commands began? Then their failure, such as
 * a refused connection, does not concern the new Ray. */
bool setup_record_is_outdated(const struct setup_record *past, struct str head);

/* The current state. */
struct setup_target {
    struct str head; /* Ray's id of the head; empty if Ray does not answer */
    bool is_in_ray;  /* the worker is in Ray */
    bool keeps_ray;  /* --no-restart */
    int64_t now_ms;  /* monotonic */
};

/* Why a worker is set up again. */
enum worker_again {
    WORKER_IS_FINE,
    WORKER_IS_UNFINISHED,  /* the last setup failed or was interrupted */
    WORKER_HAS_CHANGED,    /* the file or its mounts changed */
    WORKER_KEPT_RAY,       /* --no-restart skipped its start commands, and they may run now */
    WORKER_HAS_NEW_HEAD,   /* the head's Ray that it joined was replaced */
    WORKER_HAS_NOT_JOINED, /* the worker started Ray long ago and has not joined */
    WORKER_AGAIN_COUNT
};

enum worker_again setup_record_again(const struct setup_record *past,
                                     const struct setup_target *now);
/* For logs and events. */
const char *worker_again_text(enum worker_again why);
/* Monotonic time when WORKER_HAS_NOT_JOINED may become true; 0 if it cannot. */
int64_t setup_record_rejoin_at(const struct setup_record *past);

/* Sets the name of its next request. A first setup and a resumed one have the same name in every
 * process; an update has a new name for every `up` (serial), every Ray on the head, and every
 * attempt to join. */
void setup_record_name(struct setup_record *past, struct str id, int64_t serial, struct str head);
