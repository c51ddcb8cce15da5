/* price_cache.c: reads the cache file without trusting it, and replaces it atomically. */
#include "app/price_cache.h"

#include "config/document/json_write.h"
#include "io/clock.h"
#include "io/file.h"
#include "provider/aws_time.h"

#include <jansson.h>

enum {
    VERSION = 1,
    NAME_BYTES_MAX = 64,
    ENDPOINT_BYTES_MAX = 1024,
    CLOCK_SLACK = 300, /* seconds by which the clock may have been set back */
    MILLI = 1000,
};
static const int64_t price_max = 1000000LL * 1000000;

/* ---- reading ---- */

static void price_cache_drop(json_t **json)
{
    json_decref(*json);
}

#define AUTO_JSON __attribute__((cleanup(price_cache_drop)))

/* Names of types, zones, regions and accounts have no other characters. */
static bool is_name(struct str text, size_t least)
{
    bool is_fine = text.len >= least && text.len <= NAME_BYTES_MAX;
    for (size_t i = 0; is_fine && i < text.len; i++) {
        char c = text.ptr[i];
        is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    }
    return is_fine;
}

/* A missing key reads as empty. */
static bool price_cache_get_text(const json_t *object, const char *name, struct arena *arena,
                                 struct str *ret_text)
{
    const json_t *value = json_object_get(object, name);
    if (value && !json_is_string(value)) {
        return false;
    }
    struct str text = {json_string_value(value), json_string_length(value)};
    *ret_text = value ? arena_str(arena, text) : STR("");
    return text.len <= ENDPOINT_BYTES_MAX;
}

static bool kind_named(struct str name, enum price_kind *ret_kind)
{
    for (int kind = 0; kind < PRICE_KIND_COUNT; kind++) {
        if (str_is(name, price_kind_name((enum price_kind)kind))) {
            *ret_kind = (enum price_kind)kind;
            return true;
        }
    }
    return false;
}

static bool price_cache_read_row(const json_t *json, struct arena *arena, struct price_row *ret_row)
{
    struct price_row row = {.price = PRICE_UNKNOWN};
    struct str kind, at;
    const json_t *price = json_object_get(json, "price");
    if (!json_is_object(json) || !json_is_integer(price) ||
        !price_cache_get_text(json, "kind", arena, &kind) || !kind_named(kind, &row.kind) ||
        !price_cache_get_text(json, "name", arena, &row.name) || !is_name(row.name, 1) ||
        !price_cache_get_text(json, "at", arena, &at) || !aws_time_parse(at, &row.at)) {
        return false;
    }
    size_t least = row.kind == PRICE_SPOT ? 1 : 0;
    row.price = json_integer_value(price);
    bool ok = row.price > 0 && row.price <= price_max &&
              price_cache_get_text(json, "zone", arena, &row.zone) && is_name(row.zone, least) &&
              price_cache_get_text(json, "account", arena, &row.account) &&
              is_name(row.account, least) &&
              (row.kind == PRICE_SPOT || row.zone.len + row.account.len == 0);
    *ret_row = row;
    return ok;
}

static bool read_rows(const json_t *list, struct arena *arena, struct price_cache *cache)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > PRICE_CACHE_ROWS_MAX) {
        return false;
    }
    cache->rows = ARENA_ARRAY(arena, count, struct price_row);
    cache->capacity = count;
    for (size_t i = 0; i < count; i++) {
        if (!price_cache_read_row(json_array_get(list, i), arena, &cache->rows[i])) {
            return false;
        }
    }
    cache->count = count;
    return true;
}

bool price_cache_parse(struct str json, struct arena *arena, struct price_cache *ret_cache,
                       struct err *err)
{
    struct price_cache cache = {0};
    if (json.len > PRICE_CACHE_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "more than %d bytes", PRICE_CACHE_BYTES_MAX);
    }
    AUTO_JSON json_t *root = json_loadb(json.ptr, json.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *version = json_object_get(root, "version");
    if (!json_is_integer(version) || json_integer_value(version) != VERSION ||
        !price_cache_get_text(root, "region", arena, &cache.region) || !is_name(cache.region, 1) ||
        !price_cache_get_text(root, "endpoint", arena, &cache.endpoint) ||
        !read_rows(json_object_get(root, "prices"), arena, &cache)) {
        return err_set(err, ERR_PROTOCOL, "not a price cache");
    }
    *ret_cache = cache;
    return true;
}

/* ---- writing ---- */

static bool is_fresh(const struct price_row *row, int64_t now)
{
    int64_t most = row->kind == PRICE_SPOT ? PRICE_CACHE_SPOT_SECONDS : PRICE_CACHE_LIST_SECONDS;
    return row->at <= now + CLOCK_SLACK && row->at > now - most;
}

static void add_field(struct buf *out, const char *name, struct str text)
{
    buf_addf(out, ", \"%s\": ", name);
    json_add_string(out, text, true);
}

static void price_cache_add_row(struct buf *out, const struct price_row *row)
{
    buf_addf(out, "{\"kind\": \"%s\"", price_kind_name(row->kind));
    add_field(out, "name", row->name);
    if (row->kind == PRICE_SPOT) {
        add_field(out, "zone", row->zone);
        add_field(out, "account", row->account);
    }
    buf_addf(out, ", \"price\": %lld, \"at\": \"", (long long)row->price);
    clock_add_utc(out, row->at * MILLI);
    buf_add_c(out, "\"}");
}

bool price_cache_print(const struct price_cache *cache, int64_t now, struct buf *out,
                       struct err *err)
{
    const char *separator = "\n";
    size_t count = 0;
    buf_addf(out, "{\"version\": %d", VERSION);
    add_field(out, "region", cache->region);
    add_field(out, "endpoint", cache->endpoint);
    buf_add_c(out, ", \"prices\": [");
    for (size_t i = 0; i < cache->count; i++) {
        if (is_fresh(&cache->rows[i], now) && count++ < PRICE_CACHE_ROWS_MAX) {
            buf_add_c(out, separator);
            price_cache_add_row(out, &cache->rows[i]);
            separator = ",\n";
        }
    }
    buf_add_c(out, "\n]}\n");
    return (!out->is_full && out->len <= PRICE_CACHE_BYTES_MAX) ||
           err_set(err, ERR_IO, "the price cache is too large");
}

/* ---- rows ---- */

const struct price_row *price_cache_find(const struct price_cache *cache,
                                         const struct price_query *query, struct str account,
                                         int64_t now)
{
    bool is_spot = query->kind == PRICE_SPOT;
    if (!str_eq(cache->region, query->region) || (is_spot && account.len == 0)) {
        return NULL;
    }
    for (size_t i = 0; i < cache->count; i++) {
        const struct price_row *row = &cache->rows[i];
        if (row->kind == query->kind && str_eq(row->name, query->name) && is_fresh(row, now) &&
            (!is_spot || (str_eq(row->zone, query->zone) && str_eq(row->account, account)))) {
            return row;
        }
    }
    return NULL;
}

void price_cache_put(struct price_cache *cache, const struct price_row *row, struct arena *arena)
{
    for (size_t i = 0; i < cache->count; i++) {
        struct price_row *have = &cache->rows[i];
        if (have->kind == row->kind && str_eq(have->name, row->name) &&
            str_eq(have->zone, row->zone) && str_eq(have->account, row->account)) {
            *have = *row;
            return;
        }
    }
    ARENA_PUSH(arena, cache->rows, cache->count, cache->capacity) = *row;
}

/* ---- the file ---- */

struct str price_cache_path(struct str folder, struct str region, struct arena *arena)
{
    return arena_printf(arena, "%.*s/prices-%.*s.json", STR_ARG(folder), STR_ARG(region));
}

void price_cache_load(struct str folder, struct str region, struct str endpoint,
                      struct arena *arena, struct price_cache *ret_cache)
{
    AUTO_BUF struct buf text;
    struct err err;
    struct price_cache cache = {0};
    buf_init(&text, PRICE_CACHE_BYTES_MAX);
    bool ok = folder.len > 0 && is_name(region, 1) &&
              file_read_secret(price_cache_path(folder, region, arena).ptr, &text, &err) &&
              price_cache_parse(buf_str(&text), arena, &cache, &err) &&
              str_eq(cache.region, region) && str_eq(cache.endpoint, endpoint);
    *ret_cache = ok ? cache : (struct price_cache){.region = region, .endpoint = endpoint};
}

bool price_cache_save(const struct price_cache *cache, struct str folder, int64_t now,
                      struct err *err)
{
    enum { PRIVATE = 0600 };
    AUTO_BUF struct buf text;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    buf_init(&text, PRICE_CACHE_BYTES_MAX);
    if (folder.len == 0 || !is_name(cache->region, 1)) {
        return err_set(err, ERR_IO, "no directory for the price cache");
    }
    struct str path = price_cache_path(folder, cache->region, &arena);
    struct str place = arena_str(&arena, folder);
    return price_cache_print(cache, now, &text, err) && file_make_private_folder(place.ptr, err) &&
           file_write(path.ptr, buf_str(&text), PRIVATE, err);
}
