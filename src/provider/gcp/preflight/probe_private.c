/* probe_private.c: the way in for ssh, and the way out to Google's API for instances without public
 * addresses. */
#include "provider/gcp/preflight/probe.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

/* The subnetwork of a head without a public address: the one of the file, or the one that a network
 * in auto mode has in the region. Empty: unknown, or not needed. */
struct str probe_private_subnet(const struct probe *probe, size_t type)
{
    struct str named = probe_subnet(probe, type);
    struct str network = probe_network(probe, type);
    struct str region = probe_region(probe);
    size_t at = str_find(network, "/global/networks/");
    if (!probe->provider->cluster->types[type].is_head || probe_addresses(probe, type) > 0 ||
        (named.len == 0 && (at == SIZE_MAX || region.len == 0))) {
        return STR("");
    }
    return named.len > 0 ? named
                         : arena_printf(probe->arena, "%.*s/regions/%.*s/subnetworks/%.*s",
                                        STR_ARG(str_sub(network, 0, at)), STR_ARG(region),
                                        STR_ARG(gcp_last_word(network)));
}

static void probe_judge_way_out(struct probe *probe, size_t type)
{
    struct str path = probe_private_subnet(probe, type);
    const struct probe_answer *answer = probe_find(probe, PROBE_SUBNETWORK, path, 0);
    if (path.len == 0 || !answer ||
        !json_is_false(json_object_get(answer->body, "privateIpGoogleAccess"))) {
        return;
    }
    struct str name = str_sub(gcp_last_word(path), 0, 80);
    struct finding *finding = probe_add(
        probe, FINDING_WARNING, "network",
        "the head has no public address, and subnetwork %.*s has no Private Google Access. Without "
        "Cloud NAT, the head cannot call Google's API and cannot launch workers",
        STR_ARG(name));
    finding->path = STR("provider.use_internal_ips");
    finding->remedy = arena_printf(probe->arena,
                                   "gcloud compute networks subnets update %.*s --region %.*s "
                                   "--enable-private-ip-google-access",
                                   STR_ARG(name), STR_ARG(probe_region(probe)));
}

/* provider.ssh_from is a range or a list of ranges. */
static bool probe_admits_tunnel(const struct param *from)
{
    const struct param *item = from->kind == PARAM_LIST ? from->first : from;
    while (item) {
        if (str_is(item->text, GCP_TUNNEL_RANGE) || str_is(item->text, "0.0.0.0/0")) {
            return true;
        }
        item = from->kind == PARAM_LIST ? item->next : NULL;
    }
    return false;
}

static void probe_judge_way_in(struct probe *probe)
{
    const struct param *settings = probe->provider->cluster->provider;
    const struct param *from = settings ? param_find(settings, "ssh_from") : NULL;
    if (!gcp_uses_tunnel(probe->provider)) {
        return;
    }
    if (!from || probe_admits_tunnel(from)) {
        probe_add(probe, FINDING_FINE, "ssh",
                  "through Identity-Aware Proxy (" GCP_TUNNEL_RANGE ")");
        return;
    }
    struct finding *finding = probe_add(
        probe, FINDING_WARNING, "ssh",
        "ssh_proxy_command uses Identity-Aware Proxy, but metadata.shoal.ssh_from does not contain "
        "its range, so the cluster's firewall rule does not allow ssh from it");
    finding->path = STR("metadata.shoal.ssh_from");
    finding->remedy = STR("add " GCP_TUNNEL_RANGE ", or remove ssh_from");
}

/* ---- rules that others make ---- */

static const json_t *probe_shared_subnet(const struct probe *probe)
{
    for (size_t i = 0; i < probe->provider->cluster->type_count; i++) {
        struct str path = probe_subnet(probe, i);
        const struct probe_answer *answer = probe_find(probe, PROBE_SUBNETWORK, path, 0);
        if (path.len > 0) {
            return answer ? answer->body : NULL;
        }
    }
    return NULL;
}

/* Only people with a role in the host project can make rules there, and see them. */
static void probe_judge_rules(struct probe *probe)
{
    const json_t *subnet = probe_shared_subnet(probe);
    struct str host = str_sub(gcp_host_project(probe->provider), 0, 80);
    struct str range = host_record_text(subnet, "ipCidrRange");
    struct str network = gcp_last_word(host_record_text(subnet, "network"));
    struct str name = str_sub(probe->provider->part, 0, 80);
    if (gcp_makes_rules(probe->provider)) {
        return;
    }
    if (host.len == 0 || param_text(probe->provider->cluster->provider, "firewall").len > 0) {
        probe_add(probe, FINDING_FINE, "network",
                  "no firewall rules are made (metadata.shoal.firewall: none)");
        return;
    }
    range = range.len > 0 ? range : STR("RANGE_OF_THE_SUBNETWORK");
    network = network.len > 0 ? network : STR("NETWORK");
    struct finding *finding = probe_add(
        probe, FINDING_WARNING, "network",
        "the network is in project %.*s (shared VPC), where Shoal makes no firewall rules. The "
        "cluster needs two: tcp:22 from your address, and everything between its nodes",
        STR_ARG(host));
    finding->path = STR("metadata.shoal.firewall");
    finding->remedy = arena_printf(
        probe->arena,
        "gcloud compute firewall-rules create %.*s-ssh --project %.*s --network %.*s --allow "
        "tcp:22 --source-ranges YOUR_ADDRESS; gcloud compute firewall-rules create %.*s-in "
        "--project %.*s --network %.*s --allow all --source-ranges %.*s; then write firewall: "
        "none in metadata.shoal",
        STR_ARG(name), STR_ARG(host), STR_ARG(network), STR_ARG(name), STR_ARG(host),
        STR_ARG(network), STR_ARG(range));
}

static void probe_judge_address(struct probe *probe, size_t type)
{
    const struct provider_type *head = &probe->provider->cluster->types[type];
    if (!head->is_head || probe_addresses(probe, type) > 0 || gcp_is_private(probe->provider) ||
        param_text(probe->provider->cluster->auth, "ssh_proxy_command").len > 0) {
        return;
    }
    struct finding *finding = probe_add(
        probe, FINDING_WARNING, "network",
        "the head has no public address, because its networkInterfaces has no accessConfigs. This "
        "machine must reach its private address");
    finding->path = probe_path(probe, type, "networkInterfaces");
    finding->remedy = STR("add accessConfigs: [{type: ONE_TO_ONE_NAT}], or write "
                          "provider.use_internal_ips: true");
}

void probe_judge_private(struct probe *probe)
{
    if (probe->scope < PREFLIGHT_FOR_UP) {
        return;
    }
    for (size_t i = 0; i < probe->provider->cluster->type_count; i++) {
        probe_judge_way_out(probe, i);
        probe_judge_address(probe, i);
    }
    probe_judge_way_in(probe);
    probe_judge_rules(probe);
}
