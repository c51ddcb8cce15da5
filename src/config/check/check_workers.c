/* check_workers.c: impossible worker counts. */
#include "config/check/check.h"

static void check_type(const struct check *check, const struct value_entry *type, double limit)
{
    const struct value *least = value_get_c(type->value, "min_workers");
    const struct value *most = value_get_c(type->value, "max_workers");
    double low = 0;
    double high = 0;
    if (!least || !most || !value_number(least, &low) || !value_number(most, &high)) {
        return;
    }
    if (low > high && check_is_written(least)) {
        struct diag *diag = diag_warn(check->diags, "max-workers", least->place,
                                      "node type %.*s: min_workers %.0f is more than its "
                                      "max_workers %.0f",
                                      STR_ARG(value_text(type->key)), low, high);
        diag_hint(check->diags, diag, "only %.0f will be launched", high);
    }
    if (high > limit && check_is_written(most) && most != value_get_c(check->tree, "max_workers")) {
        struct diag *diag = diag_warn(check->diags, "max-workers", most->place,
                                      "node type %.*s can never reach %.0f workers: max_workers "
                                      "of the cluster is %.0f",
                                      STR_ARG(value_text(type->key)), high, limit);
        diag_hint(check->diags, diag, "raise max_workers of the cluster, or lower this value");
    }
    if (high <= 0 && !check_is_head(check, type) && check_is_written(type->value)) {
        struct diag *diag = diag_warn(check->diags, "max-workers", type->key->place,
                                      "node type %.*s can never be launched: its max_workers is "
                                      "%.0f",
                                      STR_ARG(value_text(type->key)), high);
        diag_hint(check->diags, diag, "set max_workers here, or for the whole cluster");
    }
}

static void check_fit(const struct check *check, const struct value_entry *type)
{
    const struct value *resources = value_get_c(type->value, "resources");
    const struct value *cpu = value_get_c(resources, "CPU");
    double amount;
    if (check_is_head(check, type) || !cpu || !check_is_written(cpu)) {
        return;
    }
    if (value_number(cpu, &amount) && amount == 0 && resources->map.count == 1) {
        diag_warn(check->diags, "no-resources", cpu->place,
                  "node type %.*s has no resources that a task could request",
                  STR_ARG(value_text(type->key)));
    }
}

void check_workers(const struct check *check)
{
    const struct value *types = check_node_types(check);
    const struct value *most = value_get_c(check->tree, "max_workers");
    double limit;
    /* A mistyped max_workers is one error, not one per node type. */
    if (!most || !value_number(most, &limit) ||
        diag_suggests(check->diags, NULL, STR("max_workers"))) {
        return;
    }
    for (size_t i = 0; i < types->map.count; i++) {
        check_type(check, &types->map.entries[i], limit);
        check_fit(check, &types->map.entries[i]);
    }
}
