/*
 * service_explain.h: why the cluster is as it is, in words: why requests wait, why a node is there
 * and has not gone, why one ended, why nothing happens, what it costs. Each with what would change
 * it, if anything needs to.
 *
 * Pure: from what is known to questions and answers.
 *
 *     service_explain.c  which questions there are; the cluster as a whole
 *     explain_demand.c   requests that wait
 *     explain_node.c     one node
 */
#pragma once

#include "app/head/channel/ctl.h"
#include "base/attr.h"
#include "config/config.h"

struct explain_scene {
    const struct config *config;
    const struct insight *insight;
    const struct node_view *nodes; /* the head among them */
    size_t node_count;
    const struct insight_event *events; /* the latest ones, oldest first */
    size_t event_count;
    int64_t now_ms;         /* wall clock */
    struct str stance;      /* as in ctl_status */
    bool is_acting;         /* the lease is ours, and nobody else scales */
    bool is_rays;           /* Ray's own autoscaler does */
    struct str ray_trouble; /* why Ray does not answer; empty: it does */
};

typedef void explain_fn(void *context, const struct ctl_answer *answer);

/*
 * `about` is a node (its name, its id, an address), a kind of request (its shape, or a resource in
 * it), "cost", or empty: whatever needs an explanation. ERR_NOT_FOUND for anything else, with what
 * there is. Texts live in `arena`.
 */
bool explain(const struct explain_scene *scene, struct str about, struct arena *arena,
             explain_fn *take, void *context, struct err *err) MUST_USE;
