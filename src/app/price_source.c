/* price_source.c: the words for where prices come from. */
#include "app/price_source.h"

const char *price_source_name(enum price_source source)
{
    static const char *const names[PRICE_SOURCE_COUNT] = {
        "nobody", "workload", "file", "catalogue", "price-list", "spot-history"};
    return names[source];
}
