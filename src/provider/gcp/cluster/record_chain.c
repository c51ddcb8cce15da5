/*
 * record_chain.c: the cluster's record, in a chain of instance templates.
 *
 * A template is global, free and immutable, and its name is given once. Version N of the record is
 * in the metadata of the template NAME-N, and the newest one counts. So the creation of NAME-(N+1)
 * is a compare-and-swap: of two processes that have read version N only one succeeds.
 *
 * Old versions are deleted, so a process with a stale listing could create a version that existed
 * before. It looks again after its write: if the version that it has read is gone, its own does not
 * count and is deleted.
 */
#include "base/encode.h"
#include "io/json_line.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/gcp/wire/gcp_names.h"
#include "provider/host_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EDIT_TRIES = 50,
    RECORD_BYTES_MAX = 200 * 1024,
    VERSIONS_KEPT = 5,
    VERSIONS_MAX = 50, /* no more are written while old ones cannot be deleted */
    AGAIN_MS = 200,
};

/* Of a cluster file that names none. */
#define IMAGE "projects/ubuntu-os-cloud/global/images/family/ubuntu-2204-lts"

/* ---- names ---- */

struct str gcp_record_name(const struct gcp_provider *provider, int64_t version,
                           struct arena *arena)
{
    return arena_printf(arena, "shoal-%.*s-%" PRId64, STR_ARG(provider->part), version);
}

static int64_t version_of(const struct gcp_provider *provider, const json_t *template)
{
    return gcp_record_version(host_record_text(template, "name"), provider->part);
}

static int record_chain_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* All versions in `items`, oldest first. */
static size_t record_chain_versions(struct gcp_operation *operation, int64_t **ret_versions)
{
    size_t most = json_array_size(operation->items);
    int64_t *versions = ARENA_ARRAY(&operation->arena, most, int64_t);
    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        int64_t version = version_of(operation->provider, json_array_get(operation->items, i));
        if (version > 0) {
            versions[count++] = version;
        }
    }
    if (count > 0) {
        qsort(versions, count, sizeof(*versions), record_chain_order);
    }
    *ret_versions = versions;
    return count;
}

static void record_chain_list(struct gcp_operation *operation, gcp_step_fn *after)
{
    struct str filter = arena_printf(&operation->arena, "name eq shoal-%.*s-[0-9]+",
                                     STR_ARG(operation->provider->part));
    gcp_read_items(operation, "instanceTemplates.list",
                   arena_printf(&operation->arena, "global/instanceTemplates?filter=%.*s",
                                STR_ARG(gcp_encoded(operation, filter))),
                   NULL, after);
}

static const json_t *record_chain_find(const struct gcp_operation *operation, int64_t version)
{
    for (size_t i = 0; i < json_array_size(operation->items); i++) {
        const json_t *template = json_array_get(operation->items, i);
        if (version_of(operation->provider, template) == version) {
            return template;
        }
    }
    return NULL;
}

bool gcp_owns(const struct gcp_provider *provider, const json_t *record)
{
    return host_record_is_of(record, provider->cluster->name, provider->uid);
}

/* ---- reading ---- */

static bool record_chain_take_newest(struct gcp_operation *operation)
{
    size_t count = record_chain_versions(operation, &operation->versions);
    operation->version_count = count;
    json_decref(operation->record);
    operation->record = NULL;
    operation->version = count > 0 ? operation->versions[count - 1] : 0;
    if (operation->version == 0) {
        return true;
    }
    operation->record = gcp_record_parse(record_chain_find(operation, operation->version));
    return host_record_is_of(operation->record, operation->provider->cluster->name, STR("")) ||
           gcp_failed(
               operation, OUTCOME_INVALID, ERR_PROTOCOL,
               "the instance template %.*s is not the record of cluster %.*s. Delete it if "
               "nothing else uses it",
               STR_ARG(gcp_record_name(operation->provider, operation->version, &operation->arena)),
               STR_ARG(str_sub(operation->provider->cluster->name, 0, 80)));
}

/* ---- writing ---- */

static void record_chain_read(struct gcp_operation *operation);

static void record_chain_again(struct gcp_operation *operation)
{
    if (operation->tries++ == EDIT_TRIES) {
        gcp_failed(operation, OUTCOME_THROTTLED, ERR_UNAVAILABLE,
                   "other processes keep changing the cluster's record");
        operation->after_edit(operation);
        return;
    }
    gcp_later(operation, AGAIN_MS, record_chain_read);
}

static void record_chain_on_dropped(void *context, const struct gcp_reply *reply)
{
    (void)context;
    (void)reply; /* the next write tries again */
}

static void record_chain_drop(struct gcp_operation *operation, int64_t version)
{
    struct str name = gcp_record_name(operation->provider, version, &operation->arena);
    gcp_call_start(
        operation->provider->client,
        &(struct gcp_request){
            .name = "instanceTemplates.delete",
            .method = "DELETE",
            .path = arena_printf(&operation->arena, "global/instanceTemplates/%.*s", STR_ARG(name)),
            .is_accepted_only = true,
            .done = record_chain_on_dropped});
}

static bool record_chain_is_mine(const struct gcp_operation *operation, int64_t version)
{
    json_t *record = gcp_record_parse(record_chain_find(operation, version));
    bool is_mine = record && *operation->stamp &&
                   str_is(host_record_text(record, "stamp"), operation->stamp);
    json_decref(record);
    return is_mine;
}

/* Is the write there, was it based on the newest version, and is it the newest now? A version that
 * was not deleted with the later ones is not a base. */
static void record_chain_on_checked(struct gcp_operation *operation)
{
    int64_t *versions;
    if (!gcp_is_fine(operation)) {
        operation->answer.outcome = OUTCOME_UNKNOWN;
        operation->after_edit(operation);
        return;
    }
    size_t count = record_chain_versions(operation, &versions);
    bool is_mine = record_chain_is_mine(operation, operation->made);
    bool is_based = operation->version > 0
                        ? record_chain_find(operation, operation->version) != NULL
                        : count > 0 && versions[count - 1] == operation->made;
    if (is_mine && !is_based) {
        record_chain_drop(operation, operation->made);
    }
    if (!is_mine || !is_based || versions[count - 1] != operation->made) {
        record_chain_again(operation);
        return;
    }
    for (size_t i = 0; i + VERSIONS_KEPT < count; i++) {
        record_chain_drop(operation, versions[i]);
    }
    operation->after_edit(operation);
}

static void record_chain_on_written(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    enum outcome outcome = reply->failure.outcome;
    if (reply->is_ok || outcome == OUTCOME_UNKNOWN ||
        (outcome == OUTCOME_MISMATCH && reply->is_in_doubt)) {
        record_chain_list(operation, record_chain_on_checked);
    } else if (outcome == OUTCOME_MISMATCH) {
        record_chain_again(operation);
    } else {
        gcp_fail_with(operation, reply);
        operation->after_edit(operation);
    }
}

static json_t *record_chain_interface(const struct gcp_provider *provider, const json_t *last)
{
    const struct param *given = gcp_interface(provider);
    json_t *made = json_object();
    json_put_text(made, "network",
                  given ? param_text(given, "network") : host_record_text(last, "network"));
    json_put_text(made, "subnetwork",
                  given ? param_text(given, "subnetwork") : host_record_text(last, "subnetwork"));
    if (json_object_size(made) == 0) {
        json_put_text(made, "network", STR("global/networks/default"));
    }
    return made;
}

/* The image of the file's head: an image of our own choice could be gone one day, and then no
 * process could renew its lease. */
static struct str record_chain_image(const struct gcp_provider *provider, const json_t *last)
{
    struct str image = STR("");
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        const struct param *disks = param_get(gcp_config(provider, i), PARAM_LIST, "disks");
        const struct param *made = param_get(disks ? disks->first : NULL, PARAM_MAP,
                                             "initializeParams");
        if (provider->cluster->types[i].is_head) {
            image = param_text(made, "sourceImage");
        }
    }
    const json_t *params = json_object_get(json_array_get(json_object_get(last, "disks"), 0),
                                           "initializeParams");
    image = image.len > 0 ? image : host_record_text(params, "sourceImage");
    return image.len > 0 ? image : STR(IMAGE);
}

/* A template must describe an instance; nothing is launched from this one. What the file leaves to
 * a template that was not read is as in the last version. */
static json_t *record_chain_template(struct gcp_operation *operation, struct str text)
{
    const struct gcp_provider *provider = operation->provider;
    const json_t *last = json_object_get(record_chain_find(operation, operation->version),
                                         "properties");
    const json_t *nic = json_array_get(json_object_get(last, "networkInterfaces"), 0);
    json_t *items = json_array();
    gcp_metadata_set(items, GCP_RECORD_KEY, text);
    return json_pack(
        "{s:o, s:o, s:{s:s, s:[{s:b, s:{s:s}}], s:[o], s:{s:o}}}", "name",
        json_string(gcp_record_name(provider, operation->made, &operation->arena).ptr),
        "description",
        json_string(arena_printf(&operation->arena,
                                 "Lease of the Ray cluster %.*s, which Shoal launched",
                                 STR_ARG(str_sub(provider->cluster->name, 0, 200)))
                        .ptr),
        "properties", "machineType", "e2-micro", "disks", "boot", 1, "initializeParams",
        "sourceImage", arena_str(&operation->arena, record_chain_image(provider, last)).ptr,
        "networkInterfaces", record_chain_interface(provider, nic), "metadata", "items", items);
}

static void record_chain_write(struct gcp_operation *operation)
{
    AUTO_BUF struct buf text;
    gcp_request_id(STR(""), operation->stamp);
    json_object_set_new(operation->record, "stamp", json_string(operation->stamp));
    buf_init(&text, RECORD_BYTES_MAX);
    if (!json_add(operation->record, &text)) {
        gcp_failed(operation, OUTCOME_INVALID, ERR_INTERNAL,
                   "the record of the cluster is larger than 200 KB");
        operation->after_edit(operation);
        return;
    }
    operation->made = operation->version + 1;
    json_t *template = record_chain_template(operation, buf_str(&text));
    gcp_ask(operation,
            (struct gcp_request){.name = "instanceTemplates.insert",
                                 .method = "POST",
                                 .path = STR("global/instanceTemplates"),
                                 .body = template,
                                 .waits = true,
                                 .deadline_ms = 60 * 1000},
            record_chain_on_written);
    json_decref(template);
}

static void record_chain_on_deleted(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    if (reply->is_ok || reply->failure.outcome == OUTCOME_NOT_FOUND) {
        record_chain_write(operation);
        return;
    }
    gcp_fail_with(operation, reply);
    operation->after_edit(operation);
}

/* Each renewal is a version. A project has room for some hundred templates only: if the deletions
 * after the last writes failed, this one must succeed. */
static void record_chain_make_room(struct gcp_operation *operation)
{
    struct str name = gcp_record_name(operation->provider, operation->versions[0],
                                      &operation->arena);
    gcp_ask(
        operation,
        (struct gcp_request){
            .name = "instanceTemplates.delete",
            .method = "DELETE",
            .path = arena_printf(&operation->arena, "global/instanceTemplates/%.*s", STR_ARG(name)),
            .waits = true,
            .deadline_ms = 60 * 1000},
        record_chain_on_deleted);
}

/* With what was read. */
static void record_chain_edit(struct gcp_operation *operation)
{
    operation->edited_ms = loop_now_ms(operation->provider->loop);
    operation->now = gcp_client_now_ms(operation->provider->client) / 1000;
    if (operation->edit(operation) == GCP_KEEP || !gcp_is_fine(operation)) {
        operation->after_edit(operation);
        return;
    }
    if (operation->version_count > VERSIONS_MAX) {
        record_chain_make_room(operation);
    } else {
        record_chain_write(operation);
    }
}

static void record_chain_on_read(struct gcp_operation *operation)
{
    if (!gcp_is_fine(operation) || !record_chain_take_newest(operation)) {
        operation->after_edit(operation);
        return;
    }
    record_chain_edit(operation);
}

static void record_chain_read(struct gcp_operation *operation)
{
    record_chain_list(operation, record_chain_on_read);
}

void gcp_edit_record(struct gcp_operation *operation, gcp_edit_fn *edit, gcp_step_fn *after)
{
    operation->edit = edit;
    operation->after_edit = after;
    operation->tries = 0;
    *operation->stamp = '\0';
    record_chain_read(operation);
}

void gcp_make_record(struct gcp_operation *operation, gcp_edit_fn *edit, gcp_step_fn *after)
{
    operation->edit = edit;
    operation->after_edit = after;
    operation->tries = 0;
    *operation->stamp = '\0';
    record_chain_edit(operation);
}

static enum gcp_edit record_chain_edit_nothing(struct gcp_operation *operation)
{
    (void)operation;
    return GCP_KEEP;
}

void gcp_read_record(struct gcp_operation *operation, gcp_step_fn *after)
{
    gcp_edit_record(operation, record_chain_edit_nothing, after);
}
