/*
 * dice.h: numbers that look random and are the same in every replay.
 *
 * The state is one number that its owner keeps; equal states give equal sequences on every machine
 * (the generator is splitmix64). Not for secrets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline uint64_t dice_next(struct dice *dice)
{
    uint64_t x = dice->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* From 0 up to, not including, `limit`; 0 when the limit is not positive. */
static inline int64_t dice_below(struct dice *dice, int64_t limit)
{
    return limit > 0 ? (int64_t)(dice_next(dice) % (uint64_t)limit) : 0;
}

/* Both ends included. */
static inline int64_t dice_between(struct dice *dice, int64_t low, int64_t high)
{
    return low + dice_below(dice, high - low + 1);
}

/* True in `permille` of 1000 cases. */
static inline bool dice_chance(struct dice *dice, int64_t permille)
{
    return dice_below(dice, 1000) < permille;
}
