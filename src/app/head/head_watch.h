/*
 * head_watch.h: follows the setup of the head, of which the service is the first step.
 *
 * If it fails, no worker can join: the core launches no more of them, and users see the failure.
 */
#pragma once

#include "app/head/head_context.h"
#include "app/model/node_view.h"
#include "remote/step_run.h"

struct head_watch {
    /* Set by the owner. */
    struct head_context *head;
    void (*changed)(void *context); /* the state may have changed */
    void *context;
    /* Its own. */
    struct arena arena;
    struct loop_timer *again;
    struct step_follow *follow; /* NULL: there is no setup to follow */
    bool is_running, has_failed;
    struct node_failure failure; /* of the setup that failed */
};

void head_watch_open(struct head_watch *watch);
void head_watch_close(struct head_watch *watch);
/* Workers can join a Ray that answers, even if the last setup failed. */
enum head_state head_watch_state(const struct head_watch *watch);
