/*
 * price_ask.h: queries AWS prices: the price list for on-demand instances and volumes, the spot
 * price history for the spot market.
 *
 * A price that AWS refuses or does not have is PRICE_UNKNOWN; the rest is still returned.
 */
#pragma once

#include "base/err.h"
#include "io/loop.h"
#include "provider/aws/client/aws_client.h"
#include "provider/price.h"

struct aws_price_ask;

struct aws_price_answers {
    const int64_t *prices; /* one price per query, or PRICE_UNKNOWN */
    size_t count;
    int64_t at;         /* time by AWS's clock */
    struct err trouble; /* first failure; ERR_NONE: none */
};

typedef void aws_price_fn(void *context, const struct aws_price_answers *answers);

/* Queries and their strings are copied. `done` is called exactly once, from the loop. */
struct aws_price_ask *aws_price_ask_start(struct aws_client *client, struct loop *loop,
                                          const struct price_query *queries, size_t count,
                                          aws_price_fn *done, void *context);

/* No more callbacks are called. */
void aws_price_ask_cancel(struct aws_price_ask *ask);
