/* node_kind.c: the keys of each provider. */
#include "app/node_kind.h"

#include "config/document/value.h"

struct str node_kind_machine(const struct config_node_type *type)
{
    static const char *const paths[] = {"InstanceType", "machineType",
                                        "azure_arm_parameters.vmSize"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct str name = value_text(value_path(type->node_config, paths[i]));
        if (name.len > 0) {
            return name;
        }
    }
    return STR("");
}

/* GCE uses a map, and Ray's examples a list of maps with one key each. */
static bool is_preemptible(const struct value *scheduling)
{
    bool is_spot = value_is_true(value_get_c(scheduling, "preemptible")) ||
                   str_is(value_text(value_get_c(scheduling, "provisioningModel")), "SPOT");
    for (size_t i = 0; value_is(scheduling, VALUE_LIST) && i < scheduling->list.count; i++) {
        const struct value *item = scheduling->list.items[i];
        is_spot = is_spot || (value_is(item, VALUE_MAP) && is_preemptible(item));
    }
    return is_spot;
}

bool node_kind_is_spot(const struct config_node_type *type)
{
    const struct value *own = type->node_config;
    struct str market = value_text(value_path(own, "InstanceMarketOptions.MarketType"));
    struct str priority = value_text(value_path(own, "azure_arm_parameters.priority"));
    return str_is(market, "spot") || str_is(priority, "Spot") ||
           is_preemptible(value_get_c(own, "scheduling"));
}
