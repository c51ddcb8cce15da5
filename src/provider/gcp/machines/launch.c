/*
 * launch.c: sends a draft until its outcome is known.
 *
 * Google remembers a requestId for a while only, and names become free when instances are deleted.
 * So a draft is sent only while it is certainly young; later the launch is only looked up.
 *
 * If the operation of a draft that was never sent before has created all instances, they are known:
 * the draft has their names. Otherwise the listing by token is the truth, whatever the operation
 * says.
 */
#include "io/json_line.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

#include <stdio.h>

enum {
    YOUNG_MS = 20 * 60 * 1000,
    SETTLE_MS = 30 * 1000, /* until a listing shows what an operation has created, and no more */
    LOOK_MS = 500,
};

static struct str launch_token_of(const struct gcp_operation *operation)
{
    return host_record_text(operation->draft, "token");
}

static struct str launch_call_of(const struct gcp_operation *operation)
{
    const json_t *body = json_object_get(operation->draft, "body");
    const json_t *labels = json_object_get(json_object_get(body, "instanceProperties"), "labels");
    return host_record_text(labels, GCP_CALL_LABEL);
}

static int64_t launch_count_of(const struct gcp_operation *operation)
{
    return host_record_number(json_object_get(operation->draft, "body"), "count");
}

/* ---- the result ---- */

/* The operation has ended and nothing is listed, so it had no effect. Google would answer the same
 * requestId with the same error: another attempt needs another launch. */
static enum outcome launch_refusal(const struct gcp_failure *failure)
{
    switch (failure->outcome) {
    case OUTCOME_UNKNOWN:
    case OUTCOME_THROTTLED:
        return OUTCOME_CAPACITY;
    case OUTCOME_NOT_FOUND:
        return OUTCOME_INVALID;
    case OUTCOME_DONE:
    case OUTCOME_CAPACITY:
    case OUTCOME_QUOTA:
    case OUTCOME_DENIED:
    case OUTCOME_INVALID:
    case OUTCOME_MISMATCH:
    case OUTCOME_NO_LEASE:
    case OUTCOME_COUNT:
        break;
    }
    return failure->outcome;
}

/* Also after the end of the lease: what was launched belongs to the next holder then. */
static void launch_answer(struct gcp_operation *operation)
{
    for (size_t i = 0; i < operation->made_count; i++) {
        if (!str_eq(machine_tag_value(&operation->made_machines[i], GCP_CALL_LABEL),
                    launch_call_of(operation))) {
            gcp_failed(operation, OUTCOME_MISMATCH, ERR_EXISTS, "another launch has the token %.*s",
                       STR_ARG(launch_token_of(operation)));
        }
    }
    bool is_none = gcp_is_fine(operation) && operation->made_count == 0 && operation->is_failed;
    if (is_none && operation->created > 0) {
        /* No refusal: they exist, or were terminated since if the launch was repeated. */
        if (operation->is_first) {
            gcp_failed(operation, OUTCOME_UNKNOWN, ERR_UNAVAILABLE,
                       "Google has created instances that it does not list yet");
        }
    } else if (is_none) {
        operation->failure.outcome = launch_refusal(&operation->failure);
        gcp_failed(operation, operation->failure.outcome, gcp_failure_kind(&operation->failure),
                   "Google's instances.bulkInsert: %s", operation->failure.message);
    } else if (gcp_is_fine(operation) && operation->is_failed) {
        err_write(&operation->answer.err, ERR_CAPACITY, "%s", operation->failure.message);
    }
    gcp_answer_machines(operation);
}

static void launch_list(struct gcp_operation *operation);

static void launch_on_listed(struct gcp_operation *operation)
{
    int64_t now = loop_now_ms(operation->provider->loop);
    int64_t launched_at = gcp_client_now_ms(operation->provider->client) / 1000;
    if (!gcp_is_fine(operation)) {
        operation->answer.outcome = OUTCOME_UNKNOWN;
        gcp_answer_machines(operation);
        return;
    }
    operation->made_machines = ARENA_ARRAY(&operation->arena, operation->listed_count,
                                           struct machine);
    operation->made_count = 0;
    for (size_t i = 0; i < operation->listed_count; i++) {
        struct machine *machine = &operation->listed[i];
        if (str_eq(machine->token, launch_token_of(operation))) {
            machine->launched_at = machine->launched_at > 0 ? machine->launched_at : launched_at;
            operation->made_machines[operation->made_count++] = *machine;
        }
    }
    bool is_settled = !operation->is_sent || (int64_t)operation->made_count == operation->created;
    if (!is_settled && now < operation->until_ms) {
        gcp_later(operation, LOOK_MS, launch_list);
        return;
    }
    launch_answer(operation);
}

static void launch_list(struct gcp_operation *operation)
{
    gcp_read_instances(operation, GCP_TOKEN_LABEL, launch_token_of(operation), launch_on_listed);
}

/* ---- the operation ---- */

/* How many the operation created, by its own count. */
static int64_t launch_created(const json_t *body)
{
    json_t *places = json_object_get(json_object_get(body, "instancesBulkInsertOperationMetadata"),
                                     "perLocationStatus");
    const char *place;
    json_t *status;
    int64_t count = 0;
    json_object_foreach(places, place, status)
    {
        count += host_record_number(status, "createdVmCount") -
                 host_record_number(status, "deletedVmCount");
    }
    return count;
}

/* A new instance as the last listing showed it, or as the draft describes it, without addresses. */
static json_t *launch_item(const struct gcp_operation *operation, const char *name)
{
    static const char *const keys[] = {"machineType", "labels", "metadata", "scheduling"};
    const json_t *body = json_object_get(operation->draft, "body");
    const json_t *properties = json_object_get(body, "instanceProperties");
    json_t *seen = json_object_get(operation->provider->seen, name);
    if (seen) {
        return json_incref(seen);
    }
    json_t *item = json_pack("{s:s, s:s}", "name", name, "status", "PROVISIONING");
    json_put_text(item, "zone", host_record_text(operation->draft, "zone"));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        json_object_set(item, keys[i], json_object_get(properties, keys[i]));
    }
    return item;
}

static void launch_settle(struct gcp_operation *operation)
{
    const json_t *body = json_object_get(operation->draft, "body");
    json_t *names = json_object_get(body, "perInstanceProperties");
    json_t *items = json_array();
    const char *name;
    json_t *ignored;
    json_object_foreach(names, name, ignored)
    {
        json_array_append_new(items, launch_item(operation, name));
    }
    gcp_use_instances(operation, items, launch_on_listed);
}

static void launch_on_operation(struct gcp_operation *operation, const struct gcp_reply *reply)
{
    enum outcome outcome = reply->failure.outcome;
    operation->until_ms = loop_now_ms(operation->provider->loop) + SETTLE_MS;
    if (reply->is_ok || reply->body) {
        operation->is_failed = !reply->is_ok;
        operation->failure = reply->failure;
        operation->is_sent = true;
        operation->created = launch_created(reply->body);
        bool is_all = reply->is_ok && operation->created == launch_count_of(operation);
        (is_all && operation->is_first ? launch_settle : launch_list)(operation);
        return;
    }
    if (outcome == OUTCOME_MISMATCH || outcome == OUTCOME_UNKNOWN) {
        operation->answer.outcome = OUTCOME_UNKNOWN; /* repeated, it is looked up */
        operation->answer.err = reply->err;
    } else {
        gcp_fail_with(operation, reply);
    }
    gcp_answer_machines(operation);
}

static void launch_send(struct gcp_operation *operation)
{
    gcp_ask(operation,
            (struct gcp_request){
                .name = "instances.bulkInsert",
                .method = "POST",
                .path = arena_printf(&operation->arena, "zones/%.*s/instances/bulkInsert",
                                     STR_ARG(host_record_text(operation->draft, "zone"))),
                .body = json_object_get(operation->draft, "body"),
                .request_id = host_record_text(operation->draft, "request"),
                .creates = true,
                .waits = true},
            launch_on_operation);
}

/* ---- an old draft ---- */

static void launch_look(struct gcp_operation *operation);

static void launch_on_looked(struct gcp_operation *operation)
{
    struct gcp_operation_state state;
    const json_t *found = json_array_get(operation->items, 0);
    if (!gcp_is_fine(operation)) {
        operation->answer.outcome = OUTCOME_UNKNOWN;
        gcp_answer_machines(operation);
        return;
    }
    if (found && gcp_operation_state_read(found, &state)) {
        if (!state.is_done && loop_now_ms(operation->provider->loop) < operation->until_ms) {
            gcp_later(operation, LOOK_MS, launch_look);
            return;
        }
        if (!state.is_done) {
            gcp_failed(operation, OUTCOME_UNKNOWN, ERR_UNAVAILABLE, "the launch has not ended yet");
            gcp_answer_machines(operation);
            return;
        }
        operation->is_failed = state.has_failed;
        operation->failure = state.failure;
    }
    launch_list(operation);
}

static void launch_look(struct gcp_operation *operation)
{
    struct str filter = arena_printf(&operation->arena, "clientOperationId=\"%.*s\"",
                                     STR_ARG(host_record_text(operation->draft, "request")));
    gcp_read_items(operation, "zoneOperations.list",
                   arena_printf(&operation->arena, "zones/%.*s/operations?filter=%.*s",
                                STR_ARG(host_record_text(operation->draft, "zone")),
                                STR_ARG(gcp_encoded(operation, filter))),
                   NULL, launch_on_looked);
}

/* Drafted by another process: its epoch says how old it can be. */
static void launch_on_record(struct gcp_operation *operation)
{
    char key[32];
    uint64_t launch = (uint64_t)host_record_number(operation->draft, "launch");
    snprintf(key, sizeof(key), "%llu", (unsigned long long)(launch >> 32));
    int64_t since = host_record_number(json_object_get(operation->record, "epochs"), key);
    if (!gcp_is_fine(operation)) {
        operation->answer.outcome = OUTCOME_UNKNOWN;
        gcp_answer_machines(operation);
    } else if (gcp_owns(operation->provider, operation->record) && since > 0 &&
               operation->now < since + YOUNG_MS / 1000) {
        launch_send(operation);
    } else {
        launch_look(operation);
    }
}

static void launch_begin(struct gcp_operation *operation, uint64_t hash)
{
    const struct gcp_provider *provider = operation->provider;
    struct gcp_drafted *drafted = provider->drafted;
    operation->until_ms = loop_now_ms(provider->loop) + SETTLE_MS;
    while (drafted && !str_is(launch_token_of(operation), drafted->token)) {
        drafted = drafted->next;
    }
    if (!drafted) {
        gcp_read_record(operation, launch_on_record);
    } else if (loop_now_ms(provider->loop) < drafted->at_ms + YOUNG_MS) {
        operation->is_first = !drafted->is_known && drafted->hash == hash;
        drafted->is_known = true;
        launch_send(operation);
    } else {
        launch_look(operation);
    }
}

void gcp_launch(struct provider *base, struct str call, provider_machines_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    struct err err;
    operation->machines = done;
    operation->provider->is_unused = false;
    if (!json_line_read(call, "a launch", &operation->draft, &err)) {
        operation->draft = NULL;
        gcp_failed(operation, OUTCOME_INVALID, ERR_INTERNAL, "%s", err.text);
    } else if (launch_count_of(operation) < 1 ||
               !gcp_is_name(host_record_text(operation->draft, "zone"))) {
        gcp_failed(operation, OUTCOME_INVALID, ERR_INTERNAL, "this is not a launch on GCE");
    } else if (!gcp_has_lease(operation->provider)) {
        gcp_failed(operation, OUTCOME_NO_LEASE, ERR_EXISTS,
                   "this process does not hold the cluster's lease");
    }
    if (!gcp_is_fine(operation)) {
        gcp_later(operation, 0, gcp_answer_machines);
        return;
    }
    launch_begin(operation, str_hash(call));
}
