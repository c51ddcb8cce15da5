/* probe_file.c: what the cluster file says about the resources that it needs. */
#include "provider/gcp/preflight/probe.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

static const struct param *probe_config(const struct probe *probe, size_t type)
{
    return gcp_config(probe->provider, type);
}

/* Only what can be part of a URL. */
static bool is_plain_path(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.' || c == '/' || c == ':')) {
            return false;
        }
    }
    return text.len > 0 && text.len < 500 && str_find(text, "..") == SIZE_MAX;
}

/* "https://.../projects/p/global/x" and "global/x" -> "projects/p/global/x"; empty: unknown. */
static struct str probe_full_path(const struct probe *probe, struct str text)
{
    size_t at = str_find(text, "projects/");
    if (str_starts(text, "global/") || str_starts(text, "regions/")) {
        struct str project = gcp_client_project(probe->provider->client);
        text = arena_printf(probe->arena, "projects/%.*s/%.*s", STR_ARG(project), STR_ARG(text));
    } else {
        text = at == SIZE_MAX ? STR("") : str_sub(text, at, text.len);
    }
    return is_plain_path(text) ? text : STR("");
}

struct str probe_region(const struct probe *probe)
{
    struct str region = param_text(probe->provider->cluster->provider, "region");
    return gcp_is_name(region) ? region : STR("");
}

struct str probe_type(const struct probe *probe, size_t type)
{
    return gcp_type_machine(probe->provider, type);
}

/* The boot disk is the one that says so, or the first. */
struct str probe_image(const struct probe *probe, size_t type)
{
    const struct param *disks = param_get(probe_config(probe, type), PARAM_LIST, "disks");
    const struct param *boot = disks ? disks->first : NULL;
    for (const struct param *disk = boot; disk; disk = disk->next) {
        const struct param *flag = param_get(disk, PARAM_BOOL, "boot");
        if (flag && flag->boolean) {
            boot = disk;
            break;
        }
    }
    const struct param *made = boot ? param_get(boot, PARAM_MAP, "initializeParams") : NULL;
    return probe_full_path(probe, param_text(made, "sourceImage"));
}

static const struct param *probe_interface(const struct probe *probe, size_t type)
{
    const struct param *list = param_get(probe_config(probe, type), PARAM_LIST,
                                         "networkInterfaces");
    return list ? list->first : NULL;
}

struct str probe_subnet(const struct probe *probe, size_t type)
{
    return probe_full_path(probe, param_text(probe_interface(probe, type), "subnetwork"));
}

/* Without an interface, launches use the network "default". */
struct str probe_network(const struct probe *probe, size_t type)
{
    const struct param *interface = probe_interface(probe, type);
    struct str network = param_text(interface, "network");
    if (param_text(interface, "subnetwork").len > 0) {
        return STR("");
    }
    return probe_full_path(probe, network.len > 0 ? network : STR("global/networks/default"));
}

struct str probe_rules_network(const struct probe *probe)
{
    for (size_t i = 0; i < probe->provider->cluster->type_count; i++) {
        struct str subnet = probe_subnet(probe, i);
        const struct probe_answer *answer = probe_find(probe, PROBE_SUBNETWORK, subnet, 0);
        if (probe_interface(probe, i)) {
            return subnet.len == 0 ? probe_network(probe, i)
                   : answer ? probe_full_path(probe, host_record_text(answer->body, "network"))
                            : STR("");
        }
    }
    return STR("");
}

int64_t probe_addresses(const struct probe *probe, size_t type)
{
    const struct param *interface = probe_interface(probe, type);
    const struct param *hidden = param_get(probe->provider->cluster->provider, PARAM_BOOL,
                                           "use_internal_ips");
    int64_t count = 0;
    if (!interface) {
        return hidden && hidden->boolean ? 0 : 1;
    }
    for (; interface; interface = interface->next) {
        const struct param *list = param_get(interface, PARAM_LIST, "accessConfigs");
        for (const struct param *item = list ? list->first : NULL; item; item = item->next) {
            count++;
        }
    }
    return count;
}

bool probe_is_shielded(const struct probe *probe, size_t type)
{
    const struct param *config = param_get(probe_config(probe, type), PARAM_MAP,
                                           "shieldedInstanceConfig");
    const struct param *boot = param_get(config, PARAM_BOOL, "enableSecureBoot");
    return boot && boot->boolean;
}

const struct param *probe_gpus(const struct probe *probe, size_t type)
{
    const struct param *list = param_get(probe_config(probe, type), PARAM_LIST,
                                         "guestAccelerators");
    return list ? list->first : NULL;
}

struct str probe_gpu(const struct param *gpu)
{
    return gcp_last_word(param_text(gpu, "acceleratorType"));
}

static bool is_spot_map(const struct param *map)
{
    const struct param *old = param_get(map, PARAM_BOOL, "preemptible");
    return (old && old->boolean) || str_is(param_text(map, "provisioningModel"), "SPOT");
}

/* In Ray's examples `scheduling` is a list with one entry per key. */
bool probe_is_spot(const struct probe *probe, size_t type)
{
    const struct param *given = param_find(probe_config(probe, type), "scheduling");
    bool is_spot = given && given->kind == PARAM_MAP && is_spot_map(given);
    for (const struct param *item = given && given->kind == PARAM_LIST ? given->first : NULL; item;
         item = item->next) {
        is_spot = is_spot || (item->kind == PARAM_MAP && is_spot_map(item));
    }
    return is_spot;
}

const struct param *probe_account(const struct probe *probe)
{
    for (size_t i = 0; i < probe->provider->cluster->type_count; i++) {
        const struct param *list = param_get(probe_config(probe, i), PARAM_LIST, "serviceAccounts");
        if (probe->provider->cluster->types[i].is_head && list) {
            return list->first;
        }
    }
    return NULL;
}
