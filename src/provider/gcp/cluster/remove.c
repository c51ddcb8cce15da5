/* remove.c: deletes the firewall rules and the record of a cluster, once its instances are gone. */
#include "provider/gcp/gcp_operation.h"
#include "provider/host_record.h"

enum { ENDING_MS = 180 * 1000, AGAIN_MS = 1000 };

static bool is_of_uid(const struct gcp_operation *operation, struct str description)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str uid = arena_printf(&arena, TAG_CLUSTER_UID "=%.*s",
                                  STR_ARG(operation->provider->uid));
    return str_ends(description, uid.ptr);
}

/* ---- one resource ---- */

struct removal {
    struct gcp_operation *operation;
    const char *kind; /* of the answer; NULL: an old version of the record */
    struct str name;
};

/* A rule that this caller may not delete is reported; the others are deleted. */
static void removal_on_deleted(void *context, const struct gcp_reply *reply)
{
    const struct removal *removal = context;
    struct gcp_operation *operation = removal->operation;
    bool is_gone = reply->is_ok || reply->failure.outcome == OUTCOME_NOT_FOUND;
    if (!is_gone && (reply->failure.outcome != OUTCOME_DENIED || !removal->kind)) {
        gcp_fail_with(operation, reply);
    } else if (removal->kind) {
        gcp_add_thing(operation, removal->kind, removal->name,
                      is_gone ? "" : "not permitted to delete it", is_gone);
    }
    operation->is_failed |= !is_gone;
    if (--operation->pending == 0) {
        operation->after_all(operation);
    }
}

static void removal_start(struct gcp_operation *operation, const char *kind, const char *collection,
                          struct str name)
{
    struct removal *removal = ARENA_NEW(&operation->arena, struct removal);
    *removal = (struct removal){operation, kind, name};
    operation->pending++;
    gcp_call_start(
        operation->provider->client,
        &(struct gcp_request){
            .name = arena_printf(&operation->arena, "%s.delete", collection).ptr,
            .method = "DELETE",
            .path = arena_printf(&operation->arena, "global/%s/%.*s", collection, STR_ARG(name)),
            .waits = true,
            .deadline_ms = 120 * 1000,
            .done = removal_on_deleted,
            .context = removal});
}

/* ---- rules and the record ---- */

/* The newest version is deleted last, alone: until then it counts, and this can be repeated. */
static void remove_newest(struct gcp_operation *operation)
{
    size_t count = operation->version_count;
    bool is_ours = operation->record && gcp_owns(operation->provider, operation->record);
    if (operation->is_failed || !gcp_is_fine(operation) || count == 0 || !is_ours) {
        gcp_answer_things(operation);
        return;
    }
    operation->after_all = gcp_answer_things;
    removal_start(
        operation, "instance template", "instanceTemplates",
        gcp_record_name(operation->provider, operation->versions[count - 1], &operation->arena));
}

/* After reading it: the items are the record's versions. A record with another uid is not ours. */
static void remove_on_record(struct gcp_operation *operation)
{
    if (!gcp_is_fine(operation)) {
        gcp_answer_things(operation);
        return;
    }
    bool is_ours = operation->record && gcp_owns(operation->provider, operation->record);
    size_t count = is_ours ? operation->version_count : 0;
    operation->after_all = remove_newest;
    for (size_t i = 0; i < operation->id_count; i++) {
        removal_start(operation, "firewall rule", "firewalls", operation->ids[i]);
    }
    for (size_t i = 0; i + 1 < count; i++) {
        removal_start(
            operation, NULL, "instanceTemplates",
            gcp_record_name(operation->provider, operation->versions[i], &operation->arena));
    }
    if (operation->pending == 0) {
        remove_newest(operation);
    }
}

static void remove_on_rules(struct gcp_operation *operation)
{
    size_t count = json_array_size(operation->items);
    struct str *names = ARENA_ARRAY(&operation->arena, count, struct str);
    if (!gcp_is_fine(operation)) {
        gcp_answer_things(operation);
        return;
    }
    operation->id_count = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *rule = json_array_get(operation->items, i);
        if (is_of_uid(operation, host_record_text(rule, "description"))) {
            names[operation->id_count++] = arena_str(&operation->arena,
                                                     host_record_text(rule, "name"));
        }
    }
    operation->ids = names;
    gcp_read_record(operation, remove_on_record);
}

/* ---- instances ---- */

static void remove_begin(struct gcp_operation *operation);

/* A delete can still fail: only an instance that is not listed any more is gone. */
static void remove_on_instances(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    bool is_late = loop_now_ms(provider->loop) >= operation->until_ms;
    bool is_ending = false;
    for (size_t i = 0; i < operation->listed_count && gcp_is_fine(operation); i++) {
        const struct machine *machine = &operation->listed[i];
        bool is_left = gcp_is_ours(provider, machine) && machine->state != MACHINE_GONE;
        is_ending = is_ending || (is_left && machine->state == MACHINE_ENDING);
        if (is_left && (machine_is_live(machine) || is_late)) {
            gcp_add_thing(operation, "instance", machine->id,
                          machine_is_live(machine) ? "still in use" : "not deleted yet", false);
        }
    }
    if (is_ending && operation->thing_count == 0 && gcp_is_fine(operation)) {
        gcp_later(operation, AGAIN_MS, remove_begin);
        return;
    }
    if (!gcp_is_fine(operation) || operation->thing_count > 0 || provider->uid.len == 0) {
        gcp_answer_things(operation);
        return;
    }
    struct str filter = arena_printf(&operation->arena, "name eq %.*s-.*",
                                     STR_ARG(gcp_network_tag(provider, &operation->arena)));
    gcp_read_items(operation, "firewalls.list",
                   arena_printf(&operation->arena, "global/firewalls?filter=%.*s",
                                STR_ARG(gcp_encoded(operation, filter))),
                   NULL, remove_on_rules);
}

static void remove_begin(struct gcp_operation *operation)
{
    gcp_read_own(operation, remove_on_instances);
}

void gcp_remove(struct provider *base, provider_resources_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    operation->resources = done;
    operation->is_strict = true; /* absence is proven */
    operation->until_ms = loop_now_ms(operation->provider->loop) + ENDING_MS;
    remove_begin(operation);
}
