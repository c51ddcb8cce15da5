/* preflight.c: which zones of the file offer which machine types. Changes nothing. */
#include "base/buf.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

enum { FINDINGS_MAX = 64, FILTER_BYTES_MAX = 4096 };

static bool *preflight_cell(const struct gcp_provider *provider, size_t type, size_t zone)
{
    return &provider->is_offered[type * GCP_ZONES_MAX + zone];
}

static void preflight_ask_zone(struct gcp_operation *operation);

static void preflight_add(struct finding *findings, size_t *count, struct finding finding)
{
    if (*count < FINDINGS_MAX) {
        findings[(*count)++] = finding;
    }
}

/* A type that no zone offers cannot be launched. */
static void preflight_find_types(const struct gcp_operation *operation, struct arena *arena,
                                 struct finding *findings, size_t *count)
{
    const struct gcp_provider *provider = operation->provider;
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        bool is_offered = false;
        struct str name = str_sub(provider->cluster->types[i].name, 0, 80);
        struct str type = gcp_type_machine(provider, i);
        struct str path = arena_printf(arena, "available_node_types.%.*s.node_config.machineType",
                                       STR_ARG(name));
        for (size_t k = 0; k < provider->zone_count; k++) {
            is_offered = is_offered || *preflight_cell(provider, i, k);
        }
        if (!is_offered) {
            preflight_add(
                findings, count,
                (struct finding){.level = FINDING_ERROR,
                                 .subject = STR("machine type"),
                                 .path = path,
                                 .text = type.len == 0
                                             ? STR("the node type has no machine type")
                                             : arena_printf(arena,
                                                            "no zone of the cluster offers %.*s",
                                                            STR_ARG(str_sub(type, 0, 80))),
                                 .remedy = STR("name another machine type, or add a zone in "
                                               "provider.availability_zone")});
        }
    }
}

static void preflight_finish(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    struct finding *findings = ARENA_ARRAY(&operation->arena, FINDINGS_MAX, struct finding);
    size_t count = 0;
    if (gcp_is_fine(operation)) {
        struct str project = gcp_client_project(provider->client);
        preflight_add(findings, &count,
                      (struct finding){.level = FINDING_FINE,
                                       .subject = STR("project"),
                                       .text = arena_printf(&operation->arena, "%.*s in %zu zone%s",
                                                            STR_ARG(str_sub(project, 0, 80)),
                                                            provider->zone_count,
                                                            provider->zone_count == 1 ? "" : "s"),
                                       .path = STR("provider.project_id")});
        preflight_find_types(operation, &operation->arena, findings, &count);
    }
    operation->surveyed(operation->context, &operation->answer, findings, count);
    gcp_end(operation);
}

static void preflight_on_templates(struct gcp_operation *operation)
{
    if (gcp_is_fine(operation)) {
        preflight_ask_zone(operation);
    } else {
        preflight_finish(operation);
    }
}

static void preflight_read_templates(struct gcp_operation *operation)
{
    gcp_read_templates(operation, preflight_on_templates);
}

static void preflight_on_zone(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    if (!gcp_is_fine(operation)) {
        preflight_finish(operation);
        return;
    }
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        for (size_t k = 0; k < json_array_size(operation->items); k++) {
            const json_t *item = json_array_get(operation->items, k);
            if (!str_eq(host_record_text(item, "name"), gcp_type_machine(provider, i))) {
                continue;
            }
            bool is_arm = str_is(host_record_text(item, "architecture"), "ARM64");
            *preflight_cell(provider, i, operation->at) = true;
            provider->facts[i].architecture = is_arm ? STR("arm64") : STR("x86_64");
        }
    }
    operation->at++;
    preflight_ask_zone(operation);
}

static void preflight_ask_zone(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    AUTO_BUF struct buf filter;
    buf_init(&filter, FILTER_BYTES_MAX);
    if (operation->at == provider->zone_count) {
        preflight_finish(operation);
        return;
    }
    buf_add_c(&filter, "name eq \"(");
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        struct str type = gcp_type_machine(provider, i);
        if (gcp_is_name(type)) {
            buf_addf(&filter, "%s%.*s", str_ends(buf_str(&filter), "(") ? "" : "|", STR_ARG(type));
        }
    }
    buf_add_c(&filter, ")\"");
    struct str text = filter.is_full ? STR("") : gcp_encoded(operation, buf_str(&filter));
    gcp_read_items(operation, "machineTypes.list",
                   arena_printf(&operation->arena, "zones/%.*s/machineTypes%s%.*s",
                                STR_ARG(provider->zones[operation->at]),
                                text.len > 0 ? "?filter=" : "", STR_ARG(text)),
                   NULL, preflight_on_zone);
}

void gcp_preflight(struct provider *base, enum preflight_scope scope, provider_preflight_fn *done,
                   void *context)
{
    struct gcp_provider *provider = gcp_of(base);
    struct gcp_operation *operation = gcp_begin(provider, context);
    size_t types = provider->cluster->type_count;
    (void)scope;
    operation->surveyed = done;
    provider->is_offered = ARENA_ARRAY(&provider->arena, types * GCP_ZONES_MAX, bool);
    provider->facts = ARENA_ARRAY(&provider->arena, types, struct provider_type_facts);
    gcp_later(operation, 0, preflight_read_templates);
}

size_t gcp_zones(struct provider *base, size_t type, struct str *ret_zones, size_t most)
{
    const struct gcp_provider *provider = gcp_of(base);
    size_t count = 0;
    for (size_t i = 0; i < provider->zone_count && provider->is_offered && count < most; i++) {
        if (*preflight_cell(provider, type, i)) {
            ret_zones[count++] = provider->zones[i];
        }
    }
    return count;
}

struct provider_type_facts gcp_type_facts(struct provider *base, size_t type)
{
    const struct gcp_provider *provider = gcp_of(base);
    return provider->facts ? provider->facts[type] : (struct provider_type_facts){0};
}
