/*
 * external_launch.c: launches instances.
 *
 * If the cloud has idempotency tokens, a launch is repeated with its token until the reply arrives.
 * Otherwise it is noted in the record before it is sent, and a launch that was noted before is
 * never sent again: the instances that have its token in a listing are its result.
 */
#include "io/json_line.h"
#include "provider/external/external_operation.h"
#include "provider/host_record.h"
#include "provider/launch_token.h"

enum {
    DRAFT_BYTES_MAX = 1 << 20,
    NOTE_LIFE_S = 24 * 3600, /* without instances */
};

#define TAG_CALL "shoal-call" /* hash of the draft: another launch with this token differs */

/* ---- the draft ---- */

static json_t *draft_tags(const struct external_provider *provider,
                          const struct launch_request *request, struct arena *arena)
{
    json_t *tags = json_object();
    for (size_t i = 0; i < request->tag_count; i++) {
        json_put_text(tags, arena_str(arena, request->tags[i].key).ptr, request->tags[i].value);
    }
    json_put_text(tags, "ray-cluster-name", provider->cluster->name);
    json_put_text(tags, TAG_CLUSTER_UID, provider->uid);
    json_put_text(tags, TAG_LAUNCH, launch_number_text(request->launch, arena));
    json_put_text(tags, TAG_EPOCH,
                  arena_printf(arena, "%llu", (unsigned long long)(request->launch >> 32)));
    return tags;
}

bool external_draft(struct provider *base, const struct launch_request *request,
                    struct arena *arena, struct str *ret_call, struct err *err)
{
    const struct external_provider *provider = external_of(base);
    const struct provider_type *type = &provider->cluster->types[request->type];
    AUTO_BUF struct buf text;
    json_t *draft = json_object();
    json_t *tags = draft_tags(provider, request, arena);
    json_put_text(draft, "token", request->token);
    json_put_text(draft, "type", type->name);
    json_object_set_new(draft, "node_config", external_param_json(type->node_config));
    json_put_text(draft, "zone", request->zone);
    json_put_text(draft, "market", request->market == MARKET_SPOT ? STR("spot") : STR("on-demand"));
    json_put_text(draft, "shutdown", request->rests ? STR("stop") : STR("terminate"));
    json_put_number(draft, "count", request->count);
    json_put_text(draft, "user_data", request->user_data);
    json_object_set_new(draft, "tags", tags);
    buf_init(&text, DRAFT_BYTES_MAX);
    bool ok = request->count >= 1 && json_add(draft, &text);
    json_put_text(tags, TAG_CALL,
                  arena_printf(arena, "%016llx", (unsigned long long)str_hash(buf_str(&text))));
    buf_clear(&text);
    json_put_out(draft, false, &text);
    if (!ok || text.is_full) {
        return err_set(err, ERR_INTERNAL, "a launch cannot be written: it is larger than 1 MB");
    }
    *ret_call = arena_str(arena, buf_str(&text));
    return true;
}

static struct str token_of(const struct external_operation *operation)
{
    return external_text(operation->draft, "token");
}

static struct str call_of(const struct external_operation *operation)
{
    return external_text(json_object_get(operation->draft, "tags"), TAG_CALL);
}

static bool external_launch_mismatch(struct external_operation *operation)
{
    return external_failed(operation, OUTCOME_MISMATCH, ERR_EXISTS,
                           "another launch has the token %.*s",
                           STR_ARG(str_sub(token_of(operation), 0, 80)));
}

/* ---- notes ---- */

static bool needs_note(const struct external_operation *operation)
{
    const struct plugin_hello *hello = external_greeting(operation);
    return !hello->has_tokens || !hello->has_tags;
}

static bool has_machine(const struct external_operation *operation, const char *token)
{
    for (size_t i = 0; i < operation->listed_count; i++) {
        if (operation->listed[i].state != MACHINE_GONE &&
            str_is(operation->listed[i].token, token)) {
            return true;
        }
    }
    return false;
}

/* Drops old launches without instances. */
static void prune_notes(struct external_operation *operation, json_t *notes)
{
    const char *token;
    json_t *note;
    void *next;
    json_object_foreach_safe(notes, next, token, note)
    {
        if (host_record_number(note, "at") + NOTE_LIFE_S < operation->now &&
            !has_machine(operation, token)) {
            json_object_del(notes, token);
        }
    }
}

static enum external_edit edit_note(struct external_operation *operation)
{
    const char *token = token_of(operation).ptr;
    json_t *notes = json_object_get(operation->record, "launches");
    json_t *note = json_object_get(notes, token);
    if (!external_check_lease(operation) || !needs_note(operation)) {
        return RECORD_KEEP;
    }
    operation->is_repeat = note != NULL;
    if (note) {
        if (!str_eq(external_text(note, "call"), call_of(operation))) {
            external_launch_mismatch(operation);
        }
        return RECORD_KEEP;
    }
    if (!notes) {
        notes = json_object();
        json_object_set_new(operation->record, "launches", notes);
    }
    prune_notes(operation, notes);
    note = json_object();
    json_object_set_new(notes, token, note);
    json_put_text(note, "call", call_of(operation));
    json_put_number(note, "at", operation->now);
    if (!external_greeting(operation)->has_tags) {
        json_object_set(note, "tags", json_object_get(operation->draft, "tags"));
    }
    return RECORD_WRITE;
}

/* A launch that certainly had no effect may be sent again. */
static enum external_edit edit_unnote(struct external_operation *operation)
{
    json_object_del(json_object_get(operation->record, "launches"), token_of(operation).ptr);
    return external_owns(operation->provider, operation->record) ? RECORD_WRITE : RECORD_KEEP;
}

/* ---- the result ---- */

/* Also of a launch that was made before, by its token. */
static void external_launch_on_settled(struct external_operation *operation)
{
    operation->made = ARENA_ARRAY(&operation->arena, operation->listed_count, struct machine);
    operation->made_count = 0;
    for (size_t i = 0; i < operation->listed_count; i++) {
        if (str_eq(operation->listed[i].token, token_of(operation))) {
            operation->made[operation->made_count++] = operation->listed[i];
        }
    }
    external_answer_machines(operation);
}

static void external_launch_settle(struct external_operation *operation)
{
    external_read_list(operation, external_launch_on_settled);
}

static void external_launch_on_unnoted(struct external_operation *operation)
{
    if (operation->answer.outcome == OUTCOME_DONE) {
        operation->answer = operation->refused;
    } else {
        operation->answer.outcome = OUTCOME_UNKNOWN; /* repeated, it is settled by a listing */
    }
    external_answer_machines(operation);
}

static bool read_made(struct external_operation *operation, const json_t *body)
{
    struct err err;
    bool has_tags = external_greeting(operation)->has_tags;
    if (!plugin_machines_read(body, &operation->arena, &operation->made, &operation->made_count,
                              &err)) {
        operation->made_count = 0;
        return external_failed(operation, OUTCOME_UNKNOWN, ERR_PROTOCOL,
                               "the plug-in's reply to launch cannot be used: %s", err.text);
    }
    for (size_t i = 0; i < operation->made_count; i++) {
        struct machine *machine = &operation->made[i];
        if (!str_eq(machine->token, token_of(operation))) {
            return external_failed(operation, OUTCOME_UNKNOWN, ERR_PROTOCOL,
                                   "the plug-in's reply to launch has an instance without the "
                                   "token of the launch");
        }
        if (has_tags && !str_eq(machine_tag_value(machine, TAG_CALL), call_of(operation))) {
            return external_launch_mismatch(operation);
        }
    }
    return true;
}

/* Also after the end of the lease: what was launched belongs to the next holder then. */
static void external_launch_on_made(struct external_operation *operation, const json_t *body)
{
    enum outcome outcome = operation->answer.outcome;
    if (!body) {
        if (outcome == OUTCOME_NOT_FOUND) {
            operation->answer.outcome = OUTCOME_UNKNOWN;
        } else if (outcome != OUTCOME_UNKNOWN && needs_note(operation)) {
            operation->refused = operation->answer;
            operation->answer.outcome = OUTCOME_DONE;
            external_edit_record(operation, edit_unnote, external_launch_on_unnoted);
            return;
        }
        external_answer_machines(operation);
        return;
    }
    if (!read_made(operation, body)) {
        external_answer_machines(operation);
    } else if (!external_greeting(operation)->has_tags) {
        external_launch_settle(operation); /* with tags */
    } else {
        external_answer_machines(operation);
    }
}

/* ---- sending ---- */

static void external_launch_on_noted(struct external_operation *operation)
{
    const struct plugin_hello *hello = external_greeting(operation);
    if (operation->answer.outcome != OUTCOME_DONE) {
        external_answer_machines(operation);
        return;
    }
    if (!operation->is_repeat || hello->has_tokens) {
        external_ask(operation, "launch", json_incref(operation->draft), external_launch_on_made);
        return;
    }
    /* From now, not from the note: the launch may have been sent long after it. */
    external_later(operation, hello->list_delay_s * 1000, external_launch_settle);
}

static void external_launch_on_listed(struct external_operation *operation)
{
    if (operation->answer.outcome != OUTCOME_DONE) {
        external_answer_machines(operation);
        return;
    }
    external_edit_record(operation, edit_note, external_launch_on_noted);
}

/* The listing shows which notes are still needed. */
static void external_launch_begin(struct external_operation *operation)
{
    if (!external_greeting(operation) || needs_note(operation)) {
        external_read_list(operation, external_launch_on_listed);
    } else {
        external_launch_on_listed(operation);
    }
}

void external_launch(struct provider *base, struct str call, provider_machines_fn *done,
                     void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    struct err err;
    operation->machines = done;
    if (!json_line_read(call, "a launch", &operation->draft, &err)) {
        operation->draft = NULL;
        external_failed(operation, OUTCOME_INVALID, ERR_INTERNAL, "%s", err.text);
        external_later(operation, 0, external_answer_machines);
    } else if (!external_has_lease(operation->provider)) {
        external_failed(operation, OUTCOME_NO_LEASE, ERR_EXISTS,
                        "this process does not hold the cluster's lease");
        external_later(operation, 0, external_answer_machines);
    } else {
        external_launch_begin(operation);
    }
}
