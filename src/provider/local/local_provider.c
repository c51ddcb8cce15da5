/* local_provider.c: the table of operations, and the hosts of the file. */
#include "provider/local/local_provider.h"
#include "provider/random_id.h"

#include "base/encode.h"
#include "io/xalloc.h"
#include "provider/local/local_operation.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

struct local_provider *local_of(struct provider *base)
{
    return (struct local_provider *)base;
}

struct str local_address(struct str id)
{
    size_t at = str_find_char(id, '@');
    return at == SIZE_MAX ? id : str_sub(id, 0, at);
}

static size_t local_zones(struct provider *base, size_t type, struct str *ret_zones, size_t most)
{
    (void)base;
    (void)type;
    (void)ret_zones;
    (void)most;
    return 0;
}

static void local_close(struct provider *base)
{
    struct local_provider *provider = local_of(base);
    local_end_all(provider);
    arena_clear(&provider->arena);
    free(provider);
}

static const struct provider_ops ops = {
    .name = "local",
    .preflight = local_preflight,
    .zones = local_zones,
    .type_facts = local_type_facts,
    .take = local_take,
    .renew = local_renew,
    .release = local_release,
    .prepare = local_prepare,
    .find = local_find,
    .adopt = local_adopt,
    .remove = local_remove,
    .list = local_list,
    .list_by = local_list_by,
    .draft = local_draft,
    .launch = local_launch,
    .terminate = local_terminate,
    .stop = local_stop,
    .start = local_stop,
    .tag = local_tag,
    .close = local_close,
};

/* ---- the hosts ---- */

/* As Ray does: Ray's own processes need an address. A name that cannot be resolved here may still
 * be one for ssh. */
static struct str resolve(struct str name, struct arena *arena)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char text[INET_ADDRSTRLEN] = "";
    uint8_t bytes[sizeof(struct in6_addr)];
    const char *plain = arena_str(arena, name).ptr;
    if (inet_pton(AF_INET, plain, bytes) == 1 || inet_pton(AF_INET6, plain, bytes) == 1 ||
        getaddrinfo(plain, NULL, &hints, &found) != 0) {
        return name;
    }
    const struct sockaddr_in *address = (const void *)found->ai_addr;
    bool ok = inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)) != NULL;
    freeaddrinfo(found);
    return ok ? arena_str(arena, str_from(text)) : name;
}

static void local_provider_add_host(struct local_provider *provider, struct str address,
                                    struct str outside)
{
    bool is_head = provider->host_count == HOST_HEAD;
    struct str inside = resolve(address, &provider->arena);
    provider->hosts[provider->host_count++].choice = (struct host_choice){
        .host = address,
        .private_ip = inside,
        .public_ip = outside.len > 0 ? outside : inside,
        .is_head = is_head,
    };
}

static bool add_hosts(struct local_provider *provider, struct err *err)
{
    const struct param *settings = provider->cluster->provider;
    const struct param *workers = param_get(settings, PARAM_LIST, "worker_ips");
    struct str head = param_text(settings, "head_ip");
    size_t count = 1;
    for (const struct param *item = workers ? workers->first : NULL; item; item = item->next) {
        count++;
    }
    if (head.len == 0 || !workers) {
        return err_set(err, ERR_CONFIG,
                       "provider.type local needs head_ip and worker_ips. Ray's coordinator server "
                       "(coordinator_address) is not supported: write the addresses of the "
                       "machines into the file");
    }
    provider->hosts = ARENA_ARRAY(&provider->arena, count, struct local_host);
    local_provider_add_host(provider, head, param_text(settings, "external_head_ip"));
    for (const struct param *item = workers->first; item; item = item->next) {
        if (item->kind != PARAM_TEXT || item->text.len == 0 ||
            local_find_host(provider, item->text) != SIZE_MAX) {
            return err_set(err, ERR_CONFIG,
                           "provider.worker_ips: \"%.*s\" is not the address of one more machine: "
                           "each address may be in the file once, and the head is not a worker",
                           STR_ARG(str_sub(item->text, 0, 100)));
        }
        local_provider_add_host(provider, item->text, STR(""));
    }
    provider->choices = ARENA_ARRAY(&provider->arena, count, struct host_choice);
    for (size_t i = 0; i < count; i++) {
        provider->choices[i] = provider->hosts[i].choice;
    }
    return true;
}

bool local_provider_open(const struct local_setup *setup, const struct provider_cluster *cluster,
                         struct provider **ret_provider, struct err *err)
{
    struct local_provider *provider = HEAP_NEW(struct local_provider);
    provider->base.ops = &ops;
    provider->loop = setup->loop;
    provider->setup = *setup;
    provider->cluster = cluster;
    provider->stop = (struct host_stop){
        .container = setup->container, .cluster = cluster->name, .is_podman = setup->is_podman};
    arena_init(&provider->arena);
    if (!add_hosts(provider, err) || !random_id(&provider->arena, &provider->nonce, err)) {
        local_close(&provider->base);
        return false;
    }
    *ret_provider = &provider->base;
    return true;
}
