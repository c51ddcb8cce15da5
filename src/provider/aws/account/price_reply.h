/*
 * price_reply.h: reads AWS price replies: products of the price list, and spot prices.
 *
 * A reply answers one query. Unrelated products are skipped; a matching product that cannot be
 * understood, or contradicts another, is an error: better no price than a wrong one.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/wire/xml_tree.h"
#include "provider/param.h"
#include "provider/price.h"

#include <stddef.h>
#include <stdint.h>

enum {
    PRICE_REPLY_BYTES_MAX = 4 * 1024 * 1024,
    PRICE_PRODUCTS_MAX = 100, /* per page: AWS's maximum */
};

/* "0.0960000000" is 96000. Digits and a point; rounded half up to a micro-dollar. */
bool price_parse_dollars(struct str text, int64_t *ret_micro) MUST_USE;

/* ---- the price list: on-demand instances, volumes ---- */

/* The parameters of GetProducts for this query, with boto3's names. */
struct param *price_products_input(const struct price_query *query, struct str next_token,
                                   struct arena *arena);

struct price_page {
    int64_t price;         /* PRICE_UNKNOWN: not on this page */
    struct str next_token; /* empty: last page */
};

/*
 * One page of GetProducts: JSON strings inside JSON. For an instance: Linux, shared tenancy, no
 * pre-installed software; for a volume: the price of its size alone.
 */
bool price_products_read(struct str json, const struct price_query *query, struct arena *arena,
                         struct price_page *ret_page, struct err *err) MUST_USE;

/* ---- spot ---- */

struct spot_price {
    struct str type;
    struct str zone;
    int64_t price;
    int64_t since; /* seconds since 1970 */
};

/* The newest price for each type and zone in the pages of DescribeSpotPriceHistory. */
bool price_history_read(const struct xml_element *const *roots, size_t root_count,
                        struct arena *arena, struct spot_price **ret_prices, size_t *ret_count,
                        struct err *err) MUST_USE;
