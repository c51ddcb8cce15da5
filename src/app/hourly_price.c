/* hourly_price.c: adds up the parts of an instance's price. */
#include "app/hourly_price.h"

#include "app/node_kind.h"
#include "app/price_lookup.h"
#include "app/type_zones.h"
#include "config/catalog/catalog.h"

enum {
    IPV4_PRICE = 5000, /* each public address, in every region, since February 2024 */
};

static const struct price_known unknown = {PRICE_UNKNOWN, PRICE_FROM_UNKNOWN, 0, false};

/* ---- the table ---- */

static size_t hourly_price_position(const struct price_table *table,
                                    const struct price_query *query)
{
    size_t i = 0;
    while (i < table->count && !price_query_eq(&table->queries[i], query)) {
        i++;
    }
    return i;
}

struct price_known price_table_find(const struct price_table *table,
                                    const struct price_query *query)
{
    size_t i = hourly_price_position(table, query);
    return i < table->count && table->prices[i].price != PRICE_UNKNOWN ? table->prices[i]
                                                                       : price_built_in(query);
}

void price_table_put(struct price_table *table, const struct price_query *query,
                     struct price_known price, struct arena *arena)
{
    enum { GROWTH = 16 };
    size_t i = hourly_price_position(table, query);
    if (i == table->count && i % GROWTH == 0) {
        struct price_query *queries = ARENA_ARRAY(arena, i + GROWTH, struct price_query);
        struct price_known *prices = ARENA_ARRAY(arena, i + GROWTH, struct price_known);
        for (size_t k = 0; k < i; k++) {
            queries[k] = table->queries[k];
            prices[k] = table->prices[k];
        }
        table->queries = queries;
        table->prices = prices;
    }
    table->count += i == table->count;
    table->queries[i] = *query;
    table->prices[i] = price;
}

void price_table_write(const struct price_table *table, struct buf *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct price_query *query = &table->queries[i];
        const struct price_known *known = &table->prices[i];
        if (known->price != PRICE_UNKNOWN) {
            buf_addf(out, "%d %.*s %.*s %lld %d %lld\n", (int)query->kind, STR_ARG(query->name),
                     STR_ARG(query->zone.len > 0 ? query->zone : STR("-")), (long long)known->price,
                     (int)known->source, (long long)known->at);
        }
    }
}

static bool hourly_price_number(struct str *line, int64_t below, int64_t *ret_number)
{
    return str_to_i64(str_cut(line, ' '), ret_number) && *ret_number >= 0 && *ret_number < below;
}

void price_table_read(struct str text, struct str region, struct arena *arena,
                      struct price_table *ret_table)
{
    *ret_table = (struct price_table){0};
    while (text.len > 0) {
        struct str line = str_cut(&text, '\n');
        int64_t kind, price, source, at;
        bool ok = hourly_price_number(&line, PRICE_KIND_COUNT, &kind);
        struct str name = str_cut(&line, ' ');
        struct str zone = str_cut(&line, ' ');
        if (ok && name.len > 0 && hourly_price_number(&line, INT64_MAX, &price) &&
            hourly_price_number(&line, PRICE_SOURCE_COUNT, &source) &&
            hourly_price_number(&line, INT64_MAX, &at)) {
            struct price_query query = {(enum price_kind)kind, arena_str(arena, name), region,
                                        str_is(zone, "-") ? STR("") : arena_str(arena, zone)};
            price_table_put(ret_table, &query,
                            (struct price_known){price, (enum price_source)source, at, false},
                            arena);
        }
    }
}

/* ---- prices ---- */

/* The user's own price, which includes everything. It says nothing about the spot market, unless it
 * is that of a node type. */
static struct price_known hourly_price_written(const struct price_book *book,
                                               const struct price_subject *subject)
{
    struct price_query query = {PRICE_ON_DEMAND, subject->type, book->region, STR("")};
    struct price_known price = price_written(book->written, &query);
    query.name = subject->is_spot ? STR("") : subject->machine;
    return price.source == PRICE_FROM_UNKNOWN ? price_written(book->written, &query) : price;
}

/* A simulation has no account: it takes the prices of its files, then those of the catalog, and
 * assumes that spot instances cost a share of them. The output says so. */
static struct price_known hourly_price_assumed(const struct price_book *book,
                                               const struct price_subject *subject)
{
    struct price_query query = {PRICE_ON_DEMAND, subject->machine, catalog_ec2_price_region(),
                                STR("")};
    struct price_known price = {PRICE_UNKNOWN, PRICE_FROM_WORKLOAD, 0, false};
    if (workload_price_find(book->workload, subject->type, &price.price)) {
        return price;
    }
    if (!workload_price_find(book->workload, subject->machine, &price.price)) {
        price = price_written(book->written, &query);
        price = price.source == PRICE_FROM_UNKNOWN && book->is_listed ? price_built_in(&query)
                                                                      : price;
    }
    if (price.source != PRICE_FROM_UNKNOWN && subject->is_spot) {
        price.price = price.price * book->workload->spot_share / 1000;
        price.is_share = true;
    }
    return price;
}

/* PRICE_UNKNOWN: it is not known what disks there are, or what they cost. */
static int64_t hourly_price_disks(const struct price_book *book, struct str disks)
{
    int64_t by_month = 0;
    int64_t by_hour = 0;
    bool is_known = disks.len > 0;
    while (disks.len > 0 && is_known) {
        struct price_query query = {PRICE_VOLUME, str_cut(&disks, ' '), book->region, STR("")};
        int64_t amount;
        is_known = str_to_i64(str_cut(&disks, ' '), &amount) && amount >= 0;
        if (!is_known || amount == 0) {
            continue;
        }
        if (str_is(query.name, "ipv4")) {
            by_hour += amount * IPV4_PRICE;
            continue;
        }
        struct price_known price = price_table_find(&book->table, &query);
        is_known = price.price != PRICE_UNKNOWN;
        by_month += is_known ? price.price * amount : 0;
    }
    return is_known ? by_hour + (by_month + PRICE_HOURS_A_MONTH / 2) / PRICE_HOURS_A_MONTH
                    : PRICE_UNKNOWN;
}

struct price_known hourly_price(const struct price_book *book, const struct price_subject *subject)
{
    if (book->workload) {
        return hourly_price_assumed(book, subject);
    }
    struct price_known price = hourly_price_written(book, subject);
    if (price.source != PRICE_FROM_UNKNOWN || !book->is_listed) {
        return price;
    }
    struct price_query query = {subject->is_spot ? PRICE_SPOT : PRICE_ON_DEMAND, subject->machine,
                                book->region, subject->is_spot ? subject->zone : STR("")};
    price = subject->machine.len > 0 ? price_table_find(&book->table, &query)
                                     : (struct price_known){0, PRICE_FROM_LIST, 0, false};
    int64_t disks = hourly_price_disks(book, subject->disks.len > 0
                                                 ? subject->disks
                                                 : type_zones_find(book->disks, subject->type));
    if (price.price == PRICE_UNKNOWN || disks == PRICE_UNKNOWN) {
        return unknown;
    }
    price.price += disks;
    return price;
}

/* ---- questions ---- */

static void hourly_price_ask(struct price_table *questions, enum price_kind kind, struct str name,
                             struct str region, struct str zone, struct arena *arena)
{
    if (name.len > 0) {
        price_table_put(questions, &(struct price_query){kind, name, region, zone}, unknown, arena);
    }
}

/* Zones are named after their region: "us-west-2a". Those that do not exist have no price. */
static void hourly_price_ask_spot(struct price_table *questions, struct str name, struct str region,
                                  struct str zones, struct arena *arena)
{
    for (char letter = 'a'; letter <= 'f'; letter++) {
        struct str zone = arena_printf(arena, "%.*s%c", STR_ARG(region), letter);
        hourly_price_ask(questions, PRICE_SPOT, name, region, zone, arena);
    }
    while (zones.len > 0) {
        struct str zone = str_trim(str_cut(&zones, ','));
        if (zone.len > 0) {
            hourly_price_ask(questions, PRICE_SPOT, name, region, zone, arena);
        }
    }
}

static void hourly_price_ask_disks(struct price_table *questions,
                                   const struct config_node_type *type, struct str region,
                                   struct arena *arena)
{
    const struct value *list = value_get_c(type->node_config, "BlockDeviceMappings");
    for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
        hourly_price_ask(questions, PRICE_VOLUME,
                         value_text(value_path(list->list.items[i], "Ebs.VolumeType")), region,
                         STR(""), arena);
    }
}

void price_queries_of(const struct config *config, struct str region, struct arena *arena,
                      struct price_table *ret_questions)
{
    struct str zones = value_text(value_get_c(config->provider, "availability_zone"));
    struct str fallback = value_text(value_get_c(config->shoal, "spot_fallback"));
    *ret_questions = (struct price_table){0};
    /* Root disks of images and of EC2's own choice have one of these types. */
    hourly_price_ask(ret_questions, PRICE_VOLUME, STR("gp3"), region, STR(""), arena);
    hourly_price_ask(ret_questions, PRICE_VOLUME, STR("gp2"), region, STR(""), arena);
    for (size_t i = 0; i < config->node_type_count; i++) {
        const struct config_node_type *type = &config->node_types[i];
        struct str machine = node_kind_machine(type);
        bool is_spot = node_kind_is_spot(type);
        if (is_spot) {
            hourly_price_ask_spot(ret_questions, machine, region, zones, arena);
        }
        if (!is_spot || str_is(fallback, "on-demand")) {
            hourly_price_ask(ret_questions, PRICE_ON_DEMAND, machine, region, STR(""), arena);
        }
        hourly_price_ask_disks(ret_questions, type, region, arena);
    }
}
