/* service_decision.h: the last decision and the load it was made for. */
#pragma once

#include "app/head/head_context.h"
#include "app/head/launch_failures.h"
#include "app/model/cluster_status.h"

struct last_decision;

struct last_decision *decision_open(struct head_context *head,
                                    const struct launch_failures *failures);
void decision_close(struct last_decision *decision); /* NULL is fine */

/* The pending load, in memory of the Ray view until the next one; the decision about it. */
void decision_note_load(struct last_decision *decision, const struct ray_load *load);
void decision_apply(struct last_decision *decision, const struct core_answer *answer);

/* Requests that no node type could ever hold. Valid during the call. */
typedef void infeasible_fn(void *context, const struct pending_demand *demand);
void decision_each_infeasible(const struct last_decision *decision, infeasible_fn *take,
                              void *context);
/* Adds them to a report as they were received from Ray. */
void decision_add_infeasible(const struct last_decision *decision, struct arena *arena,
                             struct ray_report *report);

/* The most numerous pending requests, "9 x {CPU: 4}, 2 x {GPU: 1}"; may be empty. */
struct str decision_load_text(const struct last_decision *decision, struct arena *arena);

/* The result is valid until control returns to the loop; parts of it are in `arena`. */
void decision_cluster_status(const struct last_decision *decision, struct arena *arena,
                             struct cluster_status *ret);
