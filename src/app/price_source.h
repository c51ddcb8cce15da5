/* price_source.h: where a price came from. Displayed sums include their source and date. */
#pragma once

#include "config/document/value.h"
#include "provider/price.h"

#include <stdbool.h>
#include <stdint.h>

enum price_source {
    PRICE_FROM_UNKNOWN,
    PRICE_FROM_WORKLOAD, /* `prices` of the workload file */
    PRICE_FROM_FILE,     /* metadata.shoal.prices */
    PRICE_FROM_CATALOG,  /* built-in prices of one region and one day (catalog.h) */
    PRICE_FROM_LIST,     /* the cloud's price list */
    PRICE_FROM_MARKET,   /* the cloud's spot prices */
    PRICE_SOURCE_COUNT
};

/* A price with its origin. */
struct price_known {
    int64_t price; /* micro-dollars (provider/price.h), or PRICE_UNKNOWN */
    enum price_source source;
    /* When the cloud gave it, or the catalog's date: seconds since 1970; 0 if undated. */
    int64_t at;
    bool is_share; /* of a simulation: an assumed share of the on-demand price */
};

/* "unknown", "workload", "file", "catalog", "price-list", "spot-history": for -o json. */
const char *price_source_name(enum price_source source);

/* Prices without I/O: from the cluster file, and from the catalog. */
struct price_known price_written(const struct value *written, const struct price_query *query);
struct price_known price_built_in(const struct price_query *query);
