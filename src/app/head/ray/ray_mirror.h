/*
 * ray_mirror.h: Ray's cluster in the core's words, kept up to date by what has changed.
 *
 * Takes one reply of the GCS after the other (ray/state.h) and tells only news: nodes that came,
 * went or changed, and the load when it is another. What it tells stays in its memory until it is
 * told anew, as the core wants it (core/event.h). A few hundred bytes per node.
 */
#pragma once

#include "app/head/insight.h"
#include "base/attr.h"
#include "base/err.h"
#include "core/event.h"
#include "core/names.h"

struct ray_mirror;

struct ray_mirror_hooks {
    void *context;
    /* The number of the machine with that id; INSTANCE_NONE: not known (yet): asked again. */
    uint64_t (*instance_of)(void *context, struct str instance_id);
    /* Is it to be taken for absent, because its Ray is just being started anew? */
    bool (*is_hidden)(void *context, uint64_t instance);
    void (*node)(void *context, const struct ray_node *node);
    void (*load)(void *context, const struct ray_load *load);
};

/* `names` are the core's; names heard for the first time are added. */
struct ray_mirror *ray_mirror_open(struct names *names, const struct ray_mirror_hooks *hooks);
void ray_mirror_close(struct ray_mirror *mirror); /* NULL is fine */

/* A whole reply, asked for at that moment (monotonic) and wall clock. When it cannot be understood
 * nothing is told, and what was told before still stands. */
bool ray_mirror_take(struct ray_mirror *mirror, struct str bytes, int64_t asked_at_ms,
                     int64_t wall_ms, struct err *err) MUST_USE;

/* Another core listens now: the next reply tells everything anew. */
void ray_mirror_forget_told(struct ray_mirror *mirror);
/* Another Ray is there: nothing of before counts. Nodes are told as absent. */
void ray_mirror_forget(struct ray_mirror *mirror);

/* ---- looking ---- */

int64_t ray_mirror_version(const struct ray_mirror *mirror); /* of the last reply */
size_t ray_mirror_alive(const struct ray_mirror *mirror);    /* nodes, the head included */
/* Ray's id of the head that lives, as 56 digits; empty: none does. */
struct str ray_mirror_head(const struct ray_mirror *mirror);
/* Ray's name of this run of it; empty: not known. */
struct str ray_mirror_session(const struct ray_mirror *mirror);
/* Changes with every node that comes or goes. */
uint64_t ray_mirror_mark(const struct ray_mirror *mirror);

/* Ray's id of the node on that machine that lives, RAY_ID_BYTES bytes; empty: none does. */
struct str ray_mirror_node_id(const struct ray_mirror *mirror, uint64_t instance);

/* For people, in `arena`. Of nodes one for each machine; behind none (INSTANCE_NONE) those that
 * somebody has started by hand. Of demands, `unmet`, `why` and `is_infeasible` are left to whoever
 * heard the decision; they stand in the order of the load: demands, gangs, then the constraint. */
void ray_mirror_nodes(const struct ray_mirror *mirror, struct arena *arena,
                      const struct insight_node **ret_nodes, size_t *ret_count);
void ray_mirror_demands(const struct ray_mirror *mirror, struct arena *arena,
                        struct insight_demand **ret_demands, size_t *ret_count);
