/*
 * price_cache.h: prices that the cloud said before, in one file per region.
 *
 * A price is kept with what it was derived from: region, zone, type, the moment, who was asked, and
 * for spot prices the account, as each account has names of its own for the zones. It is believed
 * only for the same, and not when it is old or from the future. A file that is damaged, too large
 * or about something else is no cache; it is never an error.
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
    struct str zone;    /* of a spot price; else empty */
    struct str account; /* of a spot price; else empty */
    int64_t price;
    int64_t at; /* seconds since 1970 */
};

struct price_cache {
    struct str region;
    struct str endpoint; /* where the user sent the questions instead of to AWS; often empty */
    struct price_row *rows;
    size_t count, capacity;
};

/* ---- the file's text ---- */

/* Strict; the texts are in `arena`. */
bool price_cache_parse(struct str json, struct arena *arena, struct price_cache *ret_cache,
                       struct err *err) MUST_USE;

/* Without the rows that are too old at `now`. False when it does not fit. */
bool price_cache_print(const struct price_cache *cache, int64_t now, struct buf *out,
                       struct err *err) MUST_USE;

/* ---- rows ---- */

/* Believed at `now`, for this account (empty: unknown). NULL when there is none. */
const struct price_row *price_cache_find(const struct price_cache *cache,
                                         const struct price_wish *wish, struct str account,
                                         int64_t now);

/* Takes the place of an older one for the same. Texts are not copied. */
void price_cache_put(struct price_cache *cache, const struct price_row *row, struct arena *arena);

/* ---- the file ---- */

/* "FOLDER/prices-REGION.json". */
struct str price_cache_path(struct str folder, struct str region, struct arena *arena);

/* An empty cache when there is no file that can be believed. */
void price_cache_load(struct str folder, struct str region, struct str endpoint,
                      struct arena *arena, struct price_cache *ret_cache);

bool price_cache_save(const struct price_cache *cache, struct str folder, int64_t now,
                      struct err *err) MUST_USE;
