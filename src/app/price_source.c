/* price_source.c: names of the sources of prices. */
#include "app/price_source.h"

const char *price_source_name(enum price_source source)
{
    static const char *const names[PRICE_SOURCE_COUNT] = {"unknown", "workload",   "file",
                                                          "catalog", "price-list", "spot-history"};
    return names[source];
}
