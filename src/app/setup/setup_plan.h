/*
 * setup_plan.h: from a configuration to the steps of one node, in Ray's order and with Ray's words.
 *
 *     [service] -> look around -> initialization commands -> set-up commands -> Ray is there ->
 *     environment -> [the head's Ray answers, versions agree] -> start commands ->
 *     [spot notices are watched]
 *
 * Pure: the same input gives the same steps, so that what was done before is known to be done.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"
#include "remote/node_request.h"

#define SETUP_PROGRAM "~/.shoal/bin/shoal"   /* this program, on every node */
#define SETUP_TOKEN_FILE "~/.ray/auth_token" /* where Ray itself looks */

enum setup_restart {
    SETUP_RESTARTS,     /* as Ray: everything that is not done yet, then start Ray again */
    SETUP_NO_RESTART,   /* no start commands: for a node whose Ray is to be left alone */
    SETUP_RESTART_ONLY, /* no set-up commands */
};

struct setup_input {
    const struct config *config;
    const struct config_node_type *type;
    bool is_head;
    struct str instance_id; /* the cloud's */
    struct str machine;     /* "m5.large"; may be empty */
    bool is_spot;
    struct str head_ip;     /* workers: the head's private address */
    struct str token;       /* workers: of Ray's authentication; heads make their own */
    struct str ray_version; /* to be installed when there is none; empty: by the file, or tested */
    /* Of mounts and configuration: set up again when it changes, as in Ray. May be empty. */
    struct str runtime_hash;
    bool has_usage_stats;
    enum setup_restart restart;
    /* The head's service, and what it is told first (handover.h); empty for workers. */
    struct str handover;
    /* What else is to be there before the first step: ~/ray_bootstrap_config.yaml, keys. */
    const struct node_file *files;
    size_t file_count;
};

/* What a step is to the user, by its number in the bundle. */
struct setup_step {
    const char *kind;     /* "look around", "initialization", "set-up", "start", ... */
    size_t number, count; /* 3 of 5 of its kind */
    struct str command;   /* as the file has it; empty: our own */
    struct str path;      /* "setup_commands[2]"; empty: our own */
    enum { SETUP_IS_SETUP, SETUP_IS_WAITING, SETUP_IS_STARTING } phase; /* for view.h */
};

struct setup_plan {
    struct node_request request;
    const struct setup_step *steps; /* one for each of the bundle */
    struct str *warnings;           /* such as: the dashboard is open to everybody */
    size_t warning_count;
};

/* Everything lives in `arena` and in the input. */
bool setup_plan_make(const struct setup_input *input, struct arena *arena,
                     struct setup_plan *ret_plan, struct err *err) MUST_USE;

/* How long a machine may take to answer ssh: AUTOSCALER_NODE_START_WAIT_S, as Ray; 15 minutes. */
int64_t setup_contact_ms(void);

/* Does the file itself say how Ray authenticates? Then we leave that alone. */
bool setup_has_own_auth(const struct config *config);

/* What a failed step's last words usually mean, and what to do: from a table. False: nothing is
 * known. */
bool setup_explain(struct str tail, struct str *ret_why, struct str *ret_next);

/* The same by the exit status alone, for a step that said nothing known. */
bool setup_explain_status(int status, struct str *ret_why, struct str *ret_next);
