/*
 * price_cache.h: a cache of prices from the cloud, one file per region.
 *
 * Each price is stored with its origin: region, zone, type, time, endpoint, and for spot prices the
 * account, because zone names differ between accounts. It is used only for the same query, and not
 * if it is too old or from the future. A file that is damaged, too large or for another region or
 * endpoint is ignored; it is never an error.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/price.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PRICE_CACHE_BYTES_MAX = 1024 * 1024,
    PRICE_CACHE_ROWS_MAX = 4096,
    PRICE_CACHE_LIST_SECONDS = 7 * 24 * 3600, /* price lists change a few times a year */
    PRICE_CACHE_SPOT_SECONDS = 3600,
};

struct price_row {
    enum price_kind kind;
    struct str name;
    struct str zone;    /* for spot prices, else empty */
    struct str account; /* for spot prices, else empty */
    int64_t price;
    int64_t at; /* seconds since 1970 */
};

struct price_cache {
    struct str region;
    struct str endpoint; /* the user's endpoint in place of AWS; usually empty */
    struct price_row *rows;
    size_t count, capacity;
};

/* ---- the file's text ---- */

/* Strict; strings live in `arena`. */
bool price_cache_parse(struct str json, struct arena *arena, struct price_cache *ret_cache,
                       struct err *err) MUST_USE;

/* Omits rows that are too old at `now`. False if the text does not fit. */
bool price_cache_print(const struct price_cache *cache, int64_t now, struct buf *out,
                       struct err *err) MUST_USE;

/* ---- rows ---- */

/* The row for this query that is valid at `now` for this account (empty if unknown), or NULL. */
const struct price_row *price_cache_find(const struct price_cache *cache,
                                         const struct price_query *query, struct str account,
                                         int64_t now);

/* Replaces an older row of the same query. Strings are not copied. */
void price_cache_put(struct price_cache *cache, const struct price_row *row, struct arena *arena);

/* ---- the file ---- */

/* "FOLDER/prices-REGION.json". */
struct str price_cache_path(struct str folder, struct str region, struct arena *arena);

/* The result is empty if there is no valid file. */
void price_cache_load(struct str folder, struct str region, struct str endpoint,
                      struct arena *arena, struct price_cache *ret_cache);

bool price_cache_save(const struct price_cache *cache, struct str folder, int64_t now,
                      struct err *err) MUST_USE;
