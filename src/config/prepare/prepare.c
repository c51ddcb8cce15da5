/* prepare.c: the steps of Ray's prepare_config. */
#include "config/prepare/prepare.h"

#include "base/panic.h"
#include "base/suggest.h"
#include "config/document/yaml_read.h"
#include "config/embedded.h"
#include "config/prepare/autofill.h"
#include "config/prepare/legacy.h"
#include "config/prepare/prepare_local.h"
#include "config/schema/schema.h"

/* State shared by the steps. */
struct prepare {
    struct arena *arena;
    struct diag_list *diags;
    struct str provider_type; /* assumed type, even if the file's is misspelt */
    struct place place;       /* position of the provider, reported for missing keys */
    bool wrote_types;         /* the file has available_node_types */
    bool wrote_legacy;        /* the file has head_node or worker_nodes */
};

/* ---- the provider and its defaults ---- */

/* The provider that the user most likely meant, so that the rest of the file can be checked. */
static struct str guess_provider(const struct value *type, struct diag_list *diags)
{
    static const char *const names[] = {"aws", "gcp", "azure", "vsphere", "local", "external"};
    struct suggest suggest;
    suggest_start(&suggest, type->text);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        suggest_offer(&suggest, str_from(names[i]));
    }
    struct str best = suggest_best(&suggest);
    struct diag *diag = diag_error(diags, "unknown-provider", type->place,
                                   "unknown provider.type \"%.*s\"", STR_ARG(type->text));
    if (best.len > 0) {
        diag_hint(diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
        return best;
    }
    diag_hint(diags, diag, "one of: aws, gcp, azure, vsphere, local, external");
    return STR("aws");
}

/* Problems with `provider` that the schema cannot see, because the defaults hide them. */
static void look_at_provider(struct prepare *prepare, const struct value *root)
{
    const struct value_entry *entry = value_entry_c(root, "provider");
    prepare->provider_type = STR("aws");
    prepare->place = (struct place){root->place.source, 1, 1, 1};
    if (!entry) {
        struct diag *diag = diag_error(prepare->diags, "missing-key", prepare->place,
                                       "\"provider\" is missing");
        diag_hint(prepare->diags, diag, "add: provider: {type: aws, region: us-west-2}");
        diag_mark_missing(diag, NULL, STR("provider"));
        return;
    }
    prepare->place = entry->key->place;
    const struct value *type = value_get_c(entry->value, "type");
    if (!value_is(type, VALUE_STRING)) {
        return; /* reported by the schema */
    }
    prepare->provider_type = schema_provider_bit(type->text) == 0
                                 ? guess_provider(type, prepare->diags)
                                 : type->text;
}

static struct value *provider_defaults(struct arena *arena, struct str provider_type)
{
    struct diag_list quiet;
    struct source *source = ARENA_NEW(arena, struct source);
    source->name = arena_printf(arena, "(%.*s defaults)", STR_ARG(provider_type));
    source->text = embedded_defaults(provider_type);
    source->is_built_in = true;
    diag_list_init(&quiet, arena);
    if (source->text.len == 0) {
        return NULL;
    }
    return yaml_read(arena, source, &quiet);
}

/* Like Python's defaults.update(config): the order of the defaults, the values of the file. */
static struct value *merge_under(struct arena *arena, struct value *defaults,
                                 const struct value *root)
{
    value_map_update(arena, defaults, root);
    defaults->place = root->place;
    return defaults;
}

/* ---- command lists ---- */

/* In Python `a + b` fails unless both are lists, or gives a value that the schema rejects. */
static void join_commands(struct arena *arena, struct value *config, const char *key)
{
    const struct value *common = value_get_c(config, "setup_commands");
    const struct value *own = value_get_c(config, key);
    if (!value_is(common, VALUE_LIST) || !value_is(own, VALUE_LIST)) {
        return;
    }
    struct value *joined = value_copy_shallow(arena, common);
    joined->place = own->place;
    for (size_t i = 0; i < own->list.count; i++) {
        value_list_add(arena, joined, own->list.items[i]);
    }
    value_map_set_c(arena, config, key, joined);
}

/* `external` has no defaults for these, and Ray fails without them. */
static void require_key(const struct prepare *prepare, const struct value *config, const char *key,
                        const char *example)
{
    if (!value_get_c(config, key)) {
        struct diag *diag = diag_error(prepare->diags, "missing-key", prepare->place,
                                       "\"%s\" is missing, and provider %.*s has no default for it",
                                       key, STR_ARG(prepare->provider_type));
        diag_hint(prepare->diags, diag, "add: %s: %s", key, example);
        diag_mark_missing(diag, NULL, str_from(key));
    }
}

/* A plug-in of Shoal. With `module` it is a class of Ray, and `command` may be a key of it. */
static const struct value *plugin_command(const struct value *config)
{
    const struct value *provider = value_get_c(config, "provider");
    bool is_plugin = str_is(value_text(value_get_c(provider, "type")), "external") &&
                     !value_get_c(provider, "module");
    return is_plugin ? value_get_c(provider, "command") : NULL;
}

static void check_command(const struct prepare *prepare, const struct value *command)
{
    bool ok = command->kind == VALUE_LIST && command->list.count > 0;
    for (size_t i = 0; ok && i < command->list.count; i++) {
        ok = value_text(command->list.items[i]).len > 0;
    }
    if (!ok) {
        struct diag *diag = diag_error(prepare->diags, "wrong-type", command->place,
                                       "provider.command must be a list of strings: the program "
                                       "and its arguments");
        diag_hint(prepare->diags, diag, "for example: command: [./my_cloud.py]");
    }
}

/* Ray loads `package.Class` and fails on a name without a dot. */
static void require_module(const struct prepare *prepare, const struct value *config)
{
    const struct value *provider = value_get_c(config, "provider");
    const struct value *module = value_get_c(provider, "module");
    const struct value *command = plugin_command(config);
    if (command) {
        check_command(prepare, command);
        return;
    }
    if (!str_is(value_text(value_get_c(provider, "type")), "external") ||
        (module && module->kind != VALUE_STRING)) {
        return;
    }
    if (!module || str_find_char(module->text, '.') == SIZE_MAX) {
        struct diag *diag = diag_error(
            prepare->diags, "missing-key", module ? module->place : prepare->place,
            module ? "provider.module must be PACKAGE.CLASS"
                   : "provider.command or provider.module is required for provider external");
        diag_hint(prepare->diags, diag,
                  module ? "for example: module: my_package.MyProvider"
                         : "for example: command: [./my_cloud.py]");
    }
}

/* ---- docker ---- */

static void check_mount_kinds(const struct value *config, struct diag_list *diags)
{
    const struct value *mounts = value_get_c(config, "file_mounts");
    if (!value_is(mounts, VALUE_MAP)) {
        return; /* reported by the schema */
    }
    for (size_t i = 0; i < mounts->map.count; i++) {
        const struct value_entry *mount = &mounts->map.entries[i];
        if (mount->value->kind != VALUE_STRING) {
            diag_error(diags, "wrong-type", mount->value->place,
                       "a file mount must be a local path, not %s", value_kind_text(mount->value));
        }
    }
}

static void prepare_check_docker(const struct value *config, struct diag_list *diags)
{
    const struct value_entry *entry = value_entry_c(config, "docker");
    if (!entry) {
        return;
    }
    check_mount_kinds(config, diags);
    const struct value *docker = entry->value;
    if (docker->kind != VALUE_MAP) {
        return; /* reported by the schema */
    }
    const struct value *image = value_get_c(docker, "image");
    const struct value *head = value_get_c(docker, "head_image");
    const struct value *worker = value_get_c(docker, "worker_image");
    bool has_image = value_is_true(image) ||
                     (value_is_true(head ? head : image) && value_is_true(worker ? worker : image));
    bool has_name = value_is_true(value_get_c(docker, "container_name"));
    if (has_image && !has_name) {
        struct diag *diag = diag_error(diags, "docker", entry->key->place,
                                       "docker has an image but no container_name");
        diag_hint(diags, diag, "add: container_name: ray");
    } else if (has_name && !has_image) {
        struct diag *diag = diag_error(diags, "docker", entry->key->place,
                                       "docker has a container_name but no image for every node");
        diag_hint(diags, diag, "add: image: rayproject/ray:2.60.0");
    }
}

/* ---- worker counts ---- */

static void fill_worker_counts(struct arena *arena, struct value *config)
{
    const struct value *types = value_get_c(config, "available_node_types");
    const struct value *head = value_get_c(config, "head_node_type");
    struct value *most = value_get_c(config, "max_workers");
    double number;
    if (!value_is(types, VALUE_MAP)) {
        return;
    }
    if (most && !value_number(most, &number)) {
        most = NULL; /* reported by the schema; an alias could create a cycle */
    }
    for (size_t i = 0; i < types->map.count; i++) {
        struct value_entry *type = &types->map.entries[i];
        if (type->value->kind != VALUE_MAP) {
            continue;
        }
        if (!value_get_c(type->value, "min_workers")) {
            value_map_set_c(arena, type->value, "min_workers",
                            value_int(arena, 0, (struct place){0}));
        }
        if (!value_get_c(type->value, "max_workers") && most) {
            bool is_head = head && value_equal(type->key, head);
            struct value *zero = value_int(arena, 0, (struct place){0});
            value_map_set_c(arena, type->value, "max_workers", is_head ? zero : most);
        }
    }
}

static void drop_global_minimum(struct value *config, struct diag_list *diags)
{
    const struct value_entry *entry = value_entry_c(config, "min_workers");
    if (entry) {
        struct diag *diag = diag_warn(diags, "ignored-key", entry->key->place,
                                      "min_workers at the top level is ignored");
        diag_hint(diags, diag, "put it into a node type of available_node_types");
        value_map_remove(config, "min_workers");
    }
}

/* ---- after the schema ---- */

/* The key's position in the user's file, or the provider's for a default. */
static struct place key_place(const struct prepare *prepare, const struct value *config,
                              const char *key)
{
    const struct value_entry *entry = value_entry_c(config, key);
    return entry && place_is_users(entry->key->place) ? entry->key->place : prepare->place;
}

/* "head (line 14), gpu (line 17)". Returns the name closest to `wanted`. */
static struct str list_types(struct buf *names, const struct value *types, struct str wanted)
{
    struct suggest suggest;
    suggest_start(&suggest, wanted);
    for (size_t i = 0; i < types->map.count; i++) {
        const struct value *name = types->map.entries[i].key;
        suggest_offer(&suggest, value_text(name));
        buf_addf(names, "%s%.*s", i > 0 ? ", " : "", STR_ARG(value_text(name)));
        if (place_is_users(name->place)) {
            buf_addf(names, " (line %u)", name->place.line);
        }
    }
    return suggest_best(&suggest);
}

static void report_head_type(const struct prepare *prepare, const struct value *head,
                             const struct value *types)
{
    AUTO_BUF struct buf names;
    buf_init(&names, 512);
    struct str best = list_types(&names, types, head->text);
    struct diag *diag = diag_error(prepare->diags, "unknown-node-type", head->place,
                                   "head_node_type \"%.*s\" is not one of the node types",
                                   STR_ARG(head->text));
    if (types->map.count == 0) {
        diag_hint(prepare->diags, diag, "available_node_types is empty");
    } else if (best.len > 0) {
        diag_hint(prepare->diags, diag, "did you mean \"%.*s\"? defined: %.*s", STR_ARG(best),
                  STR_ARG(buf_str(&names)));
    } else {
        diag_hint(prepare->diags, diag, "defined: %.*s", STR_ARG(buf_str(&names)));
    }
}

static void check_head_type(const struct prepare *prepare, const struct value *config)
{
    const struct value *head = value_get_c(config, "head_node_type");
    const struct value *types = value_get_c(config, "available_node_types");
    if (!value_is(types, VALUE_MAP) || (head && head->kind != VALUE_STRING) ||
        (head && value_get(types, head->text))) {
        return; /* valid, or reported by the schema, or there are no types */
    }
    if (head && place_is_users(head->place)) {
        report_head_type(prepare, head, types);
        return;
    }
    struct str first = types->map.count > 0 ? value_text(types->map.entries[0].key) : STR("NAME");
    struct diag *diag = diag_error(prepare->diags, "missing-key",
                                   key_place(prepare, config, "available_node_types"),
                                   "\"head_node_type\" is missing");
    diag_hint(prepare->diags, diag, "add: head_node_type: %.*s", STR_ARG(first));
    diag_mark_missing(diag, NULL, STR("head_node_type"));
}

static void check_minimum_sum(const struct prepare *prepare, const struct value *config)
{
    const struct value *types = value_get_c(config, "available_node_types");
    const struct value *most = value_get_c(config, "max_workers");
    double sum = 0;
    double limit;
    if (!value_is(types, VALUE_MAP) || !most || !value_number(most, &limit)) {
        return;
    }
    for (size_t i = 0; i < types->map.count; i++) {
        double least;
        const struct value *value = value_get_c(types->map.entries[i].value, "min_workers");
        if (value && value_number(value, &least)) {
            sum += least;
        }
    }
    /* A misspelled or negative max_workers causes this too, and was already reported. */
    if (sum > limit && limit >= 0 && !diag_suggests(prepare->diags, NULL, STR("max_workers"))) {
        struct place place = place_is_users(most->place)
                                 ? most->place
                                 : key_place(prepare, config, "available_node_types");
        struct diag *diag = diag_error(prepare->diags, "max-workers", place,
                                       "max_workers is %.0f, but the node types' min_workers add "
                                       "up to %.0f",
                                       limit, sum);
        diag_hint(prepare->diags, diag, "raise max_workers to at least %.0f", sum);
    }
}

static void check_prepared(const struct prepare *prepare, const struct value *config)
{
    require_module(prepare, config);
    schema_check(config, prepare->diags, prepare->place);
    require_key(prepare, config, "cluster_synced_files", "[]");
    if (value_get_c(config, "available_node_types")) {
        require_key(prepare, config, "max_workers", "2");
    }
    check_head_type(prepare, config);
    check_minimum_sum(prepare, config);
}

/* ---- all steps ---- */

/* The default types of external and vsphere are empty and rejected by Ray's own schema. */
static void require_types(const struct prepare *prepare, struct value *config)
{
    bool has_shells = str_is(prepare->provider_type, "external") ||
                      str_is(prepare->provider_type, "vsphere");
    if (has_shells && !prepare->wrote_types && (!prepare->wrote_legacy || plugin_command(config))) {
        value_map_remove(config, "available_node_types");
        require_key(prepare, config, "available_node_types",
                    "{head: {node_config: {}, resources: {CPU: 4}}}");
    }
}

static struct value *fill_out(const struct prepare *prepare, const struct value *root)
{
    bool is_plugin = plugin_command(root) !=
                     NULL; /* Ray knows none, so own machines are the model */
    struct value *config = provider_defaults(prepare->arena,
                                             is_plugin ? STR("local") : prepare->provider_type);
    if (!config) {
        panic("no defaults for provider %.*s", STR_ARG(prepare->provider_type));
    }
    const struct value *default_head = value_get_c(config, "head_node_type");
    config = merge_under(prepare->arena, config, root);
    if (!value_get_c(config, "auth")) {
        struct value *auth = value_new(prepare->arena, VALUE_MAP, (struct place){0});
        value_map_set_c(prepare->arena, config, "auth", auth);
    }
    if (prepare->wrote_legacy && !prepare->wrote_types && !is_plugin) {
        legacy_convert_nodes(prepare->arena, config, default_head, prepare->diags);
    }
    require_types(prepare, config);
    drop_global_minimum(config, prepare->diags);
    legacy_drop_nodes(config, prepare->diags);
    require_key(prepare, config, "setup_commands", "[]");
    require_key(prepare, config, "head_setup_commands", "[]");
    require_key(prepare, config, "worker_setup_commands", "[]");
    join_commands(prepare->arena, config, "head_setup_commands");
    join_commands(prepare->arena, config, "worker_setup_commands");
    prepare_check_docker(config, prepare->diags);
    fill_worker_counts(prepare->arena, config);
    return config;
}

static void report_root(const struct value *root, struct diag_list *diags)
{
    struct diag *diag = root->kind == VALUE_NULL
                            ? diag_error(diags, "wrong-type", root->place, "this file is empty")
                            : diag_error(diags, "wrong-type", root->place,
                                         "a cluster file is a map of keys, but this is %s",
                                         value_kind_text(root));
    diag_hint(diags, diag, "start with: cluster_name: NAME");
}

struct value *prepare_config(struct arena *arena, struct value *root, struct diag_list *diags)
{
    struct prepare prepare = {.arena = arena, .diags = diags};
    struct value *config = root;
    if (root->kind != VALUE_MAP) {
        report_root(root, diags);
        return NULL;
    }
    look_at_provider(&prepare, root);
    if (str_is(prepare.provider_type, "kuberay")) {
        check_prepared(&prepare, config);
        return config; /* Ray uses such a file unchanged */
    }
    legacy_convert_scaling(arena, root, diags);
    if (str_is(prepare.provider_type, "local") && prepare_local(arena, root, diags)) {
        check_prepared(&prepare, config);
        return config;
    }
    prepare.wrote_types = value_get_c(root, "available_node_types") != NULL;
    prepare.wrote_legacy = value_get_c(root, "head_node") || value_get_c(root, "worker_nodes");
    config = fill_out(&prepare, root);
    autofill_resources(arena, prepare.provider_type, config, diags);
    check_prepared(&prepare, config);
    return config;
}
