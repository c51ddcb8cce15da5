/* local_lease.c: the cluster's lease, in the record of the head; and who else has its name. */
#include "base/encode.h"
#include "provider/local/local_operation.h"
#include "provider/random_id.h"

static void local_lease_answer(struct local_operation *operation, bool has_lease)
{
    struct cluster_lease lease = host_record_lease(operation->head);
    operation->leased(operation->context, &operation->answer, has_lease ? &lease : NULL);
    local_end(operation);
}

/* ---- the hosts, before a record is made ---- */

static void prepare_nothing(struct local_call *call, struct buf *script)
{
    (void)call;
    (void)script;
}

static void probe_workers(struct local_operation *operation, local_step_fn *after)
{
    const struct local_provider *provider = operation->provider;
    size_t *hosts = ARENA_ARRAY(&operation->arena, provider->host_count, size_t);
    for (size_t i = 1; i < provider->host_count; i++) {
        hosts[i - 1] = i;
    }
    local_each(operation, hosts, provider->host_count - 1, prepare_nothing, after);
}

/* The uids of this cluster, which has this name and this head, on the workers. */
static size_t uids_of(const struct local_operation *operation, struct str *uids)
{
    size_t count = 0;
    for (size_t i = 0; i < operation->call_count; i++) {
        const json_t *record = operation->calls[i].reply.record;
        struct str uid = host_record_text(record, "uid");
        bool is_new = local_is_named(operation->provider, record);
        for (size_t j = 0; j < count && is_new; j++) {
            is_new = !str_eq(uids[j], uid);
        }
        if (is_new) {
            uids[count++] = uid;
        }
    }
    return count;
}

static bool new_uid(struct local_operation *operation)
{
    if (!random_id(&operation->arena, &operation->text, &operation->answer.err)) {
        operation->answer.outcome = OUTCOME_INVALID;
        return false;
    }
    return true;
}

/* Nodes on workers whose head has lost its record: they are in their own records. */
static void add_found_nodes(struct local_operation *operation, json_t *record)
{
    const struct local_provider *provider = operation->provider;
    for (size_t i = 0; i < operation->found_count; i++) {
        const json_t *own = operation->found_records[i];
        struct str host = local_address(host_record_text(own, "id"));
        size_t at = local_find_host(provider, host);
        if (at == SIZE_MAX ||
            !str_eq(host_record_text(own, "uid"), host_record_text(record, "uid"))) {
            continue;
        }
        const struct host_choice *choice = &provider->choices[at];
        json_t *node = json_object();
        json_object_set_new(node, "id", json_deep_copy(json_object_get(own, "id")));
        json_object_set_new(node, "token", json_deep_copy(json_object_get(own, "token")));
        json_object_set_new(node, "call", json_deep_copy(json_object_get(own, "call")));
        json_object_set_new(node, "at", json_deep_copy(json_object_get(own, "at")));
        json_object_set_new(node, "tags", json_deep_copy(json_object_get(own, "tags")));
        json_object_set_new(node, "host", json_string_nocheck(choice->host.ptr));
        json_object_set_new(node, "private_ip", json_string_nocheck(choice->private_ip.ptr));
        json_object_set_new(node, "public_ip", json_string_nocheck(choice->public_ip.ptr));
        host_record_set_state(node, NODE_RUNNING, STR(""), host_record_number(own, "at"));
        json_array_append_new(host_record_nodes(record), node);
    }
}

/* ---- taking ---- */

static enum local_edit edit_take(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    const struct local_provider *provider = operation->provider;
    bool was_there = call->record != NULL;
    struct lease_change change = {.cluster = provider->cluster->name,
                                  .request = &operation->request,
                                  .uid = operation->text,
                                  .nonce = provider->nonce,
                                  .head = local_host_of(provider, HOST_HEAD),
                                  .now = call->reply.now,
                                  .keeps_uid = operation->keeps_uid};
    bool is_others = call->record && (!host_record_is_of(call->record, change.cluster, STR("")) ||
                                      !json_object_get(call->record, "lease"));
    if (is_others || call->reply.owner.len > 0) {
        call->outcome = OUTCOME_INVALID;
        local_tell_user(call, &call->err);
        return EDIT_LEAVE;
    }
    if (!was_there && operation->text.len > 0 && local_has_other_ray(call, &call->err)) {
        call->outcome = OUTCOME_INVALID;
        return EDIT_LEAVE;
    }
    if (!was_there && operation->text.len == 0) {
        call->outcome = OUTCOME_NOT_FOUND;
        err_set(&call->err, ERR_NOT_FOUND, "the head has no record of this cluster");
        return EDIT_LEAVE;
    }
    call->outcome = host_record_take(&call->record, &change, &call->err);
    if (call->outcome == OUTCOME_DONE && !was_there) {
        add_found_nodes(operation, call->record);
    }
    return call->outcome == OUTCOME_DONE ? EDIT_WRITE : EDIT_LEAVE;
}

static void choose_uid(struct local_operation *operation);

static void on_taken(struct local_operation *operation)
{
    struct local_provider *provider = operation->provider;
    enum outcome outcome = operation->answer.outcome;
    if (outcome == OUTCOME_NOT_FOUND && !operation->is_by_name) {
        operation->answer.outcome = OUTCOME_DONE;
        operation->is_by_name = true; /* the workers were asked */
        probe_workers(operation, choose_uid);
        return;
    }
    if (outcome == OUTCOME_DONE) {
        struct cluster_lease lease = host_record_lease(operation->head);
        provider->uid = arena_str(&provider->arena, lease.uid);
        provider->epoch = lease.epoch;
        provider->lease_ends_ms = operation->began_ms + operation->request.lease_ms;
    } else {
        provider->epoch = 0;
    }
    local_lease_answer(operation, outcome == OUTCOME_DONE || outcome == OUTCOME_MISMATCH);
}

static void give_up_taking(struct local_operation *operation, struct str uid)
{
    struct cluster_lease lease = {.uid = uid};
    if (uid.len > 0) {
        local_adopt(&operation->provider->base, uid);
    }
    operation->leased(operation->context, &operation->answer, &lease);
    local_end(operation);
}

/* The head has no record: the uid is that of hosts with this name, or the journal's, or new. */
static void choose_uid(struct local_operation *operation)
{
    const struct take_request *request = &operation->request;
    struct str *uids = ARENA_ARRAY(&operation->arena, operation->call_count + 1, struct str);
    size_t count = uids_of(operation, uids);
    operation->found_records = ARENA_ARRAY(&operation->arena, operation->call_count, json_t *);
    for (size_t i = 0; i < operation->call_count; i++) {
        json_t *record = operation->calls[i].reply.record;
        if (local_is_named(operation->provider, record)) {
            operation->found_records[operation->found_count++] = json_incref(record);
        }
    }
    if (count > 1) {
        local_failed(operation, OUTCOME_INVALID, ERR_EXISTS,
                     "the worker_ips are used by %zu clusters with the name %.*s: uid %.*s and "
                     "%.*s. Rename this cluster, or run shoal down for the other one",
                     count, STR_ARG(str_sub(operation->provider->cluster->name, 0, 80)),
                     STR_ARG(uids[0]), STR_ARG(uids[1]));
        local_lease_answer(operation, false);
        return;
    }
    struct str known = count == 1 ? arena_str(&operation->arena, uids[0]) : request->known_uid;
    if (!request->may_create) {
        local_failed(operation, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
                     "the head has no record of this cluster");
        give_up_taking(operation, known);
        return;
    }
    operation->keeps_uid = known.len > 0;
    operation->text = known;
    if (known.len == 0 && !new_uid(operation)) {
        local_lease_answer(operation, false);
        return;
    }
    local_edit_head(operation, edit_take, on_taken);
}

void local_take(struct provider *base, const struct take_request *request, provider_lease_fn *done,
                void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    operation->leased = done;
    operation->request = *request;
    operation->request.holder = arena_str(&operation->arena, request->holder);
    operation->request.known_uid = arena_str(&operation->arena, request->known_uid);
    local_edit_head(operation, edit_take, on_taken);
}

/* ---- renewing and releasing ---- */

static enum local_edit edit_renew(struct local_call *call)
{
    const struct local_operation *operation = call->operation;
    const struct local_provider *provider = operation->provider;
    const json_t *own = local_owns(provider, call->record) ? call->record : NULL;
    call->outcome = host_record_renew(own ? call->record : NULL, provider->epoch,
                                      operation->lease_ms, call->reply.now, &call->err);
    return call->outcome == OUTCOME_DONE ? EDIT_WRITE : EDIT_LEAVE;
}

static void on_renewed(struct local_operation *operation)
{
    struct local_provider *provider = operation->provider;
    enum outcome outcome = operation->answer.outcome;
    bool is_taken = outcome == OUTCOME_MISMATCH && operation->answer.err.kind == ERR_EXISTS;
    if (outcome == OUTCOME_DONE) {
        provider->lease_ends_ms = operation->began_ms + operation->lease_ms;
    } else if (outcome == OUTCOME_MISMATCH) {
        provider->lease_ends_ms = 0;
    }
    local_lease_answer(operation, outcome == OUTCOME_DONE || is_taken);
}

void local_renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    operation->leased = done;
    operation->lease_ms = lease_ms;
    local_edit_head(operation, edit_renew, on_renewed);
}

static enum local_edit edit_release(struct local_call *call)
{
    const struct local_provider *provider = call->operation->provider;
    if (!local_owns(provider, call->record)) {
        return EDIT_LEAVE;
    }
    host_record_release(call->record, provider->epoch);
    return EDIT_WRITE;
}

static void local_lease_on_released(struct local_operation *operation)
{
    if (operation->answer.outcome == OUTCOME_DONE) {
        operation->provider->epoch = 0;
        operation->provider->lease_ends_ms = 0;
    }
    operation->done(operation->context, &operation->answer);
    local_end(operation);
}

void local_release(struct provider *base, provider_done_fn *done, void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    operation->done = done;
    local_edit_head(operation, edit_release, local_lease_on_released);
}

void local_adopt(struct provider *base, struct str uid)
{
    struct local_provider *provider = local_of(base);
    provider->uid = arena_str(&provider->arena, uid);
}

/* ---- evidence ---- */

static enum local_edit edit_nothing(struct local_call *call)
{
    (void)call;
    return EDIT_LEAVE;
}

static void on_workers_found(struct local_operation *operation)
{
    const struct local_provider *provider = operation->provider;
    struct str *uids = ARENA_ARRAY(&operation->arena, operation->call_count + 1, struct str);
    struct cluster_found found = {.uids = uids, .uid_count = uids_of(operation, uids)};
    if (host_record_is_of(operation->head, provider->cluster->name, STR("")) &&
        json_object_get(operation->head, "lease")) {
        struct cluster_lease lease = host_record_lease(operation->head);
        found.has_lease = true;
        found.uid = lease.uid;
        found.lease_until = lease.until;
    }
    operation->found(operation->context, &operation->answer, &found);
    local_end(operation);
}

static void local_lease_on_head_found(struct local_operation *operation)
{
    if (operation->answer.outcome != OUTCOME_DONE) {
        operation->found(operation->context, &operation->answer, NULL);
        local_end(operation);
        return;
    }
    probe_workers(operation, on_workers_found);
}

void local_find(struct provider *base, provider_found_fn *done, void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    operation->found = done;
    local_edit_head(operation, edit_nothing, local_lease_on_head_found);
}
