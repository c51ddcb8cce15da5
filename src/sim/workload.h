/*
 * workload.h: what the users of the simulated cluster want from it.
 *
 * A class is one kind of work that arrives again and again: tasks of one shape, or gangs that
 * need all their bundles at once.
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
    ARRIVAL_RANDOM, /* the same on average, independent of one another */
};

/*
 * A task starts when one node has room for its request. A gang starts as a whole: strictly packed
 * on one node, strictly spread on as many nodes as it has bundles, otherwise wherever there is
 * room, packed or spread as well as it goes.
 */
struct work_class {
    struct str name;
    struct request request; /* one task, or one bundle of the gang */
    enum gang_rule gang;
    int64_t bundles; /* of a gang, at least 1 */
    enum arrival_rule arrival;
    int64_t first_at; /* milliseconds from the beginning */
    int64_t last_at;
    int64_t every;
    int64_t count_least; /* tasks (or gangs) per arrival */
    int64_t count_most;
    int64_t duration_least; /* milliseconds a task runs */
    int64_t duration_most;
};

struct workload {
    const struct work_class *classes;
    size_t class_count;
    const struct demand *constraint; /* request_resources(), from the beginning */
    size_t constraint_count;
    /* What Ray calls _PG_<id>: the first gang of a report has the first, and so on. */
    const struct label *gang_labels;
    size_t gang_label_count;
};

/* The same number as in Ray: further gangs wait without being reported. */
enum { GANGS_REPORTED_MOST = 1000 };

/*
 * Fills in the labels, which strict gangs cannot do without. Done before anybody reads the names,
 * because a core wants to know all of them from the beginning.
 */
void workload_label_gangs(struct workload *workload, struct names *names, struct arena *arena);

static inline bool gang_is_strict(enum gang_rule rule)
{
    return rule == GANG_STRICT_PACK || rule == GANG_STRICT_SPREAD;
}
