/* price_source.c: the sources of prices that need no I/O, and the names of all. */
#include "app/price_source.h"

#include "config/catalog/catalog.h"
#include "provider/aws_time.h"

#include <math.h>

static const struct price_known unknown = {PRICE_UNKNOWN, PRICE_FROM_UNKNOWN, 0};

struct price_known price_written(const struct value *written, const struct price_query *query)
{
    const struct value *value = value_get(written, query->name);
    double dollars;
    if (query->kind != PRICE_ON_DEMAND || !value || !value_number(value, &dollars) ||
        !(dollars >= 0 && dollars <= 1e6)) {
        return unknown;
    }
    return (struct price_known){(int64_t)round(dollars * 1e6), PRICE_FROM_FILE, 0};
}

/* Per GB and month, in the region of the catalog: what root disks usually are. */
static bool price_of_volume(struct str kind, int64_t *ret_price)
{
    bool is_gp3 = str_is(kind, "gp3");
    *ret_price = is_gp3 ? 80000 : 100000;
    return is_gp3 || str_is(kind, "gp2");
}

struct price_known price_built_in(const struct price_query *query)
{
    struct price_known known = {PRICE_UNKNOWN, PRICE_FROM_CATALOG, 0, false};
    bool is_known = str_eq(query->region, catalog_ec2_price_region()) &&
                    (query->kind == PRICE_ON_DEMAND
                         ? catalog_ec2_price(query->name, &known.price)
                         : query->kind == PRICE_VOLUME &&
                               price_of_volume(query->name, &known.price));
    if (!is_known) {
        return unknown;
    }
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str date = catalog_ec2_price_date();
    if (!aws_time_parse(arena_printf(&arena, "%.*sT00:00:00Z", STR_ARG(date)), &known.at)) {
        known.at = 0;
    }
    return known;
}

const char *price_source_name(enum price_source source)
{
    static const char *const names[PRICE_SOURCE_COUNT] = {"unknown", "workload",   "file",
                                                          "catalog", "price-list", "spot-history"};
    return names[source];
}
