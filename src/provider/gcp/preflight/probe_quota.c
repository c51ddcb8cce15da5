/*
 * probe_quota.c: quotas of the region and of the project, against what the file needs.
 *
 * Only quotas that Google lists are checked: the newest families have theirs elsewhere. Spot
 * instances use the standard quota as long as their own is 0.
 */
#include "provider/gcp/preflight/probe.h"

#include "base/buf.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NEEDS_MAX = 32, METRIC_MAX = 64, TEXT_BYTES_MAX = 2048 };

#define RULES "FIREWALLS"
#define TEMPLATES "INSTANCE_TEMPLATES"

struct quota_need {
    char metric[METRIC_MAX];
    bool is_global;
    bool is_own;         /* rules and templates: others do not free theirs soon */
    int64_t least, most; /* with min_workers, and with max_workers */
    size_t type;         /* the first that needs it */
};

struct quota_needs {
    struct probe *probe;
    struct quota_need items[NEEDS_MAX];
    size_t count;
    size_t type; /* the one that is being counted */
};

static const json_t *quota_find(const struct probe *probe, bool is_global, const char *metric)
{
    const json_t *body = probe_body(probe, is_global ? PROBE_PROJECT : PROBE_REGION);
    const json_t *list = json_object_get(body, "quotas");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (str_is(host_record_text(item, "metric"), metric)) {
            return item;
        }
    }
    return NULL;
}

static int64_t quota_number(const json_t *quota, const char *name)
{
    double number = json_number_value(json_object_get(quota, name));
    return number > 1e15 ? (int64_t)1e15 : number < 0 ? 0 : (int64_t)floor(number);
}

static void quota_need(struct quota_needs *needs, bool is_global, const char *metric, int64_t each)
{
    const struct provider_type *type = &needs->probe->provider->cluster->types[needs->type];
    size_t at = 0;
    while (at < needs->count && strcmp(needs->items[at].metric, metric) != 0) {
        at++;
    }
    if (each <= 0 || at == NEEDS_MAX || !quota_find(needs->probe, is_global, metric)) {
        return;
    }
    struct quota_need *need = &needs->items[at];
    if (at == needs->count) {
        *need = (struct quota_need){.is_global = is_global,
                                    .is_own = strcmp(metric, RULES) == 0 ||
                                              strcmp(metric, TEMPLATES) == 0,
                                    .type = needs->type};
        snprintf(need->metric, sizeof(need->metric), "%s", metric);
        needs->count++;
    }
    need->least += each * type->least;
    need->most += each * type->most;
}

/* The quota for spot instances if it was granted, otherwise the standard one. */
static void quota_need_either(struct quota_needs *needs, const char *spot, const char *standard,
                              int64_t each)
{
    bool is_spot = probe_is_spot(needs->probe, needs->type);
    const json_t *own = is_spot ? quota_find(needs->probe, false, spot) : NULL;
    quota_need(needs, false, quota_number(own, "limit") > 0 ? spot : standard, each);
}

static void quota_upper(char *text)
{
    for (; *text; text++) {
        *text = *text == '-'                   ? '_'
                : *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A')
                                               : *text;
    }
}

static void quota_need_cpus(struct quota_needs *needs, int64_t cpus)
{
    static const char *const shared[] = {"n1", "e2", "f1", "g1", "custom"};
    struct str rest = probe_type(needs->probe, needs->type);
    struct str family = str_cut(&rest, '-');
    char metric[METRIC_MAX];
    snprintf(metric, sizeof(metric), "%.*s_CPUS", STR_ARG(str_sub(family, 0, 20)));
    quota_upper(metric);
    for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
        if (str_is(family, shared[i])) {
            snprintf(metric, sizeof(metric), "CPUS");
        }
    }
    quota_need_either(needs, "PREEMPTIBLE_CPUS", metric, cpus);
    quota_need(needs, true, "CPUS_ALL_REGIONS", cpus);
}

/* "nvidia-tesla-t4" -> NVIDIA_T4_GPUS */
static void quota_need_gpus(struct quota_needs *needs, struct str name, int64_t count)
{
    char metric[METRIC_MAX];
    char spot[METRIC_MAX + 16];
    struct str tail = str_starts(name, "nvidia-tesla-") ? str_sub(name, 13, name.len)
                      : str_starts(name, "nvidia-")     ? str_sub(name, 7, name.len)
                                                        : name;
    snprintf(metric, sizeof(metric), "NVIDIA_%.*s_GPUS", STR_ARG(str_sub(tail, 0, 40)));
    quota_upper(metric);
    snprintf(spot, sizeof(spot), "PREEMPTIBLE_%s", metric);
    quota_need_either(needs, spot, metric, count);
    quota_need(needs, true, "GPUS_ALL_REGIONS", count);
}

/* The type as Google describes it, in the first zone that has it. */
static const json_t *quota_machine(const struct probe *probe, size_t type)
{
    for (size_t k = 0; k < probe->provider->zone_count; k++) {
        const struct probe_answer *answer = probe_find(probe, PROBE_TYPE, probe_type(probe, type),
                                                       k);
        if (answer && answer->body) {
            return answer->body;
        }
    }
    return NULL;
}

/* GB; a boot disk without a size is as large as its image. */
static int64_t quota_disk_size(const struct quota_needs *needs, const struct param *made)
{
    const struct param *size = made ? param_find(made, "diskSizeGb") : NULL;
    const struct probe_answer *image = probe_find(needs->probe, PROBE_IMAGE,
                                                  probe_image(needs->probe, needs->type), 0);
    struct str text = size ? size->text
                           : host_record_text(image ? image->body : NULL, "diskSizeGb");
    int64_t number = size && size->kind == PARAM_NUMBER ? size->number : 0;
    return number > 0 || str_to_i64(text, &number) ? number : 0;
}

/* pd-balanced and pd-ssd share a quota, which is 500 GB in new projects. */
static void quota_need_disks(struct quota_needs *needs)
{
    const struct param *disks = param_get(gcp_config(needs->probe->provider, needs->type),
                                          PARAM_LIST, "disks");
    for (const struct param *disk = disks ? disks->first : NULL; disk; disk = disk->next) {
        const struct param *made = param_get(disk, PARAM_MAP, "initializeParams");
        struct str kind = gcp_last_word(param_text(made, "diskType"));
        bool is_ssd = str_is(kind, "pd-ssd") || str_is(kind, "pd-balanced");
        if (made && (is_ssd || kind.len == 0 || str_is(kind, "pd-standard"))) {
            quota_need(needs, false, is_ssd ? "SSD_TOTAL_GB" : "DISKS_TOTAL_GB",
                       quota_disk_size(needs, made));
        }
    }
}

/* The cluster's own: rules, and the last versions of the lease with the next one. */
static void quota_need_resources(struct quota_needs *needs)
{
    if (needs->probe->provider->cluster->types[needs->type].is_head) {
        quota_need(needs, true, RULES, gcp_makes_rules(needs->probe->provider) ? 2 : 0);
        quota_need(needs, true, TEMPLATES, 6);
    }
}

static void quota_count(struct quota_needs *needs)
{
    const struct probe *probe = needs->probe;
    const json_t *machine = quota_machine(probe, needs->type);
    const json_t *own = json_object_get(machine, "accelerators");
    quota_need_cpus(needs, host_record_number(machine, "guestCpus"));
    quota_need_disks(needs);
    quota_need_resources(needs);
    quota_need(needs, false, "INSTANCES", 1);
    quota_need(needs, false, "IN_USE_ADDRESSES", probe_addresses(probe, needs->type));
    for (size_t i = 0; i < json_array_size(own); i++) {
        const json_t *gpu = json_array_get(own, i);
        quota_need_gpus(needs, host_record_text(gpu, "guestAcceleratorType"),
                        host_record_number(gpu, "guestAcceleratorCount"));
    }
    for (const struct param *gpu = probe_gpus(probe, needs->type); gpu; gpu = gpu->next) {
        const struct param *count = param_get(gpu, PARAM_NUMBER, "acceleratorCount");
        quota_need_gpus(needs, probe_gpu(gpu), count ? count->number : 1);
    }
}

/* Instances of this cluster use some of the quota already. */
static bool quota_has_own(const struct probe *probe)
{
    json_t *items = json_array();
    struct str next;
    struct err ignored;
    const json_t *body = probe_body(probe, PROBE_NAMED);
    bool has = !body || !gcp_page_read(body, "instances", items, &next, &ignored) ||
               json_array_size(items) > 0;
    json_decref(items);
    return has;
}

static struct str quota_remedy(const struct probe *probe, const struct quota_need *need)
{
    bool is_address = strcmp(need->metric, "IN_USE_ADDRESSES") == 0;
    return arena_printf(probe->arena,
                        "%s%s, or request a larger quota: "
                        "https://console.cloud.google.com/iam-admin/quotas?project=%.*s",
                        need->is_own ? "delete what nothing uses: shoal gc" : "lower min_workers",
                        is_address ? ", set provider.use_internal_ips: true" : "",
                        STR_ARG(str_sub(gcp_client_project(probe->provider->client), 0, 80)));
}

static void quota_judge(struct probe *probe, const struct quota_need *need, bool has_own,
                        struct buf *fine)
{
    const json_t *quota = quota_find(probe, need->is_global, need->metric);
    int64_t limit = quota_number(quota, "limit");
    int64_t usage = quota_number(quota, "usage");
    struct str region = probe_region(probe);
    struct str place = need->is_global ? STR("all regions") : region;
    bool is_short = need->least > limit - usage && !has_own;
    struct finding *finding;
    if (need->least <= limit && !is_short && need->is_own) {
        return;
    }
    if (need->least <= limit && !is_short) {
        buf_addf(fine, "%s%s %lld of %lld in use", fine->len > 0 ? ", " : "", need->metric,
                 (long long)usage, (long long)limit);
        if (need->most > limit) {
            buf_addf(fine, " (max_workers would need %lld)", (long long)need->most);
        }
        return;
    }
    finding = need->least > limit
                  ? probe_add(probe, FINDING_ERROR, "quota",
                              "the project's quota %s is %lld in %.*s; the head and min_workers "
                              "need %lld",
                              need->metric, (long long)limit, STR_ARG(place),
                              (long long)need->least)
                  : probe_add(probe, need->is_own ? FINDING_ERROR : FINDING_WARNING, "quota",
                              "%lld of the project's quota %s of %lld in %.*s are in use; the "
                              "head and min_workers need %lld more",
                              (long long)usage, need->metric, (long long)limit, STR_ARG(place),
                              (long long)need->least);
    finding->path = probe_path(probe, need->type, "machineType");
    finding->remedy = quota_remedy(probe, need);
}

void probe_judge_quotas(struct probe *probe)
{
    struct quota_needs needs = {.probe = probe};
    AUTO_BUF struct buf fine;
    bool has_own = quota_has_own(probe);
    buf_init(&fine, TEXT_BYTES_MAX);
    probe_note(probe, "quota", probe_find(probe, PROBE_REGION, STR(""), 0));
    for (size_t i = 0; i < probe->provider->cluster->type_count; i++) {
        needs.type = i;
        quota_count(&needs);
    }
    for (size_t i = 0; i < needs.count; i++) {
        quota_judge(probe, &needs.items[i], has_own, &fine);
    }
    if (fine.len > 0) {
        probe_add(probe, FINDING_FINE, "quota", "%s", fine.ptr);
    }
}
