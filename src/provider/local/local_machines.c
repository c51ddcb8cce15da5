/* local_machines.c: lists and tags the nodes in the head's record. */
#include "provider/local/local_operation.h"

/* ---- listing ---- */

static bool is_wanted(const struct local_operation *operation, const json_t *node)
{
    for (size_t i = 0; i < operation->id_count; i++) {
        if (str_eq(operation->ids[i], host_record_text(node, "id"))) {
            return true;
        }
    }
    return operation->id_count == 0;
}

/* Nodes that the head's record does not have: their hosts say that they are of this cluster. */
static size_t add_strays(struct local_operation *operation, struct machine *machines, size_t count)
{
    const struct local_provider *provider = operation->provider;
    for (size_t i = 0; i < operation->call_count; i++) {
        const json_t *record = operation->calls[i].reply.record;
        struct str id = host_record_text(record, "id");
        if (operation->calls[i].host == HOST_HEAD || id.len == 0 ||
            !(operation->keeps_uid ? local_owns(provider, record)
                                   : local_is_named(provider, record)) ||
            host_record_node(operation->head, id) || !is_wanted(operation, record)) {
            continue;
        }
        machines[count] = host_record_machine(record, &operation->arena);
        machines[count].state = MACHINE_RUNNING;
        machines[count].private_ip = provider->choices[operation->calls[i].host].private_ip;
        machines[count++].public_ip = provider->choices[operation->calls[i].host].public_ip;
    }
    return count;
}

void local_answer_machines(struct local_operation *operation)
{
    const json_t *nodes = json_object_get(operation->head, "nodes");
    struct machine *machines = ARENA_ARRAY(
        &operation->arena, json_array_size(nodes) + operation->call_count, struct machine);
    size_t count = 0;
    bool is_ok = operation->answer.outcome == OUTCOME_DONE;
    if (is_ok && nodes) {
        size_t i;
        const json_t *node;
        json_array_foreach(nodes, i, node)
        {
            bool is_of = operation->draft.token.len == 0 ||
                         str_eq(host_record_text(node, "token"), operation->draft.token);
            if (is_of && is_wanted(operation, node)) {
                machines[count++] = host_record_machine(node, &operation->arena);
            }
        }
    }
    if (is_ok && operation->is_by_name) {
        count = add_strays(operation, machines, count);
    }
    operation->machines(operation->context, &operation->answer, machines, count);
    local_end(operation);
}

/* ---- checks of the service ---- */

enum { CHECK_MS = 45 * 1000 };

/* A host's record that is not ours any more: the node was freed there, by its dead-man switch or by
 * hand. The switch is started again, as a reboot ends it. */
static enum local_edit edit_check(struct local_call *call)
{
    const struct local_provider *provider = call->operation->provider;
    struct str id = host_record_text(call->node, "id");
    bool is_ours = local_owns(provider, call->record) &&
                   str_eq(host_record_text(call->record, "id"), id);
    if (!is_ours) {
        call->outcome = OUTCOME_NOT_FOUND;
        return EDIT_LEAVE;
    }
    call->starts = !call->reply.has_watch && provider->setup.watch.len > 0;
    return call->starts ? EDIT_WRITE : EDIT_LEAVE;
}

/* A host that was given up: what still runs there is stopped, and the host is free again. */
static enum local_edit edit_clean(struct local_call *call)
{
    const struct local_provider *provider = call->operation->provider;
    if (local_has_other_ray(call, &call->err) ||
        local_is_used_twice(call, call->record, call->operation->head, &call->err)) {
        call->outcome = OUTCOME_INVALID;
        return EDIT_LEAVE;
    }
    if (!local_owns(provider, call->record)) {
        bool is_used = call->record || call->reply.owner.len > 0;
        call->outcome = is_used ? OUTCOME_INVALID : OUTCOME_DONE;
        if (is_used) {
            local_tell_user(call, &call->err);
        }
        return EDIT_LEAVE;
    }
    call->stops = true;
    return EDIT_REMOVE;
}

static void prepare_check(struct local_call *call, struct buf *script)
{
    struct local_operation *operation = call->operation;
    struct str host = local_host_of(operation->provider, call->host);
    call->node = host_record_node_on(operation->head, host);
    call->edit = call->node ? edit_check : edit_clean;
    if (call->node) {
        host_script_check(script);
    }
}

static bool note_check(const struct local_call *call, json_t *record, int64_t now)
{
    const struct local_provider *provider = call->operation->provider;
    struct str host = local_host_of(provider, call->host);
    json_t *node = host_record_node_on(record, host);
    if (node && call->node && call->outcome == OUTCOME_NOT_FOUND) {
        bool is_ending = host_record_node_is(node, NODE_ENDING);
        host_record_set_state(
            node, NODE_ENDED,
            is_ending ? STR("")
                      : STR("the host was freed there: it had no contact with the head for too "
                            "long, or its record was deleted"),
            now);
        return true;
    }
    if (node || call->node) {
        return false; /* a member that does not answer: Ray decides whether it is lost */
    }
    if (call->outcome == OUTCOME_DONE) {
        host_record_set_used(record, host);
    } else {
        host_record_set_unused(record, host, str_from(call->err.text), now,
                               host_record_is_unclean(record, host));
    }
    return true;
}

static enum local_edit edit_checked(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    bool is_changed = false;
    if (!local_owns(operation->provider, call->record)) {
        return EDIT_LEAVE;
    }
    for (size_t i = 0; i < operation->checked_count; i++) {
        is_changed = note_check(&operation->checked[i], call->record, call->reply.now) ||
                     is_changed;
    }
    return is_changed ? EDIT_WRITE : EDIT_LEAVE;
}

static void on_checked(struct local_operation *operation)
{
    operation->checked = operation->calls;
    operation->checked_count = operation->call_count;
    for (size_t i = 0; i < operation->checked_count; i++) {
        host_reply_clear(&operation->checked[i].reply);
        json_decref(operation->checked[i].record);
        operation->checked[i].record = NULL;
        /* `node` only says that there was one: the record it is in goes away. */
    }
    operation->call_count = 0;
    local_edit_head(operation, edit_checked, local_answer_machines);
}

/* Members, and hosts that are due to be tried again. */
static size_t hosts_to_check(const struct local_operation *operation, size_t *hosts)
{
    const struct local_provider *provider = operation->provider;
    size_t count = 0;
    for (size_t i = 1; i < provider->host_count; i++) {
        struct str host = local_host_of(provider, i);
        const json_t *node = host_record_node_on(operation->head, host);
        const json_t *unused = host_record_unused(operation->head, host);
        bool is_due = unused && host_record_number(unused, "until") <= operation->now;
        if (node ? !host_record_node_is(node, NODE_CLAIMING) : is_due) {
            hosts[count++] = i;
        }
    }
    return count;
}

static void on_listed_by(struct local_operation *operation);

static void local_machines_on_listed(struct local_operation *operation)
{
    struct local_provider *provider = operation->provider;
    int64_t now_ms = loop_now_ms(provider->loop);
    bool is_due = provider->setup.is_service && provider->epoch != 0 &&
                  (provider->checked_ms == 0 || now_ms >= provider->checked_ms + CHECK_MS);
    if (operation->answer.outcome == OUTCOME_DONE && is_due && operation->head) {
        size_t *hosts = ARENA_ARRAY(&operation->arena, provider->host_count, size_t);
        size_t count = hosts_to_check(operation, hosts);
        provider->checked_ms = now_ms;
        local_each(operation, hosts, count, prepare_check, on_checked);
        return;
    }
    if (operation->answer.outcome == OUTCOME_DONE && !operation->head && provider->uid.len > 0) {
        operation->keeps_uid = true; /* the record is gone: the workers have their own */
        on_listed_by(operation);
        return;
    }
    local_answer_machines(operation);
}

/* A host that another cluster has taken over the name of is not listed. */
static enum local_edit edit_list(struct local_call *call)
{
    if (!local_owns(call->operation->provider, call->record)) {
        json_decref(call->record);
        call->record = NULL;
    }
    return EDIT_LEAVE;
}

void local_list(struct provider *base, provider_machines_fn *done, void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    operation->machines = done;
    local_edit_head(operation, edit_list, local_machines_on_listed);
}

static enum local_edit edit_list_by(struct local_call *call)
{
    if (!host_record_is_of(call->record, call->operation->provider->cluster->name, STR(""))) {
        json_decref(call->record);
        call->record = NULL;
    }
    return EDIT_LEAVE;
}

static void prepare_probe(struct local_call *call, struct buf *script)
{
    (void)call;
    (void)script;
}

static void on_listed_by(struct local_operation *operation)
{
    const struct local_provider *provider = operation->provider;
    size_t *hosts = ARENA_ARRAY(&operation->arena, provider->host_count, size_t);
    if (operation->answer.outcome != OUTCOME_DONE) {
        local_answer_machines(operation);
        return;
    }
    for (size_t i = 1; i < provider->host_count; i++) {
        hosts[i - 1] = i;
    }
    operation->is_by_name = true;
    local_each(operation, hosts, provider->host_count - 1, prepare_probe, local_answer_machines);
}

void local_list_by(struct provider *base, const struct machine_query *query,
                   provider_machines_fn *done, void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    struct str *ids = ARENA_ARRAY(&operation->arena, query->id_count, struct str);
    for (size_t i = 0; i < query->id_count; i++) {
        ids[i] = arena_str(&operation->arena, query->ids[i]);
    }
    operation->machines = done;
    operation->ids = ids;
    operation->id_count = query->id_count;
    local_edit_head(operation, edit_list_by, on_listed_by);
}

/* ---- tags ---- */

static enum local_edit edit_tags(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    bool is_ours = local_owns(operation->provider, call->record);
    operation->has_unknown = false;
    for (size_t i = 0; i < operation->id_count; i++) {
        json_t *node = is_ours ? host_record_node(call->record, operation->ids[i]) : NULL;
        if (node) {
            host_record_tag(node, operation->tags, operation->tag_count);
        } else {
            operation->has_unknown = true;
        }
    }
    return is_ours ? EDIT_WRITE : EDIT_LEAVE;
}

static void local_machines_on_tagged(struct local_operation *operation)
{
    if (operation->answer.outcome == OUTCOME_DONE && operation->has_unknown) {
        local_failed(operation, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
                     "some of the machines are not in the cluster's record");
    }
    operation->done(operation->context, &operation->answer);
    local_end(operation);
}

void local_tag(struct provider *base, const struct str *ids, size_t count,
               const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
               void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    struct arena *arena = &operation->arena;
    struct str *own_ids = ARENA_ARRAY(arena, count, struct str);
    struct machine_tag *own_tags = ARENA_ARRAY(arena, tag_count, struct machine_tag);
    for (size_t i = 0; i < count; i++) {
        own_ids[i] = arena_str(arena, ids[i]);
    }
    for (size_t i = 0; i < tag_count; i++) {
        own_tags[i] = (struct machine_tag){arena_str(arena, tags[i].key),
                                           arena_str(arena, tags[i].value)};
    }
    operation->done = done;
    operation->ids = own_ids;
    operation->id_count = count;
    operation->tags = own_tags;
    operation->tag_count = tag_count;
    local_edit_head(operation, edit_tags, local_machines_on_tagged);
}
