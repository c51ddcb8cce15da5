/*
 * ray_view.h: the state of Ray's cluster in the core's terms, updated incrementally.
 *
 * Compares each reply of the GCS (ray/state.h) with the last one and reports only changes: nodes
 * that joined, left or changed, and a changed load. Reported data stays valid until it is reported
 * again, as the core requires (core/event.h). Uses a few hundred bytes per node.
 */
#pragma once

#include "app/model/cluster_status.h"
#include "base/attr.h"
#include "base/err.h"
#include "core/event.h"
#include "core/intern.h"
#include "ray/state.h"

struct ray_view;

/* Replicas of a training job, which Ray does not know. */
struct ray_view_training {
    struct str job;
    struct ray_demand demand;
    int64_t leaving; /* replicas on departing nodes, whose replacements are in the demand, or run */
};

struct ray_view_hooks {
    void *context;
    /* The instance with that cloud id. INSTANCE_NONE if unknown; then it is asked again. */
    uint64_t (*instance_of)(void *context, struct str instance_id);
    /* Report it as absent, because its Ray is being restarted? */
    bool (*is_hidden)(void *context, uint64_t instance);
    void (*node)(void *context, const struct ray_node *node);
    void (*load)(void *context, const struct ray_load *load);
    /* Demand that is added to Ray's; NULL if there is none. Valid during the call of
     * ray_view_update(), or in `arena`. */
    size_t (*training)(void *context, struct arena *arena, const struct ray_view_training **ret);
};

/* `names` belong to the core; new names are added. */
struct ray_view *ray_view_open(struct names *names, const struct ray_view_hooks *hooks);
void ray_view_close(struct ray_view *mirror); /* NULL is fine */

/* Applies a complete reply, requested at that monotonic and wall clock time. On a parse error
 * nothing is reported and the previous state is kept. */
bool ray_view_update(struct ray_view *mirror, struct str bytes, int64_t asked_at_ms,
                     int64_t wall_ms, struct err *err) MUST_USE;

/* A new core is used: the next reply reports everything again. */
void ray_view_resend_all(struct ray_view *mirror);
/* What the `training` hook returns has changed: the next reply reports the load again. */
void ray_view_resend_load(struct ray_view *mirror);
/* Ray was replaced: drops all cached state and reports every node absent. */
void ray_view_forget(struct ray_view *mirror);

/* ---- queries ---- */

int64_t ray_view_version(const struct ray_view *mirror); /* version of the last reply */
size_t ray_view_alive(const struct ray_view *mirror);    /* nodes, including the head */
/* Ray's id of the living head, 56 hexadecimal digits; may be empty. */
struct str ray_view_head(const struct ray_view *mirror);
/* Ray's session name; may be empty. */
struct str ray_view_session(const struct ray_view *mirror);
/* Changes whenever a node joins or leaves. */
uint64_t ray_view_mark(const struct ray_view *mirror);

/* Ray's id of the living node on that machine, RAY_ID_BYTES bytes; may be empty. */
struct str ray_view_node_id(const struct ray_view *mirror, uint64_t instance);

/* For users, in `arena`. One node per machine, then nodes started by hand (INSTANCE_NONE). Demands
 * are in the order of the load: demands with training, gangs, constraint; their `unmet`, `why` and
 * `is_infeasible` are set by the caller. */
void ray_view_nodes(const struct ray_view *mirror, struct arena *arena,
                    const struct node_usage **ret_nodes, size_t *ret_count);
void ray_view_demands(const struct ray_view *mirror, struct arena *arena,
                      struct pending_demand **ret_demands, size_t *ret_count);
