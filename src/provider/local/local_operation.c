/* local_operation.c: runs the calls of an operation, and edits records until a write succeeds. */
#include "provider/local/local_operation.h"
#include "io/xalloc.h"

enum {
    EDIT_TRIES = 50,
    LEASE_MARGIN_MS = 3000,
    WHY_BYTES_MAX = 4096,
};

/* ---- lifetime ---- */

struct local_operation *local_begin(struct local_provider *provider, void *context)
{
    struct local_operation *operation = HEAP_NEW(struct local_operation);
    operation->provider = provider;
    operation->context = context;
    operation->began_ms = loop_now_ms(provider->loop);
    operation->next = provider->operations;
    if (provider->operations) {
        provider->operations->before = operation;
    }
    provider->operations = operation;
    arena_init(&operation->arena);
    buf_init(&operation->why, WHY_BYTES_MAX);
    return operation;
}

static void clear_calls(struct local_operation *operation)
{
    const struct host_reach *reach = &operation->provider->setup.reach;
    for (size_t i = 0; i < operation->call_count; i++) {
        struct local_call *call = &operation->calls[i];
        if (call->handle) {
            reach->cancel(reach->context, call->handle);
        }
        host_reply_clear(&call->reply);
        json_decref(call->record);
    }
    operation->call_count = operation->calls_left = 0;
}

void local_end(struct local_operation *operation)
{
    struct local_provider *provider = operation->provider;
    clear_calls(operation);
    loop_later_cancel(provider->loop, &operation->task);
    json_decref(operation->head);
    json_decref(operation->draft_json);
    for (size_t i = 0; i < operation->found_count; i++) {
        json_decref(operation->found_records[i]);
    }
    buf_clear(&operation->why);
    arena_clear(&operation->arena);
    if (operation->before) {
        operation->before->next = operation->next;
    } else {
        provider->operations = operation->next;
    }
    if (operation->next) {
        operation->next->before = operation->before;
    }
    free(operation);
}

void local_end_all(struct local_provider *provider)
{
    while (provider->operations) {
        local_end(provider->operations);
    }
}

void local_keep_calls(struct local_operation *operation)
{
    operation->checked = operation->calls;
    operation->checked_count = operation->call_count;
    operation->call_count = 0;
    for (size_t i = 0; i < operation->checked_count; i++) {
        host_reply_clear(&operation->checked[i].reply);
        json_decref(operation->checked[i].record);
        operation->checked[i].record = NULL;
    }
}

static void local_operation_on_task(void *context)
{
    struct local_operation *operation = context;
    operation->after(operation);
}

void local_later(struct local_operation *operation, local_step_fn *step)
{
    operation->after = step;
    operation->task = (struct loop_task){.run = local_operation_on_task, .context = operation};
    loop_defer(operation->provider->loop, &operation->task);
}

/* ---- hosts ---- */

struct str local_host_of(const struct local_provider *provider, size_t host)
{
    return provider->hosts[host].choice.host;
}

size_t local_find_host(const struct local_provider *provider, struct str address)
{
    for (size_t i = 0; i < provider->host_count; i++) {
        if (str_eq(local_host_of(provider, i), address)) {
            return i;
        }
    }
    return SIZE_MAX;
}

bool local_is_named(const struct local_provider *provider, const json_t *record)
{
    return host_record_is_of(record, provider->cluster->name, STR("")) &&
           str_eq(host_record_text(record, "head"), local_host_of(provider, HOST_HEAD));
}

bool local_owns(const struct local_provider *provider, const json_t *record)
{
    return provider->uid.len > 0 ? host_record_is_of(record, provider->cluster->name, provider->uid)
                                 : local_is_named(provider, record);
}

void local_tell_user(const struct local_call *call, struct err *err)
{
    const struct host_reply *reply = &call->reply;
    host_record_tell_user(local_host_of(call->operation->provider, call->host),
                          reply->record ? reply->record : reply->other, reply->owner, err);
}

/* Ray has the id of its node in its environment. The preflight asks before the cluster is known;
 * the process that takes the head's lease knows it by its uid. */
static bool is_own_ray(const struct local_call *call, const struct host_ray *ray)
{
    const struct local_operation *operation = call->operation;
    struct str host = local_host_of(operation->provider, call->host);
    if (str_find_char(ray->id, '@') == SIZE_MAX || !str_eq(local_address(ray->id), host)) {
        return false;
    }
    return operation->surveyed ||
           (call->host == HOST_HEAD ? operation->keeps_uid
                                    : host_record_node(operation->head, ray->id) != NULL);
}

bool local_has_other_ray(const struct local_call *call, struct err *err)
{
    const struct host_reply *reply = &call->reply;
    struct str host = local_host_of(call->operation->provider, call->host);
    size_t i = 0;
    if (reply->record || reply->owner.len > 0) {
        return false;
    }
    while (i < reply->ray_count && i < HOST_RAYS_MAX && is_own_ray(call, &reply->rays[i])) {
        i++;
    }
    if (i == reply->ray_count) {
        return false;
    }
    const struct host_ray *ray = &reply->rays[i < HOST_RAYS_MAX ? i : 0];
    err_set(err, ERR_EXISTS,
            "Ray runs on %.*s (%.*s, pid %lld) and no cluster has taken this machine. Setting it "
            "up would end that Ray: stop it there with `ray stop`, or use another machine",
            STR_ARG(str_sub(host, 0, 100)), STR_ARG(ray->name), (long long)ray->pid);
    return true;
}

bool local_is_used_twice(const struct local_call *call, const json_t *record, const json_t *head,
                         struct err *err)
{
    struct str host = local_host_of(call->operation->provider, call->host);
    struct str id = host_record_text(record, "id");
    const json_t *node = host_record_node(head, id);
    struct str other = STR("");
    if (json_object_get(record, "lease")) {
        other = host_record_text(record, "head");
    } else if (node && !host_record_node_is(node, NODE_ENDED)) {
        other = local_address(id);
    }
    if (other.len == 0 || str_eq(other, host)) {
        return false;
    }
    err_set(err, ERR_CONFIG,
            "%.*s is the same machine as %.*s: remove one of the two addresses from the file",
            STR_ARG(str_sub(host, 0, 100)), STR_ARG(str_sub(other, 0, 100)));
    return true;
}

bool local_has_lease(const struct local_provider *provider)
{
    return provider->epoch != 0 &&
           loop_now_ms(provider->loop) < provider->lease_ends_ms - LEASE_MARGIN_MS;
}

static void tell_unreached(const struct local_call *call, struct err *err)
{
    struct str host = local_host_of(call->operation->provider, call->host);
    struct str why = call->reply.why;
    err_set(err, ERR_UNAVAILABLE, "%s%.*s %s: %.*s", call->host == HOST_HEAD ? "the head " : "",
            STR_ARG(str_sub(host, 0, 100)),
            call->reply.end == HOST_UNREACHED ? "does not answer ssh" : "cannot be used",
            STR_ARG(str_sub(why.len > 0 ? why : STR("no output"), 0, 300)));
}

/* ---- calls ---- */

static void local_operation_send(struct local_call *call, struct str script, int64_t deadline_ms);

static void local_operation_finish(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    if (--operation->calls_left == 0) {
        operation->after(operation);
    }
}

static void send_swap(struct local_call *call, bool is_removal)
{
    struct local_provider *provider = call->operation->provider;
    AUTO_BUF struct buf script;
    struct host_swap swap = {.expected = call->reply.serial,
                             .record = is_removal ? NULL : call->record,
                             .stop = call->stops ? &provider->stop : NULL,
                             .watch = call->starts ? provider->setup.watch : STR(""),
                             .keeps_ray = call->reply.ray_count > 0};
    buf_init(&script, HOST_SCRIPT_BYTES_MAX);
    host_script_swap(&script, &swap);
    if (script.is_full) {
        call->outcome = OUTCOME_INVALID;
        err_set(&call->err, ERR_INTERNAL, "the record of the cluster is larger than 8 MB");
        local_operation_finish(call);
        return;
    }
    call->is_writing = true;
    call->has_written = true;
    local_operation_send(call, buf_str(&script), call->stops ? STOP_MS : QUICK_MS);
}

/* Decides about the record that was read, and writes it. */
static void apply_edit(struct local_call *call)
{
    json_decref(call->record);
    call->record = call->reply.record ? json_incref(call->reply.record) : NULL;
    call->outcome = OUTCOME_DONE;
    enum local_edit what = call->edit(call);
    if (what == EDIT_LEAVE || call->outcome != OUTCOME_DONE) {
        local_operation_finish(call);
    } else {
        send_swap(call, what == EDIT_REMOVE);
    }
}

static void note_facts(struct local_call *call)
{
    struct local_provider *provider = call->operation->provider;
    struct local_host *host = &provider->hosts[call->host];
    const struct host_reach *reach = &provider->setup.reach;
    const struct host_reply *reply = &call->reply;
    if (reply->architecture.len > 0 && host->architecture.len == 0) {
        host->architecture = arena_str(&provider->arena, reply->architecture);
    }
    if (reply->cpus > 0) {
        host->cpus = reply->cpus;
        host->memory = reply->memory;
        host->gpus = reply->gpus;
        host->is_home_shared = reply->is_home_shared;
    }
    if (reply->host_key.len > 0 && reach->key) {
        reach->key(reach->context, host->choice.host, reply->host_key);
    }
}

static void local_operation_on_result(void *context, const struct host_result *result)
{
    struct local_call *call = context;
    bool was_writing = call->is_writing;
    call->handle = NULL;
    call->is_writing = false;
    host_reply_clear(&call->reply);
    host_reply_read(result->output, result->status, str_from(result->err.text),
                    &call->operation->arena, &call->reply);
    note_facts(call);
    if (call->reply.end == HOST_CONFLICT && call->edit && ++call->tries < EDIT_TRIES) {
        apply_edit(call);
        return;
    }
    if (call->reply.end == HOST_DONE && call->edit && !was_writing) {
        apply_edit(call);
        return;
    }
    if (call->reply.end != HOST_DONE) {
        bool is_denied = str_find(call->reply.why, "Permission denied") != SIZE_MAX;
        call->outcome = call->reply.end == HOST_UNREACHED && is_denied ? OUTCOME_DENIED
                                                                       : OUTCOME_UNKNOWN;
        tell_unreached(call, &call->err);
    }
    local_operation_finish(call);
}

static void local_operation_send(struct local_call *call, struct str script, int64_t deadline_ms)
{
    const struct local_provider *provider = call->operation->provider;
    const struct host_reach *reach = &provider->setup.reach;
    struct host_task task = {.host = local_host_of(provider, call->host),
                             .is_head = call->host == HOST_HEAD,
                             .script = script,
                             .deadline_ms = deadline_ms};
    call->handle = reach->run(reach->context, &task, local_operation_on_result, call);
}

void local_each(struct local_operation *operation, const size_t *hosts, size_t count,
                void (*prepare)(struct local_call *call, struct buf *script), local_step_fn *after)
{
    clear_calls(operation);
    if (count == 0) {
        local_later(operation, after);
        return;
    }
    operation->after = after;
    operation->calls = ARENA_ARRAY(&operation->arena, count, struct local_call);
    operation->call_count = operation->calls_left = count;
    for (size_t i = 0; i < count; i++) {
        AUTO_BUF struct buf script;
        struct local_call *call = &operation->calls[i];
        buf_init(&script, HOST_SCRIPT_BYTES_MAX);
        *call = (struct local_call){.operation = operation, .host = hosts[i]};
        prepare(call, &script);
        bool is_long = call->stops;
        if (script.len == 0) {
            host_script_probe(&script);
            is_long = false;
        }
        local_operation_send(call, buf_str(&script), is_long ? STOP_MS : QUICK_MS);
    }
}

/* ---- the head ---- */

struct head_edit {
    enum local_edit (*edit)(struct local_call *call);
    local_step_fn *after;
};

static void on_head_edited(struct local_operation *operation)
{
    const struct local_call *call = &operation->calls[0];
    const struct head_edit *want = operation->edit;
    json_decref(operation->head);
    operation->head = call->record ? json_incref(call->record) : NULL;
    operation->now = call->reply.now;
    if (call->outcome != OUTCOME_DONE) {
        operation->answer.outcome = call->outcome;
        operation->answer.err = call->err;
    }
    want->after(operation);
}

static void prepare_head(struct local_call *call, struct buf *script)
{
    const struct head_edit *want = call->operation->edit;
    (void)script; /* the record is read first */
    call->edit = want->edit;
}

void local_edit_head(struct local_operation *operation,
                     enum local_edit (*edit)(struct local_call *call), local_step_fn *after)
{
    static const size_t head = HOST_HEAD;
    struct head_edit *want = ARENA_NEW(&operation->arena, struct head_edit);
    *want = (struct head_edit){edit, after};
    operation->edit = want;
    local_each(operation, &head, 1, prepare_head, on_head_edited);
}
