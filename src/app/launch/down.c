/*
 * down.c: deletes a cluster: terminates every instance, proves that none is left, then deletes the
 * other resources. With cache_stopped_nodes, instances are stopped and the other resources stay.
 *
 *     evidence (lease object, names, journal) -> lease -> instances (down_terminate.c) -> the rest
 *
 * It works without the journal and without this machine's disk. Missing evidence makes the proof
 * stricter, never the conclusion weaker.
 */
#include "app/cloud_provider.h"
#include "app/core_times.h"
#include "app/launch/adopt.h"
#include "app/launch/down_internal.h"
#include "app/launch/stop_running_up.h"
#include "io/file.h"

#include <string.h>

enum { HORIZON_MS = 60 * 1000 };

void down_fail(struct down *down, const struct err *err)
{
    down->is_over = true;
    launch_end(&down->launch, err);
}

/* ---- what is left ---- */

static void down_add_left(struct down *down, const char *kind, struct str id, struct str note)
{
    struct launcher_result *result = down->launch.result;
    struct arena *arena = down->launch.arena;
    struct provider_resource *left = ARENA_ARRAY(arena, result->left_count + 1,
                                                 struct provider_resource);
    for (size_t i = 0; i < result->left_count; i++) {
        left[i] = result->left[i];
    }
    left[result->left_count++] = (struct provider_resource){
        .kind = str_from(kind), .id = arena_str(arena, id), .note = arena_str(arena, note)};
    result->left = left;
}

/* Reports instances that have the cluster's name but belong to another cluster. They are never
 * touched. */
static void name_strays(struct down *down)
{
    struct arena *arena = down->launch.arena;
    for (size_t i = 0; i < down->named_count; i++) {
        const struct machine *machine = &down->named[i];
        struct str uid = machine_tag_value(machine, TAG_CLUSTER_UID);
        if (ending_is_foreign(machine)) {
            down_add_left(
                down, "instance", machine->id,
                STR("has this cluster name, but was not launched by Shoal; if ray up launched it, "
                    "ray down terminates it"));
        } else if (machine->state != MACHINE_GONE && uid.len > 0 && !str_eq(uid, down->uid)) {
            down_add_left(down, "instance", machine->id,
                          arena_printf(arena,
                                       "belongs to another cluster with this name: add --uid %.*s "
                                       "to remove that cluster",
                                       STR_ARG(uid)));
        }
    }
}

static void down_count_nodes(struct down *down)
{
    struct launcher_result *result = down->launch.result;
    for (size_t i = 0; i < down->node_count; i++) {
        const struct down_node *node = &down->nodes[i];
        result->terminated_count += node->was_living && node->ending.state == MACHINE_GONE;
        result->stopped_count += node->ending.state == MACHINE_STOPPED && down->rules.keeps_stopped;
        result->kept_count += node->ending.is_kept && node->ending.state != MACHINE_GONE;
    }
}

/* ---- the end ---- */

static void down_on_released(void *context, const struct provider_answer *answer)
{
    struct down *down = context;
    (void)answer; /* the lease expires on its own */
    launch_end(&down->launch, NULL);
}

static void down_release(struct down *down)
{
    struct provider *provider = down->launch.provider;
    down->is_over = true;
    if (down->has_lease) {
        provider->ops->release(provider, down_on_released, down);
    } else {
        launch_end(&down->launch, NULL);
    }
}

static void on_removed(void *context, const struct provider_answer *answer,
                       const struct provider_resource *things, size_t count)
{
    struct down *down = context;
    struct cluster_session *launch = &down->launch;
    const struct launcher_hooks *hooks = &launch->setup->hooks;
    size_t before = launch->result->left_count;
    for (size_t i = 0; i < count; i++) {
        if (things[i].is_gone) {
            hooks->thing(hooks->context, &things[i], false);
        } else {
            down_add_left(down, arena_str(launch->arena, things[i].kind).ptr, things[i].id,
                          things[i].note);
        }
    }
    if (answer->outcome != OUTCOME_DONE) {
        down_fail(down, &answer->err);
        return;
    }
    launch->result->is_proven = launch->result->left_count == before;
    launch_end(launch, NULL);
}

void down_refused(struct down *down)
{
    down_count_nodes(down);
    for (size_t i = 0; i < down->node_count; i++) {
        const struct down_node *node = &down->nodes[i];
        if (node->ending.is_refused && node->ending.state != MACHINE_GONE) {
            down_add_left(down, "instance", node->id, node->refusal);
        }
    }
    down_release(down);
}

void down_proven(struct down *down)
{
    struct provider *provider = down->launch.provider;
    down_count_nodes(down);
    const struct launcher_result *result = down->launch.result;
    if (down->rules.is_workers_only || result->stopped_count > 0 || result->kept_count > 0) {
        down_release(down);
        return;
    }
    down->is_over = true;
    provider->ops->remove(provider, on_removed, down);
}

/* ---- evidence ---- */

static void down_add_uid(struct str *uids, size_t *count, struct str uid)
{
    for (size_t i = 0; i < *count; i++) {
        if (str_eq(uids[i], uid)) {
            return;
        }
    }
    uids[(*count)++] = uid;
}

static struct ending_evidence evidence_of(const struct down *down)
{
    const struct cluster_found *found = &down->found;
    struct str *uids = ARENA_ARRAY(down->launch.arena, found->uid_count + down->named_count + 1,
                                   struct str);
    struct ending_evidence evidence = {.asked = down->launch.setup->uid,
                                       .lease = found->uid,
                                       .journal = down->journal_uid,
                                       .seen = uids};
    for (size_t i = 0; i < found->uid_count; i++) {
        down_add_uid(uids, &evidence.seen_count, found->uids[i]);
    }
    for (size_t i = 0; i < down->named_count; i++) {
        struct str uid = machine_tag_value(&down->named[i], TAG_CLUSTER_UID);
        if (uid.len > 0 && down->named[i].state != MACHINE_GONE) {
            down_add_uid(uids, &evidence.seen_count, uid);
        }
    }
    return evidence;
}

static void refuse_several(struct down *down, const struct ending_evidence *evidence)
{
    AUTO_BUF struct buf uids;
    struct err err;
    buf_init(&uids, 4096);
    for (size_t i = 0; i < evidence->seen_count; i++) {
        buf_addf(&uids, "%s%.*s", i > 0 ? ", " : "", STR_ARG(evidence->seen[i]));
    }
    err_set(&err, ERR_EXISTS,
            "%zu clusters have the name %.*s, and none has a lease object; nothing was changed. "
            "Choose the one to remove with --uid: %.*s",
            evidence->seen_count, STR_ARG(down->launch.config->cluster_name),
            STR_ARG(buf_str(&uids)));
    down_fail(down, &err);
}

static void down_on_found(void *context, const struct provider_answer *answer,
                          const struct cluster_found *found)
{
    struct down *down = context;
    struct arena *arena = down->launch.arena;
    if (answer->outcome != OUTCOME_DONE) {
        down_fail(down, &answer->err);
        return;
    }
    struct str *uids = ARENA_ARRAY(arena, found->uid_count, struct str);
    for (size_t i = 0; i < found->uid_count; i++) {
        uids[i] = arena_str(arena, found->uids[i]);
    }
    down->found = *found;
    down->found.uid = arena_str(arena, found->uid);
    down->found.uids = uids;
    struct ending_evidence evidence = evidence_of(down);
    switch (ending_choose(&evidence, &down->uid)) {
    case ENDING_SEVERAL:
        refuse_several(down, &evidence);
        return;
    case ENDING_NOTHING:
        name_strays(down);
        down->launch.result->is_absent = true;
        down->is_over = true;
        launch_end(&down->launch, NULL);
        return;
    case ENDING_ONE:
        break;
    }
    name_strays(down);
    if (!str_eq(down->uid, down->journal_uid)) { /* the journal describes another cluster */
        down->node_count = down->launch_count = 0;
        down->highest = HEAD_INSTANCE;
        down->holders = STR("");
    }
    down_take(down);
}

static struct machine machine_copy(struct arena *arena, const struct machine *machine)
{
    struct machine copy = *machine;
    struct machine_tag *tags = ARENA_ARRAY(arena, machine->tag_count, struct machine_tag);
    for (size_t i = 0; i < machine->tag_count; i++) {
        tags[i] = (struct machine_tag){arena_str(arena, machine->tags[i].key),
                                       arena_str(arena, machine->tags[i].value)};
    }
    copy.id = arena_str(arena, machine->id);
    copy.type = arena_str(arena, machine->type);
    copy.public_ip = arena_str(arena, machine->public_ip);
    copy.private_ip = arena_str(arena, machine->private_ip);
    copy.zone = copy.why = copy.token = STR("");
    copy.tags = tags;
    return copy;
}

static void on_named(void *context, const struct provider_answer *answer,
                     const struct machine *machines, size_t count)
{
    struct down *down = context;
    if (answer->outcome != OUTCOME_DONE) {
        down_fail(down, &answer->err);
        return;
    }
    down->named = ARENA_ARRAY(down->launch.arena, count, struct machine);
    for (size_t i = 0; i < count; i++) {
        down->named[down->named_count++] = machine_copy(down->launch.arena, &machines[i]);
    }
    down->launch.provider->ops->find(down->launch.provider, down_on_found, down);
}

bool down_run(struct down *down, struct err *err)
{
    struct cluster_session *launch = &down->launch;
    struct core_times times;
    core_times_make(&times, PLAN_NO_LIMIT);
    if (config_is_local(launch->config)) {
        core_times_list_at_once(&times);
    }
    down->rules = (struct ending_rules){.keeps_stopped = launch->setup->keeps_stopped,
                                        .is_workers_only = launch->setup->is_workers_only};
    down->times = (struct ending_times){.horizon = times.horizon < HORIZON_MS ? times.horizon
                                                                              : HORIZON_MS,
                                        .call_timeout = times.call_timeout};
    if (launch->setup->keeps_min) {
        down->kept = ARENA_ARRAY(launch->arena, launch->config->node_type_count, int64_t);
    }
    arena_init(&down->round);
    down_read_past(down);
    launch->provider->ops->list_by(launch->provider, &(struct machine_query){0}, on_named, down);
    bool ok = cloud_session_run(launch->session, err);
    if (ok && !launch->is_ok) {
        *err = launch->err;
        ok = false;
    }
    down->is_over = true;
    launch->result->took_ms = loop_now_ms(launch->session->loop) - launch->began_ms;
    down_lease_close(down);
    if (down->again) {
        loop_timer_free(down->again);
    }
    arena_clear(&down->round);
    return ok;
}

/* ---- entry points ---- */

/* Opens the journal if possible. Its lock only excludes other processes on this machine; a full or
 * read-only disk must not keep instances running. */
static bool down_open_journal(struct cluster_session *launch, struct err *err)
{
    struct str holder = launch_holder("down", launch->arena);
    struct err why;
    /* What is left over may be of another cluster with the same name and folder. */
    bool may_stop_others = !launch->setup->is_leftover && !launch->setup->is_expired;
    if (!launch->state.folder || file_stat(launch->state.folder).kind == FILE_MISSING ||
        (may_stop_others
             ? take_over_journal(launch, holder.ptr, &why)
             : journal_open(launch->state.folder, holder.ptr, &launch->journal, &why))) {
        return true;
    }
    if (why.kind == ERR_EXISTS) {
        *err = why;
        return false;
    }
    if (!journal_open(launch->state.folder, NULL, &launch->journal, err)) {
        launch->journal = NULL;
    }
    launch_note(launch, "the journal of this cluster cannot be written (%s); continuing %s",
                why.text, launch->journal ? "with what it contains" : "without it");
    return true;
}

/* Only the records of the owner whose cluster this is. Without them, the cloud alone says what
 * exists. */
static bool down_open_state(struct cluster_session *launch, struct err *err)
{
    if (!adopt_records(launch, err)) {
        return false;
    }
    struct cluster_folder folder = cluster_folder_find(launch->config, launch->arena);
    return folder.is_unowned
               ? cluster_state_refuse(launch->config, folder.path, err)
               : cluster_state_open(launch->config, false, launch->arena, &launch->state, err);
}

/* Nothing was found, but this machine knows such a cluster: of another owner, or of one that cannot
 * be told. */
static bool down_is_missing(const struct cluster_session *launch, struct err *err)
{
    const struct launcher_setup *setup = launch->setup;
    struct cluster_folder folder = cluster_folder_find(launch->config, launch->arena);
    bool is_known = cluster_folder_owner(launch->config, launch->arena).len > 0;
    if (!launch->result->is_absent || setup->is_leftover || setup->is_expired) {
        return false;
    }
    if (folder.has_records && !is_known) {
        return !err_set(err, ERR_NOT_FOUND,
                        "no cluster %.*s was found, but this machine has records of one in %s, and "
                        "it is not known whose account these credentials are of",
                        STR_ARG(launch->config->cluster_name), folder.path);
    }
    if (folder.is_unowned) {
        return !cluster_state_refuse(launch->config, folder.path, err);
    }
    return !folder.has_records && folder.other.len > 0 &&
           !adopt_refuse(launch->config, folder.other, launch->arena, err);
}

static bool down_open_all(struct cluster_session *launch, struct err *err)
{
    const struct launcher_setup *setup = launch->setup;
    struct err why;
    launch->session = setup->session;
    launch->config = setup->config;
    launch->began_ms = loop_now_ms(launch->session->loop);
    diag_list_init(&launch->diags, launch->arena);
    if (!cloud_provider_open(launch->session, launch->config, setup->profile, launch->arena,
                             &launch->provider, err)) {
        return false;
    }
    if (!down_open_state(launch, &why)) {
        launch_note(launch,
                    "this machine's records of the cluster cannot be used (%s); continuing "
                    "without them",
                    why.text);
        launch->state = (struct cluster_state){0};
    }
    if (!core_setup_make(launch->arena, launch->config, NULL, &launch->diags, &launch->core,
                         &why)) {
        launch->core = (struct core_setup){0}; /* only prices are missing without it */
    }
    if (!down_open_journal(launch, err)) {
        return false;
    }
    if (launch->journal && launch->core.facts && !launch_place_as_before(launch, &why)) {
        launch->core.book.table = (struct price_table){0};
    }
    return true;
}

/* Deletes machines and launches from the journal: a later `up` that starts these instances again
 * must not treat them as new, and need not wait for launches of earlier processes. */
static bool forget_all(struct journal *journal, uint64_t epoch, struct err *err)
{
    if (!journal_begin(journal, err)) {
        return false;
    }
    bool ok = journal_forget_machines(journal, err) &&
              journal_set(journal, "applied", STR(""), err) &&
              (epoch == 0 || (journal_set_number(journal, "epoch", epoch, err) &&
                              journal_set_number(journal, "sole_writer_since", 0, err)));
    return journal_end(journal, ok, err);
}

static void forget_stopped(struct cluster_session *launch, uint64_t epoch)
{
    struct err err;
    if (launch->journal && !forget_all(launch->journal, epoch, &err)) {
        launch_note(launch, "the journal of this cluster cannot be written: %s", err.text);
    }
}

/* The key and the journal are deleted only if nothing is left of their cluster, or if the cluster
 * never existed because its `up` was killed before it created anything. */
bool down_may_forget(const struct down *down)
{
    const struct launcher_result *result = down->launch.result;
    bool is_other = down->has_journal_uid && !str_eq(down->journal_uid, down->uid);
    if (result->is_absent) {
        return down->has_no_past && !down->rules.is_workers_only;
    }
    return result->is_proven && !is_other;
}

static void forget_cluster(const struct down *down)
{
    const struct cluster_session *launch = &down->launch;
    struct err err;
    if (!down_may_forget(down) || !launch->state.folder ||
        file_stat(launch->state.folder).kind == FILE_MISSING) {
        return;
    }
    if (!cluster_state_remove(&launch->state, &err)) {
        launch_note(launch, "%s. Delete %s by hand", err.text, launch->state.folder);
    } else if (launch->result->is_absent) {
        launch_note(launch,
                    "deleted the files that an interrupted `shoal up` left on this machine: %s",
                    launch->state.folder);
    }
}

bool launcher_down(const struct launcher_setup *setup, struct arena *arena,
                   struct launcher_result *ret_result, struct err *err)
{
    struct down down = {.launch = {.setup = setup, .result = ret_result, .arena = arena}};
    struct cluster_session *launch = &down.launch;
    *ret_result = (struct launcher_result){0};
    bool ok = down_open_all(launch, err) && down_run(&down, err);
    if (ok && ret_result->stopped_count > 0 && !setup->is_workers_only) {
        forget_stopped(launch, down.epoch);
    }
    if (ok && ret_result->is_absent && launch->state.folder) {
        ret_result->other_region = cluster_state_elsewhere(launch->config, arena);
    }
    launch_close(launch);
    if (ok && down_is_missing(launch, err)) {
        return false;
    }
    if (ok) {
        forget_cluster(&down);
    }
    return ok;
}
