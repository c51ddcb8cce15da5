/*
 * head_setup.h: the head, from its first answer to ssh to the end of its last step.
 *
 * One connection: this program goes there, then the mounts, then files and steps in one request.
 * The first step starts the head's service, so that it sets up the workers while the head's own
 * steps still run.
 */
#pragma once

#include "app/cloud_session.h"
#include "app/cluster_state.h"
#include "app/setup/setup_plan.h"
#include "app/view.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "remote/node_session.h"

struct head_setup;

struct head_setup_hooks {
    void *context;
    /* What is shown of the head has changed: phase, step, detail, failure. */
    void (*changed)(void *context);
    /* The files are there: what is to be done? Called right before it is sent, so that what is
     * handed over is what is known then. */
    bool (*plan)(void *context, const struct node_hello *hello, struct setup_plan *ret_plan,
                 struct err *err);
    void (*sent)(void *context);
    void (*service)(void *context);                                 /* the head's service runs */
    void (*done)(void *context, bool is_ok, const struct err *err); /* once */
};

struct head_setup_input {
    struct cloud_session *session;
    const struct config *config;
    const struct cluster_state *state;
    struct ssh_place place;
    struct node_view *view; /* kept up to date here */
    struct head_setup_hooks hooks;
};

struct head_setup *head_setup_start(const struct head_setup_input *input);
void head_setup_end(struct head_setup *setup); /* NULL is fine; what runs there goes on */
