/* resource.c: looks up and converts amounts. */
#include "core/resource.h"

int64_t resource_amount(struct resource_set set, struct str name)
{
    for (size_t i = 0; i < set.count; i++) {
        if (str_eq(set.items[i].name, name)) {
            return set.items[i].amount;
        }
    }
    return 0;
}

bool resource_is_implicit(struct str name)
{
    return str_starts(name, "node:__internal_implicit_resource_");
}

bool resource_from_units(int64_t units, int64_t *ret_amount)
{
    if (units > INT64_MAX / RESOURCE_UNIT || units < INT64_MIN / RESOURCE_UNIT) {
        return false;
    }
    *ret_amount = units * RESOURCE_UNIT;
    return true;
}
