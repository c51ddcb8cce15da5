/* remove.c: deletes the firewall rules and the record of a cluster, once its instances are gone. */
#include "provider/gcp/gcp_operation.h"
#include "provider/host_record.h"

enum { ENDING_MS = 180 * 1000, AGAIN_MS = 1000 };

static void remove_next_version(struct gcp_operation *operation);
static void remove_next_rule(struct gcp_operation *operation);

static struct str remove_text(const struct gcp_operation *operation, const char *name)
{
    return host_record_text(json_array_get(operation->items, operation->at), name);
}

static bool is_of_uid(const struct gcp_operation *operation, struct str description)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str uid = arena_printf(&arena, TAG_CLUSTER_UID "=%.*s",
                                  STR_ARG(operation->provider->uid));
    return str_ends(description, uid.ptr);
}

static void remove_ask(struct gcp_operation *operation, const char *name, struct str path,
                       void (*on_reply)(struct gcp_operation *operation,
                                        const struct gcp_reply *reply))
{
    gcp_ask(operation,
            (struct gcp_request){.name = name,
                                 .method = "DELETE",
                                 .path = path,
                                 .waits = true,
                                 .deadline_ms = 120 * 1000},
            on_reply);
}

/* ---- the record ---- */

static void remove_on_version(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    if (!reply->is_ok && reply->failure.outcome != OUTCOME_NOT_FOUND) {
        gcp_fail_with(operation, reply);
        gcp_answer_things(operation);
        return;
    }
    operation->at++;
    remove_next_version(operation);
}

/* Oldest first: until the last one is deleted, the newest record counts. */
static void remove_next_version(struct gcp_operation *operation)
{
    if (operation->at == operation->version_count) {
        gcp_add_thing(operation, "instance template",
                      gcp_record_name(operation->provider, operation->version, &operation->arena),
                      "", true);
        gcp_answer_things(operation);
        return;
    }
    struct str name = gcp_record_name(operation->provider, operation->versions[operation->at],
                                      &operation->arena);
    remove_ask(operation, "instanceTemplates.delete",
               arena_printf(&operation->arena, "global/instanceTemplates/%.*s", STR_ARG(name)),
               remove_on_version);
}

/* After reading it: the items are the record's versions. A record with another uid is not ours. */
static void remove_on_record(struct gcp_operation *operation)
{
    bool is_ours = gcp_is_fine(operation) && operation->record &&
                   gcp_owns(operation->provider, operation->record);
    if (!is_ours) {
        gcp_answer_things(operation);
        return;
    }
    operation->at = 0;
    remove_next_version(operation);
}

/* ---- firewall rules ---- */

static void remove_on_rule(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    bool is_gone = reply->is_ok || reply->failure.outcome == OUTCOME_NOT_FOUND;
    if (!is_gone && reply->failure.outcome != OUTCOME_DENIED) {
        gcp_fail_with(operation, reply);
        gcp_answer_things(operation);
        return;
    }
    gcp_add_thing(operation, "firewall rule", remove_text(operation, "name"),
                  is_gone ? "" : "not permitted to delete it", is_gone);
    operation->is_failed |= !is_gone;
    operation->at++;
    remove_next_rule(operation);
}

static void remove_next_rule(struct gcp_operation *operation)
{
    while (operation->at < json_array_size(operation->items) &&
           !is_of_uid(operation, remove_text(operation, "description"))) {
        operation->at++;
    }
    if (operation->at < json_array_size(operation->items)) {
        remove_ask(operation, "firewalls.delete",
                   arena_printf(&operation->arena, "global/firewalls/%.*s",
                                STR_ARG(remove_text(operation, "name"))),
                   remove_on_rule);
    } else if (operation->is_failed) {
        gcp_answer_things(operation); /* the record stays, so that it can be tried again */
    } else {
        gcp_read_record(operation, remove_on_record);
    }
}

static void remove_on_rules(struct gcp_operation *operation)
{
    if (!gcp_is_fine(operation)) {
        gcp_answer_things(operation);
        return;
    }
    operation->at = 0;
    remove_next_rule(operation);
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
    operation->until_ms = loop_now_ms(operation->provider->loop) + ENDING_MS;
    remove_begin(operation);
}
