/* cloud_provider.c: opens the provider named by provider.type. */
#include "app/cloud_provider.h"

#include "app/contact.h"
#include "app/node_params.h"
#include "app/own_hosts.h"
#include "app/plugin_command.h"
#include "app/ray_class.h"
#include "base/attr.h"
#include "io/os.h"
#include "provider/aws/aws_provider.h"
#include "provider/aws/preflight/caller_policy.h"
#include "provider/external/external_provider.h"
#include "provider/gcp/gcp_provider.h"
#include "provider/gcp/preflight/gcp_permissions.h"
#include "provider/local/local_provider.h"

/* ---- credentials in the file ---- */

/* Ray passes aws_credentials to boto3 unchanged; these are the keys that boto3 uses. */
static const struct {
    const char *key;
    const char *variable;
} credential_keys[] = {
    {"aws_access_key_id", "AWS_ACCESS_KEY_ID"},
    {"aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"},
    {"aws_session_token", "AWS_SESSION_TOKEN"},
    {"endpoint_url", "AWS_ENDPOINT_URL"},
};

/* Keys in the file are a complete set: they are never combined with keys of the environment. */
static bool cloud_provider_is_replaced(struct str name, bool has_keys, bool has_endpoint)
{
    static const char *const of_keys[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                          "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN",
                                          "AWS_CREDENTIAL_EXPIRATION"};
    for (size_t i = 0; has_keys && i < ARRAY_LEN(of_keys); i++) {
        if (str_is(name, of_keys[i])) {
            return true;
        }
    }
    return has_endpoint && str_is(name, "AWS_ENDPOINT_URL");
}

aws_environ cloud_provider_environ(aws_environ env, const struct value *provider,
                                   struct arena *arena)
{
    const struct value *given = value_get_c(provider, "aws_credentials");
    bool has_keys = value_text(value_get_c(given, "aws_access_key_id")).len > 0;
    bool has_endpoint = value_text(value_get_c(given, "endpoint_url")).len > 0;
    size_t count = 0;
    while (env[count]) {
        count++;
    }
    if (!has_keys && !has_endpoint) {
        return env;
    }
    const char **mine = ARENA_ARRAY(arena, count + ARRAY_LEN(credential_keys) + 1, const char *);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct str rest = str_from(env[i]);
        if (!cloud_provider_is_replaced(str_cut(&rest, '='), has_keys, has_endpoint)) {
            mine[used++] = env[i];
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(credential_keys); i++) {
        struct str text = value_text(value_get_c(given, credential_keys[i].key));
        if (text.len > 0) {
            mine[used++] =
                arena_printf(arena, "%s=%.*s", credential_keys[i].variable, STR_ARG(text)).ptr;
        }
    }
    return mine;
}

struct str cloud_provider_profile(const struct value *provider, struct str asked)
{
    const struct value *given = value_get_c(provider, "aws_credentials");
    if (asked.len > 0) {
        return asked;
    }
    if (value_text(value_get_c(given, "aws_access_key_id")).len > 0) {
        return STR("");
    }
    struct str profile = value_text(value_get_c(provider, "aws_profile"));
    return profile.len > 0 ? profile : value_text(value_get_c(given, "profile_name"));
}

/* ---- opening ---- */

static bool open_aws(struct cloud_session *session, const struct config *config, struct str profile,
                     const struct provider_cluster *cluster, struct arena *arena,
                     struct provider **ret_provider, struct err *err)
{
    struct aws_client *client;
    if (!cloud_session_open_http(session, err)) {
        return false;
    }
    struct aws_client_setup setup = cloud_session_aws(session);
    setup.region = value_text(value_get_c(config->provider, "region"));
    setup.profile = cloud_provider_profile(config->provider, profile);
    if (profile.len == 0) {
        setup.environ = cloud_provider_environ(setup.environ, config->provider, arena);
    }
    return aws_client_open(&setup, &client, err) &&
           aws_provider_open(client, &setup, cluster, ret_provider, err);
}

/* As in Ray: the key or token of the file is used instead of everything else. */
static void cloud_provider_take_gcp(const struct config *config, struct gcp_setup *setup)
{
    const struct value *given = value_get_c(config->provider, "gcp_credentials");
    struct str text = value_text(value_get_c(given, "credentials"));
    if (str_is(value_text(value_get_c(given, "type")), "credentials_token")) {
        setup->given_token = text;
    } else {
        setup->given_key = text;
    }
}

static bool open_gcp(struct cloud_session *session, const struct config *config,
                     const struct provider_cluster *cluster, struct provider **ret_provider,
                     struct err *err)
{
    if (!cloud_session_open_http(session, err)) {
        return false;
    }
    struct gcp_setup setup = cloud_session_gcp(session);
    cloud_provider_take_gcp(config, &setup);
    return gcp_provider_open(&setup, os_seed(), cluster, ret_provider, err);
}

static bool open_local(const struct cloud_session *session, const struct config *config,
                       const struct cloud_provider_head *head,
                       const struct provider_cluster *cluster, struct arena *arena,
                       struct provider **ret_provider, struct err *err)
{
    struct own_hosts *hosts = ARENA_NEW(arena, struct own_hosts);
    const struct config_docker *docker = &config->node_types[config->head_type].docker;
    struct cluster_state *state = ARENA_NEW(arena, struct cluster_state);
    if (!head && !cluster_state_open(config, false, arena, state, err)) {
        return false;
    }
    *hosts = (struct own_hosts){.children = session->children,
                                .config = config,
                                .state = head ? head->state : state,
                                .identity = head ? head->identity : state->key,
                                .is_on_head = head != NULL};
    struct local_setup setup = {.loop = session->loop,
                                .reach = own_hosts_reach(hosts),
                                .is_service = head != NULL,
                                .watch = contact_watch(contact_timeout_ms(config->shoal), arena),
                                .by = own_hosts_user(arena),
                                .container = docker->container_name,
                                .is_podman = docker->use_podman};
    return local_provider_open(&setup, cluster, ret_provider, err);
}

static bool open_plugin(const struct cloud_session *session, const struct config *config,
                        const struct cloud_provider_head *head,
                        const struct provider_cluster *cluster, struct arena *arena,
                        struct provider **ret_provider, struct err *err)
{
    struct external_setup setup = {
        .loop = session->loop,
        .children = session->children,
        .argv = plugin_command_argv(config, head != NULL, arena),
        .env = cloud_session_aws(session).environ,
    };
    return (!config_is_ray_class(config) ||
            ray_class_setup(config, head, setup.env, arena, &setup, err)) &&
           external_provider_open(&setup, cluster, ret_provider, err);
}

struct aws_client *cloud_provider_aws(struct provider *provider)
{
    return str_is(str_from(provider->ops->name), "aws") ? aws_provider_client(provider) : NULL;
}

bool cloud_provider_supports(const struct config *config, struct err *err)
{
    if (str_is(config->provider_type, "aws") || str_is(config->provider_type, "gcp") ||
        config_is_local(config) || config_plugin(config) || config_is_ray_class(config)) {
        return true;
    }
    return err_set(
        err, ERR_UNAVAILABLE,
        "provider %.*s is not supported yet; use aws, gcp, azure, vsphere, local, or external",
        STR_ARG(str_sub(config->provider_type, 0, 100)));
}

bool cloud_provider_open_on(struct cloud_session *session, const struct config *config,
                            struct str profile, const struct cloud_provider_head *head,
                            struct arena *arena, struct provider **ret_provider, struct err *err)
{
    struct provider_cluster *cluster = ARENA_NEW(arena, struct provider_cluster);
    struct str images = head ? head->type_images : STR("");
    if (!node_params_cluster(config, images, arena, cluster, err)) {
        return false;
    }
    if (!cloud_provider_supports(config, err)) {
        return false;
    }
    if (config_plugin(config) || config_is_ray_class(config)) {
        return open_plugin(session, config, head, cluster, arena, ret_provider, err);
    }
    if (str_is(config->provider_type, "gcp")) {
        return open_gcp(session, config, cluster, ret_provider, err);
    }
    return config_is_local(config)
               ? open_local(session, config, head, cluster, arena, ret_provider, err)
               : open_aws(session, config, profile, cluster, arena, ret_provider, err);
}

bool cloud_provider_open(struct cloud_session *session, const struct config *config,
                         struct str profile, struct arena *arena, struct provider **ret_provider,
                         struct err *err)
{
    return cloud_provider_open_on(session, config, profile, NULL, arena, ret_provider, err);
}

bool cloud_provider_policy(const struct config *config, struct arena *arena, struct str *ret_policy,
                           struct err *err)
{
    enum { ROLE_BYTES_MAX = 16 * 1024 };
    struct provider_cluster cluster;
    if (str_is(config->provider_type, "gcp")) {
        AUTO_BUF struct buf role;
        buf_init(&role, ROLE_BYTES_MAX);
        gcp_role_write(config->cluster_name, &role);
        *ret_policy = arena_str(arena, buf_str(&role));
        return true;
    }
    if (!str_is(config->provider_type, "aws")) {
        return err_set(err, ERR_UNAVAILABLE, "shoal policy supports aws and gcp only, not %.*s",
                       STR_ARG(str_sub(config->provider_type, 0, 100)));
    }
    return node_params_cluster(config, STR(""), arena, &cluster, err) &&
           caller_policy_write(&cluster, arena, ret_policy, err);
}
