/* find_head.c: finds the head with one listing, for commands that only connect to it. */
#include "app/launch/adopt.h"

struct find_head_search {
    struct cluster_session launch;
    struct launcher_head *head;
    bool is_found;
    struct str uid;
};

static void find_head_take(struct find_head_search *search, const struct machine *machines,
                           size_t count)
{
    struct arena *arena = search->launch.arena;
    const struct config *config = search->launch.config;
    struct launcher_head *head = search->head;
    struct str *workers = ARENA_ARRAY(arena, count, struct str);
    const struct machine *kept = machine_head_among(machines, count);
    *head = (struct launcher_head){.worker_ips = workers};
    for (size_t i = 0; i < count; i++) {
        const struct machine *machine = &machines[i];
        if (machine->state != MACHINE_PENDING && machine->state != MACHINE_RUNNING) {
            continue;
        }
        bool is_head = machine_is_head(machine);
        struct str address = arena_str(arena, launch_address(config, machine, is_head));
        if (!is_head) {
            workers[head->worker_count++] = address;
            continue;
        }
        if (machine != kept) {
            continue;
        }
        search->is_found = true;
        search->uid = arena_str(arena, machine_tag_value(machine, TAG_CLUSTER_UID));
        head->id = arena_str(arena, machine->id);
        head->address = address;
        head->private_ip = arena_str(arena, machine->private_ip);
        head->public_ip = arena_str(arena, machine->public_ip);
        head->host_key = arena_str(arena, machine_tag_value(machine, TAG_HOST_KEY));
        head->started_from = arena_str(arena, machine_tag_value(machine, TAG_STARTED_FROM));
        head->is_up_to_date = str_is(machine_tag_value(machine, "ray-node-status"), "up-to-date");
    }
}

static void find_head_on_listed(void *context, const struct provider_answer *answer,
                                const struct machine *machines, size_t count)
{
    struct find_head_search *search = context;
    struct err err;
    if (answer->outcome != OUTCOME_DONE) {
        launch_end(&search->launch, &answer->err);
        return;
    }
    find_head_take(search, machines, count);
    if (!search->is_found) {
        err_set(&err, ERR_NOT_FOUND, "cluster %.*s has no head; shoal up creates one",
                STR_ARG(search->launch.config->cluster_name));
        launch_end(&search->launch, &err);
        return;
    }
    launch_end(&search->launch, NULL);
}

bool launcher_find_head(const struct launcher_setup *setup, struct arena *arena,
                        struct launcher_head *ret_head, struct err *err)
{
    struct find_head_search search = {.launch = {.setup = setup, .arena = arena}, .head = ret_head};
    struct cluster_session *launch = &search.launch;
    bool ok = launch_open(launch, err);
    if (ok) {
        launch->provider->ops->list(launch->provider, find_head_on_listed, &search);
        ok = cloud_session_run(launch->session, err);
        if (ok && !launch->is_ok) {
            *err = launch->err;
            ok = false;
        }
        if (ok || err->kind == ERR_NOT_FOUND) {
            adopt_seen(launch, search.uid);
        }
    }
    launch_close(launch);
    return ok;
}

bool launcher_head_place(const struct launcher_setup *setup, const struct launcher_head *head,
                         struct arena *arena, struct ssh_target *ret_place, struct err *err)
{
    struct cluster_session launch = {.setup = setup, .arena = arena, .config = setup->config};
    if (!cluster_state_open(setup->config, false, arena, &launch.state, err)) {
        return false;
    }
    if (!launch.state.key && !config_is_local(setup->config)) { /* else ssh's own keys */
        return launch_refuse_keyless(&launch, head->started_from, err);
    }
    if (launch_head_place(&launch, head->id, head->address, ret_place)) {
        return true;
    }
    if (head->host_key.len == 0) {
        return err_set(err, ERR_NOT_FOUND,
                       "the host key of %.*s is not known on this machine (%s has no entry for "
                       "it), and the head does not have the tag %s, which shoal up sets when the "
                       "head is set up; run the command on the machine that created the cluster",
                       STR_ARG(head->id), launch.state.folder, TAG_HOST_KEY);
    }
    return cluster_state_make(&launch.state, err) &&
           cluster_state_pin(&launch.state, head->id, head->host_key, false, err);
}
