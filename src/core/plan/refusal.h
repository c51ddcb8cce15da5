/* refusal.h: explains, after placement, why a request was not placed. */
#pragma once

#include "core/plan/fleet.h"

/* `is_together`: the request is one of several that must be placed at once. */
struct refusal refusal_explain(const struct fleet *fleet, const struct request *request,
                               bool is_together);

/* The reason for a gang: that of its first request that has one of its own. */
struct refusal refusal_explain_all(const struct fleet *fleet, const struct request *requests,
                                   size_t count);
