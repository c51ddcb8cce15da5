/*
 * demand.h: what the cluster is asked to carry.
 *
 * A request is one bundle that must find room on one node. Equal requests come as a count, never
 * one by one: a million equal tasks cost as much to plan as one.
 */
#pragma once

#include "core/label.h"
#include "core/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An amount of one resource in ten-thousandths (resource.h). */
struct amount {
    uint32_t name;
    int64_t amount; /* 0 is allowed and kept: Ray lets {"GPU": 0} make a request a GPU request */
};

/*
 * ANTI_AFFINITY keeps requests apart: the request refuses a node that has the label and puts the
 * label on the node it takes. AFFINITY keeps the requests of one gang together: those with the
 * same label and the same selectors become one bundle before anything is placed.
 */
enum placement_kind { PLACEMENT_AFFINITY, PLACEMENT_ANTI_AFFINITY };

struct placement {
    enum placement_kind kind;
    struct label label;
};

struct request {
    const struct amount *amounts; /* by name in byte order (amounts_sort), no name twice */
    size_t amount_count;
    const struct label_selector *selectors; /* the first choice, then fallbacks in order */
    size_t selector_count;
    const struct placement *placements; /* in a gang at most one per request */
    size_t placement_count;
};

struct demand {
    struct request request;
    int64_t count; /* at least 0 */
};

/* All or nothing: a placement group. */
struct gang {
    const struct request *requests;
    size_t request_count;
};

void amounts_sort(const struct names *names, struct amount *amounts, size_t count);

/*
 * Ray's order of placing, as a comparison: negative when `a` is placed before `b`. More
 * placement constraints first, then more rules in the first selector, more resources, the larger
 * sum of amounts, and at last names and amounts. Requests that differ only in their labels
 * compare equal; they stay in the order in which they were given.
 */
int request_compare(const struct names *names, const struct request *a, const struct request *b);

/* Interchangeable in every respect. */
bool request_same(const struct request *a, const struct request *b);
