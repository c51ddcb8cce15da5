/* gang.h: gangs as Ray orders and prepares them before they are placed. */
#pragma once

#include "base/arena.h"
#include "core/demand.h"

/*
 * The indexes of the gangs in the order of placing: more placement constraints first, then more
 * requests, then as given.
 */
uint32_t *gangs_in_order(const struct gang *gangs, size_t count, struct arena *arena);

/*
 * The gang with the requests that must share a node summed up into one each. Requests without
 * affinity come first, in their order; then the sums, in the order of their first members.
 */
struct gang gang_combine(const struct names *names, const struct gang *gang, struct arena *arena);
