/* adopt.c: asks the cloud for the owner, and looks for the uid of records without one. */
#include "app/launch/adopt.h"

struct adopt_run {
    struct cluster_session *launch;
    struct str uid; /* of the records */
    bool is_found;
    struct err err;
};

static void adopt_end(struct adopt_run *run, const struct provider_answer *answer)
{
    if (answer->outcome != OUTCOME_DONE) {
        run->err = answer->err;
    }
    cloud_session_stop(run->launch->session);
}

/* ---- the owner ---- */

static void adopt_on_owner(void *context, const struct provider_answer *answer, struct str owner)
{
    struct adopt_run *run = context;
    if (answer->outcome == OUTCOME_DONE) {
        cluster_folder_know(run->launch->config, owner, run->launch->arena);
    }
    adopt_end(run, answer);
}

static bool adopt_wait(struct adopt_run *run, struct err *err)
{
    if (!cloud_session_run(run->launch->session, err)) {
        return false;
    }
    if (run->err.kind != ERR_NONE) {
        *err = run->err;
        return false;
    }
    return true;
}

static bool adopt_know_owner(struct cluster_session *launch, struct err *err)
{
    struct adopt_run run = {.launch = launch};
    struct provider *provider = launch->provider;
    if (!provider->ops->owner || cluster_folder_owner(launch->config, launch->arena).len > 0) {
        return true;
    }
    provider->ops->owner(provider, adopt_on_owner, &run);
    return adopt_wait(&run, err);
}

bool launcher_know_owner(const struct launcher_setup *setup, struct arena *arena, struct err *err)
{
    struct cluster_session launch = {.setup = setup, .arena = arena};
    bool ok = launch_open(&launch, err) && adopt_know_owner(&launch, err);
    launch_close(&launch);
    return ok;
}

/* ---- records without an owner ---- */

static void adopt_on_found(void *context, const struct provider_answer *answer,
                           const struct cluster_found *found)
{
    struct adopt_run *run = context;
    if (answer->outcome == OUTCOME_DONE) {
        run->is_found = run->is_found || str_eq(found->uid, run->uid);
        for (size_t i = 0; i < found->uid_count; i++) {
            run->is_found = run->is_found || str_eq(found->uids[i], run->uid);
        }
    }
    adopt_end(run, answer);
}

static void adopt_on_listed(void *context, const struct provider_answer *answer,
                            const struct machine *machines, size_t count)
{
    struct adopt_run *run = context;
    struct provider *provider = run->launch->provider;
    if (answer->outcome != OUTCOME_DONE) {
        adopt_end(run, answer);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        run->is_found = run->is_found ||
                        str_eq(machine_tag_value(&machines[i], TAG_CLUSTER_UID), run->uid);
    }
    provider->ops->find(provider, adopt_on_found, run);
}

/* A key without a uid proves nothing: it may be of any cluster of this name. */
static struct str uid_of_records(const char *folder, struct arena *arena)
{
    struct journal *journal;
    struct err ignored;
    struct str uid = STR("");
    if (journal_open(folder, NULL, &journal, &ignored)) {
        if (!journal_get(journal, "uid", arena, &uid, &ignored)) {
            uid = STR("");
        }
        journal_close(journal);
    }
    return uid;
}

static void adopt_note_any(void *context, const char *path)
{
    bool *has_any = context;
    (void)path;
    *has_any = true;
}

static bool adopt_has_any(const struct cluster_session *launch)
{
    bool has_any = false;
    cluster_folder_each(launch->config, launch->arena, adopt_note_any, &has_any);
    return has_any;
}

bool adopt_records(struct cluster_session *launch, struct err *err)
{
    struct adopt_run run = {.launch = launch};
    struct provider *provider = launch->provider;
    if (!adopt_has_any(launch)) {
        return true;
    }
    if (!adopt_know_owner(launch, err)) {
        return false;
    }
    struct str owner = cluster_folder_owner(launch->config, launch->arena);
    struct cluster_folder folder = cluster_folder_find(launch->config, launch->arena);
    run.uid = folder.is_unowned ? uid_of_records(folder.path, launch->arena) : STR("");
    if (run.uid.len == 0 || owner.len == 0) {
        return true;
    }
    provider->ops->list_by(provider, &(struct machine_query){0}, adopt_on_listed, &run);
    return adopt_wait(&run, err) &&
           (!run.is_found || cluster_folder_claim(folder.path, owner, err));
}

bool adopt_old_records(struct cluster_session *launch, struct err *err)
{
    return !cluster_folder_find(launch->config, launch->arena).is_unowned ||
           adopt_records(launch, err);
}

void adopt_seen(struct cluster_session *launch, struct str uid)
{
    struct err ignored;
    if (!adopt_has_any(launch) || !adopt_know_owner(launch, &ignored)) {
        return;
    }
    struct str owner = cluster_folder_owner(launch->config, launch->arena);
    struct cluster_folder folder = cluster_folder_find(launch->config, launch->arena);
    if (folder.is_unowned && owner.len > 0 && uid.len > 0 &&
        str_eq(uid_of_records(folder.path, launch->arena), uid) &&
        !cluster_folder_claim(folder.path, owner, &ignored)) {
        launch_note(launch, "%s", ignored.text);
    }
}

bool adopt_refuse(const struct config *config, struct str other, struct arena *arena,
                  struct err *err)
{
    struct str owner = cluster_folder_owner(config, arena);
    return err_set(err, ERR_NOT_FOUND,
                   "%.*s has no cluster %.*s; the one that this machine knows is of %.*s. Nothing "
                   "was changed. Use the credentials of that owner, for example with --profile",
                   STR_ARG(owner.len > 0 ? owner : STR("these credentials")),
                   STR_ARG(config->cluster_name), STR_ARG(other));
}
