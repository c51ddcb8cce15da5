/* launch_request.c: adds Ray's tags and the host key of the launch. */
#include "app/control/launch_request.h"

#include "app/contact.h"
#include "app/local_host.h"
#include "app/user_data.h"
#include "config/hash.h"
#include "provider/launch_token.h"

/* If the file names no zone, the core uses the region as the only zone. The provider then takes the
 * first usable subnet, as Ray does. */
static struct str zone_of(const struct launch_spec *spec)
{
    struct str region = value_text(value_get_c(spec->config->provider, "region"));
    bool is_zone = !str_eq(spec->zone, region) && !str_eq(spec->zone, spec->config->provider_type);
    return is_zone ? spec->zone : STR("");
}

static bool add_user_data(const struct launch_spec *spec, struct provider *provider,
                          struct arena *arena, struct launch_request *request, struct err *err)
{
    struct ssh_key host_key;
    if (!ssh_key_of_launch(spec->secret, spec->launch, &host_key, err)) {
        return false;
    }
    struct user_data_parts parts = {
        .config = spec->config,
        .type = spec->type,
        .is_head = spec->is_head,
        .host_key = &host_key,
        .cluster_key = spec->cluster_key,
        .template = provider->ops->type_facts(provider, spec->type).user_data};
    bool ok = user_data_compose(&parts, arena, &request->user_data, err);
    ssh_key_wipe(&host_key);
    return ok;
}

/* Compute Engine: the machine makes its own host key, and the cloud installs the login keys. */
static void add_boot_script(const struct launch_spec *spec, struct arena *arena,
                            struct launch_request *request)
{
    request->login_key = spec->cluster_key;
    request->user_data = contact_gce_hook(contact_timeout_ms(spec->config->shoal), spec->is_head,
                                          arena);
}

bool launch_hash(const struct config *config, size_t type, struct arena *arena,
                 struct str *ret_hash, struct err *err)
{
    return hash_launch(arena, local_host(), config->node_types[type].node_config, config->auth,
                       ret_hash, err);
}

bool launch_config_hash(const struct config *config, size_t type, struct arena *arena,
                        struct str *ret_hash, struct err *err)
{
    struct place nowhere = {0};
    struct value *no_auth = value_new(arena, VALUE_MAP, nowhere);
    return hash_launch(arena, local_host(), config->node_types[type].node_config, no_auth, ret_hash,
                       err);
}

bool launch_config_hashes(const struct config *config, struct arena *arena,
                          const struct str **ret_hashes, struct err *err)
{
    struct str *hashes = ARENA_ARRAY(arena, config->node_type_count, struct str);
    for (size_t i = 0; i < config->node_type_count; i++) {
        if (!launch_config_hash(config, i, arena, &hashes[i], err)) {
            return false;
        }
    }
    *ret_hashes = hashes;
    return true;
}

static bool launch_request_add_tags(const struct launch_spec *spec, struct arena *arena,
                                    struct launch_request *request, struct err *err)
{
    const struct config *config = spec->config;
    const struct config_node_type *type = &config->node_types[spec->type];
    const char *kind = spec->is_head ? "head" : "worker";
    struct str hash = STR("");
    struct str config_hash = STR("");
    if (!launch_hash(config, spec->type, arena, &hash, err) ||
        !launch_config_hash(config, spec->type, arena, &config_hash, err)) {
        return false;
    }
    const struct machine_tag tags[] = {
        {STR("ray-node-name"),
         arena_printf(arena, "ray-%.*s-%s", STR_ARG(config->cluster_name), kind)},
        {STR("ray-node-type"), str_from(kind)},
        {STR("ray-node-status"), STR("uninitialized")},
        {STR("ray-launch-config"), hash},
        {STR("ray-user-node-type"), type->name},
        {STR(TAG_NODE_CONFIG), config_hash},
    };
    struct machine_tag *copies = ARENA_ARRAY(arena, ARRAY_LEN(tags), struct machine_tag);
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        copies[i] = tags[i];
    }
    request->tags = copies;
    request->tag_count = ARRAY_LEN(tags);
    return true;
}

/* The disk of a head has files of its user. Spot machines cannot be stopped. */
static bool rests(const struct launch_spec *spec)
{
    return spec->is_head && spec->market == MARKET_ON_DEMAND;
}

bool launch_request_make(const struct launch_spec *spec, struct provider *provider,
                         struct arena *arena, struct str *ret_token, struct str *ret_call,
                         struct err *err)
{
    struct launch_request request = {.token = launch_token(spec->uid, spec->launch, arena),
                                     .launch = spec->launch,
                                     .type = spec->type,
                                     .zone = zone_of(spec),
                                     .market = spec->market,
                                     .count = spec->count,
                                     .rests = rests(spec)};
    if (spec->type >= spec->config->node_type_count) {
        return err_set(err, ERR_INTERNAL,
                       "cannot launch a node type that is not in the cluster file");
    }
    bool boots = !config_is_local(spec->config); /* own machines have booted long ago */
    if (boots && provider->ops->host_key) {
        add_boot_script(spec, arena, &request);
    } else if (boots && !add_user_data(spec, provider, arena, &request, err)) {
        return false;
    }
    if (!launch_request_add_tags(spec, arena, &request, err) ||
        !provider->ops->draft(provider, &request, arena, ret_call, err)) {
        return false;
    }
    *ret_token = request.token;
    return true;
}
