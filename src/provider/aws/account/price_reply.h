/*
 * price_reply.h: prices in replies of AWS: products of the price list, and spot prices.
 *
 * A reply answers one question. Whatever in it is about something else is passed over; what is
 * about it and cannot be understood, or says two things, is refused: better no price than a wrong
 * one.
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
    PRICE_PRODUCTS_MAX = 100, /* on one page: the most that AWS gives */
};

/* "0.0960000000" is 96000. Digits and a point; half a micro-dollar and more is rounded up. */
bool price_parse_dollars(struct str text, int64_t *ret_micro) MUST_USE;

/* ---- the price list: machines on demand, volumes ---- */

/* The parameters of GetProducts that ask for it, with boto3's names. */
struct param *price_products_input(const struct price_wish *wish, struct str next_token,
                                   struct arena *arena);

struct price_page {
    int64_t price;         /* PRICE_UNKNOWN: not on this page */
    struct str next_token; /* empty: this was the last page */
};

/*
 * One page of GetProducts: JSON with JSON in it. For a machine the price with Linux, on shared
 * hardware, without software; for a volume that of its size alone.
 */
bool price_products_read(struct str json, const struct price_wish *wish, struct arena *arena,
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
