/*
 * account_cost.h: what an account's clusters cost an hour, as far as the prices are known.
 *
 * Counted are machines that run or are starting, and all volumes, whether their machine runs or
 * not. Traffic, addresses and snapshots are not.
 */
#pragma once

#include "app/price_source.h"
#include "base/arena.h"
#include "provider/account.h"
#include "provider/price.h"

#include <stdbool.h>

struct account_cost {
    int64_t machines; /* micro-dollars per hour of those whose price is known */
    int64_t volumes;
    size_t unknown_machines; /* whose price is not */
    size_t unknown_volumes;
    size_t known_count; /* machines and volumes that are counted */
};

/* Every price that the clusters need, each once. */
void account_cost_wishes(const struct account *account, struct arena *arena,
                         struct price_wish **ret_wishes, size_t *ret_count);

struct account_prices {
    const struct price_wish *wishes;
    const struct price_known *prices; /* for each wish */
    size_t count;
};

struct account_cost account_cost_of(const struct account_cluster *cluster,
                                    const struct account_prices *prices);

/* The price of one machine; nothing while it is stopped. */
struct price_known account_price_of_machine(const struct account_machine *machine,
                                            const struct account_prices *prices);

static inline bool account_cost_is_whole(const struct account_cost *cost)
{
    return cost->unknown_machines + cost->unknown_volumes == 0;
}

static inline int64_t account_cost_sum(const struct account_cost *cost)
{
    return cost->machines + cost->volumes;
}
