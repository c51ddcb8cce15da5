/* price_reply.c: matches products by attribute and picks the newest spot prices. */
#include "provider/aws/account/price_reply.h"

#include "base/table.h"
#include "provider/aws_time.h"

#include <jansson.h>

enum { DOLLARS_MAX = 1000000, MICRO_DIGITS = 6, MICRO = 1000000, TEXT_BYTES_MAX = 4096 };

/* ---- numbers ---- */

static bool price_reply_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool price_parse_dollars(struct str text, int64_t *ret_micro)
{
    int64_t whole = 0;
    int64_t micro = 0;
    struct str rest = text;
    struct str dollars = str_cut(&rest, '.');
    bool has_point = dollars.len < text.len;
    if (dollars.len == 0 || (has_point && rest.len == 0) || !price_reply_is_digit(dollars.ptr[0]) ||
        !str_to_i64(dollars, &whole) || whole > DOLLARS_MAX) {
        return false;
    }
    for (size_t i = 0; i < rest.len; i++) {
        if (!price_reply_is_digit(rest.ptr[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < MICRO_DIGITS; i++) {
        micro = micro * 10 + (i < rest.len ? rest.ptr[i] - '0' : 0);
    }
    bool rounds_up = rest.len > MICRO_DIGITS && rest.ptr[MICRO_DIGITS] >= '5';
    *ret_micro = whole * MICRO + micro + rounds_up;
    return true;
}

/* ---- the query, and the attributes that a matching product must have ---- */

struct attribute {
    const char *name;
    const char *value; /* NULL: taken from the query */
};

static const struct attribute machine_attributes[] = {
    {"operatingSystem", "Linux"}, {"tenancy", "Shared"},  {"preInstalledSw", "NA"},
    {"capacitystatus", "Used"},   {"instanceType", NULL},
};
static const struct attribute volume_attributes[] = {{"volumeApiName", NULL}};

static const struct attribute *attributes_of(const struct price_query *query, size_t *ret_count)
{
    bool is_volume = query->kind == PRICE_VOLUME;
    *ret_count = is_volume ? ARRAY_LEN(volume_attributes) : ARRAY_LEN(machine_attributes);
    return is_volume ? volume_attributes : machine_attributes;
}

static struct str family_of(const struct price_query *query)
{
    return query->kind == PRICE_VOLUME ? STR("Storage") : STR("Compute Instance");
}

static void add_filter(struct param *filters, const char *field, struct str value,
                       struct arena *arena)
{
    struct param *filter = param_add_map(filters, NULL, arena);
    param_add_text(filter, "Type", STR("TERM_MATCH"), arena);
    param_add_text(filter, "Field", str_from(field), arena);
    param_add_text(filter, "Value", value, arena);
}

struct param *price_products_input(const struct price_query *query, struct str next_token,
                                   struct arena *arena)
{
    size_t count;
    const struct attribute *attributes = attributes_of(query, &count);
    struct param *input = param_new_map(arena);
    param_add_text(input, "ServiceCode", STR("AmazonEC2"), arena);
    param_add_text(input, "FormatVersion", STR("aws_v1"), arena);
    struct param *filters = param_add_list(input, "Filters", arena);
    add_filter(filters, "regionCode", query->region, arena);
    if (query->kind == PRICE_VOLUME) {
        add_filter(filters, "productFamily", family_of(query), arena);
    }
    for (size_t i = 0; i < count; i++) {
        const char *value = attributes[i].value;
        add_filter(filters, attributes[i].name, value ? str_from(value) : query->name, arena);
    }
    if (next_token.len > 0) {
        param_add_text(input, "NextToken", next_token, arena);
    }
    return input;
}

/* ---- JSON ---- */

static void price_reply_drop(json_t **json)
{
    json_decref(*json);
}

#define AUTO_JSON __attribute__((cleanup(price_reply_drop)))

static json_t *price_reply_load(struct str text, struct err *err)
{
    json_error_t where;
    if (text.len > PRICE_REPLY_BYTES_MAX) {
        err_set(err, ERR_PROTOCOL, "more than %d bytes", PRICE_REPLY_BYTES_MAX);
        return NULL;
    }
    json_t *json = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, &where);
    if (!json || !json_is_object(json)) {
        err_set(err, ERR_PROTOCOL, json ? "the JSON is not an object" : "invalid JSON");
        json_decref(json);
        return NULL;
    }
    return json;
}

/* Empty if it is missing or not a string. */
static struct str price_reply_text_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : STR("");
}

static bool price_reply_is_wanted(const json_t *product, const struct price_query *query)
{
    size_t count;
    const struct attribute *attributes = attributes_of(query, &count);
    const json_t *own = json_object_get(product, "attributes");
    bool is_wanted = str_eq(price_reply_text_of(own, "regionCode"), query->region) &&
                     query->region.len > 0 && query->name.len > 0;
    /* Bare metal has its own product family; the instance type identifies it anyway. */
    struct str family = price_reply_text_of(product, "productFamily");
    is_wanted = is_wanted &&
                (str_eq(family, family_of(query)) ||
                 (query->kind != PRICE_VOLUME && str_is(family, "Compute Instance (bare metal)")));
    for (size_t i = 0; is_wanted && i < count; i++) {
        const char *value = attributes[i].value;
        struct str expected = value ? str_from(value) : query->name;
        is_wanted = str_eq(price_reply_text_of(own, attributes[i].name), expected);
    }
    /* Not on every product. If present, they exclude other kinds of prices: an Outpost of a region,
     * or a capacity block that is paid for in advance. */
    struct str option = price_reply_text_of(own, "marketoption");
    struct str place = price_reply_text_of(own, "locationType");
    return is_wanted && (option.len == 0 || str_is(option, "OnDemand")) &&
           (place.len == 0 || str_is(place, "AWS Region"));
}

/* ---- the price of a product ---- */

/* The only member of an object; NULL with an error if there are none or several. */
static const json_t *only_member(const json_t *object, const char *what, struct err *err)
{
    json_t *mutable_object = (json_t *)(uintptr_t)object; /* jansson's iterators do not modify it */
    void *at = json_object_iter(mutable_object);
    if (json_object_size(object) != 1 || !at) {
        err_set(err, ERR_PROTOCOL, "AWS returned a product with %zu %s instead of exactly one",
                json_object_size(object), what);
        return NULL;
    }
    return json_object_iter_value(at);
}

static bool price_reply_price_of(const json_t *document, const struct price_query *query,
                                 int64_t *ret_price, struct err *err)
{
    const json_t *terms = json_object_get(json_object_get(document, "terms"), "OnDemand");
    const json_t *term = only_member(terms, "terms", err);
    if (!term) {
        return false;
    }
    const json_t *row = only_member(json_object_get(term, "priceDimensions"), "prices", err);
    if (!row) {
        return false;
    }
    const char *unit = query->kind == PRICE_VOLUME ? "GB-Mo" : "Hrs";
    if (!str_is(price_reply_text_of(row, "unit"), unit)) {
        return err_set(err, ERR_PROTOCOL, "AWS returned a price that is not per %s", unit);
    }
    struct str dollars = price_reply_text_of(json_object_get(row, "pricePerUnit"), "USD");
    /* Announced or restricted types are listed with price 0. */
    return (price_parse_dollars(dollars, ret_price) && *ret_price > 0) ||
           err_set(err, ERR_PROTOCOL,
                   "AWS returned a price that is not a positive amount in dollars");
}

/* Adds the price of one product; several products must agree. */
static bool on_product(const json_t *item, const struct price_query *query, struct price_page *page,
                       struct err *err)
{
    int64_t price;
    struct str text = {json_string_value(item), json_string_length(item)};
    if (!json_is_string(item)) {
        return err_set(err, ERR_PROTOCOL, "AWS returned a product that is not a string");
    }
    AUTO_JSON json_t *document = price_reply_load(text, err);
    if (!document) {
        return err_wrap(err, "cannot read a product");
    }
    if (!price_reply_is_wanted(json_object_get(document, "product"), query)) {
        return true;
    }
    if (!price_reply_price_of(document, query, &price, err)) {
        return false;
    }
    if (page->price != PRICE_UNKNOWN && page->price != price) {
        return err_set(err, ERR_PROTOCOL, "AWS returned two prices for one product");
    }
    page->price = price;
    return true;
}

bool price_products_read(struct str json, const struct price_query *query, struct arena *arena,
                         struct price_page *ret_page, struct err *err)
{
    struct price_page page = {.price = PRICE_UNKNOWN};
    AUTO_JSON json_t *root = price_reply_load(json, err);
    if (!root) {
        return false;
    }
    const json_t *list = json_object_get(root, "PriceList");
    const json_t *next = json_object_get(root, "NextToken");
    if (!json_is_array(list) || json_array_size(list) > PRICE_PRODUCTS_MAX) {
        return err_set(err, ERR_PROTOCOL, "PriceList is missing, not a list, or too long");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!on_product(json_array_get(list, i), query, &page, err)) {
            return false;
        }
    }
    struct str token = price_reply_text_of(root, "NextToken");
    if (token.len > TEXT_BYTES_MAX || (next && !json_is_null(next) && !json_is_string(next))) {
        return err_set(err, ERR_PROTOCOL, "NextToken is not a string, or too long");
    }
    page.next_token = arena_str(arena, token);
    *ret_page = page;
    return true;
}

/* ---- spot ---- */

struct history {
    struct arena *arena;
    struct spot_price *prices;
    size_t count, capacity;
    struct table index;
};

struct price_reply_sought {
    const struct history *history;
    struct str type, zone;
};

static bool price_reply_is_same(const void *context, size_t position)
{
    const struct price_reply_sought *sought = context;
    const struct spot_price *have = &sought->history->prices[position];
    return str_eq(have->type, sought->type) && str_eq(have->zone, sought->zone);
}

static void keep_newest(struct history *history, const struct spot_price *row)
{
    struct price_reply_sought sought = {history, row->type, row->zone};
    uint64_t hash = str_hash_from(str_hash(row->type), row->zone);
    size_t position = table_find(&history->index, hash, price_reply_is_same, &sought);
    if (position == TABLE_NONE) {
        ARENA_GROW(history->arena, history->prices, history->count, history->capacity);
        history->prices[history->count] = *row;
        table_add(&history->index, history->arena, hash, history->count++);
    } else if (row->since > history->prices[position].since) {
        history->prices[position] = *row;
    }
}

static bool price_reply_read_row(const struct xml_element *item, struct spot_price *ret_row,
                                 struct err *err)
{
    struct spot_price row = {.type = xml_child_text(item, "instanceType"),
                             .zone = xml_child_text(item, "availabilityZone")};
    if (row.type.len == 0 || row.zone.len == 0) {
        return err_set(err, ERR_PROTOCOL,
                       "AWS returned a spot price without an instance type or zone");
    }
    if (!price_parse_dollars(xml_child_text(item, "spotPrice"), &row.price) ||
        !aws_time_parse(xml_child_text(item, "timestamp"), &row.since)) {
        return err_set(err, ERR_PROTOCOL,
                       "AWS returned a spot price that is not a number or has no time");
    }
    *ret_row = row;
    return true;
}

static bool price_reply_read_page(struct history *history, const struct xml_element *root,
                                  struct err *err)
{
    const struct xml_element *set = xml_child(root, "spotPriceHistorySet");
    if (!str_is(root->name, "DescribeSpotPriceHistoryResponse") || !set) {
        return err_set(err, ERR_PROTOCOL, "unexpected response");
    }
    for (const struct xml_element *item = set->first; item; item = item->next) {
        struct spot_price row;
        if (!str_is(xml_child_text(item, "productDescription"), "Linux/UNIX")) {
            continue;
        }
        if (!price_reply_read_row(item, &row, err)) {
            return false;
        }
        keep_newest(history, &row);
    }
    return true;
}

bool price_history_read(const struct xml_element *const *roots, size_t root_count,
                        struct arena *arena, struct spot_price **ret_prices, size_t *ret_count,
                        struct err *err)
{
    struct history history = {.arena = arena};
    for (size_t i = 0; i < root_count; i++) {
        if (!price_reply_read_page(&history, roots[i], err)) {
            return false;
        }
    }
    *ret_prices = history.prices;
    *ret_count = history.count;
    return true;
}
