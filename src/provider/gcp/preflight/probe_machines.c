/* probe_machines.c: machine types, GPUs and images, and the places where they are. */
#include "provider/gcp/preflight/probe.h"

#include "base/buf.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

enum { NAMES_SHOWN = 5, TEXT_BYTES_MAX = 2048 };

static struct str probe_name_subnetwork(const struct probe *probe)
{
    struct str region = probe_region(probe);
    return arena_printf(
        probe->arena,
        "write networkInterfaces in each node_config: [{subnetwork: "
        "regions/%.*s/subnetworks/NAME%s}]",
        STR_ARG(region.len > 0 ? region : STR("REGION")),
        gcp_is_private(probe->provider) ? "" : ", accessConfigs: [{type: ONE_TO_ONE_NAT}]");
}

/* ---- machine types ---- */

/* The first GPU type that the zone does not have; empty: it has all. */
static struct str probe_lacks_gpu(const struct probe *probe, size_t type, size_t zone)
{
    for (const struct param *gpu = probe_gpus(probe, type); gpu; gpu = gpu->next) {
        const struct probe_answer *answer = probe_find(probe, PROBE_GPU, probe_gpu(gpu), zone);
        if (answer && !answer->body && answer->failure.outcome == OUTCOME_NOT_FOUND) {
            return answer->about;
        }
    }
    return STR("");
}

static void probe_refuse_type(struct probe *probe, size_t type, struct str gpu)
{
    struct str name = str_sub(probe_type(probe, type), 0, 80);
    struct finding *finding;
    if (gpu.len > 0) {
        finding = probe_add(probe, FINDING_ERROR, "machine type",
                            "no zone of the cluster has both %.*s and GPUs of type %.*s",
                            STR_ARG(name), STR_ARG(gpu));
        finding->remedy = arena_printf(probe->arena,
                                       "add a zone that has them to provider.availability_zone: "
                                       "gcloud compute accelerator-types list --filter=name=%.*s",
                                       STR_ARG(gpu));
    } else if (name.len == 0) {
        finding = probe_add(probe, FINDING_ERROR, "machine type",
                            "the node type has no machine type");
    } else {
        finding = probe_add(probe, FINDING_ERROR, "machine type",
                            "no zone of the cluster offers %.*s", STR_ARG(name));
        finding->remedy = arena_printf(probe->arena,
                                       "name another machine type, or add a zone to "
                                       "provider.availability_zone: gcloud compute machine-types "
                                       "list --filter=name=%.*s",
                                       STR_ARG(name));
    }
    finding->path = probe_path(probe, type, gpu.len > 0 ? "guestAccelerators" : "machineType");
}

static void probe_judge_type(struct probe *probe, size_t type)
{
    struct gcp_provider *provider = probe->provider;
    struct str name = probe_type(probe, type);
    struct str gpu = STR("");
    bool is_offered = false;
    bool is_refused = false;
    for (size_t k = 0; k < provider->zone_count; k++) {
        const struct probe_answer *answer = probe_find(probe, PROBE_TYPE, name, k);
        struct str lacks = probe_lacks_gpu(probe, type, k);
        is_refused = is_refused || (answer && answer->failure.outcome == OUTCOME_DENIED);
        if (!answer || !answer->body) {
            continue;
        }
        bool is_arm = str_is(host_record_text(answer->body, "architecture"), "ARM64");
        provider->facts[type].architecture = is_arm ? STR("arm64") : STR("x86_64");
        provider->is_offered[type * GCP_ZONES_MAX + k] = lacks.len == 0;
        is_offered = is_offered || lacks.len == 0;
        gpu = lacks.len > 0 ? lacks : gpu;
    }
    if (!is_offered && !is_refused) {
        probe_refuse_type(probe, type, gpu);
    }
}

/* ---- images ---- */

static const char *probe_architecture(const json_t *image)
{
    struct str text = host_record_text(image, "architecture");
    return str_is(text, "ARM64") ? "arm64" : str_is(text, "X86_64") ? "x86_64" : "";
}

static void probe_judge_image(struct probe *probe, size_t type)
{
    struct provider_type_facts *facts = &probe->provider->facts[type];
    struct str path = probe_image(probe, type);
    const struct probe_answer *answer = probe_find(probe, PROBE_IMAGE, path, 0);
    struct finding *finding = NULL;
    if (!answer) {
        return;
    }
    if (!answer->body && answer->failure.outcome == OUTCOME_NOT_FOUND) {
        finding = probe_add(probe, FINDING_ERROR, "image", "image %.*s does not exist",
                            STR_ARG(path));
        finding->remedy = STR("gcloud compute images list prints the public images and those of "
                              "your project");
    } else if (!answer->body) {
        probe_note(probe, "image", answer);
        return;
    } else {
        const char *own = probe_architecture(answer->body);
        struct str state = host_record_text(json_object_get(answer->body, "deprecated"), "state");
        facts->image = arena_str(&probe->provider->arena, gcp_last_word(path));
        facts->image_name = arena_str(&probe->provider->arena,
                                      host_record_text(answer->body, "name"));
        if (*own && facts->architecture.len > 0 && !str_is(facts->architecture, own)) {
            finding = probe_add(
                probe, FINDING_ERROR, "image", "image %.*s is for %s, and %.*s has %.*s processors",
                STR_ARG(facts->image_name), own, STR_ARG(str_sub(probe_type(probe, type), 0, 80)),
                STR_ARG(facts->architecture));
            finding->remedy = STR("name an image for these processors, or another machine type");
        } else if (str_is(state, "OBSOLETE") || str_is(state, "DELETED")) {
            finding = probe_add(
                probe, FINDING_ERROR, "image", "image %.*s is %s: Google creates no disks from it",
                STR_ARG(facts->image_name), str_is(state, "DELETED") ? "deleted" : "obsolete");
            finding->remedy = STR("name its family instead: projects/P/global/images/family/F");
        }
    }
    if (finding) {
        finding->path = probe_path(probe, type, "disks");
    }
}

void probe_judge_machines(struct probe *probe)
{
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < probe->provider->cluster->type_count; i++) {
        size_t before = probe->finding_count;
        probe_judge_type(probe, i);
        probe_judge_image(probe, i);
        const struct provider_type_facts *facts = &probe->provider->facts[i];
        if (probe->finding_count == before && facts->image_name.len > 0) {
            probe_add(probe, FINDING_FINE, "machine type", "%.*s: %.*s, %.*s with %.*s",
                      STR_ARG(str_sub(probe->provider->cluster->types[i].name, 0, 80)),
                      STR_ARG(str_sub(probe_type(probe, i), 0, 80)), STR_ARG(facts->architecture),
                      STR_ARG(str_sub(facts->image_name, 0, 80)));
        }
    }
}

/* ---- zones and networks ---- */

static void probe_judge_zones(struct probe *probe)
{
    const struct probe_answer *answer = probe_find(probe, PROBE_REGION, STR(""), 0);
    struct str region = probe_region(probe);
    if (answer && !answer->body &&
        (answer->failure.status == 404 || answer->failure.status == 400)) {
        probe_add(probe, FINDING_ERROR, "region", "Google has no region %.*s", STR_ARG(region))
            ->path = STR("provider.region");
        return;
    }
    const json_t *zones = answer ? json_object_get(answer->body, "zones") : NULL;
    for (size_t i = 0; i < probe->provider->zone_count && json_array_size(zones) > 0; i++) {
        bool is_there = false;
        for (size_t k = 0; k < json_array_size(zones); k++) {
            struct str link = str_from(json_string_value(json_array_get(zones, k)));
            is_there = is_there || str_eq(gcp_last_word(link), probe->provider->zones[i]);
        }
        if (!is_there) {
            probe_add(probe, FINDING_ERROR, "zone", "region %.*s has no zone %.*s", STR_ARG(region),
                      STR_ARG(probe->provider->zones[i]))
                ->path = STR("provider.availability_zone");
        }
    }
}

static void probe_judge_subnet(struct probe *probe, size_t type, struct str path)
{
    const struct probe_answer *answer = probe_find(probe, PROBE_SUBNETWORK, path, 0);
    struct str region = probe_region(probe);
    struct finding *finding = NULL;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str part = arena_printf(&arena, "/regions/%.*s/", STR_ARG(region));
    if (region.len > 0 && str_find(path, part.ptr) == SIZE_MAX) {
        finding = probe_add(probe, FINDING_ERROR, "network",
                            "subnetwork %.*s is not in region %.*s", STR_ARG(path),
                            STR_ARG(region));
        finding->remedy = STR("name a subnetwork of the region of the cluster");
    } else if (answer && !answer->body && answer->failure.outcome == OUTCOME_NOT_FOUND) {
        finding = probe_add(probe, FINDING_ERROR, "network", "subnetwork %.*s does not exist",
                            STR_ARG(path));
        finding->remedy = STR("gcloud compute networks subnets list prints all");
    } else {
        probe_note(probe, "network", answer);
    }
    if (finding) {
        finding->path = probe_path(probe, type, "networkInterfaces");
    }
}

static void probe_judge_network(struct probe *probe, size_t type, struct str path)
{
    const struct probe_answer *answer = probe_find(probe, PROBE_NETWORK, path, 0);
    struct str name = gcp_last_word(path);
    struct finding *finding = NULL;
    if (!answer) {
        return;
    }
    if (!answer->body && answer->failure.outcome == OUTCOME_NOT_FOUND) {
        finding = probe_add(probe, FINDING_ERROR, "network", "the project has no network \"%.*s\"",
                            STR_ARG(name));
        finding->remedy = probe_name_subnetwork(probe);
    } else if (!answer->body) {
        probe_note(probe, "network", answer);
    } else if (!json_is_true(json_object_get(answer->body, "autoCreateSubnetworks"))) {
        finding = probe_add(probe, FINDING_ERROR, "network",
                            "network \"%.*s\" has subnetworks of its own, so the file must name "
                            "one of them",
                            STR_ARG(name));
        finding->remedy = probe_name_subnetwork(probe);
    }
    if (finding) {
        finding->path = probe_path(probe, type, "");
    }
}

/* ---- another launcher ---- */

static void probe_judge_named(struct probe *probe)
{
    AUTO_BUF struct buf names;
    size_t count = 0;
    json_t *items = json_array();
    struct str next;
    struct err ignored;
    buf_init(&names, TEXT_BYTES_MAX);
    const json_t *body = probe_body(probe, PROBE_NAMED);
    bool is_read = body && gcp_page_read(body, "instances", items, &next, &ignored);
    for (size_t i = 0; is_read && i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        struct str uid = host_record_text(json_object_get(item, "labels"), TAG_CLUSTER_UID);
        if (uid.len == 0) {
            buf_addf(&names, count > 0 && count < NAMES_SHOWN ? ", " : "");
            buf_add(&names, count < NAMES_SHOWN ? host_record_text(item, "name") : STR(""));
            count++;
        }
    }
    json_decref(items);
    if (count == 0) {
        return;
    }
    struct finding *finding = probe_add(
        probe, FINDING_ERROR, "name",
        "%zu instance%s of a cluster with this name %s not launched by Shoal: %s%s", count,
        count == 1 ? "" : "s", count == 1 ? "was" : "were", names.ptr,
        count > NAMES_SHOWN ? ", ..." : "");
    finding->path = STR("cluster_name");
    finding->remedy = STR("remove them first (ray down FILE deletes instances of ray up), or use "
                          "another name: -n OTHER");
}

void probe_judge_places(struct probe *probe)
{
    size_t types = probe->provider->cluster->type_count;
    if (probe->scope < PREFLIGHT_FOR_UP) {
        return;
    }
    probe_judge_zones(probe);
    probe_judge_named(probe);
    for (size_t i = 0; i < types; i++) {
        bool is_known = false;
        struct str subnet = probe_subnet(probe, i);
        struct str network = probe_network(probe, i);
        for (size_t k = 0; k < i; k++) {
            is_known = is_known || (str_eq(probe_subnet(probe, k), subnet) &&
                                    str_eq(probe_network(probe, k), network));
        }
        if (!is_known && subnet.len > 0) {
            probe_judge_subnet(probe, i, subnet);
        } else if (!is_known && network.len > 0) {
            probe_judge_network(probe, i, network);
        }
    }
}
