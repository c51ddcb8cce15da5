/* external_lease.c: the cluster's lease, in the record; and who else has its name. */
#include "base/encode.h"
#include "provider/external/external_operation.h"
#include "provider/host_record.h"
#include "provider/random_id.h"
#include "provider/record_uid.h"

static void external_lease_set_missing(struct external_operation *operation)
{
    external_failed(operation, OUTCOME_NOT_FOUND, ERR_NOT_FOUND,
                    "the plug-in has stored nothing for this cluster");
}

static void external_lease_answer(struct external_operation *operation, bool has_lease)
{
    struct cluster_lease lease = host_record_lease(operation->record);
    operation->leased(operation->context, &operation->answer, has_lease ? &lease : NULL);
    external_end(operation);
}

static size_t external_lease_uids(const struct external_operation *operation, struct str *uids)
{
    return record_uids(operation->listed, operation->listed_count,
                       operation->provider->cluster->name, uids);
}

static bool external_lease_new_uid(struct external_operation *operation)
{
    if (!random_id(&operation->arena, &operation->uid, &operation->answer.err)) {
        operation->answer.outcome = OUTCOME_INVALID;
        return false;
    }
    return true;
}

/* ---- taking ---- */

static bool contradicts_journal(const struct external_operation *operation)
{
    return record_uid_contradicts(operation->record, operation->request.known_uid);
}

static enum external_edit external_lease_edit_take(struct external_operation *operation)
{
    const struct external_provider *provider = operation->provider;
    struct lease_change change = {.cluster = provider->cluster->name,
                                  .request = &operation->request,
                                  .uid = operation->uid,
                                  .nonce = provider->nonce,
                                  .now = operation->now,
                                  .keeps_uid = operation->keeps_uid};
    if (!operation->has_listed && (!operation->record || contradicts_journal(operation))) {
        return RECORD_KEEP; /* what is listed decides */
    }
    if (!operation->record && operation->uid.len == 0) {
        external_lease_set_missing(operation);
        return RECORD_KEEP;
    }
    operation->answer.outcome = host_record_take(&operation->record, &change,
                                                 &operation->answer.err);
    return operation->answer.outcome == OUTCOME_DONE ? RECORD_WRITE : RECORD_KEEP;
}

static void external_lease_choose_uid(struct external_operation *operation);

static void external_lease_on_taken(struct external_operation *operation)
{
    struct external_provider *provider = operation->provider;
    enum outcome outcome = operation->answer.outcome;
    if (outcome == OUTCOME_DONE && !operation->has_listed &&
        (!operation->record || contradicts_journal(operation))) {
        operation->has_listed = true;
        external_read_list(operation, external_lease_choose_uid);
        return;
    }
    provider->epoch = 0;
    if (outcome == OUTCOME_DONE) {
        struct cluster_lease lease = host_record_lease(operation->record);
        provider->uid = arena_str(&provider->arena, lease.uid);
        provider->epoch = lease.epoch;
        provider->lease_ends_ms = operation->began_ms + operation->request.lease_ms;
    }
    external_lease_answer(operation, outcome == OUTCOME_DONE || outcome == OUTCOME_MISMATCH);
}

/* `down` creates no record. With a uid it can still terminate what is listed. */
static void external_lease_give_up(struct external_operation *operation, struct str uid)
{
    struct cluster_lease lease = {.uid = uid};
    if (uid.len > 0) {
        external_adopt(&operation->provider->base, uid);
    }
    external_lease_set_missing(operation);
    operation->leased(operation->context, &operation->answer, &lease);
    external_end(operation);
}

/* The uid of a new record is that of live instances with this name, the journal's, or new. */
static void external_lease_choose_uid(struct external_operation *operation)
{
    const struct take_request *request = &operation->request;
    struct str *uids = ARENA_ARRAY(&operation->arena, operation->listed_count, struct str);
    size_t count = external_lease_uids(operation, uids);
    if (operation->answer.outcome != OUTCOME_DONE ||
        !record_uid_check(operation->record, operation->provider->cluster->name, request->known_uid,
                          uids, count, &operation->answer)) {
        external_lease_answer(operation, false);
        return;
    }
    struct str known = count == 1 ? uids[0] : request->known_uid;
    if (!operation->record && !request->may_create) {
        external_lease_give_up(operation, known);
        return;
    }
    operation->keeps_uid = known.len > 0;
    operation->uid = known;
    if (known.len == 0 && !external_lease_new_uid(operation)) {
        external_lease_answer(operation, false);
        return;
    }
    external_edit_record(operation, external_lease_edit_take, external_lease_on_taken);
}

void external_take(struct provider *base, const struct take_request *request,
                   provider_lease_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->leased = done;
    operation->request = *request;
    operation->request.holder = arena_str(&operation->arena, request->holder);
    operation->request.known_uid = arena_str(&operation->arena, request->known_uid);
    external_edit_record(operation, external_lease_edit_take, external_lease_on_taken);
}

/* ---- renewing and releasing ---- */

static enum external_edit external_lease_edit_renew(struct external_operation *operation)
{
    const struct external_provider *provider = operation->provider;
    json_t *own = external_owns(provider, operation->record) ? operation->record : NULL;
    operation->answer.outcome = host_record_renew(own, provider->epoch, operation->lease_ms,
                                                  operation->now, &operation->answer.err);
    return operation->answer.outcome == OUTCOME_DONE ? RECORD_WRITE : RECORD_KEEP;
}

static void external_lease_on_renewed(struct external_operation *operation)
{
    struct external_provider *provider = operation->provider;
    enum outcome outcome = operation->answer.outcome;
    bool is_taken = outcome == OUTCOME_MISMATCH && operation->answer.err.kind == ERR_EXISTS;
    if (outcome == OUTCOME_DONE) {
        provider->lease_ends_ms = operation->began_ms + operation->lease_ms;
    } else if (outcome == OUTCOME_MISMATCH) {
        provider->lease_ends_ms = 0;
    }
    external_lease_answer(operation, outcome == OUTCOME_DONE || is_taken);
}

void external_renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->leased = done;
    operation->lease_ms = lease_ms;
    external_edit_record(operation, external_lease_edit_renew, external_lease_on_renewed);
}

static enum external_edit external_lease_edit_release(struct external_operation *operation)
{
    const struct external_provider *provider = operation->provider;
    if (!external_owns(provider, operation->record)) {
        return RECORD_KEEP;
    }
    host_record_release(operation->record, provider->epoch);
    return RECORD_WRITE;
}

static void external_lease_on_released(struct external_operation *operation)
{
    if (operation->answer.outcome == OUTCOME_DONE) {
        operation->provider->epoch = 0;
        operation->provider->lease_ends_ms = 0;
    }
    external_answer_done(operation);
}

void external_release(struct provider *base, provider_done_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->done = done;
    external_edit_record(operation, external_lease_edit_release, external_lease_on_released);
}

void external_adopt(struct provider *base, struct str uid)
{
    struct external_provider *provider = external_of(base);
    provider->uid = arena_str(&provider->arena, uid);
}

/* ---- evidence ---- */

static enum external_edit external_lease_edit_nothing(struct external_operation *operation)
{
    (void)operation;
    return RECORD_KEEP;
}

static void external_lease_on_found(struct external_operation *operation)
{
    struct str *uids = ARENA_ARRAY(&operation->arena, operation->listed_count, struct str);
    struct cluster_found found = {.uids = uids, .uid_count = external_lease_uids(operation, uids)};
    if (operation->record) {
        struct cluster_lease lease = host_record_lease(operation->record);
        found.has_lease = true;
        found.uid = lease.uid;
        found.lease_until = lease.until;
    }
    operation->found(operation->context, &operation->answer,
                     operation->answer.outcome == OUTCOME_DONE ? &found : NULL);
    external_end(operation);
}

static void external_lease_on_read(struct external_operation *operation)
{
    if (operation->answer.outcome != OUTCOME_DONE) {
        external_lease_on_found(operation);
        return;
    }
    external_read_list(operation, external_lease_on_found);
}

void external_find(struct provider *base, provider_found_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->found = done;
    external_edit_record(operation, external_lease_edit_nothing, external_lease_on_read);
}

/* ---- the record as a resource ---- */

static void external_lease_answer_record(struct external_operation *operation, bool is_there,
                                         bool is_gone)
{
    struct provider_resource thing = {
        .kind = STR("record"), .id = operation->provider->cluster->name, .is_gone = is_gone};
    bool is_done = operation->answer.outcome == OUTCOME_DONE;
    operation->resources(operation->context, &operation->answer, &thing, is_done && is_there);
    external_end(operation);
}

static enum external_edit external_lease_edit_prepare(struct external_operation *operation)
{
    if (!operation->is_look) {
        (void)external_check_lease(operation);
    }
    return RECORD_KEEP;
}

static void external_lease_on_prepared(struct external_operation *operation)
{
    external_lease_answer_record(operation, true, false);
}

/* The user data of a launch has the key, so there is nothing to create. Without a key it only looks
 * up, which needs no lease. */
void external_prepare(struct provider *base, struct str key, provider_resources_fn *done,
                      void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->resources = done;
    operation->is_look = key.len == 0;
    external_edit_record(operation, external_lease_edit_prepare, external_lease_on_prepared);
}

static enum external_edit external_lease_edit_remove(struct external_operation *operation)
{
    bool is_ours = operation->provider->uid.len > 0 &&
                   external_owns(operation->provider, operation->record);
    operation->is_removed = is_ours;
    return is_ours ? RECORD_REMOVE : RECORD_KEEP;
}

static void external_lease_on_removed(struct external_operation *operation)
{
    external_lease_answer_record(operation, operation->is_removed, true);
}

static void external_lease_on_nodes_read(struct external_operation *operation)
{
    struct provider_resource *things = ARENA_ARRAY(&operation->arena, operation->listed_count,
                                                   struct provider_resource);
    size_t count = 0;
    for (size_t i = 0; i < operation->listed_count; i++) {
        const struct machine *machine = &operation->listed[i];
        if (external_is_ours(operation->provider, machine) && machine_is_live(machine)) {
            things[count++] = (struct provider_resource){
                .kind = STR("instance"), .id = machine->id, .note = STR("still in use")};
        }
    }
    if (operation->answer.outcome != OUTCOME_DONE || count > 0) {
        operation->resources(operation->context, &operation->answer, things, count);
        external_end(operation);
        return;
    }
    external_edit_record(operation, external_lease_edit_remove, external_lease_on_removed);
}

void external_remove(struct provider *base, provider_resources_fn *done, void *context)
{
    struct external_operation *operation = external_begin(external_of(base), context);
    operation->resources = done;
    external_read_own(operation, external_lease_on_nodes_read);
}
