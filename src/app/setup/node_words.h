/*
 * node_words.h: the jobs of `shoal node WORD` that are steps of a node's set-up.
 *
 * They run in the user's login shell, so that they see the PATH that the user's commands see. Each
 * says on standard output what it found, on standard error what is wrong and what to do about it,
 * and returns the exit status of the process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node_probe_setup {
    bool is_bare;     /* no command of the file may still bring what is missing */
    const char *need; /* a program that the first command calls; NULL: none is known */
};

/* Looks around, and refuses early what surely cannot go well. */
int node_probe(const struct node_probe_setup *setup);

/* Sees that Ray is there; installs that version into an environment of ours if it is not. */
int node_ray(const char *version);

enum node_env_token { NODE_ENV_NO_TOKEN, NODE_ENV_TOKEN, NODE_ENV_MAKE_TOKEN };

/* Ray's place and authentication in every shell of the user's. */
int node_env(enum node_env_token token);

struct node_gate_setup {
    const char *gcs;        /* "10.0.0.4:6379" */
    const char *token_file; /* NULL: no authentication */
    int64_t deadline_ms;    /* 0: 15 minutes */
};

/* Waits for the head's Ray, and compares its versions with those here. */
int node_gate(const struct node_gate_setup *setup);

/* Prints what the shell of the head's start command is to evaluate first. */
int node_start(void);

/* Status 0 when nothing runs here that `ray stop` would end. */
int node_idle(void);

/* ---- for the head's service ---- */

/* Does Ray's own monitor run here? Two autoscalers would fight over the machines. */
bool node_has_monitor(void);
