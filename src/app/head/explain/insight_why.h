/*
 * insight_why.h: why something waits, out of what the core decided: the cause and its words.
 *
 * Pure. The words are for people; whoever gives advice goes by the cause (insight.h).
 */
#pragma once

#include "app/head/insight.h"
#include "core/core.h"

struct insight_why {
    enum insight_cause cause;
    struct str text; /* lives in the arena, or for ever */
};

/* `trouble` is what the cloud said last when it refused a launch; it may be empty. */
struct insight_why insight_refused(const struct core_settings *settings,
                                   const struct refusal *refusal, const char *trouble,
                                   struct arena *arena);
struct insight_why insight_held(const struct core_settings *settings, const struct hold *hold,
                                enum stance launching, const char *trouble, struct arena *arena);

/* The first of the holds that keeps a machine away on which it would fit; else no cause. */
struct insight_why insight_held_back(const struct core_settings *settings,
                                     const struct request *request, const struct hold *holds,
                                     size_t hold_count, enum stance launching, const char *trouble,
                                     struct arena *arena);

/* Has a node of these amounts room for it while it is empty? Labels are not looked at. */
bool insight_fits(const struct capacity *capacities, size_t count, const struct request *request);

/* Why nothing is launched, or ended; empty: it may. */
const char *insight_stance_words(enum stance stance, bool is_ending);

/* What waits, the most first: "9 x {GPU: 1}, 2 placement groups". */
struct str insight_load_words(const struct names *names, const struct ray_load *load,
                              struct arena *arena);
