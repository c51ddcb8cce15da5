/*
 * head_setup.h: sets up the head, from its first ssh connection to the end of its last step.
 *
 * Over one connection it copies this program, then the mounts, then sends files and steps in one
 * request. The first step starts the head's service, so that it sets up the workers while the
 * head's own steps still run.
 */
#pragma once

#include "app/cloud_session.h"
#include "app/cluster_state.h"
#include "app/model/node_view.h"
#include "app/setup/setup_plan.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "remote/node_session.h"

struct head_setup;

struct head_setup_hooks {
    void *context;
    /* The view of the head has changed: phase, step, detail or failure. */
    void (*changed)(void *context);
    /* The mounts are copied: returns the plan. Called right before the plan is sent, so that the
     * handover is current. */
    bool (*plan)(void *context, const struct node_hello *hello, struct setup_plan *ret_plan,
                 struct err *err);
    void (*sent)(void *context);
    /* The host key of the first boot, which is visible in user-data, could not be replaced. */
    void (*kept_host_key)(void *context, struct str why);
    /* The head's service is running. */
    void (*service)(void *context);
    void (*done)(void *context, bool is_ok, const struct err *err); /* called once */
    /* ssh has not answered for two minutes of the usual 15; may be NULL. */
    void (*slow)(void *context);
};

struct head_setup_input {
    struct cloud_session *session;
    const struct config *config;
    const struct cluster_state *state;
    struct ssh_target place;
    bool keeps_host_key;    /* as in node_session_setup */
    struct node_view *view; /* updated by head_setup */
    struct head_setup_hooks hooks;
};

struct head_setup *head_setup_start(const struct head_setup_input *input);
/* NULL is allowed; running steps continue on the head */
void head_setup_end(struct head_setup *setup);
