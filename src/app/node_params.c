/* node_params.c: converts values to parameters, and key paths to positions in the file. */
#include "app/node_params.h"

#include "app/type_zones.h"

enum { DEPTH_MAX = 30 }; /* deeper than any cloud API call */

/* ---- values ---- */

static bool node_params_reject(const struct value *value, const char *why, struct err *err)
{
    const struct source *source = value->place.source;
    if (source && value->place.line > 0) {
        return err_set(err, ERR_CONFIG, "%.*s:%u: %s", STR_ARG(str_sub(source->name, 0, 200)),
                       value->place.line, why);
    }
    return err_set(err, ERR_CONFIG, "%s", why);
}

static bool node_params_add_value(struct param *parent, const char *name, const struct value *value,
                                  size_t depth, struct arena *arena, struct err *err);

static bool add_items(struct param *list, const struct value *value, size_t depth,
                      struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < value->list.count; i++) {
        if (!node_params_add_value(list, "", value->list.items[i], depth, arena, err)) {
            return false;
        }
    }
    return true;
}

static bool add_entries(struct param *map, const struct value *value, size_t depth,
                        struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < value->map.count; i++) {
        const struct value_entry *entry = &value->map.entries[i];
        if (entry->key->kind != VALUE_STRING) {
            return node_params_reject(entry->key, "the name of a parameter is not a string", err);
        }
        const char *name = arena_str(arena, entry->key->text).ptr;
        if (!node_params_add_value(map, name, entry->value, depth, arena, err)) {
            return false;
        }
    }
    return true;
}

static bool node_params_add_value(struct param *parent, const char *name, const struct value *value,
                                  size_t depth, struct arena *arena, struct err *err)
{
    if (depth > DEPTH_MAX) {
        return node_params_reject(value, "parameters are nested too deeply", err);
    }
    switch (value->kind) {
    case VALUE_NULL:
        return true;
    case VALUE_BOOL:
        param_add_bool(parent, name, value->boolean, arena);
        return true;
    case VALUE_INT:
        param_add_number(parent, name, value->integer, arena);
        return true;
    case VALUE_STRING:
    case VALUE_DATE: /* cloud APIs accept both in the form that the YAML reader produced */
    case VALUE_DATE_TIME:
        param_add_text(parent, name, value->text, arena);
        return true;
    case VALUE_LIST:
    case VALUE_PAIR:
        return add_items(param_add_list(parent, name, arena), value, depth + 1, arena, err);
    case VALUE_MAP:
        return add_entries(param_add_map(parent, name, arena), value, depth + 1, arena, err);
    case VALUE_FLOAT:
        return node_params_reject(
            value, "a parameter must be an integer; quote it if the cloud expects a fraction", err);
    case VALUE_BIG_INT:
        return node_params_reject(value, "a number is too large", err);
    case VALUE_BYTES:
    case VALUE_SET:
        break;
    }
    return node_params_reject(
        value, "a parameter must be a string, a number, true or false, a list or a map", err);
}

bool node_params_from(const struct value *value, struct arena *arena, struct param **ret_param,
                      struct err *err)
{
    struct param *map = param_new_map(arena);
    if (value && value->kind != VALUE_NULL) {
        if (value->kind != VALUE_MAP) {
            return node_params_reject(value, "parameters must be a map", err);
        }
        if (!add_entries(map, value, 1, arena, err)) {
            return false;
        }
    }
    *ret_param = map;
    return true;
}

/* ---- the cluster ---- */

/* Passes Shoal's settings that the provider needs along with its own. */
static bool node_params_add_own(struct param *provider, const struct config *config,
                                struct arena *arena, struct err *err)
{
    static const char *const keys[] = {
        "ssh_from", "access", "firewall", "tags", "permissions_boundary", "head_policies"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct value *value = value_get_c(config->shoal, keys[i]);
        if (value && !node_params_add_value(provider, keys[i], value, 1, arena, err)) {
            return false;
        }
    }
    return true;
}

bool node_params_cluster(const struct config *config, struct str type_images, struct arena *arena,
                         struct provider_cluster *ret_cluster, struct err *err)
{
    struct provider_type *types = ARENA_ARRAY(arena, config->node_type_count, struct provider_type);
    struct param *provider;
    struct param *auth;
    if (!node_params_from(config->provider, arena, &provider, err) ||
        !node_params_from(config->auth, arena, &auth, err) ||
        !node_params_add_own(provider, config, arena, err)) {
        return false;
    }
    bool has_workers = config_is_local(config); /* one type for all nodes */
    for (size_t i = 0; i < config->node_type_count; i++) {
        const struct config_node_type *type = &config->node_types[i];
        struct param *node_config;
        if (!node_params_from(type->node_config, arena, &node_config, err)) {
            return false;
        }
        types[i] = (struct provider_type){
            .name = type->name,
            .node_config = node_config,
            .is_head = type->is_head,
            .least = type->is_head && !has_workers ? 1 : type->min_workers,
            .most = type->is_head && !has_workers ? 1 : type->max_workers,
            .image = type_zones_find(type_images, type->name),
        };
    }
    *ret_cluster = (struct provider_cluster){config->cluster_name, provider, auth, types,
                                             config->node_type_count};
    return true;
}

/* ---- positions ---- */

static const struct value *item_at(const struct value *list, struct str index)
{
    uint32_t at;
    if (!value_is(list, VALUE_LIST) || !str_to_u32(index, &at) || at >= list->list.count) {
        return NULL;
    }
    return list->list.items[at];
}

static const struct value_entry *entry_of(const struct value *map, struct str key)
{
    for (size_t i = 0; value_is(map, VALUE_MAP) && i < map->map.count; i++) {
        if (str_eq(value_text(map->map.entries[i].key), key)) {
            return &map->map.entries[i];
        }
    }
    return NULL;
}

/* Node type names may contain dots: finds the longest key that is a prefix of the path. */
static const struct value_entry *next_entry(const struct value *map, struct str *rest)
{
    for (size_t end = rest->len; end > 0; end--) {
        bool is_end = end == rest->len || rest->ptr[end] == '.' || rest->ptr[end] == '[';
        const struct value_entry *entry = is_end ? entry_of(map, str_sub(*rest, 0, end)) : NULL;
        if (entry) {
            *rest = str_sub(*rest, end, rest->len);
            return entry;
        }
    }
    return NULL;
}

static void node_params_note(struct place *best, struct place place)
{
    if (place_is_users(place)) {
        *best = place;
    }
}

struct place node_params_place(const struct value *tree, struct str path)
{
    struct place best = {0};
    const struct value *node = tree;
    while (node && path.len > 0) {
        if (path.ptr[0] == '[') {
            path = str_sub(path, 1, path.len);
            node = item_at(node, str_cut(&path, ']'));
            if (node) {
                node_params_note(&best, node->place);
            }
            continue;
        }
        path = str_sub(path, path.ptr[0] == '.', path.len);
        const struct value_entry *entry = next_entry(node, &path);
        node = entry ? entry->value : NULL;
        if (entry) {
            node_params_note(&best, path.len > 0 ? entry->key->place : entry->value->place);
        }
    }
    return best;
}
