/* offering.c: a circuit breaker for offerings. */
#include "core/offering.h"

#include "base/require.h"

bool breaker_is_open(const struct breaker *breaker, int64_t now)
{
    return breaker->cool_until > now;
}

void breaker_refuse(struct breaker *breaker, int64_t now, int64_t first, int64_t most,
                    struct rng *rng)
{
    int64_t span = first;
    for (uint32_t i = 0; i < breaker->refusals && span < most; i++) {
        span *= 2;
    }
    span = span < most ? span : most;
    require(span >= 0, "a delay is not negative");
    breaker->cool_until = now + span + rng_below(rng, span / 5 + 1);
    require(breaker->cool_until >= now + span, "the breaker is open for the whole delay");
    breaker->refusals++;
}

void breaker_succeed(struct breaker *breaker)
{
    *breaker = (struct breaker){0};
}
