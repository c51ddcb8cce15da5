/*
 * local_terminate.c: stops Ray and containers on hosts and frees them. A host is never shut down.
 *
 *     mark in the head's record -> stop, and remove the host's own record -> note the result
 */
#include "provider/local/local_operation.h"

/* ---- marking ---- */

static enum local_edit edit_mark(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    bool is_ours = local_owns(operation->provider, call->record);
    operation->has_unknown = false;
    for (size_t i = 0; i < operation->id_count; i++) {
        json_t *node = is_ours ? host_record_node(call->record, operation->ids[i]) : NULL;
        if (!node) {
            operation->has_unknown = true;
        } else if (!host_record_node_is(node, NODE_ENDED)) {
            host_record_set_state(node, NODE_ENDING, STR(""), call->reply.now);
        }
    }
    return is_ours ? EDIT_WRITE : EDIT_LEAVE;
}

/* ---- the hosts ---- */

static enum local_edit edit_free(struct local_call *call)
{
    const struct local_operation *operation = call->operation;
    if (!local_owns(operation->provider, call->record)) {
        return EDIT_LEAVE; /* freed before, or used by another cluster since */
    }
    struct str id = host_record_text(call->record, "id");
    for (size_t i = 0; i < operation->id_count; i++) {
        if (str_eq(operation->ids[i], id)) {
            call->stops = true;
            return EDIT_REMOVE;
        }
    }
    return EDIT_LEAVE;
}

static void prepare_free(struct local_call *call, struct buf *script)
{
    struct host_stop stop = call->operation->provider->stop;
    if (call->host == HOST_HEAD) { /* its record has the lease and the nodes: remove() deletes it */
        stop.is_head = true;
        call->stops = true;
        host_script_stop(script, host_record_text(call->operation->head, "uid"), &stop);
    } else {
        call->edit = edit_free;
    }
}

/* ---- noting ---- */

static void note_end(const struct local_call *call, json_t *node, json_t *record, int64_t now)
{
    const struct local_provider *provider = call->operation->provider;
    struct str host = local_host_of(provider, call->host);
    struct str why = str_from(call->err.text);
    if (!node || !str_eq(host_record_text(node, "host"), host) ||
        !host_record_node_is(node, NODE_ENDING)) {
        return;
    }
    if (call->outcome == OUTCOME_DONE) {
        host_record_set_state(node, NODE_ENDED, STR(""), now);
    } else if (provider->setup.is_service) {
        /* Its raylet ends without the head, and its dead-man switch stops the rest. */
        host_record_set_state(node, NODE_ENDED, why, now);
        host_record_set_unused(record, host, why, now, true);
    } else {
        host_record_set_state(node, NODE_ENDING, why, now);
    }
}

static enum local_edit edit_note(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    if (!local_owns(operation->provider, call->record)) {
        return EDIT_LEAVE;
    }
    /* By id: a newer node may use the host. */
    for (size_t i = 0; i < operation->checked_count; i++) {
        for (size_t j = 0; j < operation->id_count; j++) {
            note_end(&operation->checked[i], host_record_node(call->record, operation->ids[j]),
                     call->record, call->reply.now);
        }
    }
    return EDIT_WRITE;
}

/* A host that the file no longer names cannot be reached: it counts as freed. */
static void forget_unnamed(struct local_operation *operation, json_t *record, int64_t now)
{
    for (size_t i = 0; i < operation->id_count; i++) {
        json_t *node = host_record_node(record, operation->ids[i]);
        if (node &&
            local_find_host(operation->provider, host_record_text(node, "host")) == SIZE_MAX) {
            host_record_set_state(node, NODE_ENDED, STR("the file no longer names this host"), now);
        }
    }
}

static enum local_edit edit_note_all(struct local_call *call)
{
    enum local_edit edit = edit_note(call);
    if (edit == EDIT_WRITE) {
        forget_unnamed(call->operation, call->record, call->reply.now);
    }
    return edit;
}

static void local_terminate_finish(struct local_operation *operation)
{
    const struct local_provider *provider = operation->provider;
    for (size_t i = 0; i < operation->checked_count; i++) {
        const struct local_call *call = &operation->checked[i];
        if (operation->answer.outcome == OUTCOME_DONE && call->outcome != OUTCOME_DONE &&
            !provider->setup.is_service) {
            /* Certain for this process: it cannot end it, and says so. */
            local_failed(operation, OUTCOME_DENIED, ERR_UNAVAILABLE,
                         "%s. Ray may still run there; run shoal down again when the host answers, "
                         "or remove it from provider.worker_ips if it is gone for good",
                         call->err.text);
        }
    }
    if (operation->answer.outcome == OUTCOME_DONE && operation->has_unknown) {
        local_failed(operation, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
                     "some of the machines are not in the cluster's record");
    }
    operation->done(operation->context, &operation->answer);
    local_end(operation);
}

static void on_freed(struct local_operation *operation)
{
    local_keep_calls(operation);
    local_edit_head(operation, edit_note_all, local_terminate_finish);
}

static void on_marked(struct local_operation *operation)
{
    const struct local_provider *provider = operation->provider;
    size_t *hosts = ARENA_ARRAY(&operation->arena, provider->host_count, size_t);
    size_t count = 0;
    if (operation->answer.outcome != OUTCOME_DONE) {
        local_terminate_finish(operation);
        return;
    }
    bool has_record = local_owns(provider, operation->head);
    for (size_t i = 0; i < operation->id_count; i++) {
        const json_t *node = host_record_node(operation->head, operation->ids[i]);
        size_t host = local_find_host(provider, local_address(operation->ids[i]));
        /* Without the head's record, the host's own decides (edit_free). */
        bool is_due = has_record ? node && host_record_node_is(node, NODE_ENDING)
                                 : provider->uid.len > 0 && host != HOST_HEAD;
        if (is_due && host != SIZE_MAX && count < provider->host_count) {
            hosts[count++] = host;
        }
    }
    local_each(operation, hosts, count, prepare_free, on_freed);
}

void local_terminate(struct provider *base, const struct str *ids, size_t count,
                     provider_done_fn *done, void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    struct str *own = ARENA_ARRAY(&operation->arena, count, struct str);
    for (size_t i = 0; i < count; i++) {
        own[i] = arena_str(&operation->arena, ids[i]);
    }
    operation->done = done;
    operation->ids = own;
    operation->id_count = count;
    if (count == 0) {
        local_later(operation, local_terminate_finish);
        return;
    }
    local_edit_head(operation, edit_mark, on_marked);
}

/* Own machines are never stopped, so there is none to start either. */
void local_stop(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
                void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    (void)ids;
    operation->done = done;
    if (count > 0) {
        local_failed(operation, OUTCOME_INVALID, ERR_CONFIG,
                     "Shoal does not stop or start own machines (provider.type local); shoal down "
                     "stops Ray on them");
    }
    local_later(operation, local_terminate_finish);
}
