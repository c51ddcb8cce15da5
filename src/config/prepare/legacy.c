/* legacy.c: converts keys of cluster files since 2019. */
#include "config/prepare/legacy.h"

#define LEGACY_HEAD "ray-legacy-head-node-type"
#define LEGACY_WORKER "ray-legacy-worker-node-type"

/* ---- upscaling speed ---- */

static void set_speed(struct arena *arena, struct value *root, double speed, struct place place)
{
    struct value *value = value_new(arena, VALUE_FLOAT, place);
    value->number = speed;
    value_map_set(arena, root, value_string(arena, STR("upscaling_speed"), place), value);
}

static void convert_utilization(struct arena *arena, struct value *root,
                                const struct value_entry *entry, struct diag_list *diags)
{
    double fraction;
    if (entry->value->kind == VALUE_BOOL || !value_number(entry->value, &fraction)) {
        diag_error(diags, "wrong-type", entry->value->place,
                   "target_utilization_fraction must be a number, not %s",
                   value_kind_text(entry->value));
        return;
    }
    struct diag *diag = diag_warn(diags, "legacy-key", entry->key->place,
                                  "target_utilization_fraction is no longer a key of Ray");
    diag_hint(diags, diag, "use upscaling_speed instead");
    if (fraction != 0 && !value_is_true(value_get_c(root, "upscaling_speed"))) {
        set_speed(arena, root, 1 / (fraction > 0.001 ? fraction : 0.001) - 1, entry->key->place);
    }
}

static void convert_mode(struct arena *arena, struct value *root, const struct value_entry *entry,
                         struct diag_list *diags)
{
    struct diag *diag = diag_warn(diags, "legacy-key", entry->key->place,
                                  "autoscaling_mode is no longer a key of Ray");
    diag_hint(diags, diag, "use upscaling_speed instead (99999 is aggressive)");
    if (str_is(value_text(entry->value), "aggressive") &&
        !value_is_true(value_get_c(root, "upscaling_speed"))) {
        struct value *speed = value_int(arena, 99999, entry->key->place);
        value_map_set_c(arena, root, "upscaling_speed", speed);
    }
}

void legacy_convert_scaling(struct arena *arena, struct value *root, struct diag_list *diags)
{
    const struct value_entry *initial = value_entry_c(root, "initial_workers");
    if (initial) {
        struct diag *diag = diag_warn(diags, "legacy-key", initial->key->place,
                                      "initial_workers is no longer a key of Ray: workers are "
                                      "launched when there is work");
        diag_hint(diags, diag, "use min_workers to launch workers at the start");
        value_map_remove(root, "initial_workers");
    }
    const struct value_entry *mode = value_entry_c(root, "autoscaling_mode");
    if (mode) {
        convert_mode(arena, root, mode, diags);
        value_map_remove(root, "autoscaling_mode");
    }
    const struct value_entry *fraction = value_entry_c(root, "target_utilization_fraction");
    if (fraction) {
        convert_utilization(arena, root, fraction, diags);
        value_map_remove(root, "target_utilization_fraction");
    }
}

/* ---- head_node and worker_nodes ---- */

/* The default head type, or the first other type. */
static struct value *default_type(const struct value *config, const struct value *default_head,
                                  bool is_head)
{
    const struct value *types = value_get_c(config, "available_node_types");
    for (size_t i = 0; default_head && value_is(types, VALUE_MAP) && i < types->map.count; i++) {
        if (value_equal(types->map.entries[i].key, default_head) == is_head) {
            return types->map.entries[i].value;
        }
    }
    return NULL;
}

static void set_count(struct arena *arena, struct value *type, const char *key, struct value *given)
{
    struct value *zero = value_int(arena, 0, (struct place){0});
    value_map_set_c(arena, type, key, given ? given : zero);
}

struct conversion {
    struct arena *arena;
    struct diag_list *diags;
    const struct value *config;
    const struct value *default_head;
    struct place place; /* place of the legacy key that exists */
};

/* The node type that one of the two legacy keys describes; NULL if unknown. */
static struct value *convert_node(const struct conversion *conversion, const char *key)
{
    struct arena *arena = conversion->arena;
    const struct value *config = conversion->config;
    bool is_head = str_is(str_from(key), "head_node");
    struct value *node = value_get_c(config, key);
    if (!node || node->kind == VALUE_NULL || (node->kind == VALUE_MAP && node->map.count == 0)) {
        struct value *type = default_type(config, conversion->default_head, is_head);
        if (!type) {
            diag_error(conversion->diags, "missing-key", conversion->place,
                       "%s is empty, and the provider has no default "
                       "for it",
                       key);
        }
        return type;
    }
    if (node->kind != VALUE_MAP) {
        /* One finding is enough: continue as if it were empty. */
        diag_error(conversion->diags, "wrong-type", node->place, "%s must be a map, not %s", key,
                   value_kind_text(node));
        return default_type(config, conversion->default_head, is_head);
    }
    struct value *type = value_new(arena, VALUE_MAP, node->place);
    struct value *resources = value_get_c(node, "resources");
    if (!value_is_true(resources)) {
        resources = value_new(arena, VALUE_MAP, node->place);
    }
    value_map_set_c(arena, type, "node_config", node);
    value_map_set_c(arena, type, "resources", resources);
    set_count(arena, type, "min_workers", is_head ? NULL : value_get_c(config, "min_workers"));
    set_count(arena, type, "max_workers", is_head ? NULL : value_get_c(config, "max_workers"));
    return type;
}

static void add_type(struct arena *arena, struct value *types, const char *name,
                     const struct value_entry *origin, struct value *type)
{
    struct place place = origin ? origin->key->place : types->place;
    if (type) {
        value_map_set(arena, types, value_string(arena, str_from(name), place), type);
    }
}

void legacy_convert_nodes(struct arena *arena, struct value *config,
                          const struct value *default_head, struct diag_list *diags)
{
    const struct value_entry *head = value_entry_c(config, "head_node");
    const struct value_entry *workers = value_entry_c(config, "worker_nodes");
    struct place place = head ? head->key->place : workers->key->place;
    struct diag *diag = diag_warn(diags, "legacy-key", place,
                                  "head_node and worker_nodes are the old format of node types");
    diag_hint(diags, diag, "they still work; `shoal config FILE` prints the current format");
    struct conversion conversion = {arena, diags, config, default_head, place};
    struct value *types = value_new(arena, VALUE_MAP, place);
    add_type(arena, types, LEGACY_HEAD, head, convert_node(&conversion, "head_node"));
    add_type(arena, types, LEGACY_WORKER, workers, convert_node(&conversion, "worker_nodes"));
    value_map_set_c(arena, config, "available_node_types", types);
    value_map_set_c(arena, config, "head_node_type", value_string(arena, STR(LEGACY_HEAD), place));
    /* Removed, because a cloud would not accept it. */
    if (head && head->value->kind == VALUE_MAP) {
        value_map_remove(head->value, "resources");
    }
    if (workers && workers->value->kind == VALUE_MAP) {
        value_map_remove(workers->value, "resources");
    }
    value_map_remove(config, "head_node");
    value_map_remove(config, "worker_nodes");
    if (value_entry_c(config, "min_workers")) {
        value_map_remove(config, "min_workers"); /* moved to the node type */
    }
}

static void drop_node(struct value *config, const char *key, struct diag_list *diags)
{
    const struct value_entry *entry = value_entry_c(config, key);
    if (!entry) {
        return;
    }
    if (value_is_true(entry->value)) {
        diag_warn(diags, "legacy-key", entry->key->place,
                  "%s is ignored, because the file has available_node_types", key);
    }
    value_map_remove(config, key);
}

void legacy_drop_nodes(struct value *config, struct diag_list *diags)
{
    drop_node(config, "head_node", diags);
    drop_node(config, "worker_nodes", diags);
}
