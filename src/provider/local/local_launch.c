/*
 * local_launch.c: takes free hosts for the cluster.
 *
 *     reserve in the head's record -> write each host's own record -> confirm in the head's record
 *
 * A launch that was interrupted anywhere continues when it is repeated: its hosts are reserved
 * under its token, and a host that has its record already is left as it is.
 */
#include "io/json_line.h"
#include "provider/launch_token.h"
#include "provider/local/local_operation.h"

/* ---- the draft ---- */

static struct str tag_named(const struct launch_request *request, const char *key)
{
    for (size_t i = 0; i < request->tag_count; i++) {
        if (str_is(request->tags[i].key, key)) {
            return request->tags[i].value;
        }
    }
    return STR("");
}

bool local_draft(struct provider *base, const struct launch_request *request, struct arena *arena,
                 struct str *ret_call, struct err *err)
{
    const struct local_provider *provider = local_of(base);
    AUTO_BUF struct buf text;
    json_t *draft = json_object();
    json_t *tags = json_object();
    struct str launch = launch_number_text(request->launch, arena);
    for (size_t i = 0; i < request->tag_count; i++) {
        json_put_text(tags, arena_str(arena, request->tags[i].key).ptr, request->tags[i].value);
    }
    json_put_text(tags, "ray-cluster-name", provider->cluster->name);
    json_put_text(tags, TAG_CLUSTER_UID, provider->uid);
    json_put_text(tags, TAG_LAUNCH, launch);
    json_put_text(tags, TAG_EPOCH,
                  arena_printf(arena, "%llu", (unsigned long long)(request->launch >> 32)));
    json_put_text(draft, "token", request->token);
    json_put_text(draft, "launch", launch);
    json_put_number(draft, "count", request->count);
    json_put_flag(draft, "head", str_is(tag_named(request, "ray-node-type"), "head"));
    json_object_set_new(draft, "tags", tags);
    buf_init(&text, HOST_SCRIPT_BYTES_MAX);
    json_put_out(draft, false, &text);
    if (text.is_full || request->count < 1) {
        return err_set(err, ERR_INTERNAL, "a launch cannot be written");
    }
    *ret_call = arena_str(arena, buf_str(&text));
    return true;
}

static bool read_draft(struct local_operation *operation, struct str call)
{
    struct launch_draft *draft = &operation->draft;
    struct err err;
    if (!json_line_read(call, "a launch", &operation->draft_json, &err)) {
        operation->draft_json = NULL;
        return local_failed(operation, OUTCOME_INVALID, ERR_INTERNAL, "%s", err.text);
    }
    *draft = (struct launch_draft){
        .token = host_record_text(operation->draft_json, "token"),
        .launch = host_record_text(operation->draft_json, "launch"),
        .call = str_hash(call),
        .count = host_record_number(operation->draft_json, "count"),
        .is_head = json_is_true(json_object_get(operation->draft_json, "head")),
        .tags = json_object_get(operation->draft_json, "tags"),
    };
    return true;
}

/* ---- reserving ---- */

static bool local_launch_check_lease(struct local_call *call)
{
    const struct local_provider *provider = call->operation->provider;
    if (local_owns(provider, call->record) && local_has_lease(provider) &&
        host_record_is_held(call->record, provider->epoch, call->reply.now)) {
        return true;
    }
    call->outcome = OUTCOME_NO_LEASE;
    return err_set(&call->err, ERR_EXISTS, "this process does not hold the cluster's lease");
}

static enum local_edit edit_reserve(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    const struct local_provider *provider = operation->provider;
    if (!local_launch_check_lease(call)) {
        return EDIT_LEAVE;
    }
    host_record_forget_ended(call->record);
    if (operation->rounds == 0) {
        operation->is_repeated = host_record_count(call->record, operation->draft.token) > 0;
    }
    if (!host_record_reserve(call->record, &operation->draft, provider->choices,
                             provider->host_count, operation->rounds > 0, call->reply.now)) {
        call->outcome = OUTCOME_MISMATCH;
        err_set(&call->err, ERR_EXISTS, "another launch has the token %.*s",
                STR_ARG(str_sub(operation->draft.token, 0, 80)));
        return EDIT_LEAVE;
    }
    return EDIT_WRITE;
}

/* ---- the hosts ---- */

/* An own record of an earlier node, or its Ray without a record: Ray may still run there. */
static enum local_edit edit_claim(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    const struct local_provider *provider = operation->provider;
    const json_t *node = call->node;
    struct str host = local_host_of(provider, call->host);
    if (!local_has_lease(provider)) {
        call->outcome = OUTCOME_NO_LEASE;
        err_set(&call->err, ERR_EXISTS, "this process does not hold the cluster's lease");
        return EDIT_LEAVE;
    }
    if (call->reply.owner.len > 0 || (call->record && !local_owns(provider, call->record))) {
        call->outcome = OUTCOME_CAPACITY;
        local_tell_user(call, &call->err);
        return EDIT_LEAVE;
    }
    if (local_has_other_ray(call, &call->err) ||
        local_is_used_twice(call, call->record, operation->head, &call->err)) {
        call->outcome = OUTCOME_CAPACITY;
        return EDIT_LEAVE;
    }
    const struct local_host *head = &provider->hosts[HOST_HEAD];
    const struct local_host *own = &provider->hosts[call->host];
    if (head->architecture.len > 0 && own->architecture.len > 0 &&
        !str_eq(head->architecture, own->architecture)) {
        call->outcome = OUTCOME_CAPACITY;
        err_set(&call->err, ERR_CONFIG, "%.*s is %.*s and the head is %.*s", STR_ARG(host),
                STR_ARG(own->architecture), STR_ARG(head->architecture));
        return EDIT_LEAVE;
    }
    if (own->is_home_shared) {
        call->outcome = OUTCOME_CAPACITY;
        err_set(&call->err, ERR_CONFIG, "%.*s cannot be used: " HOME_IS_SHARED,
                STR_ARG(str_sub(host, 0, 100)));
        return EDIT_LEAVE;
    }
    if (call->record &&
        str_eq(host_record_text(call->record, "id"), host_record_text(node, "id"))) {
        return EDIT_LEAVE;
    }
    call->stops = call->record || call->reply.ray_count > 0;
    call->starts = true;
    json_decref(call->record);
    call->record = host_record_new(provider->cluster->name, provider->uid,
                                   local_host_of(provider, HOST_HEAD), provider->setup.by);
    json_object_set(call->record, "id", json_object_get(node, "id"));
    json_object_set(call->record, "token", json_object_get(node, "token"));
    json_object_set(call->record, "call", json_object_get(node, "call"));
    json_object_set(call->record, "at", json_object_get(node, "at"));
    json_object_set(call->record, "tags", json_object_get(node, "tags"));
    return EDIT_WRITE;
}

static void prepare_claim(struct local_call *call, struct buf *script)
{
    struct str host = local_host_of(call->operation->provider, call->host);
    (void)script;
    call->node = host_record_node_on(call->operation->head, host);
    call->edit = edit_claim;
}

/* ---- confirming ---- */

static void drop_node(json_t *record, const json_t *node)
{
    json_t *nodes = host_record_nodes(record);
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        if (json_array_get(nodes, i) == node) {
            json_array_remove(nodes, i);
            return;
        }
    }
}

/* A claim whose effect is unknown stays as it is: the launch is repeated. A host that does not
 * answer is given up. It may have its record, if this claim or an earlier one of the launch
 * wrote. */
static enum local_edit edit_confirm(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    const struct local_provider *provider = operation->provider;
    int64_t now = call->reply.now;
    if (!local_launch_check_lease(call)) {
        return EDIT_LEAVE;
    }
    for (size_t i = 0; i < operation->checked_count; i++) {
        const struct local_call *claim = &operation->checked[i];
        struct str host = local_host_of(provider, claim->host);
        json_t *node = host_record_node_on(call->record, host);
        if (!node || !str_eq(host_record_text(node, "token"), operation->draft.token)) {
            continue;
        }
        if (claim->outcome == OUTCOME_DONE) {
            host_record_set_state(node, NODE_RUNNING, STR(""), now);
            host_record_set_used(call->record, host);
        } else if (claim->outcome == OUTCOME_CAPACITY || claim->reply.end == HOST_UNREACHED) {
            bool is_unclean = claim->outcome != OUTCOME_CAPACITY &&
                              (claim->has_written || operation->is_repeated);
            drop_node(call->record, node);
            host_record_set_unused(call->record, host, str_from(claim->err.text), now, is_unclean);
        }
    }
    return EDIT_WRITE;
}

static void local_launch_reserve(struct local_operation *operation);

static bool is_any_unsure(struct local_operation *operation)
{
    for (size_t i = 0; i < operation->checked_count; i++) {
        const struct local_call *claim = &operation->checked[i];
        bool is_sure = claim->outcome == OUTCOME_DONE || claim->outcome == OUTCOME_CAPACITY ||
                       claim->reply.end == HOST_UNREACHED;
        if (!is_sure) {
            operation->answer.outcome = OUTCOME_UNKNOWN;
            operation->answer.err = claim->err;
            return true;
        }
    }
    return false;
}

/* Claimed hosts stay so for the next holder: then it is not true that nothing was sent. */
static void local_launch_answer(struct local_operation *operation)
{
    if (operation->checked_count > 0 && operation->answer.outcome == OUTCOME_NO_LEASE) {
        operation->answer.outcome = OUTCOME_UNKNOWN;
    }
    local_answer_machines(operation);
}

/* Why hosts are not used, for the answer. */
static void tell_unused(struct local_operation *operation)
{
    const struct local_provider *provider = operation->provider;
    struct buf *why = &operation->why;
    for (size_t i = 1; i < provider->host_count; i++) {
        const json_t *unused = host_record_unused(operation->head, local_host_of(provider, i));
        if (unused) {
            buf_addf(why, "%s%.*s", why->len > 0 ? "; " : "",
                     STR_ARG(str_sub(host_record_text(unused, "why"), 0, 400)));
        }
    }
    if (why->len == 0) {
        buf_add_c(why, "every host in provider.worker_ips is in use");
    }
}

static void local_launch_finish(struct local_operation *operation)
{
    size_t count = host_record_count(operation->head, operation->draft.token);
    if (operation->answer.outcome != OUTCOME_DONE) {
        local_launch_answer(operation);
        return;
    }
    if (count < (size_t)operation->draft.count) {
        tell_unused(operation);
        struct str why = str_sub(buf_str(&operation->why), 0, 480);
        local_failed(operation, count > 0 ? OUTCOME_DONE : OUTCOME_CAPACITY, ERR_CAPACITY,
                     "no free host: %.*s", STR_ARG(why));
    }
    local_answer_machines(operation);
}

static void on_confirmed(struct local_operation *operation)
{
    size_t count = host_record_count(operation->head, operation->draft.token);
    bool lacks = count < (size_t)operation->draft.count;
    if (operation->answer.outcome == OUTCOME_DONE && !is_any_unsure(operation) && lacks &&
        operation->rounds++ < (int)operation->provider->host_count) {
        local_launch_reserve(operation);
        return;
    }
    local_launch_finish(operation);
}

static void on_claimed(struct local_operation *operation)
{
    local_keep_calls(operation);
    local_edit_head(operation, edit_confirm, on_confirmed);
}

static void on_reserved(struct local_operation *operation)
{
    const struct local_provider *provider = operation->provider;
    size_t *hosts = ARENA_ARRAY(&operation->arena, provider->host_count, size_t);
    size_t count = 0;
    size_t i;
    const json_t *node;
    if (operation->answer.outcome != OUTCOME_DONE) {
        local_launch_answer(operation);
        return;
    }
    json_array_foreach(json_object_get(operation->head, "nodes"), i, node)
    {
        size_t host = local_find_host(provider, host_record_text(node, "host"));
        if (str_eq(host_record_text(node, "token"), operation->draft.token) && host != SIZE_MAX &&
            host_record_node_is(node, NODE_CLAIMING)) {
            hosts[count++] = host;
        }
    }
    if (count == 0) {
        local_launch_finish(operation);
    } else {
        local_each(operation, hosts, count, prepare_claim, on_claimed);
    }
}

static void local_launch_reserve(struct local_operation *operation)
{
    local_edit_head(operation, edit_reserve, on_reserved);
}

void local_launch(struct provider *base, struct str call, provider_machines_fn *done, void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    operation->machines = done;
    if (!read_draft(operation, call)) {
        local_later(operation, local_answer_machines);
        return;
    }
    if (!local_has_lease(operation->provider)) {
        local_failed(operation, OUTCOME_NO_LEASE, ERR_EXISTS,
                     "this process does not hold the cluster's lease");
        local_later(operation, local_answer_machines);
        return;
    }
    local_launch_reserve(operation);
}
