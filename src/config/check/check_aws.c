/* check_aws.c: predicts EC2's reply to a node_config as far as possible offline. */
#include "config/check/check.h"

#include "config/catalog/catalog.h"
#include "config/prepare/autofill.h"

/* Reports an unknown instance type, unless the lookup of its resources already did. */
static void check_machine(const struct check *check, const struct value *name)
{
    struct machine_type machine;
    if (!catalog_ec2_type(name->text, &machine) && !catalog_ec2_has(name->text) &&
        !diag_has(check->diags, "unknown-machine", name->place)) {
        autofill_report_machine(check->diags, DIAG_WARNING, name);
    }
}

static void check_node(const struct check *check, const struct value_entry *type)
{
    const struct value_entry *entry = value_entry_c(type->value, "node_config");
    if (!entry || entry->value->kind != VALUE_MAP || !check_is_written(entry->value)) {
        return;
    }
    const struct value *node = entry->value;
    const struct value *machine = value_get_c(node, "InstanceType");
    check_params(check, CATALOG_EC2, node);
    if (!machine && !value_get_c(node, "LaunchTemplate")) {
        struct diag *diag = diag_error(check->diags, "missing-key", type->key->place,
                                       "node type %.*s has no InstanceType in its node_config",
                                       STR_ARG(value_text(type->key)));
        diag_hint(check->diags, diag, "add: InstanceType: m5.large");
    } else if (machine && machine->kind != VALUE_STRING &&
               !diag_has(check->diags, "wrong-type", machine->place)) {
        diag_error(check->diags, "wrong-type", machine->place, "InstanceType must be text, not %s",
                   value_kind_text(machine));
    } else if (value_is(machine, VALUE_STRING)) {
        check_machine(check, machine);
    }
}

static bool check_aws_is_spot(const struct value *node)
{
    return str_is(value_text(value_path(node, "InstanceMarketOptions.MarketType")), "spot");
}

static void check_head_market(const struct check *check, const struct value_entry *type)
{
    const struct value *node = value_get_c(type->value, "node_config");
    if (check_is_head(check, type) && check_aws_is_spot(node) && check_is_written(node)) {
        struct diag *diag = diag_warn(
            check->diags, "spot-head", value_entry_c(node, "InstanceMarketOptions")->key->place,
            "the head is a spot instance: if EC2 reclaims it, the cluster is lost");
        diag_hint(check->diags, diag, "use spot instances for workers only");
    }
}

/* With the user's own key, EC2 must have its public half. */
static void check_key_name(const struct check *check, const struct value_entry *type)
{
    const struct value *key = value_path(check->tree, "auth.ssh_private_key");
    const struct value *node = value_get_c(type->value, "node_config");
    if (!key || !check_is_written(key) || !value_is(node, VALUE_MAP) ||
        value_get_c(node, "KeyName") || value_get_c(node, "UserData")) {
        return;
    }
    bool is_ours = !place_is_users(type->key->place);
    struct diag *diag = diag_error(check->diags, "missing-key",
                                   is_ours ? key->place : type->key->place,
                                   "node type %.*s needs a KeyName in its node_config, because "
                                   "auth.ssh_private_key is set",
                                   STR_ARG(value_text(type->key)));
    diag_hint(check->diags, diag, "or remove auth.ssh_private_key");
}

/* EC2 replaces the instance of a persistent request whenever it terminates; Shoal does not cancel
 * the request. */
static void check_persistent(const struct check *check, const struct value_entry *type)
{
    const struct value *kind = value_path(
        type->value, "node_config.InstanceMarketOptions.SpotOptions.SpotInstanceType");
    if (str_is(value_text(kind), "persistent")) {
        struct diag *diag = diag_warn(
            check->diags, "persistent-spot", kind->place,
            "EC2 replaces the instance of a persistent spot request each time it is terminated, "
            "so `shoal up` rejects this file");
        diag_hint(check->diags, diag, "SpotInstanceType: one-time");
    }
}

void check_aws(const struct check *check)
{
    const struct value *types = check_node_types(check);
    check_region(check);
    for (size_t i = 0; i < types->map.count; i++) {
        check_node(check, &types->map.entries[i]);
        check_head_market(check, &types->map.entries[i]);
        check_key_name(check, &types->map.entries[i]);
        check_persistent(check, &types->map.entries[i]);
    }
}
