/*
 * machines.c: lists, terminates, stops, starts and tags instances.
 *
 * Each change names one instance, so a change of many is many calls at once. An instance that is
 * not listed may have been deleted: Google's operations of the last hour say so.
 */
#include "base/buf.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "provider/host_record.h"

enum { DELETED_ASKED_MAX = 50, DELETED_BYTES_MAX = 8 * 1024, TAG_TRIES = 20 };
enum change { CHANGE_TERMINATE, CHANGE_STOP, CHANGE_START, CHANGE_TAG, CHANGE_NOTE };

/* ---- listing ---- */

struct id_question {
    const struct str *ids;
    struct str id;
};

static bool id_is_same(const void *context, size_t position)
{
    const struct id_question *question = context;
    return str_eq(question->ids[position], question->id);
}

static bool machines_has_id(const struct gcp_operation *operation, struct str id)
{
    struct id_question question = {operation->ids, id};
    return table_find(&operation->wanted_ids, str_hash(id), id_is_same, &question) != TABLE_NONE;
}

/* Google shows an instance that cannot be created for a moment: the answer of its launch counts. */
static bool machines_is_in_doubt(const struct gcp_provider *provider, const struct machine *machine)
{
    const struct gcp_operation *other = provider->operations;
    while (other && !(other->draft && machine->token.len > 0 &&
                      str_eq(host_record_text(other->draft, "token"), machine->token))) {
        other = other->next;
    }
    return other && machine->state == MACHINE_PENDING;
}

static void machines_on_listed(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    operation->made_machines = ARENA_ARRAY(&operation->arena, operation->listed_count,
                                           struct machine);
    for (size_t i = 0; i < operation->listed_count; i++) {
        const struct machine *machine = &operation->listed[i];
        bool is_wanted = !operation->is_by_name    ? gcp_is_ours(provider, machine)
                         : operation->id_count > 0 ? machines_has_id(operation, machine->id)
                                                   : true;
        if (is_wanted && !machines_is_in_doubt(provider, machine)) {
            operation->made_machines[operation->made_count++] = *machine;
        }
    }
    gcp_answer_machines(operation);
}

void gcp_list(struct provider *base, provider_machines_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    struct gcp_provider *provider = operation->provider;
    bool is_unused = provider->is_unused && gcp_has_lease(provider);
    operation->machines = done;
    provider->is_unused = false;
    if (is_unused) { /* no process can have launched any */
        gcp_later(operation, 0, gcp_answer_machines);
    } else {
        gcp_read_own(operation, machines_on_listed);
    }
}

static void machines_copy_ids(struct gcp_operation *operation, const struct str *ids, size_t count)
{
    struct str *copies = ARENA_ARRAY(&operation->arena, count, struct str);
    operation->ids = copies;
    operation->id_count = count;
    for (size_t i = 0; i < count; i++) {
        copies[i] = arena_str(&operation->arena, ids[i]);
        if (!machines_has_id(operation, copies[i])) {
            table_add(&operation->wanted_ids, &operation->arena, str_hash(copies[i]), i);
        }
    }
}

/* Ids are names; a listing of the whole project has those of any cluster. */
void gcp_list_by(struct provider *base, const struct machine_query *query,
                 provider_machines_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    operation->machines = done;
    operation->is_by_name = true;
    operation->is_strict = true;
    machines_copy_ids(operation, query->ids, query->id_count);
    if (query->id_count > 0) {
        gcp_read_all(operation, machines_on_listed);
    } else {
        gcp_read_by_name(operation, machines_on_listed);
    }
}

/* ---- the end of a change ---- */

static void machines_finish(struct gcp_operation *operation)
{
    if (gcp_is_fine(operation) && operation->unknown_count > 0) {
        gcp_failed(operation, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
                   "Google does not list some of the instances as this cluster's");
    }
    gcp_answer_done(operation);
}

static bool machines_is_deleted(const struct gcp_operation *operation, struct str id)
{
    for (size_t i = 0; i < json_array_size(operation->items); i++) {
        const json_t *item = json_array_get(operation->items, i);
        if (str_eq(gcp_last_word(host_record_text(item, "targetLink")), id) &&
            !json_object_get(item, "error")) {
            return true;
        }
    }
    return false;
}

static void machines_on_deleted(struct gcp_operation *operation)
{
    const struct str *ids = operation->ids;
    size_t unknown = 0;
    for (size_t i = 0; i < operation->id_count && gcp_is_fine(operation); i++) {
        unknown += !machines_is_deleted(operation, ids[i]);
    }
    operation->unknown_count = unknown;
    machines_finish(operation);
}

/* Those that are not listed: has Google deleted them? */
static void machines_ask_deleted(struct gcp_operation *operation)
{
    AUTO_BUF struct buf filter;
    struct str *missing = ARENA_ARRAY(&operation->arena, operation->id_count, struct str);
    size_t count = 0;
    bool is_askable = gcp_is_fine(operation) && operation->what == CHANGE_TERMINATE;
    buf_init(&filter, DELETED_BYTES_MAX);
    for (size_t i = 0; i < operation->id_count; i++) {
        const struct machine *machine = gcp_find_listed(operation, operation->ids[i]);
        if (machine && gcp_is_ours(operation->provider, machine)) {
            continue;
        }
        is_askable = is_askable && gcp_is_name(operation->ids[i]);
        buf_addf(&filter, "%s%.*s", count > 0 ? "|" : "", STR_ARG(operation->ids[i]));
        missing[count++] = operation->ids[i];
    }
    operation->unknown_count += count;
    if (count == 0 || count > DELETED_ASKED_MAX || !is_askable || filter.is_full) {
        machines_finish(operation);
        return;
    }
    operation->ids = missing;
    operation->id_count = count;
    struct str text = arena_printf(
        &operation->arena, "(operationType eq delete) (targetLink eq \".*/instances/(%.*s)\")",
        STR_ARG(buf_str(&filter)));
    gcp_read_items(operation, "globalOperations.aggregatedList",
                   arena_printf(&operation->arena, "aggregated/operations?filter=%.*s",
                                STR_ARG(gcp_encoded(operation, text))),
                   "operations", machines_on_deleted);
}

/* ---- one instance of a change ---- */

struct machine_change {
    struct gcp_operation *operation;
    struct machine *machine;
    json_t *item; /* as listed */
    unsigned tries, pending;
    bool is_stale; /* another process has changed the labels or the metadata since */
    bool is_failed;
};

static void change_ended(struct machine_change *change)
{
    struct gcp_operation *operation = change->operation;
    if (--operation->pending == 0) {
        machines_ask_deleted(operation);
    }
}

/* The worst answer counts: unknown before refused. */
static void change_failed(struct machine_change *change, const struct gcp_reply *reply)
{
    struct gcp_operation *operation = change->operation;
    if (gcp_is_fine(operation) || reply->failure.outcome == OUTCOME_UNKNOWN) {
        gcp_fail_with(operation, reply);
    }
}

static struct str change_path(const struct machine_change *change, const char *verb)
{
    return arena_printf(&change->operation->arena, "zones/%.*s/instances/%.*s%s",
                        STR_ARG(change->machine->zone), STR_ARG(change->machine->id), verb);
}

static void change_on_done(void *context, const struct gcp_reply *reply)
{
    struct machine_change *change = context;
    struct gcp_operation *operation = change->operation;
    bool is_gone = !reply->is_ok && reply->failure.outcome == OUTCOME_NOT_FOUND;
    if (operation->what == CHANGE_TERMINATE && (reply->is_ok || is_gone)) {
        gcp_ended_add(operation->provider, change->machine);
    } else if (!reply->is_ok) {
        change_failed(change, reply);
    }
    change_ended(change);
}

static void change_power(struct machine_change *change)
{
    static const char *const names[] = {"instances.delete", "instances.stop", "instances.start"};
    /* Required of an instance with local SSDs, and without effect on others. */
    static const char *const verbs[] = {"", "/stop?discardLocalSsd=true", "/start"};
    int what = change->operation->what;
    gcp_call_start(change->operation->provider->client,
                   &(struct gcp_request){.name = names[what],
                                         .method = what == CHANGE_TERMINATE ? "DELETE" : "POST",
                                         .path = change_path(change, verbs[what]),
                                         .creates = what == CHANGE_START,
                                         .waits = what == CHANGE_START,
                                         .is_accepted_only = what != CHANGE_START,
                                         .done = change_on_done,
                                         .context = change});
}

/* ---- tags ---- */

static void change_tag(struct machine_change *change);

/* A stop has its tag first: without it, the stopped instance is a leftover. */
static void change_tagged(struct machine_change *change)
{
    if (change->operation->what == CHANGE_STOP) {
        change_power(change);
    } else {
        change_ended(change);
    }
}

static void change_on_fresh(void *context, const struct gcp_reply *reply)
{
    struct machine_change *change = context;
    if (!reply->is_ok) {
        change_failed(change, reply);
        change_ended(change);
        return;
    }
    const json_t *labels = json_object_get(reply->body, "labels");
    if (!str_eq(host_record_text(labels, TAG_CLUSTER_UID), change->operation->provider->uid)) {
        change->operation->unknown_count++;
        change_ended(change);
        return;
    }
    json_t *copy = json_deep_copy(reply->body);
    json_array_append_new(change->operation->items, copy);
    change->item = copy;
    change_tag(change);
}

static void change_read_again(struct machine_change *change)
{
    change->is_stale = false;
    gcp_call_start(change->operation->provider->client,
                   &(struct gcp_request){.name = "instances.get",
                                         .path = change_path(change, ""),
                                         .done = change_on_fresh,
                                         .context = change});
}

static void change_on_tagged(void *context, const struct gcp_reply *reply)
{
    struct machine_change *change = context;
    if (!reply->is_ok && reply->failure.status == 412 && change->tries < TAG_TRIES) {
        change->is_stale = true;
    } else if (!reply->is_ok) {
        bool is_gone = reply->failure.outcome == OUTCOME_NOT_FOUND;
        change->operation->unknown_count += is_gone && !change->is_failed;
        change->is_failed = true;
        if (!is_gone) {
            change_failed(change, reply);
        }
    }
    if (--change->pending > 0) {
        return;
    }
    if (change->is_failed) {
        change_ended(change);
    } else if (change->is_stale) {
        change->tries++;
        change_read_again(change);
    } else {
        change_tagged(change);
    }
}

static void change_send(struct machine_change *change, const char *name, const char *verb,
                        json_t *body)
{
    bool is_note = change->operation->what == CHANGE_NOTE;
    change->pending++;
    gcp_call_start(change->operation->provider->client,
                   &(struct gcp_request){.name = name,
                                         .method = "POST",
                                         .path = change_path(change, verb),
                                         .body = body,
                                         .waits = !is_note,
                                         .is_accepted_only = is_note,
                                         .done = change_on_tagged,
                                         .context = change});
    json_decref(body);
}

/* Labels and metadata at once. */
static void change_tag(struct machine_change *change)
{
    struct gcp_operation *operation = change->operation;
    struct machine_tag rests = gcp_rests_tag(change->machine, &operation->arena);
    json_object_del(operation->provider->seen, change->machine->id.ptr);
    bool is_stop = operation->what == CHANGE_STOP;
    json_t *labels = json_deep_copy(json_object_get(change->item, "labels"));
    const json_t *metadata = json_object_get(change->item, "metadata");
    json_t *items = json_deep_copy(json_object_get(metadata, "items"));
    labels = labels ? labels : json_object();
    items = items ? items : json_array();
    if (gcp_tags_add(labels, items, is_stop ? &rests : operation->tags,
                     is_stop ? 1 : operation->tag_count)) {
        change_send(change, "instances.setMetadata", "/setMetadata",
                    json_pack("{s:O, s:O}", "items", items, "fingerprint",
                              json_object_get(metadata, "fingerprint")));
    }
    json_decref(items);
    change_send(change, "instances.setLabels", "/setLabels",
                json_pack("{s:o, s:O}", "labels", labels, "labelFingerprint",
                          json_object_get(change->item, "labelFingerprint")));
}

/* ---- changes ---- */

/* Terminating instances of this process need no second call; Google limits these per instance. */
static bool machines_needs_change(const struct gcp_operation *operation,
                                  const struct machine *machine)
{
    return gcp_is_ours(operation->provider, machine) && machine_is_live(machine) &&
           machines_has_id(operation, machine->id);
}

static void machines_on_owned(struct gcp_operation *operation)
{
    size_t count = json_array_size(operation->items);
    if (!gcp_is_fine(operation)) {
        gcp_answer_done(operation);
        return;
    }
    operation->pending = 1;
    for (size_t i = 0; i < operation->listed_count && i < count; i++) {
        if (!machines_needs_change(operation, &operation->listed[i])) {
            continue;
        }
        struct machine_change *change = ARENA_NEW(&operation->arena, struct machine_change);
        *change = (struct machine_change){.operation = operation,
                                          .machine = &operation->listed[i],
                                          .item = json_array_get(operation->items, i)};
        operation->pending++;
        if (operation->what == CHANGE_TERMINATE || operation->what == CHANGE_START) {
            change_power(change);
        } else {
            change_tag(change);
        }
    }
    struct machine_change *last = ARENA_NEW(&operation->arena, struct machine_change);
    last->operation = operation;
    change_ended(last);
}

static struct gcp_operation *machines_change(struct provider *base, enum change what,
                                             const struct str *ids, size_t count,
                                             provider_done_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    operation->done = done;
    operation->what = (int)what;
    machines_copy_ids(operation, ids, count);
    return operation;
}

static void machines_begin(struct gcp_operation *operation)
{
    if (operation->id_count == 0) {
        gcp_later(operation, 0, gcp_answer_done);
    } else {
        gcp_read_own(operation, machines_on_owned);
    }
}

void gcp_terminate(struct provider *base, const struct str *ids, size_t count,
                   provider_done_fn *done, void *context)
{
    machines_begin(machines_change(base, CHANGE_TERMINATE, ids, count, done, context));
}

void gcp_stop(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
              void *context)
{
    machines_begin(machines_change(base, CHANGE_STOP, ids, count, done, context));
}

void gcp_start(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
               void *context)
{
    machines_begin(machines_change(base, CHANGE_START, ids, count, done, context));
}

static void machines_tag(struct gcp_operation *operation, const struct machine_tag *tags,
                         size_t count)
{
    struct machine_tag *copies = ARENA_ARRAY(&operation->arena, count, struct machine_tag);
    for (size_t i = 0; i < count; i++) {
        copies[i] = (struct machine_tag){arena_str(&operation->arena, tags[i].key),
                                         arena_str(&operation->arena, tags[i].value)};
    }
    operation->tags = copies;
    operation->tag_count = count;
    json_t *seen = operation->id_count > 0 ? gcp_seen_items(operation) : NULL;
    if (seen) { /* what has changed since is refused, and read again */
        gcp_use_instances(operation, seen, machines_on_owned);
    } else {
        machines_begin(operation);
    }
}

void gcp_tag_all(struct provider *base, const struct str *ids, size_t count,
                 const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                 void *context)
{
    machines_tag(machines_change(base, CHANGE_TAG, ids, count, done, context), tags, tag_count);
}

void gcp_note_all(struct provider *base, const struct str *ids, size_t count,
                  const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                  void *context)
{
    machines_tag(machines_change(base, CHANGE_NOTE, ids, count, done, context), tags, tag_count);
}
