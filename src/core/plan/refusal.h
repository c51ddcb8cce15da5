/* refusal.h: why a request found no place, found out afterwards. */
#pragma once

#include "core/plan/fleet.h"

/* `is_together`: it is one of several that must be placed at once. */
struct refusal refusal_explain(const struct fleet *fleet, const struct request *request,
                               bool is_together);

/* The reason for a gang: that of its first request which has one of its own. */
struct refusal refusal_explain_all(const struct fleet *fleet, const struct request *requests,
                                   size_t count);
