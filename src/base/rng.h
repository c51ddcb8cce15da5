/*
 * rng.h: a deterministic random number generator.
 *
 * The state is one number kept by its owner; equal states give equal sequences on every machine
 * (splitmix64). Not for secrets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t x = rng->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* From 0 up to, not including, `limit`; 0 if the limit is not positive. */
static inline int64_t rng_below(struct rng *rng, int64_t limit)
{
    return limit > 0 ? (int64_t)(rng_next(rng) % (uint64_t)limit) : 0;
}

/* Both ends included. */
static inline int64_t rng_between(struct rng *rng, int64_t low, int64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

/* True with a probability of `permille` / 1000. */
static inline bool rng_chance(struct rng *rng, int64_t permille)
{
    return rng_below(rng, 1000) < permille;
}
