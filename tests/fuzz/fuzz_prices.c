/* fuzz_prices.c: any bytes as a page of the price list, as the cache of prices, and as replies of
 * EC2 from which spot prices and an account's clusters are read. */
#include "fuzz.h"

#include "app/price_cache.h"
#include "provider/account.h"
#include "provider/aws/account/account_read.h"
#include "provider/aws/account/price_reply.h"

enum { NOW = 1794738600 };

static void check_products(struct str bytes, enum price_kind kind, struct arena *arena)
{
    struct price_query query = {kind, kind == PRICE_VOLUME ? STR("gp3") : STR("m5.large"),
                                STR("us-west-2"), STR("")};
    struct price_page page;
    struct err err = {0};
    if (price_products_read(bytes, &query, arena, &page, &err)) {
        if (page.price != PRICE_UNKNOWN && page.price <= 0) {
            fuzz_fail("a price is known and positive, or it is unknown", bytes);
        }
    } else if (err.kind == ERR_NONE) {
        fuzz_fail("a refusal says why", bytes);
    }
}

/* What was read and is written again reads as the same text. */
static void check_cache(struct str bytes, struct arena *arena)
{
    struct price_cache cache;
    struct err err = {0};
    AUTO_BUF struct buf once;
    AUTO_BUF struct buf twice;
    buf_init(&once, PRICE_CACHE_BYTES_MAX);
    buf_init(&twice, PRICE_CACHE_BYTES_MAX);
    if (!price_cache_parse(bytes, arena, &cache, &err)) {
        return;
    }
    for (size_t i = 0; i < cache.count; i++) {
        const struct price_row *row = &cache.rows[i];
        struct price_query query = {row->kind, row->name, cache.region, row->zone};
        const struct price_row *found = price_cache_find(&cache, &query, row->account, NOW);
        if (found && (found->price <= 0 || found->at > NOW + 300)) {
            fuzz_fail("what is believed is a price of the past", bytes);
        }
    }
    if (!price_cache_print(&cache, NOW, &once, &err)) {
        return;
    }
    if (!price_cache_parse(buf_str(&once), arena, &cache, &err) ||
        !price_cache_print(&cache, NOW, &twice, &err) || !str_eq(buf_str(&once), buf_str(&twice))) {
        fuzz_fail("a cache is read as it was written", buf_str(&once));
    }
}

static void check_account(const struct xml_element *root, struct arena *arena)
{
    static account_read_fn *const readers[] = {account_read_groups, account_read_keys,
                                               account_read_templates, account_read_volumes};
    struct account_basket basket = {.arena = arena};
    struct account_cluster *clusters;
    struct str *regions;
    size_t count;
    size_t seen = 0;
    size_t nobodys = 0;
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        if (!readers[i](&basket, STR("us-west-2"), root, &err) && err.kind == ERR_NONE) {
            fuzz_fail("a refusal says why", root->name);
        }
    }
    (void)!account_read_roles(&basket, root, &err);
    (void)!account_read_profiles(&basket, root, &err);
    (void)account_read_tags(&basket, root);
    (void)!account_read_regions(root, arena, &regions, &count, &err);
    for (size_t i = 0; i < basket.finds.thing_count; i++) {
        const struct account_owner *owner = &basket.finds.things[i].owner;
        /* in no region, and not all were looked at: nothing to be said about it */
        nobodys += owner->region.len == 0;
    }
    account_gather(&basket.finds, arena, &clusters, &count);
    for (size_t i = 0; i < count; i++) {
        seen += clusters[i].thing_count;
    }
    if (seen + nobodys != basket.finds.thing_count) {
        fuzz_fail("nothing is lost", root->name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    const struct xml_element *root;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    check_products(bytes, PRICE_ON_DEMAND, &arena);
    check_products(bytes, PRICE_VOLUME, &arena);
    check_cache(bytes, &arena);
    if (xml_tree_parse(bytes, &arena, &root, &err)) {
        struct spot_price *prices;
        size_t count;
        if (price_history_read(&root, 1, &arena, &prices, &count, &err)) {
            for (size_t i = 0; i < count; i++) {
                if (prices[i].price < 0 || prices[i].type.len == 0 || prices[i].zone.len == 0) {
                    fuzz_fail("spot prices are whole", bytes);
                }
            }
        }
        check_account(root, &arena);
    }
    arena_clear(&arena);
    return 0;
}
