/*
 * price.h: price queries, independent of the cloud.
 *
 * Prices are in micro-dollars: per hour for machines, per GB and month for volumes. Missing prices
 * are PRICE_UNKNOWN; nothing is guessed.
 */
#pragma once

#include "base/str.h"
#include "core/plan.h"

#include <stdbool.h>
#include <stdint.h>

enum price_kind { PRICE_ON_DEMAND, PRICE_SPOT, PRICE_VOLUME, PRICE_KIND_COUNT };

struct price_query {
    enum price_kind kind;
    struct str name; /* instance type, or kind of volume: "gp3" */
    struct str region;
    struct str zone; /* zone of a spot price; otherwise empty */
};

/* Used by AWS and its calculators. */
enum { PRICE_HOURS_A_MONTH = 730 };

/* "on-demand", "spot", "volume": as in the cache and in -o json. */
static inline const char *price_kind_name(enum price_kind kind)
{
    static const char *const names[PRICE_KIND_COUNT] = {"on-demand", "spot", "volume"};
    return names[kind];
}

static inline bool price_query_eq(const struct price_query *a, const struct price_query *b)
{
    return a->kind == b->kind && str_eq(a->name, b->name) && str_eq(a->region, b->region) &&
           str_eq(a->zone, b->zone);
}
