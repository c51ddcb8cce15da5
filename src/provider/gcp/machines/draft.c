/*
 * draft.c: a launch as the body of one bulkInsert, from the node_config of the file.
 *
 * The names of the instances and the requestId come from the token of the launch, so the same
 * launch never has two names.
 */
#include "base/buf.h"
#include "base/encode.h"
#include "io/json_line.h"
#include "io/sha256.h"
#include "io/xalloc.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"
#include "provider/launch_token.h"

#include <stdio.h>
#include <string.h>

enum {
    DRAFT_BYTES_MAX = 1 << 20,
    COUNT_MAX = 1000,
    HASH_BYTES = 5,
    DRAFT_KEPT_MS = 3600 * 1000,
    BASE64_LINE_LEN = 76
};

#define SCOPE "https://www.googleapis.com/auth/cloud-platform"

/* A child of an object, made if it is missing or has another kind. */
static json_t *draft_child(json_t *object, const char *name, bool is_list)
{
    json_t *child = json_object_get(object, name);
    if (!child || (is_list ? !json_is_array(child) : !json_is_object(child))) {
        child = is_list ? json_array() : json_object();
        json_object_set_new(object, name, child);
    }
    return child;
}

/* bulkInsert takes names of types, not URLs. */
static void draft_shorten(json_t *object, const char *name)
{
    struct str text = host_record_text(object, name);
    if (text.len > 0) {
        struct str word = gcp_last_word(text);
        json_object_set_new(object, name, json_stringn(word.ptr, word.len));
    }
}

/* ---- properties ---- */

/* metadata.shoal.tags, unless the node_config has another value. The check of the file has rejected
 * what cannot be a label. */
static void draft_add_given(const struct gcp_provider *provider, json_t *labels)
{
    const struct param *tags = provider_tags(provider->cluster);
    for (const struct param *tag = tags ? tags->first : NULL; tag; tag = tag->next) {
        if (!json_object_get(labels, tag->name.ptr)) {
            json_put_text(labels, tag->name.ptr, tag->text);
        }
    }
}

static void draft_set_labels(const struct gcp_provider *provider,
                             const struct launch_request *request, json_t *properties,
                             struct arena *arena)
{
    json_t *labels = draft_child(properties, "labels", false);
    json_t *items = draft_child(draft_child(properties, "metadata", false), "items", true);
    struct machine_tag own[] = {
        {STR("ray-cluster-name"), provider->cluster->name},
        {STR(TAG_CLUSTER_UID), provider->uid},
        {STR(TAG_LAUNCH), launch_number_text(request->launch, arena)},
        {STR(TAG_EPOCH), arena_printf(arena, "%llu", (unsigned long long)(request->launch >> 32))},
        {STR(GCP_TOKEN_LABEL), request->token},
        {STR(GCP_CLUSTER_LABEL), provider->part},
    };
    draft_add_given(provider, labels);
    gcp_tags_add(labels, items, request->tags, request->tag_count);
    gcp_tags_add(labels, items, own, ARRAY_LEN(own));
}

static void draft_set_disks(const struct gcp_provider *provider, json_t *properties)
{
    json_t *disks = draft_child(properties, "disks", true);
    for (size_t i = 0; i < json_array_size(disks); i++) {
        json_t *disk = json_array_get(disks, i);
        json_t *params = json_object_get(disk, "initializeParams");
        if (!json_object_get(disk, "autoDelete")) {
            json_object_set_new(disk, "autoDelete", json_true());
        }
        if (json_is_object(params)) {
            draft_shorten(params, "diskType");
            json_t *labels = draft_child(params, "labels", false);
            draft_add_given(provider, labels);
            json_put_text(labels, TAG_CLUSTER_UID, provider->uid);
            if (gcp_is_label(provider->cluster->name, false)) {
                json_put_text(labels, "ray-cluster-name", provider->cluster->name);
            }
        }
    }
}

static void draft_set_network(const struct gcp_provider *provider, json_t *properties,
                              struct arena *arena)
{
    json_t *interfaces = draft_child(properties, "networkInterfaces", true);
    json_t *tags = draft_child(draft_child(properties, "tags", false), "items", true);
    json_array_append_new(tags, json_string(gcp_network_tag(provider, arena).ptr));
    if (json_array_size(interfaces) > 0) {
        return;
    }
    json_t *interface = json_pack("{s:s}", "network", "global/networks/default");
    if (!gcp_is_private(provider)) {
        json_object_set_new(
            interface, "accessConfigs",
            json_pack("[{s:s, s:s}]", "name", "External NAT", "type", "ONE_TO_ONE_NAT"));
    }
    json_array_append_new(interfaces, interface);
}

/* In Ray's examples `scheduling` is a list with one entry per key. */
static json_t *draft_scheduling(json_t *properties)
{
    json_t *given = json_incref(json_object_get(properties, "scheduling"));
    if (json_is_array(given)) {
        json_object_del(properties, "scheduling");
        json_t *all = draft_child(properties, "scheduling", false);
        for (size_t i = 0; i < json_array_size(given); i++) {
            json_object_update(all, json_array_get(given, i));
        }
    }
    json_decref(given);
    return draft_child(properties, "scheduling", false);
}

/* Machine types with built-in GPUs are of Google's series A and G: a3-highgpu-8g, g2-standard-4.
 * Instances with GPUs cannot be moved to another host. */
static bool draft_has_gpu(const json_t *properties)
{
    struct str type = host_record_text(properties, "machineType");
    bool is_built_in = type.len > 1 && (type.ptr[0] == 'a' || type.ptr[0] == 'g') &&
                       type.ptr[1] >= '0' && type.ptr[1] <= '9';
    return is_built_in || json_array_size(json_object_get(properties, "guestAccelerators")) > 0;
}

static void draft_set_market(const struct launch_request *request, json_t *properties)
{
    json_t *scheduling = draft_scheduling(properties);
    json_t *accelerators = json_object_get(properties, "guestAccelerators");
    for (size_t i = 0; i < json_array_size(accelerators); i++) {
        draft_shorten(json_array_get(accelerators, i), "acceleratorType");
    }
    json_object_del(scheduling, "preemptible"); /* the market of the request decides */
    if (request->market == MARKET_SPOT) {
        json_object_update_new(
            scheduling, json_pack("{s:s, s:s, s:s, s:b}", "provisioningModel", "SPOT",
                                  "instanceTerminationAction", request->rests ? "STOP" : "DELETE",
                                  "onHostMaintenance", "TERMINATE", "automaticRestart", 0));
        return;
    }
    if (str_is(host_record_text(scheduling, "provisioningModel"), "SPOT")) {
        json_object_del(scheduling, "provisioningModel");
        json_object_del(scheduling, "instanceTerminationAction");
    }
    if (draft_has_gpu(properties) && !json_object_get(scheduling, "onHostMaintenance")) {
        json_put_text(scheduling, "onHostMaintenance", STR("TERMINATE"));
    }
}

/* "ubuntu:ssh-ed25519 AAAA...", one line per key, and those of the file. */
static struct str draft_keys(const struct gcp_provider *provider, struct str login_key,
                             struct str of_file, struct arena *arena)
{
    struct str user = param_text(provider->cluster->auth, "ssh_user");
    user = user.len > 0 ? user : STR("ubuntu");
    struct str first = arena_printf(arena, "%.*s:%.*s", STR_ARG(user), STR_ARG(provider->key));
    struct str second = str_trim(login_key);
    bool has_second = second.len > 0 && !str_eq(second, provider->key);
    return arena_printf(arena, "%.*s%s%.*s%s%.*s%s%.*s", STR_ARG(first), has_second ? "\n" : "",
                        STR_ARG(has_second ? user : STR("")), has_second ? ":" : "",
                        STR_ARG(has_second ? second : STR("")), of_file.len > 0 ? "\n" : "",
                        STR_ARG(of_file));
}

/* On the root disk: Debian's initramfs mounts /run with noexec. */
#define BOOT_FOLDER "/var/lib/shoal-boot"

static void draft_add_script(struct buf *text, const char *name, struct str script)
{
    if (script.len > 0) {
        buf_addf(text, "base64 -d >%s <<.\n", name);
        encode_base64_lines(text, script, BASE64_LINE_LEN);
        buf_addf(text, ".\nchmod 700 %s\n(cd / && " BOOT_FOLDER "/%s)\n", name, name);
    }
}

/* Runs at every boot, before a startup-script of the file. In a file of its own, because Google's
 * agent deletes the startup-script when it ends. */
static void draft_set_script(json_t *items, struct str script, struct arena *arena)
{
    AUTO_BUF struct buf text;
    buf_init(&text, DRAFT_BYTES_MAX);
    buf_add_c(&text, "#!/bin/sh\n"
                     "mkdir -p -m 700 " BOOT_FOLDER " && cd " BOOT_FOLDER " || exit\n");
    draft_add_script(&text, "shoal", script);
    draft_add_script(&text, "startup-script", gcp_metadata_get(items, "startup-script"));
    gcp_metadata_set(items, "startup-script", arena_str(arena, buf_str(&text)));
}

/* Only this cluster's keys: neither the project's keys nor OS Login. */
static void draft_set_access(const struct gcp_provider *provider,
                             const struct launch_request *request, json_t *properties,
                             struct arena *arena)
{
    json_t *items = draft_child(draft_child(properties, "metadata", false), "items", true);
    if (provider->key.len > 0) {
        struct str of_file = str_trim(gcp_metadata_get(items, "ssh-keys"));
        gcp_metadata_set(items, "ssh-keys",
                         draft_keys(provider, request->login_key, of_file, arena));
        gcp_metadata_set(items, "block-project-ssh-keys", STR("TRUE"));
        gcp_metadata_set(items, "enable-oslogin", STR("FALSE"));
    }
    gcp_metadata_set(items, "enable-guest-attributes", STR("TRUE"));
    if (request->user_data.len > 0) {
        draft_set_script(items, request->user_data, arena);
    }
    if (provider->cluster->types[request->type].is_head &&
        json_array_size(json_object_get(properties, "serviceAccounts")) == 0) {
        const char *account = provider->account.len > 0 ? provider->account.ptr : "default";
        json_object_set_new(properties, "serviceAccounts",
                            json_pack("[{s:s, s:[s]}]", "email", account, "scopes", SCOPE));
    }
}

/* ---- fields of instances.insert that bulkInsert does not have, or has elsewhere ---- */

/* false, "", 0, and lists and objects of such: the console writes them for what is switched off. */
static bool draft_is_void(json_t *value)
{
    const char *key;
    json_t *item;
    bool is_void = !json_is_true(value) && !json_is_number(value) && json_string_length(value) == 0;
    for (size_t i = 0; i < json_array_size(value); i++) {
        is_void = is_void && draft_is_void(json_array_get(value, i));
    }
    json_object_foreach(value, key, item)
    {
        is_void = is_void && draft_is_void(item);
    }
    return is_void;
}

static void draft_move_fields(json_t *properties)
{
    static const char *const unknown[] = {"deletionProtection",
                                          "displayDevice",
                                          "instanceEncryptionKey",
                                          "params",
                                          "shieldedInstanceIntegrityPolicy",
                                          "sourceMachineImage",
                                          "sourceMachineImageEncryptionKey"};
    json_t *params = json_object_get(properties, "params");
    json_t *tags = json_object_get(params, "resourceManagerTags");
    if (!draft_is_void(tags)) {
        json_object_set(properties, "resourceManagerTags", tags);
    }
    json_object_del(params, "resourceManagerTags");
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
        if (draft_is_void(json_object_get(properties, unknown[i]))) {
            json_object_del(properties, unknown[i]);
        }
    }
    json_t *policies = json_object_get(properties, "resourcePolicies"); /* names, not URLs */
    for (size_t i = 0; i < json_array_size(policies); i++) {
        const char *url = json_string_value(json_array_get(policies, i));
        struct str word = gcp_last_word(str_from(url ? url : ""));
        json_array_set_new(policies, i, json_stringn(word.ptr, word.len));
    }
}

static json_t *draft_properties(const struct gcp_provider *provider,
                                const struct launch_request *request, struct arena *arena)
{
    const struct provider_type *type = &provider->cluster->types[request->type];
    json_t *properties = gcp_param_json(type->node_config);
    /* Not of an instance's properties; networkConfig is for TPUs, and Ray drops it, too. */
    static const char *const others[] = {"name",          "zone",        "sourceInstanceTemplate",
                                         "networkConfig", "fingerprint", "labelFingerprint"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        json_object_del(properties, others[i]);
    }
    gcp_template_add(provider, request->type, properties);
    draft_move_fields(properties);
    draft_shorten(properties, "machineType");
    draft_set_disks(provider, properties);
    draft_set_network(provider, properties, arena);
    draft_set_market(request, properties);
    draft_set_access(provider, request, properties, arena);
    draft_set_labels(provider, request, properties, arena);
    return properties;
}

/* ---- names ---- */

/* "ray-demo-1a2b3c4d-worker-0123456789-003-compute": Ray knows the API by the last word. */
static json_t *draft_names(const struct gcp_provider *provider,
                           const struct launch_request *request, json_t *properties,
                           struct arena *arena)
{
    uint8_t digest[SHA256_BYTES];
    char hex[2 * HASH_BYTES + 1];
    json_t *names = json_object();
    bool is_head = provider->cluster->types[request->type].is_head;
    sha256(request->token, digest);
    encode_hex_to(hex, digest, HASH_BYTES);
    for (int64_t i = 0; i < request->count; i++) {
        struct str name = arena_printf(arena, "ray-%.*s-%s-%s%03x-compute", STR_ARG(provider->part),
                                       is_head ? "head" : "worker", hex, (unsigned)i);
        json_t *own = json_object();
        json_put_text(own, "hostname", host_record_text(properties, "hostname"));
        json_object_set_new(names, name.ptr, own);
    }
    json_object_del(properties, "hostname");
    return names;
}

/* ---- drafts of this process ---- */

static void draft_note(struct gcp_provider *provider, struct str token, uint64_t hash)
{
    int64_t now = loop_now_ms(provider->loop);
    struct gcp_drafted **at = &provider->drafted;
    while (*at) {
        struct gcp_drafted *drafted = *at;
        if (str_is(token, drafted->token)) {
            drafted->is_known |= drafted->hash != hash;
            return; /* the first draft counts */
        }
        if (drafted->at_ms + DRAFT_KEPT_MS < now) {
            *at = drafted->next;
            free(drafted);
        } else {
            at = &drafted->next;
        }
    }
    struct gcp_drafted *drafted = HEAP_NEW(struct gcp_drafted);
    snprintf(drafted->token, sizeof(drafted->token), "%.*s", STR_ARG(token));
    drafted->hash = hash;
    drafted->at_ms = now;
    drafted->next = provider->drafted;
    provider->drafted = drafted;
}

bool gcp_draft(struct provider *base, const struct launch_request *request, struct arena *arena,
               struct str *ret_call, struct err *err)
{
    struct gcp_provider *provider = gcp_of(base);
    AUTO_BUF struct buf text;
    char id[GCP_REQUEST_ID_SIZE];
    buf_init(&text, DRAFT_BYTES_MAX);
    struct str zone = request->zone.len > 0 ? request->zone : provider->zones[0];
    if (request->count < 1 || request->count > COUNT_MAX || request->token.len == 0 ||
        request->token.len > LAUNCH_TOKEN_MAX || provider->uid.len == 0) {
        return err_set(err, ERR_INTERNAL, "a launch needs a token, the lease and 1 to %d instances",
                       COUNT_MAX);
    }
    if (!gcp_template_is_read(provider, request->type)) {
        return err_set(err, ERR_INTERNAL, "a launch from a template needs a preflight");
    }
    json_t *properties = draft_properties(provider, request, arena);
    json_t *draft = json_object();
    json_put_text(draft, "token", request->token);
    json_put_number(draft, "launch", (int64_t)request->launch);
    json_put_text(draft, "zone", zone);
    gcp_request_id(arena_printf(arena, "launch %.*s %.*s", STR_ARG(request->token), STR_ARG(zone)),
                   id);
    json_put_text(draft, "request", str_from(id));
    json_object_set_new(draft, "body",
                        json_pack("{s:I, s:s, s:o, s:o}", "count", (json_int_t)request->count,
                                  "minCount", "1", "perInstanceProperties",
                                  draft_names(provider, request, properties, arena),
                                  "instanceProperties", properties));
    bool fits = json_add(draft, &text);
    json_put_text(draft_child(properties, "labels", false), GCP_CALL_LABEL,
                  arena_printf(arena, "%016llx", (unsigned long long)str_hash(buf_str(&text))));
    buf_clear(&text);
    json_put_out(draft, false, &text);
    if (!fits || text.is_full) {
        return err_set(err, ERR_INTERNAL, "a launch cannot be written: it is larger than 1 MB");
    }
    draft_note(provider, request->token, str_hash(buf_str(&text)));
    *ret_call = arena_str(arena, buf_str(&text));
    return true;
}
