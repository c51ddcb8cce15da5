/* gcp_provider.c: the table of operations, and what the file says about places and names. */
#include "provider/gcp/gcp_provider.h"
#include "provider/random_id.h"

#include "io/xalloc.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/gcp/wire/gcp_names.h"

struct gcp_provider *gcp_of(struct provider *base)
{
    return (struct gcp_provider *)base;
}

static void gcp_close(struct provider *base)
{
    struct gcp_provider *provider = gcp_of(base);
    gcp_client_free(provider->client);
    while (provider->operations) {
        gcp_end(provider->operations);
    }
    gcp_ended_free(provider, INT64_MAX);
    gcp_templates_free(provider);
    json_decref(provider->named);
    json_decref(provider->seen);
    while (provider->drafted) {
        struct gcp_drafted *drafted = provider->drafted;
        provider->drafted = drafted->next;
        free(drafted);
    }
    arena_clear(&provider->arena);
    free(provider);
}

void gcp_adopt(struct provider *base, struct str uid)
{
    struct gcp_provider *provider = gcp_of(base);
    if (!str_eq(provider->uid, uid)) {
        provider->uid = arena_str(&provider->arena, uid);
        provider->is_new = provider->is_unused = false;
    }
}

static const struct provider_ops ops = {
    .name = "gcp",
    .preflight = gcp_preflight,
    .zones = gcp_zones,
    .type_facts = gcp_type_facts,
    .take = gcp_take,
    .renew = gcp_renew,
    .release = gcp_release,
    .prepare = gcp_prepare,
    .admit = gcp_admit,
    .find = gcp_find,
    .adopt = gcp_adopt,
    .remove = gcp_remove,
    .list = gcp_list,
    .list_by = gcp_list_by,
    .draft = gcp_draft,
    .launch = gcp_launch,
    .terminate = gcp_terminate,
    .stop = gcp_stop,
    .start = gcp_start,
    .tag = gcp_tag_all,
    .note = gcp_note_all,
    .host_key = gcp_host_key,
    .close = gcp_close,
};

/* availability_zone: one zone, or several with commas. */
static bool gcp_provider_read_zones(struct gcp_provider *provider, struct err *err)
{
    struct str rest = param_text(provider->cluster->provider, "availability_zone");
    while (rest.len > 0) {
        struct str zone = str_trim(str_cut(&rest, ','));
        if (!gcp_is_name(zone)) {
            return err_set(err, ERR_CONFIG,
                           "provider.availability_zone: \"%.*s\" is not the name of a zone",
                           STR_ARG(str_sub(zone, 0, 100)));
        }
        if (provider->zone_count < GCP_ZONES_MAX) {
            provider->zones[provider->zone_count++] = arena_str(&provider->arena, zone);
        }
    }
    return provider->zone_count > 0 ||
           err_set(err, ERR_CONFIG,
                   "provider.availability_zone is missing: name the zone of the cluster, such as "
                   "us-west1-a");
}

bool gcp_provider_open(const struct gcp_setup *setup, uint64_t seed,
                       const struct provider_cluster *cluster, struct provider **ret_provider,
                       struct err *err)
{
    if (cluster->name.len == 0) {
        return err_set(err, ERR_CONFIG, "the cluster has no name");
    }
    struct gcp_provider *provider = HEAP_NEW(struct gcp_provider);
    arena_init(&provider->arena);
    provider->base.ops = &ops;
    provider->setup = *setup;
    provider->loop = setup->loop;
    provider->cluster = cluster;
    provider->part = gcp_name_part(cluster->name, &provider->arena);
    if (!random_id(&provider->arena, &provider->nonce, err) ||
        !gcp_provider_read_zones(provider, err)) {
        arena_clear(&provider->arena);
        free(provider);
        return false;
    }
    struct gcp_client_setup client = {
        .base = *setup, .project = param_text(cluster->provider, "project_id"), .seed = seed};
    provider->client = gcp_client_new(&client);
    *ret_provider = &provider->base;
    return true;
}
