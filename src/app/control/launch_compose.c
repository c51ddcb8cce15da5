/* launch_compose.c: the tags as Ray writes them, the host key of that launch. */
#include "app/control/launch_compose.h"

#include "app/idle_stop.h"
#include "app/local_host.h"
#include "config/hash.h"
#include "provider/launch_token.h"
#include "remote/first_boot.h"

/*
 * Where the file names no zone, the core knows the region as the only one. The provider then takes
 * the first subnet that can be used, as Ray does.
 */
static struct str zone_of(const struct launch_wish *wish)
{
    struct str region = value_text(value_get_c(wish->config->provider, "region"));
    bool is_zone = !str_eq(wish->zone, region) && !str_eq(wish->zone, wish->config->provider_type);
    return is_zone ? wish->zone : STR("");
}

/* What the file's own user-data says is kept: both go in one message. */
static bool add_user_data(const struct launch_wish *wish, struct arena *arena,
                          struct launch_request *request, struct err *err)
{
    const struct config_node_type *type = &wish->config->node_types[wish->type];
    struct ssh_key host_key;
    AUTO_BUF struct buf text;
    buf_init(&text, FIRST_BOOT_BYTES_MAX);
    if (!ssh_key_of_launch(wish->secret, wish->launch, &host_key, err)) {
        return false;
    }
    bool ok = first_boot_compose(&host_key, value_text(value_get_c(type->node_config, "UserData")),
                                 &text, err);
    ssh_key_wipe(&host_key);
    if (!ok) {
        return err_wrap(err, "available_node_types.%.*s.node_config.UserData", STR_ARG(type->name));
    }
    request->user_data = arena_str(arena, buf_str(&text));
    return true;
}

bool launch_hash(const struct config *config, size_t type, struct arena *arena,
                 struct str *ret_hash, struct err *err)
{
    return hash_launch(arena, local_host(), config->node_types[type].node_config, config->auth,
                       ret_hash, err);
}

static bool add_tags(const struct launch_wish *wish, struct arena *arena,
                     struct launch_request *request, struct err *err)
{
    const struct config *config = wish->config;
    const struct config_node_type *type = &config->node_types[wish->type];
    const char *kind = wish->is_head ? "head" : "worker";
    struct str hash = STR("");
    if (!launch_hash(config, wish->type, arena, &hash, err)) {
        return false;
    }
    const struct machine_tag tags[] = {
        {STR("ray-node-name"),
         arena_printf(arena, "ray-%.*s-%s", STR_ARG(config->cluster_name), kind)},
        {STR("ray-node-type"), str_from(kind)},
        {STR("ray-node-status"), STR("uninitialized")},
        {STR("ray-launch-config"), hash},
        {STR("ray-user-node-type"), type->name},
    };
    struct machine_tag *copies = ARENA_ARRAY(arena, ARRAY_LEN(tags), struct machine_tag);
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        copies[i] = tags[i];
    }
    request->tags = copies;
    request->tag_count = ARRAY_LEN(tags);
    return true;
}

/* A cluster that is stopped when it has nothing to do begins again with its head's disk. A spot
 * machine cannot be stopped. */
static bool rests(const struct launch_wish *wish)
{
    return wish->is_head && wish->market == MARKET_ON_DEMAND &&
           idle_stop_after(wish->config->shoal) > 0;
}

bool launch_compose(const struct launch_wish *wish, struct provider *provider, struct arena *arena,
                    struct str *ret_token, struct str *ret_call, struct err *err)
{
    struct launch_request request = {.token = launch_token(wish->uid, wish->launch, arena),
                                     .launch = wish->launch,
                                     .type = wish->type,
                                     .zone = zone_of(wish),
                                     .market = wish->market,
                                     .count = wish->count,
                                     .rests = rests(wish)};
    if (wish->type >= wish->config->node_type_count) {
        return err_set(err, ERR_INTERNAL, "a launch of a type that the file does not have");
    }
    if (!add_user_data(wish, arena, &request, err) || !add_tags(wish, arena, &request, err) ||
        !provider->ops->draft(provider, &request, arena, ret_call, err)) {
        return false;
    }
    *ret_token = request.token;
    return true;
}
