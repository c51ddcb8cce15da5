/*
 * offering.h: where a type is available, and how long to avoid an offering without capacity.
 *
 * An offering is a type in one zone and one market. A refusal opens its breaker: it is not tried
 * for a while, twice as long after each further refusal, and the next offering is tried at once. A
 * successful launch closes it.
 */
#pragma once

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

enum market { MARKET_ON_DEMAND, MARKET_SPOT, MARKET_COUNT };

struct offering {
    uint32_t type;
    uint32_t zone; /* a name */
    enum market market;
    int64_t price; /* micro-dollars per hour, or PRICE_UNKNOWN */
};

/* Also used for a type whose instances fail repeatedly. */
struct breaker {
    int64_t cool_until; /* 0 if never opened */
    uint32_t refusals;  /* consecutive */
    bool is_early;      /* they came shortly after a change of the policy */
};

bool breaker_is_open(const struct breaker *breaker, int64_t now);

/* Opens the breaker for `first`, doubled for each earlier refusal, up to `most`; plus up to a fifth
 * of jitter. */
void breaker_refuse(struct breaker *breaker, int64_t now, int64_t first, int64_t most,
                    struct rng *rng);

void breaker_succeed(struct breaker *breaker);
