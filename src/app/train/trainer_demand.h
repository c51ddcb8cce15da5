/*
 * trainer_demand.h: asks the autoscaler on this machine for the nodes that a training job lacks.
 *
 * The request goes to the service on the head (app/head/ctl/ctl.h), not to Ray: a pending Ray job
 * cannot be withdrawn, and request_resources() has a single slot that others use. It is repeated
 * while the job needs nodes, because the service forgets a request that is not. Without the service
 * the job uses the nodes that Ray has.
 */
#pragma once

#include "app/model/node_view.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdint.h>

struct trainer_demand;

struct trainer_demand_setup {
    struct loop *loop;
    const char *socket; /* of the service */
    const char *job;
    double cpus, gpus;           /* of one replica */
    int64_t repeat_ms, retry_ms; /* 0: every 5 s; 1 s after the first failure, then longer */
    void *context;
    int64_t (*leaving)(void *context);            /* slots on nodes about to be interrupted */
    int64_t (*need)(void *context);               /* replicas without room */
    void (*say)(void *context, const char *text); /* a line for the user */
    void (*node)(void *context, const struct node_view *view); /* of the cluster */
};

struct trainer_demand *trainer_demand_open(const struct trainer_demand_setup *setup);
void trainer_demand_close(struct trainer_demand *demand); /* NULL is fine; before the loop */

/* The name of the session of the Ray cluster that the trainer uses. Nothing is sent before it is
 * known. */
void trainer_demand_session(struct trainer_demand *demand, struct str session);
/* The need may have changed. */
void trainer_demand_update(struct trainer_demand *demand);
/* Asks the service for the nodes of the cluster, with their prices. */
void trainer_demand_ask_nodes(struct trainer_demand *demand);
/* Does an autoscaler have the request of this job? */
bool trainer_demand_is_accepted(const struct trainer_demand *demand);
