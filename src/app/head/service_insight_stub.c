/* service_insight_stub.c: nothing is known until Ray is mirrored. */
#include "app/head/service_parts.h"

void service_insight(const struct service *service, struct arena *arena,
                     struct insight *ret_insight)
{
    (void)service;
    (void)arena;
    *ret_insight = (struct insight){.launching = "", .ending = "", .price = -1, .price_limit = -1};
}
