/* aws_retry.h: decides whether and when a failed try is repeated. Pure. */
#pragma once

#include "base/rng.h"
#include "provider/aws/wire/aws_error.h"

#include <stdbool.h>
#include <stdint.h>

enum aws_idempotency {
    AWS_READ,       /* no side effects: retried whenever that may help */
    AWS_REPEATABLE, /* idempotent, by token or by nature: retried in the same way */
    AWS_ONCE,       /* retried only if it certainly had no effect */
};

/* A failed try. */
struct aws_try {
    enum aws_idempotency care;
    bool settles;   /* waiting for eventual consistency */
    unsigned tries; /* including this one */
};

/* True if a later retry may succeed. `error` has been classified. */
bool aws_retry_may(const struct aws_try *try, const struct aws_error *error);

/* Full jitter: up to 0.2 s, doubled with every try, at most 20 s. */
int64_t aws_retry_wait_ms(unsigned tries, struct rng *rng);

/*
 * For a call whose earlier try may have taken effect and whose later try was refused. True if the
 * refusal proves that the earlier try had no effect: a refusal that depends on the request itself
 * does, because the same token would have succeeded. A refusal that depends on the caller or the
 * request rate proves nothing.
 */
bool aws_retry_settles_doubt(const struct aws_error *error);
