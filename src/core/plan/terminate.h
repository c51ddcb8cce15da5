/* terminate.h: selects the existing nodes that a plan terminates, with reasons, in Ray's order. */
#pragma once

#include "core/plan/fleet.h"

/* Nodes whose type was changed or removed, if the input enables this. Never the head. */
void end_outdated(struct fleet *fleet);

/* Nodes beyond their type's limit. Sorts the order by type, as Ray does even if none is
 * terminated. */
void end_beyond_type_limits(struct fleet *fleet);

void end_beyond_cluster_limit(struct fleet *fleet);

/* Nodes over their idle timeout that are not needed, except those for min_workers. */
void end_idle(struct fleet *fleet);

/* Why an existing node is terminated, with the numbers; END_NONE if it is kept. */
struct plan_end ending_of(const struct fleet *fleet, uint32_t index);
