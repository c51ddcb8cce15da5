/*
 * demand.h: the resource requests that the cluster must satisfy.
 *
 * A request is one bundle that must fit on one node. Equal requests are grouped with a count:
 * planning for a million equal tasks costs as much as for one.
 */
#pragma once

#include "core/intern.h"
#include "core/label.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An amount of one resource in ten-thousandths (resource.h). */
struct amount {
    uint32_t name;
    int64_t amount; /* 0 is allowed and kept: {"GPU": 0} makes it a GPU request in Ray */
};

/*
 * ANTI_AFFINITY separates requests: the request is not placed on a node with the label, and puts
 * the label on the node where it is placed. AFFINITY keeps the requests of one gang together: those
 * with the same label and the same selectors are merged into one bundle before placement.
 */
enum placement_kind { PLACEMENT_AFFINITY, PLACEMENT_ANTI_AFFINITY };

struct placement {
    enum placement_kind kind;
    struct label label;
};

struct request {
    /* Sorted by name in byte order (amounts_sort), without duplicates. */
    const struct amount *amounts;
    size_t amount_count;
    const struct label_selector *selectors; /* the first choice, then fallbacks in order */
    size_t selector_count;
    const struct placement *placements; /* at most one per request of a gang */
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
 * Compares by Ray's placement order: negative if `a` is placed before `b`. Requests with more
 * placement constraints come first, then those with more rules in the first selector, with more
 * resources, with the larger sum of amounts; finally names and amounts decide. Requests that differ
 * only in labels compare equal; they keep their original order.
 */
int request_compare(const struct names *names, const struct request *a, const struct request *b);

/* Are the requests interchangeable in every respect? */
bool request_same(const struct request *a, const struct request *b);
