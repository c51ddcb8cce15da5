/*
 * price_ask.h: AWS asked for prices: the price list for machines on demand and for volumes, the
 * history of spot prices for the market.
 *
 * What AWS refuses to say, or does not have, is PRICE_UNKNOWN; the rest is answered all the same.
 */
#pragma once

#include "base/err.h"
#include "io/loop.h"
#include "provider/aws/client/aws_client.h"
#include "provider/price.h"

struct aws_price_ask;

struct aws_price_answers {
    const int64_t *prices; /* for each wish, or PRICE_UNKNOWN */
    size_t count;
    int64_t at;         /* when, by AWS's clock */
    struct err trouble; /* the first thing that went wrong; ERR_NONE: nothing did */
};

typedef void aws_price_fn(void *context, const struct aws_price_answers *answers);

/* Wishes and their texts are copied. `done` is called exactly once, from the loop. */
struct aws_price_ask *aws_price_ask_start(struct aws_client *client, struct loop *loop,
                                          const struct price_wish *wishes, size_t count,
                                          aws_price_fn *done, void *context);

/* No callback is called any more. */
void aws_price_ask_cancel(struct aws_price_ask *ask);
