/*
 * view.h: a cluster as people see it: one record per node, with what it does now and why.
 *
 * The launcher on the laptop and the service on the head both tell of nodes in these words; what
 * prints them does not know who spoke. Over a wire it is a line of JSON per node (view_json.c).
 */
#pragma once

#include "app/head/insight.h"
#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_phase {
    PHASE_ASKED,      /* the cloud was asked for it */
    PHASE_BOOTING,    /* the cloud says it is on its way */
    PHASE_CONNECTING, /* it runs; ssh does not answer yet */
    PHASE_COPYING,    /* files go there */
    PHASE_SETTING_UP, /* `step` of `steps` */
    PHASE_WAITING,    /* set up; the head's Ray is not there yet */
    PHASE_STARTING,   /* ray start runs */
    PHASE_JOINING,    /* ray start is done; Ray does not list it yet */
    PHASE_READY,
    PHASE_ENDING,
    PHASE_GONE,
    PHASE_FAILED,
    PHASE_COUNT
};

/* "waiting for ssh", "set-up", ...: for people. And the word on the wire: "connecting". */
const char *node_phase_text(enum node_phase phase);
const char *node_phase_word(enum node_phase phase);

/* What went wrong, in the order in which it is told. Empty: not known, not told. */
struct node_failure {
    struct str step;    /* "set-up step 3 of 5" */
    struct str command; /* as the file has it */
    struct str path;    /* the key of that command in the file: "setup_commands[2]" */
    struct str said;    /* the last lines */
    struct str why;     /* what that usually means, if it is known */
    struct str next;    /* what to do about it */
    int status;         /* exit status; 0: none */
};

struct node_view {
    struct str name;    /* "head", "worker-2" */
    struct str id;      /* the cloud's; empty while it was only asked for */
    struct str type;    /* of the file */
    struct str machine; /* "m5.large" */
    struct str zone;
    struct str public_ip, private_ip;
    bool is_head, is_spot;
    enum node_phase phase;
    int64_t since_ms;   /* wall clock: in this phase */
    int64_t born_ms;    /* wall clock: asked for */
    int64_t price;      /* micro-dollars per hour, or PRICE_UNKNOWN */
    size_t step, steps; /* the step that runs, from 1; 0: none */
    struct str detail;  /* what runs now: a command, a file */
    struct str reason;  /* why it is there, or why it ends */
    struct node_failure failure;
    /* What Ray says of it; nothing before it joined. */
    struct str ray_id; /* 56 hexadecimal digits */
    const struct insight_use *uses;
    size_t use_count;
    int64_t idle_since_ms; /* wall clock; 0: busy, or not known */
    struct str activity;   /* why it is busy, in Ray's words */
    bool is_draining;
};

/* One object, without a newline. Reading is strict about types and skips what it does not know;
 * texts live in `arena`. */
void node_view_write(const struct node_view *view, struct buf *out);
bool node_view_read(struct str json, struct arena *arena, struct node_view *ret_view,
                    struct err *err) MUST_USE;

/* With texts of its own, in `arena` (view_copy.c). */
struct node_view node_view_copy(struct arena *arena, const struct node_view *view);
