/* external_machines.c: lists, terminates, stops, starts and tags instances. */
#include "io/json_line.h"
#include "provider/external/external_operation.h"
#include "provider/host_record.h"

/* ---- listing ---- */

static bool external_machines_has_id(const struct external_operation *operation, struct str id)
{
    for (size_t i = 0; i < operation->id_count; i++) {
        if (str_eq(operation->ids[i], id)) {
            return true;
        }
    }
    return false;
}

static bool external_machines_is_wanted(const struct external_operation *operation,
                                        const struct machine *machine)
{
    const struct external_provider *provider = operation->provider;
    if (!operation->is_by_name) {
        return external_is_ours(provider, machine);
    }
    return operation->id_count > 0
               ? external_machines_has_id(operation, machine->id)
               : str_eq(machine_tag_value(machine, "ray-cluster-name"), provider->cluster->name);
}

static void external_machines_on_listed(struct external_operation *operation)
{
    operation->made = ARENA_ARRAY(&operation->arena, operation->listed_count, struct machine);
    for (size_t i = 0; i < operation->listed_count; i++) {
        if (external_machines_is_wanted(operation, &operation->listed[i])) {
            operation->made[operation->made_count++] = operation->listed[i];
        }
    }
    external_answer_machines(operation);
}

void external_list(struct provider *base, provider_machines_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->machines = done;
    external_read_own(operation, external_machines_on_listed);
}

static void copy_ids(struct external_operation *operation, const struct str *ids, size_t count)
{
    struct str *copies = ARENA_ARRAY(&operation->arena, count, struct str);
    for (size_t i = 0; i < count; i++) {
        copies[i] = arena_str(&operation->arena, ids[i]);
    }
    operation->ids = copies;
    operation->id_count = count;
}

void external_list_by(struct provider *base, const struct machine_query *query,
                      provider_machines_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->machines = done;
    operation->is_by_name = true;
    copy_ids(operation, query->ids, query->id_count);
    external_read_list(operation, external_machines_on_listed);
}

/* ---- changes ---- */

static void external_machines_finish(struct external_operation *operation)
{
    if (operation->answer.outcome == OUTCOME_DONE && operation->has_unknown) {
        external_failed(operation, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
                        "the plug-in does not list some of the instances as this cluster's");
    }
    external_answer_done(operation);
}

static void external_machines_on_changed(struct external_operation *operation, const json_t *body)
{
    (void)body; /* nothing in it is needed */
    external_machines_finish(operation);
}

/* The cloud has no tags: they are noted by id. */
static enum external_edit external_machines_edit_tags(struct external_operation *operation)
{
    for (size_t i = 0; i < operation->made_count; i++) {
        const struct machine *machine = &operation->made[i];
        json_t *note = external_launch_note(operation->record, machine->token);
        json_t *more = json_object_get(note, "more");
        if (!note) {
            operation->has_unknown = true;
            continue;
        }
        if (!more) {
            more = json_object();
            json_object_set_new(note, "more", more);
        }
        json_t *own = json_object_get(more, machine->id.ptr);
        if (!own) {
            own = json_object();
            json_object_set_new(more, machine->id.ptr, own);
        }
        for (size_t k = 0; k < operation->tag_count; k++) {
            json_put_text(own, operation->tags[k].key.ptr, operation->tags[k].value);
        }
    }
    return external_owns(operation->provider, operation->record) ? RECORD_WRITE : RECORD_KEEP;
}

static json_t *fields_of(const struct external_operation *operation)
{
    json_t *fields = json_object();
    json_t *ids = json_array();
    for (size_t i = 0; i < operation->made_count; i++) {
        json_array_append_new(ids, json_string(operation->made[i].id.ptr));
    }
    json_object_set_new(fields, "ids", ids);
    if (operation->tag_count > 0) {
        json_t *tags = json_object();
        for (size_t i = 0; i < operation->tag_count; i++) {
            json_object_set_new(
                tags, operation->tags[i].key.ptr,
                json_stringn(operation->tags[i].value.ptr, operation->tags[i].value.len));
        }
        json_object_set_new(fields, "tags", tags);
    }
    return fields;
}

/* Only instances that the listing shows as ours are changed. */
static void external_machines_on_owned(struct external_operation *operation)
{
    size_t found = 0;
    if (operation->answer.outcome != OUTCOME_DONE) {
        external_answer_done(operation);
        return;
    }
    operation->made = ARENA_ARRAY(&operation->arena, operation->listed_count, struct machine);
    for (size_t i = 0; i < operation->listed_count; i++) {
        const struct machine *machine = &operation->listed[i];
        if (!external_is_ours(operation->provider, machine) ||
            !external_machines_has_id(operation, machine->id)) {
            continue;
        }
        found++;
        if (machine->state != MACHINE_GONE) {
            operation->made[operation->made_count++] = *machine;
        }
    }
    operation->has_unknown = found < operation->id_count;
    if (operation->made_count == 0) {
        external_machines_finish(operation);
    } else if (operation->tag_count > 0 && !external_greeting(operation)->has_tags) {
        external_edit_record(operation, external_machines_edit_tags, external_machines_finish);
    } else {
        external_ask(operation, operation->op, fields_of(operation), external_machines_on_changed);
    }
}

static struct external_operation *external_change(struct provider *base, const char *op,
                                                  const struct str *ids, size_t count,
                                                  provider_done_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->done = done;
    operation->op = op;
    copy_ids(operation, ids, count);
    return operation;
}

static void external_machines_on_begun(struct external_operation *operation)
{
    external_read_own(operation, external_machines_on_owned);
}

/* Whether instances can be stopped is known once the plug-in has started. */
static void external_machines_on_stoppable(struct external_operation *operation)
{
    if (operation->answer.outcome == OUTCOME_DONE && !external_greeting(operation)->can_stop) {
        external_failed(operation, OUTCOME_INVALID, ERR_CONFIG,
                        "the plug-in cannot stop and start instances. Terminate them: shoal down "
                        "--terminate");
        external_answer_done(operation);
        return;
    }
    external_machines_on_owned(operation);
}

void external_terminate(struct provider *base, const struct str *ids, size_t count,
                        provider_done_fn *done, void *context)
{
    external_machines_on_begun(external_change(base, "terminate", ids, count, done, context));
}

void external_stop(struct provider *base, const struct str *ids, size_t count,
                   provider_done_fn *done, void *context)
{
    external_read_own(external_change(base, "stop", ids, count, done, context),
                      external_machines_on_stoppable);
}

void external_start(struct provider *base, const struct str *ids, size_t count,
                    provider_done_fn *done, void *context)
{
    external_read_own(external_change(base, "start", ids, count, done, context),
                      external_machines_on_stoppable);
}

void external_tag_all(struct provider *base, const struct str *ids, size_t count,
                      const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                      void *context)
{
    struct external_operation *operation = external_change(base, "tag", ids, count, done, context);
    struct machine_tag *copies = ARENA_ARRAY(&operation->arena, tag_count, struct machine_tag);
    for (size_t i = 0; i < tag_count; i++) {
        copies[i] = (struct machine_tag){arena_str(&operation->arena, tags[i].key),
                                         arena_str(&operation->arena, tags[i].value)};
    }
    operation->tags = copies;
    operation->tag_count = tag_count;
    external_machines_on_begun(operation);
}
