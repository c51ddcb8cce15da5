/*
 * model/node_view.h: a node as users see it: its phase, what it is doing and why.
 *
 * The launcher on the laptop and the service on the head both report nodes in this form, so the
 * code that prints them does not depend on the source. On the wire it is one line of JSON per node
 * (model/node_view.c).
 */
#pragma once

#include "app/model/cluster_status.h"
#include "app/model/fields.h"
#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_phase {
    PHASE_REQUESTED,  /* requested from the cloud */
    PHASE_BOOTING,    /* the cloud reports it as pending */
    PHASE_CONNECTING, /* running; ssh does not answer yet */
    PHASE_COPYING,    /* copying files */
    PHASE_SETTING_UP, /* `step` of `steps` */
    PHASE_WAITING,    /* set up; Ray is not running on the head yet */
    PHASE_STARTING,   /* `ray start` is running */
    PHASE_JOINING,    /* `ray start` finished; Ray does not list it yet */
    PHASE_READY,
    PHASE_TERMINATING,
    PHASE_TERMINATED,
    PHASE_FAILED,
    PHASE_COUNT
};

/* For people: "waiting for ssh", "setup", ... In JSON: "connecting", "setting-up", ... */
const char *node_phase_text(enum node_phase phase);
const char *node_phase_name(enum node_phase phase);

/* A failure, in the order in which it is printed. Unknown parts are empty. */
struct node_failure {
    struct str step;    /* "setup command 3 of 5" */
    struct str command; /* the command as in the file */
    struct str path;    /* the key of that command in the file: "setup_commands[2]" */
    struct str said;    /* last lines of output */
    struct str why;     /* the usual cause, if known */
    struct str next;    /* what to do about the failure */
    int64_t status;     /* exit status; 0 if none */
};

struct node_view {
    struct str name;    /* "head", "worker-2" */
    struct str id;      /* cloud id; empty while only requested */
    struct str type;    /* node type of the file */
    struct str machine; /* "m5.large" */
    struct str zone;
    struct str public_ip, private_ip;
    bool is_head, is_spot;
    enum node_phase phase;
    int64_t since_ms;     /* wall clock, start of this phase */
    int64_t requested_ms; /* wall clock, when it was requested */
    int64_t price;        /* micro-dollars per hour, or PRICE_UNKNOWN */
    size_t step, steps;   /* the running step, from 1; 0 if none */
    struct str detail;    /* current command or file */
    struct str reason;    /* why the node was launched or is being terminated */
    struct node_failure failure;
    int64_t kept_until_ms; /* wall clock: a failed node runs until then; 0: not kept */
    /* Ray's state of the node; empty before it joined. */
    struct str ray_id; /* 56 hexadecimal digits */
    const struct resource_usage *uses;
    size_t use_count;
    int64_t idle_since_ms; /* wall clock; 0 if busy or unknown */
    struct str activity;   /* why the node is busy, as reported by Ray */
    bool is_draining;
    bool is_outdated; /* the file was changed; it serves until its turn to be replaced */
};

struct json_t;

extern const struct field_table node_view_table, node_failure_table;

/* As a JSON object; release it with json_decref(). Reading is strict about types and skips what it
 * does not know; texts live in `arena`. */
struct json_t *node_view_json(const struct node_view *view) MUST_USE;
bool node_view_read(const struct json_t *json, struct arena *arena, struct node_view *ret_view,
                    struct err *err) MUST_USE;

/* With its own texts, in `arena`. */
struct node_view node_view_copy(struct arena *arena, const struct node_view *view);
