/*
 * account_cost.h: what an account's clusters cost per hour, as far as prices are known.
 *
 * Includes machines that are running or pending, with their disks and public IPv4 addresses, and
 * all other volumes. Excludes traffic and snapshots.
 */
#pragma once

#include "app/hourly_price.h"
#include "base/arena.h"
#include "provider/account.h"
#include "provider/price.h"

#include <stdbool.h>

struct account_cost {
    int64_t machines;        /* micro-dollars per hour, of machines with a known price */
    int64_t volumes;         /* of those that no such machine has */
    size_t unknown_machines; /* machines without a known price */
    size_t unknown_volumes;
    size_t known_count; /* machines and volumes included in the sums */
};

/* All prices that the clusters need, without duplicates. */
void account_cost_queries(const struct account *account, struct arena *arena,
                          struct price_query **ret_queries, size_t *ret_count);

struct account_cost account_cost_of(const struct account_cluster *cluster,
                                    const struct price_table *prices);

/* The price of one machine of the cluster with its disks and its address (hourly_price.h); zero
 * while it is stopped. */
struct price_known account_price_of_machine(const struct account_cluster *cluster,
                                            const struct account_machine *machine,
                                            const struct price_table *prices);

static inline bool account_cost_is_whole(const struct account_cost *cost)
{
    return cost->unknown_machines + cost->unknown_volumes == 0;
}

static inline int64_t account_cost_sum(const struct account_cost *cost)
{
    return cost->machines + cost->volumes;
}
