/* config.c: converts a checked tree to typed fields. The schema has checked all types; missing
 * numbers and texts get the defaults of Ray's code. */
#include "config/config.h"

#include "config/document/yaml_read.h"
#include "config/prepare/prepare.h"

#include <math.h>

/* ---- single fields ---- */

static int64_t to_int(const struct value *value, int64_t fallback)
{
    double number;
    if (!value || !value_number(value, &number)) {
        return fallback;
    }
    if (value->kind == VALUE_INT) {
        return value->integer;
    }
    return number >= 9e18 ? INT64_MAX : number <= -9e18 ? INT64_MIN : (int64_t)number;
}

static int64_t to_ms(const struct value *value, double unit_ms, int64_t fallback)
{
    double number;
    if (!value || !value_number(value, &number) || isnan(number)) {
        return fallback;
    }
    double ms = number * unit_ms;
    const double limit = 9e15;
    return ms >= limit ? (int64_t)limit : ms <= -limit ? -(int64_t)limit : (int64_t)ms;
}

static bool to_bool(const struct value *value, bool fallback)
{
    return value_is(value, VALUE_BOOL) ? value->boolean : fallback;
}

static struct config_texts to_texts(struct arena *arena, const struct value *list)
{
    size_t count = value_is(list, VALUE_LIST) ? list->list.count : 0;
    struct str *items = ARENA_ARRAY(arena, count, struct str);
    for (size_t i = 0; i < count; i++) {
        items[i] = value_text(list->list.items[i]);
    }
    return (struct config_texts){items, count};
}

static struct config_texts join_texts(struct arena *arena, struct config_texts a,
                                      struct config_texts b)
{
    struct str *items = ARENA_ARRAY(arena, a.count + b.count, struct str);
    for (size_t i = 0; i < a.count + b.count; i++) {
        items[i] = i < a.count ? a.items[i] : b.items[i - a.count];
    }
    return (struct config_texts){items, a.count + b.count};
}

/* ---- node types ---- */

static struct resource_set to_resources(struct arena *arena, const struct value *map)
{
    size_t count = value_is(map, VALUE_MAP) ? map->map.count : 0;
    struct resource *items = ARENA_ARRAY(arena, count, struct resource);
    for (size_t i = 0; i < count; i++) {
        items[i].name = value_text(map->map.entries[i].key);
        if (!resource_from_units(to_int(map->map.entries[i].value, 0), &items[i].amount)) {
            items[i].amount = INT64_MAX;
        }
    }
    return (struct resource_set){items, count};
}

static void set_labels(struct arena *arena, const struct value *map, struct config_node_type *type)
{
    size_t count = value_is(map, VALUE_MAP) ? map->map.count : 0;
    struct config_label *labels = ARENA_ARRAY(arena, count, struct config_label);
    for (size_t i = 0; i < count; i++) {
        labels[i].name = value_text(map->map.entries[i].key);
        labels[i].value = value_text(map->map.entries[i].value);
    }
    type->labels = labels;
    type->label_count = count;
}

static const struct value *first_of(const struct value *a, const struct value *b)
{
    return a ? a : b;
}

/* The global section overridden by that of the node type; the head uses only the global one. */
static struct config_docker to_docker(struct arena *arena, const struct value *global,
                                      const struct value *own, bool is_head)
{
    const struct value *image = value_get_c(global, "image");
    const struct value *worker_image = first_of(value_get_c(own, "worker_image"),
                                                value_get_c(global, "worker_image"));
    const struct value *special = is_head ? value_get_c(global, "head_image") : worker_image;
    const struct value *options = is_head ? value_get_c(global, "head_run_options")
                                          : first_of(value_get_c(own, "worker_run_options"),
                                                     value_get_c(global, "worker_run_options"));
    const struct value *pull = first_of(value_get_c(own, "pull_before_run"),
                                        value_get_c(global, "pull_before_run"));
    return (struct config_docker){
        .image = value_text(first_of(special, image)),
        .container_name = value_text(value_get_c(global, "container_name")),
        .run_options = join_texts(arena, to_texts(arena, value_get_c(global, "run_options")),
                                  to_texts(arena, options)),
        .pull_before_run = to_bool(pull, true),
        .use_podman = to_bool(value_get_c(global, "use_podman"), false),
        .detect_runtime = !to_bool(value_get_c(global, "disable_automatic_runtime_detection"),
                                   false),
        .detect_shm_size = !to_bool(value_get_c(global, "disable_shm_size_detection"), false),
    };
}

static void set_commands(struct arena *arena, const struct value *tree, const struct value *own,
                         bool is_head, struct config_node_type *type)
{
    const struct value *common = value_get_c(tree, "initialization_commands");
    const struct value *set_up = value_get_c(tree, "head_setup_commands");
    const struct value *start = value_get_c(tree, "head_start_ray_commands");
    if (!is_head) {
        common = first_of(value_get_c(own, "initialization_commands"), common);
        set_up = first_of(value_get_c(own, "worker_setup_commands"),
                          value_get_c(tree, "worker_setup_commands"));
        start = value_get_c(tree, "worker_start_ray_commands");
    }
    type->initialization_commands = to_texts(arena, common);
    type->setup_commands = to_texts(arena, set_up);
    type->start_commands = to_texts(arena, start);
}

/* The settings that differ between the head and a worker of the same type. */
static void set_role(struct arena *arena, const struct config *config, const struct value *own,
                     bool is_head, struct config_node_type *type)
{
    const struct value *own_docker = is_head ? NULL : value_get_c(own, "docker");
    type->docker = to_docker(arena, value_get_c(config->tree, "docker"), own_docker, is_head);
    set_commands(arena, config->tree, own, is_head, type);
}

static void set_node_type(struct arena *arena, const struct config *config,
                          const struct value_entry *entry, struct config_node_type *type)
{
    const struct value *own = entry->value;
    struct str head = value_text(value_get_c(config->tree, "head_node_type"));
    type->name = value_text(entry->key);
    type->place = entry->key->place;
    type->is_head = str_eq(type->name, head);
    type->node_config = value_get_c(own, "node_config");
    type->resources = to_resources(arena, value_get_c(own, "resources"));
    type->min_workers = to_int(value_get_c(own, "min_workers"), 0);
    type->max_workers = to_int(value_get_c(own, "max_workers"), 0);
    type->priority = to_int(value_get_c(own, "priority"), 0);
    type->idle_timeout_ms = to_ms(value_get_c(own, "idle_timeout_s"), 1000,
                                  config->idle_timeout_ms);
    set_labels(arena, value_get_c(own, "labels"), type);
    struct config_node_type *worker = type;
    if (type->is_head) {
        worker = ARENA_NEW(arena, struct config_node_type);
        *worker = *type;
        set_role(arena, config, own, true, type);
    }
    set_role(arena, config, own, false, worker);
    type->as_worker = worker->as_worker = worker;
}

static void set_node_types(struct arena *arena, struct config *config)
{
    const struct value *types = value_get_c(config->tree, "available_node_types");
    size_t count = value_is(types, VALUE_MAP) ? types->map.count : 0;
    struct config_node_type *items = ARENA_ARRAY(arena, count, struct config_node_type);
    for (size_t i = 0; i < count; i++) {
        set_node_type(arena, config, &types->map.entries[i], &items[i]);
        if (items[i].is_head) {
            config->head_type = i;
        }
    }
    config->node_types = items;
    config->node_type_count = count;
}

/* ---- the configuration ---- */

static void set_mounts(struct arena *arena, struct config *config)
{
    const struct value *mounts = value_get_c(config->tree, "file_mounts");
    size_t count = value_is(mounts, VALUE_MAP) ? mounts->map.count : 0;
    struct config_mount *items = ARENA_ARRAY(arena, count, struct config_mount);
    for (size_t i = 0; i < count; i++) {
        items[i].remote = value_text(mounts->map.entries[i].key);
        items[i].local = value_text(mounts->map.entries[i].value);
    }
    config->mounts = items;
    config->mount_count = count;
}

struct config *config_type(struct arena *arena, const struct value *tree)
{
    struct config *config = ARENA_NEW(arena, struct config);
    config->tree = tree;
    config->owner = ARENA_NEW(arena, struct config_owner);
    config->cluster_name = value_text(value_get_c(tree, "cluster_name"));
    config->provider = value_get_c(tree, "provider");
    config->provider_type = value_text(value_get_c(config->provider, "type"));
    config->auth = value_get_c(tree, "auth");
    config->ssh_user = value_text(value_get_c(config->auth, "ssh_user"));
    config->ssh_private_key = value_text(value_get_c(config->auth, "ssh_private_key"));
    config->ssh_proxy_command = value_text(value_get_c(config->auth, "ssh_proxy_command"));
    config->max_workers = to_int(value_get_c(tree, "max_workers"), 0);
    config->idle_timeout_ms = to_ms(value_get_c(tree, "idle_timeout_minutes"), 60 * 1000,
                                    (int64_t)5 * 60 * 1000);
    const struct value *speed = value_get_c(tree, "upscaling_speed");
    if (!speed || !value_number(speed, &config->upscaling_speed)) {
        config->upscaling_speed = 1;
    }
    set_mounts(arena, config);
    config->cluster_synced_files = to_texts(arena, value_get_c(tree, "cluster_synced_files"));
    config->rsync_exclude = to_texts(arena, value_get_c(tree, "rsync_exclude"));
    config->rsync_filter = to_texts(arena, value_get_c(tree, "rsync_filter"));
    set_node_types(arena, config);
    config->shoal = value_path(tree, "metadata.shoal");
    config->uses_sessions = str_is(value_text(value_get_c(config->shoal, "access")), "ssm") &&
                            str_is(config->provider_type, "aws");
    return config;
}

struct value *config_parse(struct arena *arena, const struct source *source,
                           struct diag_list *diags)
{
    struct value *root = yaml_read(arena, source, diags);
    return root ? prepare_config(arena, root, diags) : NULL;
}

struct config *config_load(struct arena *arena, const struct source *source,
                           struct diag_list *diags)
{
    struct value *tree = config_parse(arena, source, diags);
    return tree && diags->error_count == 0 ? config_type(arena, tree) : NULL;
}
