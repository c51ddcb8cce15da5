/* lease.c: the cluster's lease, in the record; and who else has its name. */
#include "base/encode.h"
#include "io/json_line.h"
#include "provider/gcp/gcp_operation.h"
#include "provider/gcp/wire/gcp_names.h"
#include "provider/host_record.h"
#include "provider/random_id.h"
#include "provider/record_uid.h"

#include <stdio.h>

enum { EPOCHS_KEPT_S = 20 * 60, NAMED_MS = 30 * 1000, OBJECT_BYTES_MAX = 16 * 1024 };

static void lease_set_missing(struct gcp_operation *operation)
{
    gcp_failed(operation, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
               "the project has no record of this cluster");
}

/* The record that was written, so that who is handed the lease need not read it. */
static struct str lease_object(struct gcp_operation *operation)
{
    AUTO_BUF struct buf text;
    buf_init(&text, OBJECT_BYTES_MAX);
    if (!gcp_is_fine(operation) || operation->made == 0) {
        return STR("");
    }
    json_t *object = json_pack("{s:I, s:O}", "version", (json_int_t)operation->made, "record",
                               operation->record);
    bool fits = json_add(object, &text);
    json_decref(object);
    return fits ? arena_str(&operation->arena, buf_str(&text)) : STR("");
}

static void lease_answer(struct gcp_operation *operation, bool has_lease)
{
    struct cluster_lease lease = host_record_lease(operation->record);
    lease.lease_object = lease_object(operation);
    lease.account = gcp_client_project(operation->provider->client);
    operation->leased(operation->context, &operation->answer, has_lease ? &lease : NULL);
    gcp_end(operation);
}

/* From now on the client may create, until the lease ends by either clock. */
static void lease_hold(struct gcp_operation *operation, int64_t lease_ms)
{
    struct gcp_provider *provider = operation->provider;
    struct cluster_lease lease = host_record_lease(operation->record);
    provider->lease_ends_ms = operation->edited_ms + lease_ms;
    gcp_client_set_lease(provider->client,
                         (struct gcp_lease){provider->lease_ends_ms, lease.until * 1000});
}

static void lease_drop(struct gcp_provider *provider)
{
    provider->lease_ends_ms = 0;
    gcp_client_set_lease(provider->client, (struct gcp_lease){0});
}

static size_t lease_uids(const struct gcp_operation *operation, struct str *uids)
{
    return record_uids(operation->listed, operation->listed_count,
                       operation->provider->cluster->name, uids);
}

static bool lease_new_uid(struct gcp_operation *operation)
{
    if (!random_id(&operation->arena, &operation->uid, &operation->answer.err)) {
        operation->answer.outcome = OUTCOME_INVALID;
        return false;
    }
    return true;
}

/* ---- taking ---- */

static bool lease_contradicts(const struct gcp_operation *operation)
{
    return record_uid_contradicts(operation->record, operation->request.known_uid);
}

/* When each epoch of the last minutes began: a launch of an older one is not sent again. */
static void lease_note_epoch(struct gcp_operation *operation)
{
    struct cluster_lease lease = host_record_lease(operation->record);
    json_t *epochs = json_object_get(operation->record, "epochs");
    char key[32];
    const char *name;
    json_t *since;
    void *next;
    if (!json_is_object(epochs)) {
        epochs = json_object();
        json_object_set_new(operation->record, "epochs", epochs);
    }
    json_object_foreach_safe(epochs, next, name, since)
    {
        if (json_integer_value(since) + EPOCHS_KEPT_S < operation->now) {
            json_object_del(epochs, name);
        }
    }
    snprintf(key, sizeof(key), "%llu", (unsigned long long)lease.epoch);
    json_object_set_new(epochs, key, json_integer(operation->now));
}

static enum gcp_edit lease_edit_take(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    struct lease_change change = {.cluster = provider->cluster->name,
                                  .request = &operation->request,
                                  .uid = operation->uid,
                                  .nonce = provider->nonce,
                                  .now = operation->now,
                                  .keeps_uid = operation->keeps_uid};
    if (!operation->has_listed && (!operation->record || lease_contradicts(operation))) {
        return GCP_KEEP; /* what is listed decides */
    }
    if (!operation->record && operation->uid.len == 0) {
        lease_set_missing(operation);
        return GCP_KEEP;
    }
    operation->answer.outcome = host_record_take(&operation->record, &change,
                                                 &operation->answer.err);
    if (!gcp_is_fine(operation)) {
        return GCP_KEEP;
    }
    lease_note_epoch(operation);
    if (operation->request.may_create) { /* `up`: where `ls` shows the cluster */
        json_put_text(operation->record, "region",
                      param_text(provider->cluster->provider, "region"));
    }
    if (operation->request.key.len > 0) {
        json_object_set_new(operation->record, "key", json_string(operation->request.key.ptr));
    }
    return GCP_WRITE;
}

static void lease_choose_uid(struct gcp_operation *operation);

static void lease_on_taken(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    enum outcome outcome = operation->answer.outcome;
    if (outcome == OUTCOME_DONE && !operation->has_listed &&
        (!operation->record || lease_contradicts(operation))) {
        operation->has_listed = true;
        gcp_read_by_name(operation, lease_choose_uid);
        return;
    }
    provider->epoch = 0;
    lease_drop(provider);
    if (outcome == OUTCOME_DONE) {
        struct cluster_lease lease = host_record_lease(operation->record);
        gcp_adopt(&provider->base, lease.uid);
        provider->epoch = lease.epoch;
        provider->is_new = operation->version == 0 && !operation->keeps_uid;
        provider->is_unused = provider->is_new;
        provider->key = arena_str(&provider->arena, host_record_text(operation->record, "key"));
        lease_hold(operation, operation->request.lease_ms);
    }
    lease_answer(operation, outcome == OUTCOME_DONE || outcome == OUTCOME_MISMATCH);
}

/* `down` creates no record. With a uid it can still terminate what is listed. */
static void lease_give_up(struct gcp_operation *operation, struct str uid)
{
    struct cluster_lease lease = {.uid = uid};
    if (uid.len > 0) {
        gcp_adopt(&operation->provider->base, uid);
    }
    lease_set_missing(operation);
    operation->leased(operation->context, &operation->answer, &lease);
    gcp_end(operation);
}

/* The uid of a new record is that of live instances with this name, the journal's, or new. */
static void lease_choose_uid(struct gcp_operation *operation)
{
    const struct take_request *request = &operation->request;
    struct str *uids = ARENA_ARRAY(&operation->arena, operation->listed_count, struct str);
    size_t count = lease_uids(operation, uids);
    if (!gcp_is_fine(operation) ||
        !record_uid_check(operation->record, operation->provider->cluster->name, request->known_uid,
                          uids, count, &operation->answer)) {
        lease_answer(operation, false);
        return;
    }
    struct str known = count == 1 ? arena_str(&operation->arena, uids[0]) : request->known_uid;
    if (!operation->record && !request->may_create) {
        lease_give_up(operation, known);
        return;
    }
    operation->keeps_uid = known.len > 0;
    operation->uid = known;
    if (known.len == 0 && !lease_new_uid(operation)) {
        lease_answer(operation, false);
        return;
    }
    bool is_new = request->is_new && !operation->record && known.len == 0;
    (is_new ? gcp_make_record : gcp_edit_record)(operation, lease_edit_take, lease_on_taken);
}

/* Who creates the cluster after that listing creates its record, too, and this write fails. */
static void lease_read_named(struct gcp_operation *operation)
{
    struct gcp_provider *provider = operation->provider;
    json_t *named = provider->named;
    provider->named = NULL;
    if (named && loop_now_ms(provider->loop) < provider->named_ms + NAMED_MS) {
        gcp_use_instances(operation, named, lease_choose_uid);
    } else {
        json_decref(named);
        gcp_read_by_name(operation, lease_choose_uid);
    }
}

/* The record as it was handed over. This machine's clock must agree with it: Google's is not known
 * before the first reply. */
static bool lease_is_given(struct gcp_operation *operation)
{
    const struct take_request *request = &operation->request;
    int64_t now = gcp_client_now_ms(operation->provider->client) / 1000;
    json_t *object;
    struct err ignored;
    if (request->lease_object.len == 0 ||
        !json_line_read(request->lease_object, "a lease", &object, &ignored)) {
        return false;
    }
    json_t *record = json_object_get(object, "record");
    struct cluster_lease lease = host_record_lease(record);
    operation->version = host_record_number(object, "version");
    bool is_given = operation->version > 0 && request->uid.len > 0 &&
                    lease.epoch == request->from &&
                    host_record_is_of(record, operation->provider->cluster->name, request->uid) &&
                    now >= lease.since && now < lease.until;
    operation->record = is_given ? json_incref(record) : NULL;
    operation->version = is_given ? operation->version : 0;
    json_decref(object);
    return is_given;
}

static void lease_take_given(struct gcp_operation *operation)
{
    gcp_make_record(operation, lease_edit_take, lease_on_taken);
}

void gcp_take(struct provider *base, const struct take_request *request, provider_lease_fn *done,
              void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    operation->leased = done;
    operation->request = *request;
    operation->request.holder = arena_str(&operation->arena, request->holder);
    operation->request.known_uid = arena_str(&operation->arena, request->known_uid);
    operation->request.key = arena_str(&operation->arena, str_trim(request->key));
    operation->request.uid = arena_str(&operation->arena, request->uid);
    operation->request.lease_object = arena_str(&operation->arena, request->lease_object);
    operation->has_listed = request->is_new && request->may_create;
    if (lease_is_given(operation)) {
        operation->has_listed = false;
        gcp_later(operation, 0, lease_take_given);
    } else if (operation->has_listed) {
        lease_read_named(operation);
    } else {
        gcp_edit_record(operation, lease_edit_take, lease_on_taken);
    }
}

/* ---- renewing and releasing ---- */

static enum gcp_edit lease_edit_renew(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    json_t *own = gcp_owns(provider, operation->record) ? operation->record : NULL;
    operation->answer.outcome = host_record_renew(own, provider->epoch, operation->lease_ms,
                                                  operation->now, &operation->answer.err);
    return gcp_is_fine(operation) ? GCP_WRITE : GCP_KEEP;
}

static void lease_on_renewed(struct gcp_operation *operation)
{
    enum outcome outcome = operation->answer.outcome;
    bool is_taken = outcome == OUTCOME_MISMATCH && operation->answer.err.kind == ERR_EXISTS;
    if (outcome == OUTCOME_DONE) {
        lease_hold(operation, operation->lease_ms);
    } else if (outcome == OUTCOME_MISMATCH) {
        lease_drop(operation->provider);
    }
    lease_answer(operation, outcome == OUTCOME_DONE || is_taken);
}

void gcp_renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    operation->leased = done;
    operation->lease_ms = lease_ms;
    gcp_edit_record(operation, lease_edit_renew, lease_on_renewed);
}

static enum gcp_edit lease_edit_release(struct gcp_operation *operation)
{
    const struct gcp_provider *provider = operation->provider;
    if (!gcp_owns(provider, operation->record)) {
        return GCP_KEEP;
    }
    host_record_release(operation->record, provider->epoch);
    return GCP_WRITE;
}

static void lease_on_released(struct gcp_operation *operation)
{
    if (gcp_is_fine(operation)) {
        operation->provider->epoch = 0;
        lease_drop(operation->provider);
    }
    gcp_answer_done(operation);
}

void gcp_release(struct provider *base, provider_done_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    operation->done = done;
    gcp_edit_record(operation, lease_edit_release, lease_on_released);
}

/* ---- evidence ---- */

static void lease_on_found(struct gcp_operation *operation)
{
    struct cluster_found found = {.uids = operation->uids, .uid_count = operation->uid_count};
    if (operation->record) {
        struct cluster_lease lease = host_record_lease(operation->record);
        found.has_lease = true;
        found.uid = lease.uid;
        found.lease_until = lease.until;
    }
    operation->found(operation->context, &operation->answer,
                     gcp_is_fine(operation) ? &found : NULL);
    gcp_end(operation);
}

/* Rules may be all that is left. */
static void lease_on_rules(struct gcp_operation *operation)
{
    size_t rules = gcp_is_fine(operation) ? json_array_size(operation->items) : 0;
    struct str *uids = ARENA_ARRAY(&operation->arena, operation->uid_count + rules, struct str);
    for (size_t i = 0; i < operation->uid_count; i++) {
        uids[i] = operation->uids[i];
    }
    for (size_t i = 0; i < rules; i++) {
        struct str uid = gcp_rule_uid(
            host_record_text(json_array_get(operation->items, i), "description"));
        size_t at = 0;
        while (at < operation->uid_count && !str_eq(uids[at], uid)) {
            at++;
        }
        if (at == operation->uid_count && uid.len > 0) {
            uids[operation->uid_count++] = uid;
        }
    }
    operation->uids = uids;
    lease_on_found(operation);
}

static void lease_on_named(struct gcp_operation *operation)
{
    struct arena *arena = &operation->arena;
    operation->uids = ARENA_ARRAY(arena, operation->listed_count, struct str);
    operation->uid_count = lease_uids(operation, operation->uids);
    for (size_t i = 0; i < operation->uid_count; i++) { /* the listing goes with the next one */
        operation->uids[i] = arena_str(arena, operation->uids[i]);
    }
    if (!gcp_is_fine(operation)) {
        lease_on_found(operation);
        return;
    }
    struct str filter = arena_printf(arena, "name eq shoal-%.*s-.*",
                                     STR_ARG(operation->provider->part));
    gcp_read_items(operation, "firewalls.list",
                   arena_printf(arena, "global/firewalls?filter=%.*s",
                                STR_ARG(gcp_encoded(operation, filter))),
                   NULL, lease_on_rules);
}

static void lease_on_read(struct gcp_operation *operation)
{
    if (!gcp_is_fine(operation)) {
        lease_on_found(operation);
        return;
    }
    gcp_read_by_name(operation, lease_on_named);
}

void gcp_find(struct provider *base, provider_found_fn *done, void *context)
{
    struct gcp_operation *operation = gcp_begin(gcp_of(base), context);
    operation->found = done;
    operation->is_strict = true; /* absence is proven */
    gcp_read_record(operation, lease_on_read);
}
