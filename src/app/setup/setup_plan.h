/*
 * setup_plan.h: converts a configuration into the setup steps of one node, in Ray's order.
 *
 *     [service] -> machine check -> initialization commands -> setup commands -> Ray ->
 *     environment -> [wait for Ray on the head, compare versions] -> start commands ->
 *     [spot watcher]
 *
 * Pure: equal input gives equal steps, so completed steps can be recognized and skipped.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"
#include "provider/param.h"
#include "remote/node_request.h"

#define SETUP_PROGRAM "~/.shoal/bin/shoal"   /* path of this program on every node */
#define SETUP_TOKEN_FILE "~/.ray/auth_token" /* where Ray looks for its token */
/* On the head, for Ray's own autoscaler. */
#define BOOTSTRAP_CONFIG "~/ray_bootstrap_config.yaml"
#define BOOTSTRAP_KEY PROVIDER_HEAD_KEY
/* On the head: a bundle of the commands that start Ray. */
#define SETUP_STARTS_FILE "~/.shoal/head-start.json"

enum setup_restart {
    SETUP_RESTARTS,     /* as Ray: run all steps that are not done yet, then restart Ray */
    SETUP_NO_RESTART,   /* no start commands: Ray on the node must keep running */
    SETUP_RESTART_ONLY, /* no setup commands */
};

struct setup_input {
    const struct config *config;
    const struct config_node_type *type;
    bool is_head;
    struct str instance_id; /* assigned by the cloud */
    struct str machine;     /* "m5.large"; may be empty */
    bool is_spot;
    struct str head_ip; /* workers: the head's private address */
    struct str token;   /* workers: Ray's authentication token; heads create their own */
    /* To install if there is none; if empty, the file's version or the tested one. */
    struct str ray_version;
    /* Hash of mounts and configuration: a change repeats the setup, as in Ray. May be empty. */
    struct str runtime_hash;
    bool has_usage_stats;
    enum setup_restart restart;
    /* The handover to the head's service (handover.h); empty for workers. */
    struct str handover;
    /* Other files needed before the first step: ~/ray_bootstrap_config.yaml, keys. */
    const struct node_file *files;
    size_t file_count;
};

/* Describes a step to the user; indexed by its number in the bundle. */
struct setup_step {
    const char *kind;     /* "checking the machine", "initialization", "setup", "start", ... */
    size_t number, count; /* 3 of 5 of its kind */
    struct str command;   /* the command as in the file; empty for our own steps */
    struct str path;      /* "setup_commands[2]"; empty for our own steps */
    enum { SETUP_IS_SETUP, SETUP_IS_WAITING, SETUP_IS_STARTING } phase; /* for model/node_view.h */
};

struct setup_plan {
    struct node_request request;
    const struct setup_step *steps; /* one entry per step of the bundle */
    struct str *warnings;           /* for example, that the dashboard is reachable by everyone */
    size_t warning_count;
};

/* The plan points into `arena` and the input. */
bool setup_plan_make(const struct setup_input *input, struct arena *arena,
                     struct setup_plan *ret_plan, struct err *err) MUST_USE;

/* How long a machine may take to answer ssh: AUTOSCALER_NODE_START_WAIT_S, as in Ray; default 15
 * minutes. */
int64_t setup_contact_ms(void);

/* Does the file configure Ray's authentication itself? Then Shoal leaves it alone. */
bool setup_has_own_auth(const struct config *config);
