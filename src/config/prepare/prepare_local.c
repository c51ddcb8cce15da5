/* prepare_local.c: Ray's preparation of `provider.type: local`. */
#include "config/prepare/prepare_local.h"

#define LOCAL_NODE_TYPE "local.cluster.node"

static bool is_prepared(const struct value *root)
{
    const struct value *types = value_get_c(root, "available_node_types");
    return value_get_c(types, LOCAL_NODE_TYPE) != NULL;
}

static void refuse_node_keys(struct value *root, struct diag_list *diags)
{
    static const char *const keys[] = {"head_node", "worker_nodes", "available_node_types"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct value_entry *entry = value_entry_c(root, keys[i]);
        if (!entry) {
            continue;
        }
        if (value_is_true(entry->value)) {
            struct diag *diag = diag_error(diags, "local", entry->key->place,
                                           "%s cannot be used with provider.type local", keys[i]);
            diag_hint(diags, diag,
                      "the nodes are the machines in provider.head_ip and provider.worker_ips");
        }
        value_map_remove(root, keys[i]);
    }
}

static void set(struct arena *arena, struct value *map, const char *key, struct value *value)
{
    value_map_set_c(arena, map, key, value);
}

/* Reduces a count above the number of machines, with a warning. */
static struct value *cut_count(struct arena *arena, struct value *count, const char *key,
                               size_t machines, struct diag_list *diags)
{
    double number;
    if (!value_number(count, &number)) {
        diag_error(diags, "wrong-type", count->place, "%s must be a whole number, not %s", key,
                   value_kind_text(count));
        return value_int(arena, (int64_t)machines, (struct place){0}); /* as if it were not set */
    }
    if (number > (double)machines) {
        diag_warn(diags, "local", count->place,
                  "%s is larger than the number of worker_ips (%zu); using %zu", key, machines,
                  machines);
        return value_int(arena, (int64_t)machines, count->place);
    }
    return count;
}

static void fill_manual(struct arena *arena, struct value *root, struct value *type,
                        struct diag_list *diags)
{
    const struct value_entry *provider = value_entry_c(root, "provider");
    const struct value *ips = value_get_c(provider->value, "worker_ips");
    if (!ips || !value_get_c(provider->value, "head_ip")) {
        struct diag *diag = diag_error(diags, "missing-key", provider->key->place,
                                       "provider: head_ip and worker_ips are required");
        diag_hint(diags, diag, "set both, or set coordinator_address");
    }
    size_t machines = value_is(ips, VALUE_LIST) ? ips->list.count : 0;
    struct value *all = value_int(arena, (int64_t)machines, (struct place){0});
    struct value *least = value_map_remove(root, "min_workers");
    struct value *most = value_get_c(root, "max_workers");
    if (!value_is(ips, VALUE_LIST)) {
        if (!most) {
            set(arena, root, "max_workers", all); /* one finding is enough */
        }
        return;
    }
    least = cut_count(arena, least ? least : all, "min_workers", machines, diags);
    most = cut_count(arena, most ? most : all, "max_workers", machines, diags);
    set(arena, type, "min_workers", least);
    set(arena, type, "max_workers", most);
    if (value_get_c(root, "max_workers")) {
        value_entry_c(root, "max_workers")->value = most;
    } else {
        set(arena, root, "max_workers", most);
    }
    double number;
    if (value_number(most, &number) && number < (double)machines) {
        diag_warn(diags, "local", most->place,
                  "max_workers leaves some of the %zu worker_ips "
                  "unused",
                  machines);
    }
}

static void fill_coordinator(struct arena *arena, struct value *root, struct value *type,
                             struct diag_list *diags)
{
    struct value *least = value_map_remove(root, "min_workers");
    struct value *most = value_get_c(root, "max_workers");
    if (!most) {
        diag_error(diags, "missing-key", value_entry_c(root, "provider")->key->place,
                   "\"max_workers\" is required with provider.coordinator_address");
        set(arena, root, "max_workers", value_int(arena, 0, (struct place){0}));
        return;
    }
    set(arena, type, "min_workers", least ? least : value_int(arena, 0, (struct place){0}));
    set(arena, type, "max_workers", most);
}

bool prepare_local(struct arena *arena, struct value *root, struct diag_list *diags)
{
    struct place nowhere = {0};
    if (is_prepared(root) && !value_is_true(value_get_c(root, "head_node")) &&
        !value_is_true(value_get_c(root, "worker_nodes"))) {
        return true;
    }
    refuse_node_keys(root, diags);
    struct value *type = value_new(arena, VALUE_MAP, nowhere);
    struct value *types = value_new(arena, VALUE_MAP, nowhere);
    set(arena, type, "node_config", value_new(arena, VALUE_MAP, nowhere));
    set(arena, type, "resources", value_new(arena, VALUE_MAP, nowhere));
    set(arena, types, LOCAL_NODE_TYPE, type);
    set(arena, root, "available_node_types", types);
    set(arena, root, "head_node_type", value_string(arena, STR(LOCAL_NODE_TYPE), nowhere));
    if (value_get_c(value_get_c(root, "provider"), "coordinator_address")) {
        fill_coordinator(arena, root, type, diags);
    } else {
        fill_manual(arena, root, type, diags);
    }
    return false;
}
