/*
 * offering.h: where a type can be had, and how long to leave a place alone that had none.
 *
 * An offering is a type in one zone and one market. A refusal cools it down: it is not asked
 * again for a while, twice as long after every further refusal, and the next one is tried at
 * once. One machine obtained warms it up again.
 */
#pragma once

#include "base/dice.h"

#include <stdbool.h>
#include <stdint.h>

enum market { MARKET_ON_DEMAND, MARKET_SPOT };

struct offering {
    uint32_t type;
    uint32_t zone; /* a name */
    enum market market;
    int64_t price; /* micro-dollars per hour, or PRICE_UNKNOWN */
};

/* Also used for a type whose machines fail again and again. */
struct breaker {
    int64_t cool_until; /* 0: never cooled */
    uint32_t refusals;  /* in a row */
};

bool breaker_is_open(const struct breaker *breaker, int64_t now);

/* Cools down for `first`, doubled per refusal before, at most `most`; up to a fifth longer. */
void breaker_refuse(struct breaker *breaker, int64_t now, int64_t first, int64_t most,
                    struct dice *dice);

void breaker_succeed(struct breaker *breaker);
