/* check_aws.c: what EC2 would answer to a node_config, as far as it can be known from here. */
#include "config/check/check.h"

#include "config/catalog/catalog.h"
#include "config/prepare/autofill.h"

/* Keys of a node_config that are Ray's, not EC2's. */
static bool is_ray_param(struct str name)
{
    return str_is(name, "SubnetIds");
}

static void check_params(const struct check *check, const struct value *node)
{
    for (size_t i = 0; i < node->map.count; i++) {
        const struct value *key = node->map.entries[i].key;
        struct str name = value_text(key);
        if (name.len == 0 || is_ray_param(name) || catalog_ec2_param(name)) {
            continue;
        }
        struct str best = catalog_ec2_param_nearest(name);
        if (best.len > 0) {
            struct diag *diag = diag_error(check->diags, "unknown-parameter", key->place,
                                           "EC2 has no launch parameter \"%.*s\"", STR_ARG(name));
            diag_hint(check->diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
        } else {
            diag_warn(check->diags, "unknown-parameter", key->place,
                      "\"%.*s\" is not a launch parameter that shoal knows of EC2", STR_ARG(name));
        }
    }
}

/* Said already where resources were to be looked up; here it is what EC2 would answer. */
static void check_machine(const struct check *check, const struct value *name)
{
    struct machine_type machine;
    if (!catalog_ec2_type(name->text, &machine) &&
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
    check_params(check, node);
    if (!machine && !value_get_c(node, "LaunchTemplate")) {
        struct diag *diag = diag_error(check->diags, "missing-key", type->key->place,
                                       "node type %.*s has no InstanceType in its node_config",
                                       STR_ARG(value_text(type->key)));
        diag_hint(check->diags, diag, "add: InstanceType: m5.large");
    } else if (machine && machine->kind != VALUE_STRING) {
        diag_error(check->diags, "wrong-type", machine->place, "InstanceType must be text, not %s",
                   value_kind_words(machine));
    } else if (machine) {
        check_machine(check, machine);
    }
}

static bool is_spot(const struct value *node)
{
    return str_is(value_text(value_path(node, "InstanceMarketOptions.MarketType")), "spot");
}

static void check_head_market(const struct check *check, const struct value_entry *type)
{
    const struct value *node = value_get_c(type->value, "node_config");
    if (check_is_head(check, type) && is_spot(node) && check_is_written(node)) {
        struct diag *diag = diag_warn(
            check->diags, "spot-head", value_entry_c(node, "InstanceMarketOptions")->key->place,
            "the head is a spot machine: when EC2 takes it back the cluster is gone");
        diag_hint(check->diags, diag, "spot is for workers");
    }
}

/* With a key of the user's own EC2 must know its public half. */
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
                                   "auth.ssh_private_key is given",
                                   STR_ARG(value_text(type->key)));
    diag_hint(check->diags, diag, "or leave auth.ssh_private_key out");
}

void check_aws(const struct check *check)
{
    const struct value *types = check_node_types(check);
    for (size_t i = 0; i < types->map.count; i++) {
        check_node(check, &types->map.entries[i]);
        check_head_market(check, &types->map.entries[i]);
        check_key_name(check, &types->map.entries[i]);
    }
}
