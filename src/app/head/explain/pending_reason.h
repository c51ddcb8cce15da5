/*
 * pending_reason.h: why a request is pending, from the core's decision: cause and text.
 *
 * Pure. The text is for users; advice depends on the cause (cluster_status.h).
 */
#pragma once

#include "app/model/cluster_status.h"
#include "core/core.h"

struct pending_reason {
    enum pending_cause cause;
    struct str text; /* text in the arena, or static */
};

/* `trouble` is the cloud's last refusal of a launch; may be empty. */
struct pending_reason pending_refused(const struct core_settings *settings,
                                      const struct refusal *refusal, const char *trouble,
                                      struct arena *arena);
struct pending_reason pending_held(const struct core_settings *settings, const struct hold *hold,
                                   enum permission launching, const char *trouble,
                                   struct arena *arena);

/* The first hold of a type on which the request would fit; otherwise CAUSE_NONE. */
struct pending_reason pending_held_back(const struct core_settings *settings,
                                        const struct request *request, const struct hold *holds,
                                        size_t hold_count, enum permission launching,
                                        const char *trouble, struct arena *arena);

/* Does it fit on an empty node with these capacities? Ignores labels. */
bool pending_fits(const struct capacity *capacities, size_t count, const struct request *request);

/* Why nothing is launched or terminated; empty if permitted. */
const char *permission_text(enum permission permission, bool is_ending);

/* Pending requests, the most numerous first: "9 x {GPU: 1}, 2 placement groups". */
struct str pending_load_text(const struct names *names, const struct ray_load *load,
                             struct arena *arena);
