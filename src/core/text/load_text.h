/* load_text.h: formats the parts of Ray's view that have arrays. */
#pragma once

#include "core/core.h"

/* "alive, idle since 10.000; free: 3 of 4 CPU" */
struct str ray_node_text(const struct ray_node *node, const struct names *names,
                         struct arena *arena);

/* "3 pending requests (3 for 1x CPU), 1 placement group (2 requests)" */
struct str ray_load_text(const struct ray_load *load, const struct names *names,
                         struct arena *arena);
