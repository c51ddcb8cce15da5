/* bootstrap.c: derives the head's configuration from the laptop's. */
#include "app/launch/bootstrap.h"

#include "app/setup/setup_plan.h"
#include "config/document/json_write.h"

enum { JSON_BYTES_MAX = 8 << 20 };

static const struct place nowhere = {0};

static struct value *without(struct arena *arena, const struct value *map, const char *const *names)
{
    struct value *copy = map ? value_copy_shallow(arena, map)
                             : value_new(arena, VALUE_MAP, nowhere);
    for (; *names; names++) {
        value_map_remove(copy, *names);
    }
    return copy;
}

static struct value *remote_mounts(struct arena *arena, const struct config *config)
{
    struct value *mounts = value_new(arena, VALUE_MAP, nowhere);
    for (size_t i = 0; i < config->mount_count; i++) {
        struct str remote = config->mounts[i].remote;
        value_map_set(arena, mounts, value_string(arena, remote, nowhere),
                      value_string(arena, remote, nowhere));
    }
    return mounts;
}

/* The JSON does not say which values are defaults: the service would treat the default
 * upscaling_speed as one that the user set. */
static void drop_default_speed(struct value *tree)
{
    const struct value *speed = value_get_c(tree, "upscaling_speed");
    if (speed && !place_is_users(speed->place)) {
        value_map_remove(tree, "upscaling_speed");
    }
}

bool bootstrap_config(const struct config *config, enum bootstrap_reader reader, bool no_restart,
                      struct arena *arena, struct str *ret_json, struct err *err)
{
    static const char *const of_all[] = {"head_node", NULL};
    static const char *const of_auth[] = {"ssh_proxy_command", "ssh_proxy_use_node_id", NULL};
    static const char *const of_provider[] = {"aws_credentials", "aws_profile", "gcp_credentials",
                                              NULL};
    struct value *tree = without(arena, config->tree, of_all);
    struct value *auth = without(arena, config->auth, of_auth);
    struct value *provider = without(arena, config->provider, of_provider);
    if (reader == BOOTSTRAP_FOR_RAY || config->ssh_private_key.len > 0) {
        value_map_set_c(arena, auth, "ssh_private_key",
                        value_string(arena, STR(BOOTSTRAP_KEY), nowhere));
    }
    if (reader != BOOTSTRAP_FOR_RAY) {
        drop_default_speed(tree);
    }
    value_map_set_c(arena, tree, "auth", auth);
    value_map_set_c(arena, tree, "provider", provider);
    value_map_set_c(arena, tree, "file_mounts", remote_mounts(arena, config));
    struct value *flag = value_new(arena, VALUE_BOOL, nowhere);
    flag->boolean = no_restart;
    value_map_set_c(arena, tree, "no_restart", flag);
    AUTO_BUF struct buf json;
    buf_init(&json, JSON_BYTES_MAX);
    if (!json_write(&json, tree, JSON_IN_YAML, err)) {
        return false;
    }
    if (json.is_full) {
        return err_set(err, ERR_CONFIG, "the configuration is larger than 8 MB");
    }
    *ret_json = arena_str(arena, buf_str(&json));
    return true;
}
