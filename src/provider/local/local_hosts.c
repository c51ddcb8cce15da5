/* local_hosts.c: the preflight of the hosts, the cluster's key on them, the end of a cluster. */
#include "provider/local/local_operation.h"

enum { RESOURCE_NOTE_MAX = 400 };

static void all_hosts(struct local_operation *operation,
                      void (*prepare)(struct local_call *call, struct buf *script),
                      local_step_fn *after)
{
    size_t count = operation->provider->host_count + operation->former_count;
    size_t *hosts = ARENA_ARRAY(&operation->arena, count, size_t);
    for (size_t i = 0; i < count; i++) {
        hosts[i] = i;
    }
    local_each(operation, hosts, count, prepare, after);
}

/* ---- hosts that the file no longer names ---- */

/* They have the cluster's key, by the head's record. They are added after the file's hosts. */
static void add_former(struct local_operation *operation)
{
    struct local_provider *provider = operation->provider;
    json_t *keys = json_object_get(operation->head, "keys");
    size_t most = provider->host_count + json_object_size(keys);
    struct local_host *hosts = ARENA_ARRAY(&provider->arena, most, struct local_host);
    const char *key;
    json_t *value;
    for (size_t i = 0; i < provider->host_count; i++) {
        hosts[i] = provider->hosts[i];
    }
    operation->former_count = 0;
    json_object_foreach(keys, key, value)
    {
        struct str host = arena_str(&provider->arena, str_from(key));
        if (local_find_host(provider, host) == SIZE_MAX) {
            hosts[provider->host_count + operation->former_count++].choice.host = host;
        }
    }
    provider->hosts = hosts;
}

/* ---- preflight ---- */

struct local_findings {
    struct local_operation *operation;
    struct finding *items;
    size_t count;
    struct finding_row *rows; /* workers that cannot be used */
    size_t row_count;
    size_t usable, taken;
    bool has_shared;
};

static struct finding *add_finding(struct local_findings *all, enum finding_level level,
                                   const char *subject, struct str text, const char *remedy)
{
    struct finding *finding = &all->items[all->count++];
    *finding = (struct finding){
        .level = level, .subject = str_from(subject), .text = text, .remedy = str_from(remedy)};
    return finding;
}

/* The head's record has the lease. A worker's names the head, or has the uid of the head's, which
 * may have been made with another name of the head. */
static bool is_of_cluster(const struct local_call *call)
{
    const struct local_operation *operation = call->operation;
    const struct local_provider *provider = operation->provider;
    const json_t *record = call->reply.record;
    const json_t *head = operation->calls[HOST_HEAD].reply.record;
    bool is_known = host_record_is_of(head, provider->cluster->name, STR("")) &&
                    json_object_get(head, "lease");
    return call->host == HOST_HEAD
               ? is_known
               : local_is_named(provider, record) ||
                     (is_known && host_record_is_of(record, provider->cluster->name,
                                                    host_record_text(head, "uid")));
}

/* Why a host cannot be used; empty if it can. */
static struct str trouble_of(const struct local_call *call, bool *ret_is_taken)
{
    const struct local_operation *operation = call->operation;
    const struct local_provider *provider = operation->provider;
    struct arena *arena = &call->operation->arena;
    const struct host_reply *reply = &call->reply;
    struct str host = local_host_of(provider, call->host);
    struct str head = provider->hosts[HOST_HEAD].architecture;
    struct err err;
    *ret_is_taken = false;
    if (reply->end != HOST_DONE) {
        return arena_str(arena, str_from(call->err.text));
    }
    if (reply->owner.len > 0 || (reply->record && !is_of_cluster(call))) {
        *ret_is_taken = true;
        local_tell_user(call, &err);
        return arena_str(arena, str_from(err.text));
    }
    if (local_has_other_ray(call, &err) ||
        (call->host != HOST_HEAD &&
         local_is_used_twice(call, reply->record, operation->calls[HOST_HEAD].reply.record,
                             &err))) {
        *ret_is_taken = true;
        return arena_str(arena, str_from(err.text));
    }
    if (!reply->has_flock) {
        return arena_printf(arena, "%.*s does not have the program flock; install util-linux",
                            STR_ARG(host));
    }
    if (head.len > 0 && !str_eq(reply->architecture, head)) {
        return arena_printf(arena, "%.*s is %.*s and the head is %.*s; all nodes need the same",
                            STR_ARG(host), STR_ARG(reply->architecture), STR_ARG(head));
    }
    return STR("");
}

static void find_head(struct local_findings *all, const struct local_call *call)
{
    bool is_taken;
    struct str trouble = trouble_of(call, &is_taken);
    if (trouble.len > 0) {
        add_finding(all, FINDING_ERROR, "head", trouble,
                    is_taken ? ""
                             : "start the machine, or check provider.head_ip, auth.ssh_user "
                               "and auth.ssh_private_key")
            ->path = STR("provider.head_ip");
    } else if (call->reply.is_home_shared && all->operation->provider->host_count > 1) {
        add_finding(all, FINDING_ERROR, "head", STR("the head cannot be used: " HOME_IS_SHARED),
                    "use a user with a home directory on a local disk")
            ->path = STR("provider.head_ip");
    }
}

static void find_worker(struct local_findings *all, const struct local_call *call)
{
    struct arena *arena = &all->operation->arena;
    bool is_taken;
    struct str trouble = trouble_of(call, &is_taken);
    all->taken += is_taken;
    if (trouble.len == 0 && call->reply.is_home_shared) {
        trouble = STR(HOME_IS_SHARED);
        all->has_shared = true;
    }
    if (trouble.len == 0) {
        all->usable++;
        return;
    }
    all->rows[all->row_count++] = (struct finding_row){
        .name = local_host_of(all->operation->provider, call->host),
        .why = trouble,
        .path = arena_printf(arena, "provider.worker_ips[%zu]", call->host - 1)};
}

static int64_t least_workers(const struct local_provider *provider)
{
    int64_t least = 0;
    for (size_t i = 0; i < provider->cluster->type_count; i++) {
        least += provider->cluster->types[i].least;
    }
    return least;
}

static void sum_up_workers(struct local_findings *all)
{
    const struct local_provider *provider = all->operation->provider;
    struct arena *arena = &all->operation->arena;
    size_t count = provider->host_count - 1;
    const struct local_host *head = &provider->hosts[HOST_HEAD];
    if (all->row_count == 0) {
        add_finding(all, FINDING_FINE, "hosts",
                    arena_printf(arena,
                                 "the head and all %zu workers answer ssh; %.*s, %lld CPUs "
                                 "on the head",
                                 count, STR_ARG(head->architecture), (long long)head->cpus),
                    "");
        return;
    }
    bool is_short = (int64_t)all->usable < least_workers(provider);
    enum finding_level level = all->has_shared || (is_short && all->taken > 0) ? FINDING_ERROR
                                                                               : FINDING_WARNING;
    struct finding *finding = add_finding(
        all, level, "hosts",
        arena_printf(arena, "%zu of %zu workers can be used%s", all->usable, count,
                     is_short ? ", fewer than min_workers" : ""),
        level == FINDING_ERROR
            ? all->has_shared ? "use a user with a home directory on a local disk, or remove the "
                                "hosts from worker_ips"
                              : "free the hosts, or remove them from worker_ips"
            : "the cluster starts without them; they are tried again while it runs");
    finding->path = STR("provider.worker_ips");
    finding->rows = all->rows;
    finding->row_count = all->row_count;
}

static void on_surveyed(struct local_operation *operation)
{
    enum { OTHERS = 4 };
    size_t count = operation->call_count;
    struct local_findings all = {
        .operation = operation,
        .items = ARENA_ARRAY(&operation->arena, OTHERS, struct finding),
        .rows = ARENA_ARRAY(&operation->arena, count, struct finding_row),
    };
    find_head(&all, &operation->calls[0]);
    for (size_t i = 1; i < count; i++) {
        find_worker(&all, &operation->calls[i]);
    }
    sum_up_workers(&all);
    operation->surveyed(operation->context, &operation->answer, all.items, all.count);
    local_end(operation);
}

static void local_hosts_prepare_probe(struct local_call *call, struct buf *script)
{
    (void)call;
    (void)script;
}

void local_preflight(struct provider *base, enum preflight_scope scope, provider_preflight_fn *done,
                     void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    (void)scope;
    operation->surveyed = done;
    all_hosts(operation, local_hosts_prepare_probe, on_surveyed);
}

/* The least that every host has, so that work planned for a node fits any host. */
struct provider_type_facts local_type_facts(struct provider *base, size_t type)
{
    const struct local_provider *provider = local_of(base);
    struct provider_type_facts facts = {.architecture = provider->hosts[HOST_HEAD].architecture};
    (void)type;
    for (size_t i = 0; i < provider->host_count; i++) {
        const struct local_host *host = &provider->hosts[i];
        bool counts = host->cpus > 0 && (i != HOST_HEAD || provider->host_count == 1);
        if (counts && (facts.cpus == 0 || host->cpus < facts.cpus)) {
            facts.cpus = host->cpus;
        }
        if (counts && (facts.memory == 0 || host->memory < facts.memory)) {
            facts.memory = host->memory;
        }
        if (counts && (!facts.has_gpus || host->gpus < facts.gpus)) {
            facts.gpus = host->gpus;
            facts.has_gpus = true;
        }
    }
    return facts;
}

/* ---- the cluster's key ---- */

static void answer_resources(struct local_operation *operation)
{
    operation->resources(operation->context, &operation->answer, operation->things,
                         operation->thing_count);
    local_end(operation);
}

static struct provider_resource *local_hosts_add_thing(struct local_operation *operation,
                                                       const char *kind, struct str id)
{
    size_t most = 2 * (operation->provider->host_count + operation->former_count) + 1;
    if (!operation->things) {
        operation->things = ARENA_ARRAY(&operation->arena, most, struct provider_resource);
    }
    struct provider_resource *thing = &operation->things[operation->thing_count++];
    *thing = (struct provider_resource){.kind = str_from(kind),
                                        .id = arena_str(&operation->arena, id)};
    return thing;
}

static void prepare_key(struct local_call *call, struct buf *script)
{
    const struct local_operation *operation = call->operation;
    struct str uid = operation->provider->uid;
    host_script_authorize(script, operation->text,
                          uid.len > 0 ? uid : host_record_text(operation->head, "uid"));
}

/* The hosts that have the key, so that it is known where to remove it. It needs no lease: `up` also
 * adds hosts to a cluster whose service has the lease. */
static enum local_edit edit_keys(struct local_call *call)
{
    struct local_operation *operation = call->operation;
    const struct local_provider *provider = operation->provider;
    if (!local_owns(provider, call->record)) {
        call->outcome = OUTCOME_NO_LEASE;
        err_set(&call->err, ERR_EXISTS, "the head has no record of this cluster");
        return EDIT_LEAVE;
    }
    json_t *keys = json_object_get(call->record, "keys");
    if (!json_is_object(keys)) {
        keys = json_object();
        json_object_set_new(call->record, "keys", keys);
    }
    for (size_t i = 0; i < provider->host_count; i++) {
        json_object_set_new(keys, arena_str(&operation->arena, local_host_of(provider, i)).ptr,
                            json_true());
    }
    return EDIT_WRITE;
}

/* A host that answers need not wait until it is tried again. */
static enum local_edit edit_answering(struct local_call *call)
{
    const struct local_operation *operation = call->operation;
    bool is_changed = false;
    for (size_t i = 0; i < operation->thing_count; i++) {
        struct str host = operation->things[i].id;
        const json_t *unused = host_record_unused(call->record, host);
        if (unused && !host_record_is_unclean(call->record, host)) {
            host_record_set_used(call->record, host);
            is_changed = true;
        }
    }
    return is_changed && local_owns(operation->provider, call->record) ? EDIT_WRITE : EDIT_LEAVE;
}

static void on_authorized(struct local_operation *operation)
{
    for (size_t i = 0; i < operation->call_count; i++) {
        const struct local_call *call = &operation->calls[i];
        if (call->outcome != OUTCOME_DONE && call->host == HOST_HEAD) {
            operation->answer.outcome = call->outcome;
            operation->answer.err = call->err;
        } else if (call->outcome == OUTCOME_DONE) {
            local_hosts_add_thing(operation, "ssh key",
                                  local_host_of(operation->provider, call->host))
                ->note = call->reply.was_changed ? STR("new") : STR("");
        }
    }
    if (operation->answer.outcome != OUTCOME_DONE) {
        answer_resources(operation);
        return;
    }
    local_edit_head(operation, edit_answering, answer_resources);
}

static void on_keys_noted(struct local_operation *operation)
{
    if (operation->answer.outcome != OUTCOME_DONE) {
        answer_resources(operation);
        return;
    }
    all_hosts(operation, prepare_key, on_authorized);
}

void local_prepare(struct provider *base, struct str key, provider_resources_fn *done,
                   void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    struct str rest = key;
    operation->resources = done;
    if (key.len == 0) { /* the head: `up` has done it */
        local_later(operation, answer_resources);
        return;
    }
    /* Type and key, without the comment. */
    struct str kind = str_cut(&rest, ' ');
    struct str bytes = str_cut(&rest, ' ');
    operation->text = arena_printf(&operation->arena, "%.*s %.*s", STR_ARG(kind), STR_ARG(bytes));
    local_edit_head(operation, edit_keys, on_keys_noted);
}

/* ---- removal ---- */

static enum local_edit local_hosts_edit_nothing(struct local_call *call)
{
    (void)call;
    return EDIT_LEAVE;
}

static enum local_edit edit_remove_record(struct local_call *call)
{
    return local_owns(call->operation->provider, call->record) ? EDIT_REMOVE : EDIT_LEAVE;
}

static void on_record_removed(struct local_operation *operation)
{
    if (operation->answer.outcome == OUTCOME_DONE && operation->head) {
        local_hosts_add_thing(operation, "record of the cluster",
                              local_host_of(operation->provider, HOST_HEAD))
            ->is_gone = true;
        operation->provider->epoch = 0;
    }
    answer_resources(operation);
}

static bool has_key(const struct local_operation *operation, size_t host)
{
    struct str address = local_host_of(operation->provider, host);
    const json_t *keys = json_object_get(operation->head, "keys");
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    return !operation->head || json_object_get(keys, arena_str(&arena, address).ptr) != NULL;
}

/* Its record, and what runs there, if it still has one of this cluster. The head may have had
 * another address. */
static enum local_edit edit_free_former(struct local_call *call)
{
    if (!local_owns(call->operation->provider, call->record) ||
        json_object_get(call->record, "lease")) {
        return EDIT_LEAVE;
    }
    call->stops = true;
    return EDIT_REMOVE;
}

static void prepare_former(struct local_call *call, struct buf *script)
{
    (void)script;
    call->edit = edit_free_former;
}

/* Nothing will visit a host again that is not in the file: the user gets the command. */
static void tell_former(struct local_operation *operation, struct str host, const char *why)
{
    local_hosts_add_thing(operation, "ssh key", host)->note = arena_printf(
        &operation->arena,
        "%.*s. It is no longer in worker_ips. When it answers, stop Ray there and run: sed -i "
        "/shoal-%.*s/d ~/.ssh/authorized_keys; rm -rf " HOST_FOLDER,
        STR_ARG(str_sub(str_from(why), 0, RESOURCE_NOTE_MAX)), STR_ARG(operation->provider->uid));
}

/* The freeing of a former host comes before the removal of its key. */
static const struct local_call *failed_freeing(const struct local_operation *operation, size_t host)
{
    for (size_t i = 0; i < operation->checked_count; i++) {
        const struct local_call *call = &operation->checked[i];
        if (call->host == host && call->outcome != OUTCOME_DONE) {
            return call;
        }
    }
    return NULL;
}

static void on_keys_removed(struct local_operation *operation)
{
    size_t left = 0;
    for (size_t i = 0; i < operation->call_count; i++) {
        const struct local_call *call = &operation->calls[i];
        struct str host = local_host_of(operation->provider, call->host);
        const struct local_call *unfreed = failed_freeing(operation, call->host);
        const struct local_call *failed = unfreed                         ? unfreed
                                          : call->outcome != OUTCOME_DONE ? call
                                                                          : NULL;
        if (failed && call->host >= operation->provider->host_count) {
            tell_former(operation, host, failed->err.text);
        } else if (!failed && call->reply.was_changed) {
            local_hosts_add_thing(operation, "ssh key", host)->is_gone = true;
        } else if (failed && has_key(operation, call->host)) {
            struct str why = str_sub(str_from(failed->err.text), 0, RESOURCE_NOTE_MAX);
            local_hosts_add_thing(operation, "ssh key", host)->note = arena_printf(
                &operation->arena,
                "%.*s. Run shoal down again when it answers, or remove it from worker_ips",
                STR_ARG(why));
            left++;
        }
    }
    if (left > 0) {
        answer_resources(operation);
        return;
    }
    local_edit_head(operation, edit_remove_record, on_record_removed);
}

static void on_former_freed(struct local_operation *operation)
{
    local_keep_calls(operation);
    operation->text = STR("");
    all_hosts(operation, prepare_key, on_keys_removed);
}

/* Hosts that the file no longer names, and those that were given up: they may have a record of this
 * cluster although none of its nodes is there. */
static void free_former(struct local_operation *operation)
{
    const struct local_provider *provider = operation->provider;
    size_t count = 0;
    add_former(operation);
    size_t *hosts = ARENA_ARRAY(&operation->arena, provider->host_count + operation->former_count,
                                size_t);
    for (size_t i = 1; i < provider->host_count; i++) {
        if (host_record_is_unclean(operation->head, local_host_of(provider, i))) {
            hosts[count++] = i;
        }
    }
    for (size_t i = 0; i < operation->former_count; i++) {
        hosts[count++] = provider->host_count + i;
    }
    local_each(operation, hosts, count, prepare_former, on_former_freed);
}

static void on_nodes_read(struct local_operation *operation)
{
    const struct local_provider *provider = operation->provider;
    size_t i;
    const json_t *node;
    if (operation->answer.outcome != OUTCOME_DONE) {
        answer_resources(operation);
        return;
    }
    if (!local_owns(provider, operation->head)) {
        json_decref(operation->head);
        operation->head = NULL;
    }
    for (i = 0; i < provider->host_count; i++) {
        node = host_record_node_on(operation->head, local_host_of(provider, i));
        if (node) {
            local_hosts_add_thing(operation, "instance", host_record_text(node, "id"))->note = STR(
                "still in use");
        }
    }
    if (operation->thing_count > 0 || provider->uid.len == 0) {
        answer_resources(operation);
        return;
    }
    free_former(operation);
}

void local_remove(struct provider *base, provider_resources_fn *done, void *context)
{
    struct local_operation *operation = local_begin(local_of(base), context);
    operation->resources = done;
    local_edit_head(operation, local_hosts_edit_nothing, on_nodes_read);
}
