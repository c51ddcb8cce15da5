/* ending.h: which existing nodes a plan ends, and why; each step in Ray's order. */
#pragma once

#include "core/plan/fleet.h"

/* Nodes whose type was changed or removed, if the input asks for it. Never the head. */
void end_outdated(struct fleet *fleet);

/* Nodes beyond their type's limit. Sorts the order by type, as Ray does even if nothing ends. */
void end_beyond_type_limits(struct fleet *fleet);

void end_beyond_cluster_limit(struct fleet *fleet);

/* Nodes idle for too long that nothing needs and min_workers does not hold. */
void end_idle(struct fleet *fleet);

/* Why an existing node ends, with the numbers behind it; END_NONE if it stays. */
struct plan_end ending_of(const struct fleet *fleet, uint32_t index);
