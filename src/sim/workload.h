/*
 * workload.h: the work that users submit to the simulated cluster.
 *
 * A class is one kind of recurring work: tasks of one shape, or gangs that need all their bundles
 * at once.
 */
#pragma once

#include "base/arena.h"
#include "core/demand.h"

#include <stdbool.h>
#include <stdint.h>

enum gang_rule { GANG_NONE, GANG_PACK, GANG_SPREAD, GANG_STRICT_PACK, GANG_STRICT_SPREAD };

enum arrival_rule {
    ARRIVAL_ONCE,   /* at `first_at` */
    ARRIVAL_STEADY, /* every `every`, from `first_at` until `last_at` */
    ARRIVAL_RANDOM, /* the same rate on average, at independent times */
};

/*
 * A task starts when its request fits on one node. A gang starts as a whole: strictly packed on one
 * node, strictly spread on as many nodes as it has bundles, otherwise wherever there is room,
 * packed or spread as far as possible.
 */
struct work_class {
    struct str name;
    struct request request; /* one task, or one bundle of the gang */
    enum gang_rule gang;
    int64_t bundles; /* bundles of a gang; at least 1 */
    enum arrival_rule arrival;
    int64_t first_at; /* milliseconds from the start */
    int64_t last_at;
    int64_t every;
    int64_t count_least; /* tasks (or gangs) per arrival */
    int64_t count_most;
    int64_t duration_least; /* run time of a task in milliseconds */
    int64_t duration_most;
};

struct workload {
    const struct work_class *classes;
    size_t class_count;
    const struct demand *constraint; /* request_resources(), from the start */
    size_t constraint_count;
    /* Ray's _PG_<id>: the first gang of a report gets the first label, and so on. */
    const struct label *gang_labels;
    size_t gang_label_count;
};

/* The same limit as in Ray: further gangs wait without being reported. */
enum { GANGS_REPORTED_MOST = 1000 };

/*
 * Fills in the labels, which strict gangs need. Call before the names are used, because a core must
 * know all of them from the start.
 */
void workload_label_gangs(struct workload *workload, struct names *names, struct arena *arena);

static inline bool gang_is_strict(enum gang_rule rule)
{
    return rule == GANG_STRICT_PACK || rule == GANG_STRICT_SPREAD;
}
