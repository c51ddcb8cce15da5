/*
 * service_explain.h: explains the state of the cluster: why requests are pending, why a node
 * exists, is still running or was terminated, why nothing happens, and the cost. Each answer
 * includes what to change, if anything.
 *
 * Pure: facts in, questions and answers out.
 *
 *     service_explain.c  the questions; the cluster as a whole
 *     explain_demand.c   pending requests
 *     explain_node.c     one node
 */
#pragma once

#include "app/head/ctl/ctl.h"
#include "base/attr.h"
#include "config/config.h"

struct explain_scene {
    const struct config *config;
    const struct cluster_status *cluster_status;
    const struct node_view *nodes; /* including the head */
    size_t node_count;
    const struct cluster_event *events; /* the latest ones, oldest first */
    size_t event_count;
    int64_t now_ms;                /* wall clock */
    struct str autoscaler_message; /* the same as in ctl_status */
    struct str launch_trouble;     /* why nothing can be launched; may be empty */
    struct str idle_stop;          /* the same as in ctl_status */
    bool is_acting;                /* we hold the lease, and no other autoscaler is active */
    bool is_ray_scaling;           /* Ray's own autoscaler is running */
    struct str ray_trouble;        /* why Ray does not answer; empty if it does */
    const struct gcs_requesters *requesters; /* of request_resources(); NULL if unknown */
};

typedef void explain_fn(void *context, const struct ctl_answer *answer);

/*
 * `about` is a node (name, id, address), a kind of request (shape, or a resource in it), "cost", or
 * empty for everything that needs an explanation. Otherwise ERR_NOT_FOUND, with the known names.
 * Texts are in `arena`.
 */
bool explain(const struct explain_scene *scene, struct str about, struct arena *arena,
             explain_fn *take, void *context, struct err *err) MUST_USE;
