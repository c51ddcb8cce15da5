/*
 * template.c: the instance template of a node_config (sourceInstanceTemplate). What the node_config
 * does not set comes from the template, as with Ray.
 *
 * Google could merge the two itself, but it would replace the template's metadata and network tags
 * with ours. So the preflight reads the template, and the draft contains what it says.
 */
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

#define KEY "sourceInstanceTemplate"

static struct str template_url(const struct gcp_provider *provider, size_t type)
{
    return param_text(provider->cluster->types[type].node_config, KEY);
}

/* The path below the project of a full or partial URL; empty: it is none, or of another project. */
static struct str template_path(struct gcp_operation *operation, struct str url)
{
    struct str project = gcp_client_project(operation->provider->client);
    struct str name = gcp_last_word(url);
    struct str rest = url;
    size_t at = str_find(url, "projects/");
    if (at != SIZE_MAX) {
        rest = str_sub(url, at, url.len);
        (void)str_cut(&rest, '/');
        if (!str_eq(str_cut(&rest, '/'), project)) {
            return STR("");
        }
    }
    struct str first = str_cut(&rest, '/');
    struct str region = str_is(first, "regions") ? str_cut(&rest, '/') : STR("");
    if (!gcp_is_name(name) || !str_is(str_cut(&rest, '/'), "instanceTemplates") ||
        !str_eq(rest, name) || !(str_is(first, "global") || gcp_is_name(region))) {
        return STR("");
    }
    return arena_printf(&operation->arena, "%.*s%s%.*s/instanceTemplates/%.*s", STR_ARG(first),
                        region.len > 0 ? "/" : "", STR_ARG(region), STR_ARG(name));
}

/* ---- as a node_config ---- */

static void template_add_param(struct param *parent, const char *name, json_t *value,
                               struct arena *arena)
{
    struct param *child;
    const char *key;
    json_t *item;
    if (json_is_string(value)) {
        param_add_text(parent, name, arena_str(arena, str_from(json_string_value(value))), arena);
    } else if (json_is_integer(value)) {
        param_add_number(parent, name, json_integer_value(value), arena);
    } else if (json_is_boolean(value)) {
        param_add_bool(parent, name, json_is_true(value), arena);
    } else if (json_is_array(value)) {
        child = param_add_list(parent, name, arena);
        for (size_t i = 0; i < json_array_size(value); i++) {
            template_add_param(child, "", json_array_get(value, i), arena);
        }
    } else if (json_is_object(value)) {
        child = param_add_map(parent, name, arena);
        json_object_foreach(value, key, item)
        {
            template_add_param(child, key, item, arena);
        }
    }
}

static void template_merge(struct gcp_provider *provider, size_t type)
{
    struct param *all = param_new_map(&provider->arena);
    json_t *properties = gcp_param_json(provider->cluster->types[type].node_config);
    gcp_template_add(provider, type, properties);
    template_add_param(all, "", properties, &provider->arena);
    provider->configs[type] = all->first;
    json_decref(properties);
}

const struct param *gcp_config(const struct gcp_provider *provider, size_t type)
{
    const struct param *merged = provider->configs ? provider->configs[type] : NULL;
    return merged ? merged : provider->cluster->types[type].node_config;
}

/* ---- reading ---- */

static void template_next(struct gcp_operation *operation);

static void template_on_read(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    struct gcp_provider *provider = operation->provider;
    size_t type = operation->at;
    const json_t *properties = json_object_get(reply->body, "properties");
    if (!reply->is_ok && reply->failure.outcome == OUTCOME_NOT_FOUND) {
        gcp_failed(operation, OUTCOME_INVALID, ERR_CONFIG,
                   "available_node_types.%.*s.node_config." KEY ": Google has no template %.*s",
                   STR_ARG(str_sub(provider->cluster->types[type].name, 0, 80)),
                   STR_ARG(str_sub(template_url(provider, type), 0, 200)));
    } else if (!reply->is_ok) {
        gcp_fail_with(operation, reply);
    } else if (!json_is_object(properties)) {
        gcp_failed(operation, OUTCOME_UNKNOWN, ERR_PROTOCOL, "Google's template cannot be read");
    }
    if (!gcp_is_fine(operation)) {
        operation->after_all(operation);
        return;
    }
    provider->templates[type] = json_deep_copy(properties);
    template_merge(provider, type);
    operation->at++;
    template_next(operation);
}

static void template_next(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    size_t count = provider->cluster->type_count;
    while (operation->at < count && template_url(provider, operation->at).len == 0) {
        operation->at++;
    }
    if (operation->at == count) {
        operation->at = 0;
        operation->after_all(operation);
        return;
    }
    struct str url = template_url(provider, operation->at);
    struct str path = template_path(operation, url);
    if (path.len == 0) {
        gcp_failed(operation, OUTCOME_INVALID, ERR_CONFIG,
                   "available_node_types.%.*s.node_config." KEY ": \"%.*s\" is not a template of "
                   "this project; write global/instanceTemplates/NAME",
                   STR_ARG(str_sub(provider->cluster->types[operation->at].name, 0, 80)),
                   STR_ARG(str_sub(url, 0, 200)));
        operation->after_all(operation);
        return;
    }
    gcp_ask(operation, (struct gcp_request){.name = "instanceTemplates.get", .path = path},
            template_on_read);
}

void gcp_templates_free(struct gcp_provider *provider)
{
    for (size_t i = 0; i < provider->cluster->type_count && provider->templates; i++) {
        json_decref(provider->templates[i]);
    }
    provider->templates = NULL;
}

void gcp_read_templates(struct gcp_operation *operation, gcp_step_fn *after)
{
    struct gcp_provider *provider = operation->provider;
    gcp_templates_free(provider);
    size_t count = provider->cluster->type_count;
    provider->templates = ARENA_ARRAY(&provider->arena, count, json_t *);
    provider->configs = ARENA_ARRAY(&provider->arena, count, struct param *);
    operation->after_all = after;
    template_next(operation);
}

/* ---- using it ---- */

struct str gcp_type_machine(const struct gcp_provider *provider, size_t type)
{
    return gcp_last_word(param_text(gcp_config(provider, type), "machineType"));
}

bool gcp_template_is_read(const struct gcp_provider *provider, size_t type)
{
    return template_url(provider, type).len == 0 ||
           (provider->templates && provider->templates[type]);
}

void gcp_template_add(const struct gcp_provider *provider, size_t type, json_t *properties)
{
    json_t *template = provider->templates ? provider->templates[type] : NULL;
    if (!template) {
        return;
    }
    json_t *copy = json_deep_copy(template);
    json_t *labels = json_object_get(properties, "labels");
    if (json_is_object(labels)) {
        json_object_update_missing(labels, json_object_get(copy, "labels"));
    }
    json_object_update_missing(properties, copy);
    json_decref(copy);
}
