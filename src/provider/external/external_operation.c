/* external_operation.c: requests, the record, and listings. */
#include "provider/external/external_operation.h"

#include "io/json_line.h"
#include "io/xalloc.h"
#include "provider/host_record.h"

#include <string.h>

enum {
    EDIT_TRIES = 50,
    LEASE_MARGIN_MS = 3000,
    RECORD_BYTES_MAX = 1 << 20, /* a swap has it twice, and quoted */
};

/* ---- lifetime ---- */

struct external_operation *external_begin(struct external_provider *provider, void *context)
{
    struct external_operation *operation = HEAP_NEW(struct external_operation);
    operation->provider = provider;
    operation->context = context;
    operation->began_ms = loop_now_ms(provider->loop);
    operation->next = provider->operations;
    if (provider->operations) {
        provider->operations->before = operation;
    }
    provider->operations = operation;
    arena_init(&operation->arena);
    return operation;
}

void external_end(struct external_operation *operation)
{
    if (operation->call) {
        plugin_drop(operation->call);
    }
    loop_timer_free(operation->timer);
    json_decref(operation->record);
    json_decref(operation->draft);
    arena_clear(&operation->arena);
    *(operation->before ? &operation->before->next
                        : &operation->provider->operations) = operation->next;
    if (operation->next) {
        operation->next->before = operation->before;
    }
    free(operation);
}

struct later {
    struct external_operation *operation;
    external_step_fn *step;
};

static void external_operation_on_timer(void *context)
{
    const struct later *later = context;
    later->step(later->operation);
}

void external_later(struct external_operation *operation, int64_t delay_ms, external_step_fn *step)
{
    struct later *later = ARENA_NEW(&operation->arena, struct later);
    *later = (struct later){operation, step};
    loop_timer_free(operation->timer);
    operation->timer = loop_timer_new(operation->provider->loop, external_operation_on_timer,
                                      later);
    loop_timer_start(operation->timer, delay_ms);
}

void external_answer_done(struct external_operation *operation)
{
    operation->done(operation->context, &operation->answer);
    external_end(operation);
}

/* ---- small questions ---- */

struct str external_text(const json_t *object, const char *name)
{
    return host_record_text(object, name);
}

bool external_owns(const struct external_provider *provider, const json_t *record)
{
    return host_record_is_of(record, provider->cluster->name, provider->uid);
}

bool external_is_ours(const struct external_provider *provider, const struct machine *machine)
{
    return provider->uid.len > 0 &&
           str_eq(machine_tag_value(machine, TAG_CLUSTER_UID), provider->uid);
}

bool external_has_lease(const struct external_provider *provider)
{
    return provider->epoch != 0 &&
           loop_now_ms(provider->loop) < provider->lease_ends_ms - LEASE_MARGIN_MS;
}

bool external_check_lease(struct external_operation *operation)
{
    const struct external_provider *provider = operation->provider;
    return (external_owns(provider, operation->record) && external_has_lease(provider) &&
            host_record_is_held(operation->record, provider->epoch, operation->now)) ||
           external_failed(operation, OUTCOME_NO_LEASE, ERR_EXISTS,
                           "this process does not hold the cluster's lease");
}

const struct plugin_hello *external_greeting(const struct external_operation *operation)
{
    return plugin_greeting(operation->provider->plugin);
}

json_t *external_param_json(const struct param *param)
{
    json_t *all;
    switch (param->kind) {
    case PARAM_TEXT:
        return json_stringn(param->text.ptr ? param->text.ptr : "", param->text.len);
    case PARAM_NUMBER:
        return json_integer(param->number);
    case PARAM_BOOL:
        return json_boolean(param->boolean);
    case PARAM_LIST:
        all = json_array();
        for (const struct param *item = param->first; item; item = item->next) {
            json_array_append_new(all, external_param_json(item));
        }
        return all;
    case PARAM_MAP:
        break;
    }
    all = json_object();
    for (const struct param *item = param->first; item; item = item->next) {
        json_object_set_new(all, item->name.ptr, external_param_json(item));
    }
    return all;
}

/* ---- requests ---- */

static void external_operation_on_reply(void *context, const struct plugin_reply *reply)
{
    struct external_operation *operation = context;
    operation->call = NULL;
    if (reply->outcome != OUTCOME_DONE) {
        operation->answer.outcome = reply->outcome;
        operation->answer.err = reply->err;
    }
    operation->on_body(operation, reply->outcome == OUTCOME_DONE ? reply->body : NULL);
}

static bool may_launch(const void *context)
{
    const struct external_operation *operation = context;
    return external_has_lease(operation->provider);
}

void external_ask(struct external_operation *operation, const char *op, json_t *fields,
                  void (*on_body)(struct external_operation *operation, const json_t *body))
{
    bool creates = strcmp(op, "launch") == 0;
    operation->on_body = on_body;
    operation->call = plugin_ask(operation->provider->plugin, op, fields,
                                 creates ? may_launch : NULL, external_operation_on_reply,
                                 operation);
}

/* A reply that cannot be read: whatever was asked for may have happened. */
static void external_unread(struct external_operation *operation, const char *op,
                            const struct err *err)
{
    external_failed(operation, OUTCOME_UNKNOWN, ERR_PROTOCOL,
                    "the plug-in's reply to %s cannot be used: %s", op, err->text);
}

/* For requests that name no ids: "not found" says nothing about their effect. */
static void no_such_answer(struct external_operation *operation)
{
    if (operation->answer.outcome == OUTCOME_NOT_FOUND) {
        operation->answer.outcome = OUTCOME_UNKNOWN;
    }
}

/* ---- the record ---- */

static void send_swap(struct external_operation *operation);

static void on_swapped(struct external_operation *operation, const json_t *body)
{
    struct str value;
    struct err err;
    if (!body) {
        no_such_answer(operation);
        operation->after_edit(operation);
        return;
    }
    if (!plugin_swap_read(body, &value, &operation->now, &err)) {
        external_unread(operation, "swap", &err);
        operation->after_edit(operation);
        return;
    }
    bool is_written = operation->tries > 0 && str_eq(value, operation->written);
    if (is_written) {
        operation->after_edit(operation);
        return;
    }
    if (operation->tries++ == EDIT_TRIES) {
        external_failed(operation, OUTCOME_THROTTLED, ERR_UNAVAILABLE,
                        "other processes keep changing the cluster's record");
        operation->after_edit(operation);
        return;
    }
    operation->stored = arena_str(&operation->arena, value);
    send_swap(operation);
}

static void swap(struct external_operation *operation, struct str expected, struct str value)
{
    json_t *fields = json_object();
    operation->written = value;
    json_object_set_new(fields, "expect", json_stringn(expected.ptr, expected.len));
    json_object_set_new(fields, "value", json_stringn(value.ptr, value.len));
    external_ask(operation, "swap", fields, on_swapped);
}

static bool parse_record(struct external_operation *operation)
{
    struct err err;
    json_decref(operation->record);
    operation->record = NULL;
    if (operation->stored.len == 0) {
        return true;
    }
    if (!json_line_read(operation->stored, "the record", &operation->record, &err)) {
        operation->record = NULL;
    }
    if (host_record_is_of(operation->record, operation->provider->cluster->name, STR(""))) {
        return true;
    }
    return external_failed(operation, OUTCOME_INVALID, ERR_PROTOCOL,
                           "the text that the plug-in stores for cluster %.*s is not the "
                           "record of this cluster. Correct the plug-in, or delete the text if "
                           "nothing else uses it",
                           STR_ARG(str_sub(operation->provider->cluster->name, 0, 80)));
}

/* Decides about the record that was read, and writes it. */
static void send_swap(struct external_operation *operation)
{
    AUTO_BUF struct buf text;
    buf_init(&text, RECORD_BYTES_MAX);
    enum external_edit what = parse_record(operation) ? operation->edit(operation) : RECORD_KEEP;
    if (what == RECORD_KEEP || operation->answer.outcome != OUTCOME_DONE) {
        operation->after_edit(operation);
        return;
    }
    if (what == RECORD_WRITE && !json_add(operation->record, &text)) {
        external_failed(operation, OUTCOME_INVALID, ERR_INTERNAL,
                        "the record of the cluster is larger than 1 MB");
        operation->after_edit(operation);
        return;
    }
    swap(operation, operation->stored, arena_str(&operation->arena, buf_str(&text)));
}

void external_edit_record(struct external_operation *operation, external_edit_fn *edit,
                          external_step_fn *after)
{
    operation->edit = edit;
    operation->after_edit = after;
    operation->tries = 0;
    swap(operation, STR(""), STR("")); /* only reads: no text is replaced by no text */
}

json_t *external_launch_note(const json_t *record, struct str token)
{
    const json_t *all = json_object_get(record, "launches");
    return token.len > 0 ? json_object_get(all, token.ptr) : NULL;
}

/* ---- listings ---- */

static size_t copy_tags(json_t *from, struct arena *arena, struct machine_tag *tags, size_t count)
{
    const char *key;
    json_t *value;
    json_object_foreach(from, key, value)
    {
        size_t at = 0;
        while (at < count && !str_is(tags[at].key, key)) {
            at++;
        }
        tags[at] = (struct machine_tag){arena_str(arena, str_from(key)),
                                        arena_str(arena, external_text(from, key))};
        count = at == count ? count + 1 : count;
    }
    return count;
}

/* The cloud has no tags: they are in the record, by token, and later ones by id. */
static void external_operation_on_noted(struct external_operation *operation)
{
    struct arena *arena = &operation->arena;
    for (size_t i = 0; i < operation->listed_count && operation->record; i++) {
        struct machine *machine = &operation->listed[i];
        json_t *note = external_launch_note(operation->record, machine->token);
        json_t *tags = json_object_get(note, "tags");
        json_t *more = json_object_get(json_object_get(note, "more"), machine->id.ptr);
        size_t most = json_object_size(tags) + json_object_size(more);
        struct machine_tag *all = ARENA_ARRAY(arena, most, struct machine_tag);
        machine->tag_count = copy_tags(more, arena, all, copy_tags(tags, arena, all, 0));
        machine->tags = all;
    }
    operation->after_list(operation);
}

static enum external_edit edit_nothing(struct external_operation *operation)
{
    (void)operation;
    return RECORD_KEEP;
}

static void external_operation_on_listed(struct external_operation *operation, const json_t *body)
{
    struct err err;
    if (!body) {
        no_such_answer(operation);
    } else if (!plugin_machines_read(body, &operation->arena, &operation->listed,
                                     &operation->listed_count, &err)) {
        operation->listed_count = 0;
        external_unread(operation, "list", &err);
    } else if (!external_greeting(operation)->has_tags) {
        /* After the listing: each listed instance was noted before it was launched. */
        external_edit_record(operation, edit_nothing, external_operation_on_noted);
        return;
    }
    operation->after_list(operation);
}

void external_read_list(struct external_operation *operation, external_step_fn *after)
{
    operation->after_list = after;
    operation->listed_count = 0;
    external_ask(operation, "list", json_object(), external_operation_on_listed);
}

/* A process that has not taken the lease learns the uid from the record. */
static void external_operation_on_uid(struct external_operation *operation)
{
    if (operation->answer.outcome != OUTCOME_DONE) {
        operation->after_list(operation);
        return;
    }
    if (operation->record) {
        external_adopt(&operation->provider->base, external_text(operation->record, "uid"));
    }
    external_read_list(operation, operation->after_list);
}

void external_read_own(struct external_operation *operation, external_step_fn *after)
{
    operation->after_list = after;
    if (operation->provider->uid.len > 0) {
        external_read_list(operation, after);
    } else {
        external_edit_record(operation, edit_nothing, external_operation_on_uid);
    }
}

void external_answer_machines(struct external_operation *operation)
{
    bool is_done = operation->answer.outcome == OUTCOME_DONE;
    operation->machines(operation->context, &operation->answer, operation->made,
                        is_done ? operation->made_count : 0);
    external_end(operation);
}
