/* price_source.h: where a price came from. A sum that is shown says so, and of which day it is. */
#pragma once

#include <stdint.h>

enum price_source {
    PRICE_FROM_NOBODY,
    PRICE_FROM_WORKLOAD,  /* `prices` of the workload file */
    PRICE_FROM_FILE,      /* metadata.shoal.prices */
    PRICE_FROM_CATALOGUE, /* one region, one day (catalog.h) */
    PRICE_FROM_LIST,      /* the cloud's price list */
    PRICE_FROM_MARKET,    /* the cloud's spot prices */
    PRICE_SOURCE_COUNT
};

/* A price with its origin. */
struct price_known {
    int64_t price; /* micro-dollars (provider/price.h), or PRICE_UNKNOWN */
    enum price_source source;
    int64_t at; /* when the cloud said it, or the catalogue's day: seconds since 1970; 0: no date */
};

/* "nobody", "workload", "file", "catalogue", "price-list", "spot-history": for -o json. */
const char *price_source_name(enum price_source source);
