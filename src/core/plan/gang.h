/* gang.h: prepares gangs for placement, as Ray does. */
#pragma once

#include "base/arena.h"
#include "core/demand.h"

/*
 * The indexes of the gangs in placement order: more placement constraints first, then more
 * requests, then the original order.
 */
uint32_t *gangs_in_order(const struct gang *gangs, size_t count, struct arena *arena);

/*
 * The gang with requests that must share a node merged into one. Requests without affinity come
 * first, in their order; then the merged ones, in the order of their first members.
 */
struct gang gang_combine(const struct names *names, const struct gang *gang, struct arena *arena);
