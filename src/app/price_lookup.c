/* price_lookup.c: tries the sources of prices in order. */
#include "app/price_lookup.h"

#include "app/price_cache.h"
#include "io/xalloc.h"
#include "provider/aws/account/price_ask.h"

static const struct price_known unknown = {PRICE_UNKNOWN, PRICE_FROM_UNKNOWN, 0};

struct price_lookup {
    struct price_lookup_setup setup; /* strings live in `arena` */
    price_lookup_fn *done;
    void *context;
    struct arena arena;
    struct price_query *queries;
    struct price_known *prices;
    size_t count;
    struct price_cache *caches; /* one cache per region */
    size_t cache_count, cache_capacity;
    struct aws_price_ask *ask;
    size_t *asked; /* indexes of the queries sent to the cloud */
    size_t asked_count;
    struct loop_task turn;
    struct err trouble, unkept;
};

struct str price_cache_folder(aws_environ env, struct arena *arena)
{
    const char *cache = variable_get(env, "XDG_CACHE_HOME");
    const char *home = variable_get(env, "HOME");
    if (cache && cache[0] == '/') {
        return arena_printf(arena, "%s/shoal", cache);
    }
    return home && home[0] == '/' ? arena_printf(arena, "%s/.cache/shoal", home) : STR("");
}

/* ---- the cache ---- */

static struct price_cache *cache_of(struct price_lookup *lookup, struct str region)
{
    for (size_t i = 0; i < lookup->cache_count; i++) {
        if (str_eq(lookup->caches[i].region, region)) {
            return &lookup->caches[i];
        }
    }
    struct price_cache *cache = &ARENA_PUSH(&lookup->arena, lookup->caches, lookup->cache_count,
                                            lookup->cache_capacity);
    price_cache_load(lookup->setup.cache_folder, region, lookup->setup.endpoint, &lookup->arena,
                     cache);
    return cache;
}

static enum price_source price_lookup_source_of(enum price_kind kind)
{
    return kind == PRICE_SPOT ? PRICE_FROM_MARKET : PRICE_FROM_LIST;
}

static struct price_known price_kept(struct price_lookup *lookup, const struct price_query *query,
                                     int64_t now)
{
    const struct price_cache *cache = cache_of(lookup, query->region);
    const struct price_row *row = price_cache_find(cache, query, lookup->setup.account, now);
    return row ? (struct price_known){row->price, price_lookup_source_of(row->kind), row->at}
               : unknown;
}

static void keep_prices(struct price_lookup *lookup, int64_t now)
{
    bool *is_changed = ARENA_ARRAY(&lookup->arena, lookup->cache_count, bool);
    for (size_t i = 0; i < lookup->asked_count; i++) {
        const struct price_query *query = &lookup->queries[lookup->asked[i]];
        const struct price_known *known = &lookup->prices[lookup->asked[i]];
        bool is_spot = query->kind == PRICE_SPOT;
        bool is_told = known->source == price_lookup_source_of(query->kind) && known->price > 0;
        if (!is_told || (is_spot && lookup->setup.account.len == 0)) {
            continue;
        }
        struct price_cache *cache = cache_of(lookup, query->region);
        struct price_row row = {query->kind,
                                query->name,
                                is_spot ? query->zone : STR(""),
                                is_spot ? lookup->setup.account : STR(""),
                                known->price,
                                known->at};
        price_cache_put(cache, &row, &lookup->arena);
        is_changed[cache - lookup->caches] = true;
    }
    for (size_t i = 0; i < lookup->cache_count && lookup->setup.cache_folder.len > 0; i++) {
        if (is_changed[i] && !price_cache_save(&lookup->caches[i], lookup->setup.cache_folder, now,
                                               &lookup->unkept)) {
            return;
        }
    }
}

/* ---- queries to the cloud ---- */

static void free_lookup(struct price_lookup *lookup)
{
    loop_later_cancel(lookup->setup.loop, &lookup->turn);
    arena_clear(&lookup->arena);
    free(lookup);
}

static void price_lookup_finish(struct price_lookup *lookup)
{
    struct price_lookup_answer answer = {lookup->prices, lookup->count, lookup->asked_count,
                                         lookup->trouble, lookup->unkept};
    for (size_t i = 0; i < lookup->count; i++) {
        if (lookup->prices[i].source == PRICE_FROM_UNKNOWN) {
            lookup->prices[i] = price_built_in(&lookup->queries[i]);
        }
    }
    lookup->done(lookup->context, &answer);
    free_lookup(lookup);
}

static void price_lookup_on_prices(void *context, const struct aws_price_answers *answers)
{
    struct price_lookup *lookup = context;
    lookup->ask = NULL;
    lookup->trouble = answers->trouble;
    for (size_t i = 0; i < answers->count; i++) {
        size_t position = lookup->asked[i];
        if (answers->prices[i] != PRICE_UNKNOWN) {
            lookup->prices[position] = (struct price_known){
                answers->prices[i], price_lookup_source_of(lookup->queries[position].kind),
                answers->at};
        }
    }
    keep_prices(lookup, answers->at);
    price_lookup_finish(lookup);
}

static void price_lookup_take_turn(void *context)
{
    struct price_lookup *lookup = context;
    struct price_query *open = ARENA_ARRAY(&lookup->arena, lookup->count, struct price_query);
    int64_t now = aws_client_now(lookup->setup.client);
    for (size_t i = 0; i < lookup->count; i++) {
        const struct price_query *query = &lookup->queries[i];
        lookup->prices[i] = price_written(lookup->setup.written, query);
        if (lookup->prices[i].source == PRICE_FROM_UNKNOWN) {
            lookup->prices[i] = price_kept(lookup, query, now);
        }
        if (lookup->prices[i].source == PRICE_FROM_UNKNOWN) {
            open[lookup->asked_count] = *query;
            lookup->asked[lookup->asked_count++] = i;
        }
    }
    if (lookup->asked_count == 0) {
        price_lookup_finish(lookup);
        return;
    }
    lookup->ask = aws_price_ask_start(lookup->setup.client, lookup->setup.loop, open,
                                      lookup->asked_count, price_lookup_on_prices, lookup);
}

struct price_lookup *price_lookup_start(const struct price_lookup_setup *setup,
                                        const struct price_query *queries, size_t count,
                                        price_lookup_fn *done, void *context)
{
    struct price_lookup *lookup = HEAP_NEW(struct price_lookup);
    *lookup = (struct price_lookup){
        .setup = *setup, .done = done, .context = context, .count = count};
    struct arena *arena = &lookup->arena;
    arena_init(arena);
    lookup->setup.account = arena_str(arena, setup->account);
    lookup->setup.cache_folder = arena_str(arena, setup->cache_folder);
    lookup->setup.endpoint = arena_str(arena, setup->endpoint);
    lookup->queries = ARENA_ARRAY(arena, count, struct price_query);
    lookup->prices = ARENA_ARRAY(arena, count, struct price_known);
    lookup->asked = ARENA_ARRAY(arena, count, size_t);
    for (size_t i = 0; i < count; i++) {
        lookup->queries[i] = (struct price_query){
            queries[i].kind, arena_str(arena, queries[i].name), arena_str(arena, queries[i].region),
            arena_str(arena, queries[i].zone)};
    }
    lookup->turn = (struct loop_task){.run = price_lookup_take_turn, .context = lookup};
    loop_defer(setup->loop, &lookup->turn);
    return lookup;
}

void price_lookup_cancel(struct price_lookup *lookup)
{
    if (lookup->ask) {
        aws_price_ask_cancel(lookup->ask);
    }
    free_lookup(lookup);
}
