/*
 * price.h: what can be asked about prices, whatever the cloud.
 *
 * Prices are micro-dollars: per hour for machines, per GB and month for volumes. What nobody says
 * is PRICE_UNKNOWN; nothing is ever guessed.
 */
#pragma once

#include "base/str.h"
#include "core/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

enum price_kind { PRICE_ON_DEMAND, PRICE_SPOT, PRICE_VOLUME, PRICE_KIND_COUNT };

struct price_wish {
    enum price_kind kind;
    struct str name; /* of the machine type, or the kind of volume: "gp3" */
    struct str region;
    struct str zone; /* of a spot price; else empty */
};

/* AWS and its calculators count so many hours a month. */
enum { PRICE_HOURS_A_MONTH = 730 };

/* "on-demand", "spot", "volume": the words of the cache and of -o json. */
static inline const char *price_kind_name(enum price_kind kind)
{
    static const char *const names[PRICE_KIND_COUNT] = {"on-demand", "spot", "volume"};
    return names[kind];
}

static inline bool price_wish_eq(const struct price_wish *a, const struct price_wish *b)
{
    return a->kind == b->kind && str_eq(a->name, b->name) && str_eq(a->region, b->region) &&
           str_eq(a->zone, b->zone);
}
