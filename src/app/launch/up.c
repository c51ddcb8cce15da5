/*
 * up.c: creates or updates a cluster from its file.
 *
 *     preflight -> lease -> network and IAM -> head and workers, concurrently
 *            -> the head answers -> handover -> follow the head's service, which does the rest
 *
 * Before the handover only this process creates machines; after it, only the head's service. If the
 * service already holds the lease, `up` only sends it the new configuration.
 */
#include "app/head/service.h"
#include "app/launch/adopt.h"
#include "app/launch/launch_prices.h"
#include "app/launch/up_failure.h"
#include "app/launch/up_internal.h"
#include "app/preflight.h"
#include "io/failpoint.h"
#include "io/file_limit.h"

void up_fail(struct up *up, const struct err *err)
{
    launch_end(&up->launch, err);
}

static struct seen *up_seen_of(struct up *up, const struct node_view *view)
{
    for (size_t i = 0; i < up->seen_count; i++) {
        if (str_eq(up->seen[i].name, view->name)) {
            return &up->seen[i];
        }
    }
    struct seen *seen = &ARENA_PUSH(up->launch.arena, up->seen, up->seen_count, up->seen_capacity);
    *seen = (struct seen){.name = arena_str(up->launch.arena, view->name),
                          .type = arena_str(up->launch.arena, view->type)};
    return seen;
}

void up_show(struct up *up, const struct node_view *view)
{
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct seen *seen = up_seen_of(up, view);
    seen->phase = view->phase;
    seen->has_failed = seen->has_failed || view->phase == PHASE_FAILED;
    hooks->node(hooks->context, view);
}

void up_show_head(struct up *up)
{
    up_show(up, &up->head);
}

/* ---- the end ---- */

static void on_given_back(void *context, const struct provider_answer *answer)
{
    struct up *up = context;
    (void)answer; /* a lease that could not be released expires on its own */
    launch_end(&up->launch, NULL);
}

void up_end_if_done(struct up *up)
{
    if (!up->is_head_done || !up->is_settled || up->is_tagging || up->is_given_back) {
        return;
    }
    if (up->is_ray_scaling) {
        launch_note(&up->launch, "Shoal is not scaling this cluster: %.*s",
                    STR_ARG(up->autoscaler_message));
    }
    if (up->is_ray_scaling && !up->is_update) {
        /* The service is in standby and does not take the lease that was handed over. */
        up->is_given_back = true;
        controller_release(up->launch.controller, on_given_back, up);
        return;
    }
    launch_end(&up->launch, NULL);
}

/* ---- before any machine is launched ---- */

static bool head_of(struct up *up, struct managed_node *ret_head)
{
    return controller_find(up->launch.controller, HEAD_INSTANCE, ret_head) && ret_head->machine &&
           ret_head->machine->state < MACHINE_STOPPING;
}

static void up_on_prepared(void *context, const struct provider_answer *answer,
                           const struct provider_resource *things, size_t count)
{
    struct up *up = context;
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct managed_node head;
    struct str group = STR("");
    for (size_t i = 0; i < count; i++) {
        bool is_first = up->launch.ssh_rule.len == 0;
        group = str_is(things[i].kind, "security group") ? things[i].id : group;
        if (str_is(things[i].kind, "address") && group.len > 0) {
            up->launch.ssh_rule = arena_printf(
                up->launch.arena, "%.*s%s%.*s", STR_ARG(is_first ? group : up->launch.ssh_rule),
                is_first ? " allows ssh from " : ", ", STR_ARG(things[i].id));
            continue;
        }
        hooks->thing(hooks->context, &things[i], str_is(things[i].note, "new"));
    }
    if (answer->outcome != OUTCOME_DONE) {
        up_fail(up, &answer->err);
        return;
    }
    if (head_of(up, &head)) {
        up_know_head(up, head.machine, up_launch_number(head.machine));
    } else if (up_stopped_head(up, &head)) {
        launch_note(&up->launch, "the head %.*s was stopped; starting it (its disk was billed)",
                    STR_ARG(head.machine->id));
        up_start_head(up);
    } else {
        up_launch_head(up);
    }
}

static void show_account(const struct up *up, const struct cluster_lease *lease)
{
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    if (lease->account.len > 0) {
        hooks->account(hooks->context, lease->account);
    }
}

static void up_on_started(void *context, const struct cluster_lease *lease)
{
    struct up *up = context;
    struct cluster_session *launch = &up->launch;
    struct managed_node head;
    struct err err;
    failpoint("after-take", NULL, NULL);
    show_account(up, lease);
    up->uid = arena_str(launch->arena, lease->uid);
    up->epoch = lease->epoch;
    if ((head_of(up, &head) || up_stopped_head(up, &head)) &&
        !up_is_head_usable(up, head.machine, &err)) {
        up_fail(up, &err);
        return;
    }
    controller_prepare(launch->controller, up_on_prepared, up);
}

/* The cloud ended the head before it was ever set up: waiting for it would be in vain. */
static bool up_has_dead_head(struct up *up, const struct machine *machine)
{
    struct err err;
    if (!machine || !up->has_head || up->is_head_done || !str_eq(machine->id, up->head_id) ||
        (machine->state != MACHINE_GONE && machine->state != MACHINE_ENDING)) {
        return false;
    }
    err_set(&err, ERR_UNAVAILABLE,
            "the head %.*s was terminated%s%.*s; remove the cluster with `shoal down`",
            STR_ARG(machine->id), machine->why.len > 0 ? ": " : "",
            STR_ARG(str_sub(machine->why, 0, 400)));
    up_fail(up, &err);
    return true;
}

static void up_on_changed(void *context, const struct managed_node *managed_node)
{
    struct up *up = context;
    struct node_view view;
    if (up->is_released) {
        return;
    }
    if (managed_node->is_head) {
        if (up->waits_for_stop) {
            up_start_head(up);
        }
        if (up_has_dead_head(up, managed_node->machine)) {
            return;
        }
        if (up->has_head && managed_node->machine) {
            up_know_head(up, managed_node->machine, up->head_number);
        }
        return;
    }
    if (managed_node->machine && (managed_node->machine->state == MACHINE_STOPPING ||
                                  managed_node->machine->state == MACHINE_STOPPED)) {
        return; /* stopped: it may be reused */
    }
    failpoint("after-worker-launch", NULL, NULL);
    arena_clear(&up->lines);
    launch_view(&up->launch, managed_node, &up->lines, &view);
    view.phase = view.phase == PHASE_CONNECTING ? PHASE_BOOTING : view.phase;
    up_show(up, &view);
}

static void up_on_error(void *context, const struct provider_answer *answer, struct str what)
{
    struct up *up = context;
    (void)answer; /* the text of the answer is in `what` */
    launch_note(&up->launch, "%.*s", STR_ARG(what));
}

/* ---- a cluster whose head holds the lease ---- */

static void up_list(struct up *up);

/* The role of the head names the instance types, images and subnets of the file, so a changed file
 * needs a changed role. A user who may not change it can still update the rest. */
static void up_on_role_updated(void *context, const struct provider_answer *answer,
                               const struct provider_resource *things, size_t count)
{
    struct up *up = context;
    (void)things;
    (void)count;
    if (answer->outcome == OUTCOME_DENIED) {
        up->is_role_old = true;
        launch_note(&up->launch,
                    "the role of the head was not updated, so the head cannot launch instance "
                    "types, images or subnets that are new in the file: %s\n"
                    "  when you have this permission, run `shoal up` again",
                    answer->err.text);
    } else if (answer->outcome == OUTCOME_NO_LEASE) {
        struct err err;
        err_set(
            &err, ERR_UNAVAILABLE,
            "the lease of the head's service was read too long ago, so the role of the head was "
            "not updated; run shoal up again");
        up_fail(up, &err);
        return;
    } else if (answer->outcome != OUTCOME_DONE) {
        up_fail(up, &answer->err);
        return;
    }
    up_list(up);
}

/* Only after the head was found to be usable: a refused `up` changes nothing. */
static bool up_updates_role(struct up *up)
{
    struct provider *provider = up->launch.provider;
    if (up->is_role_done || !provider->ops->update_role || up_is_up_to_date(up)) {
        return false;
    }
    up->is_role_done = true;
    provider->ops->update_role(provider, up->service_until, up_on_role_updated, up);
    return true;
}

static const struct machine *up_stopped_among(const struct machine *machines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (machine_is_head(&machines[i]) &&
            (machines[i].state == MACHINE_STOPPING || machines[i].state == MACHINE_STOPPED)) {
            return &machines[i];
        }
    }
    return NULL;
}

static void up_on_listed(void *context, const struct provider_answer *answer,
                         const struct machine *machines, size_t count)
{
    struct up *up = context;
    struct err err;
    if (answer->outcome != OUTCOME_DONE) {
        up_fail(up, &answer->err);
        return;
    }
    const struct machine *head = machine_head_among(machines, count);
    if (head && !up_is_head_usable(up, head, &err)) {
        up_fail(up, &err);
        return;
    }
    if (head && up_updates_role(up)) {
        return; /* and lists again */
    }
    if (head) {
        up_know_head(up, head, up_launch_number(head));
        return;
    }
    const struct machine *stopped = up_stopped_among(machines, count);
    err_set(&err, ERR_UNAVAILABLE,
            "the service of a head holds the cluster's lease, but %.*s; run shoal up again in a "
            "minute, or remove the cluster with shoal down",
            STR_ARG(stopped ? arena_printf(up->launch.arena,
                                           "the head %.*s was shut down and its disk is billed",
                                           STR_ARG(stopped->id))
                            : STR("no head is listed")));
    up_fail(up, &err);
}

static void up_list(struct up *up)
{
    up->launch.provider->ops->list(up->launch.provider, up_on_listed, up);
}

/* Hosts that were added to the file, or did not answer last time, need the cluster's key. */
static void up_on_hosts_prepared(void *context, const struct provider_answer *answer,
                                 const struct provider_resource *things, size_t count)
{
    struct up *up = context;
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    for (size_t i = 0; i < count; i++) {
        hooks->thing(hooks->context, &things[i], str_is(things[i].note, "new"));
    }
    if (answer->outcome != OUTCOME_DONE) {
        up_fail(up, &answer->err);
        return;
    }
    up_list(up);
}

/* Another process holds the lease. If it is the head's service, send it the new configuration;
 * otherwise fail. */
static void up_on_lease_lost(void *context, const struct cluster_lease *lease,
                             const struct err *why)
{
    struct up *up = context;
    struct err err;
    if (up->is_released || up->is_update) {
        return;
    }
    if (why) {
        err_set(&err, why->kind, "the cluster's lease cannot be taken, so nothing was launched: %s",
                why->text);
        up_fail(up, &err);
        return;
    }
    if (lease && str_starts(lease->holder, SERVICE_HOLDER) && !up->has_head) {
        up->is_update = true;
        show_account(up, lease);
        up->uid = arena_str(up->launch.arena, lease->uid);
        up->epoch = lease->epoch;
        up->service_until = lease->until;
        if (config_is_local(up->launch.config)) {
            up->launch.provider->ops->prepare(up->launch.provider, up->launch.state.public_key,
                                              up_on_hosts_prepared, up);
        } else {
            up_list(up);
        }
        return;
    }
    if (lease) {
        err_set(&err, ERR_EXISTS, "another process is working on this cluster: %.*s",
                STR_ARG(lease->holder));
    } else {
        err_set(&err, ERR_EXISTS,
                "this command lost the cluster's lease, so it stopped; run it again");
    }
    up_fail(up, &err);
}

static void open_controller(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    struct str login_key = launch->state.public_key;
    struct err err;
    /* Elsewhere the key pair of the node_config is the named one. */
    if (launch->provider->ops->host_key &&
        !cluster_state_login_key(&launch->state, launch->config, launch->arena, &login_key, &err)) {
        up_fail(up, &err);
        return;
    }
    up->has_begun = true;
    launch->controller = controller_open(&(struct controller_setup){
        .session = launch->session,
        .provider = launch->provider,
        .journal = launch->journal,
        .config = launch->config,
        .core = &launch->core,
        .holder = launch_holder("up", launch->arena),
        .secret = launch->state.secret,
        .cluster_key = launch->state.public_key,
        .public_key = login_key,
        .is_surveyed = true,
        .fails_if_held = true,
        .keeps_stopped = true, /* `shoal stop` may have left some */
        .goal = GOAL_RUN,
        .hooks = {up, up_on_started, NULL, up_on_changed, up_on_error, up_on_lease_lost},
    });
}

/* Another owner's cluster of this name is left alone: this one has records of its own. */
static bool up_may_begin(const struct up *up, struct err *err)
{
    const struct cluster_session *launch = &up->launch;
    struct cluster_folder folder = cluster_folder_find(launch->config, launch->arena);
    if (folder.has_records || folder.other.len == 0) {
        return true;
    }
    if (!launch->setup->may_separate) {
        return adopt_refuse(launch->config, folder.other, launch->arena, err);
    }
    launch_note(launch,
                "this machine also knows a cluster %.*s of %.*s; the new one is of %.*s and gets "
                "its own key",
                STR_ARG(launch->config->cluster_name), STR_ARG(folder.other),
                STR_ARG(cluster_folder_owner(launch->config, launch->arena)));
    return true;
}

static void up_on_prices(void *context)
{
    struct up *up = context;
    struct err err;
    if (launch_note_prices(&up->launch, &err)) {
        open_controller(up);
    } else {
        up_fail(up, &err);
    }
}

static void up_on_surveyed(void *context, const struct provider_answer *answer,
                           const struct finding *findings, size_t count);

static void up_check(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    up->scope = launch_scope(launch);
    preflight_run(launch->provider, launch->config, up->scope, launch->arena, up_on_surveyed, up);
}

/* Once the preflight is done and the owner is known, in any order. */
static void up_begin(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    struct err err = up->owner_failure;
    if (!up->is_surveyed || !up->has_asked_owner) {
        return;
    }
    if (err.kind != ERR_NONE || !up_may_begin(up, &err) ||
        !cluster_state_open(launch->config, false, launch->arena, &launch->state, &err)) {
        up_fail(up, &err);
        return;
    }
    if (launch_scope(launch) > up->scope) { /* the folder was another owner's */
        up->is_surveyed = false;
        up_check(up);
        return;
    }
    up->is_keyless = !launch->state.own_key;
    up->has_records = launch_open_records(launch, &err);
    if (up->has_records && launch_place(launch, &err)) {
        launch_prices_wait(launch, up_on_prices, up);
    } else {
        up_fail(up, &err);
    }
}

static void up_on_surveyed(void *context, const struct provider_answer *answer,
                           const struct finding *findings, size_t count)
{
    struct up *up = context;
    struct err err;
    if (answer->outcome != OUTCOME_DONE) {
        up_fail(up, &answer->err);
    } else if (!launch_is_fit(&up->launch, findings, count, &err)) {
        up_fail(up, &err);
    } else {
        up->is_surveyed = true;
        up_begin(up);
    }
}

static void up_on_owner(void *context, const struct provider_answer *answer, struct str owner)
{
    struct up *up = context;
    up->has_asked_owner = true;
    if (answer->outcome == OUTCOME_DONE) {
        cluster_folder_know(up->launch.config, owner, up->launch.arena);
    } else {
        up->owner_failure = answer->err; /* the preflight explains it better */
    }
    up_begin(up);
}

/* Both at the same time. */
static void up_survey(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    struct provider *provider = launch->provider;
    up->has_asked_owner = !provider->ops->owner ||
                          cluster_folder_owner(launch->config, launch->arena).len > 0;
    if (!up->has_asked_owner) {
        provider->ops->owner(provider, up_on_owner, up);
    }
    up_check(up);
}

/* ---- entry points ---- */

/* Reports what is still running when `up` stops here. */
static void tell_what_is_left(struct up *up)
{
    if (up->has_head) {
        launch_note(&up->launch,
                    "left running: the head (%.*s) and the workers that were requested with it%s; "
                    "shoal up continues from here, shoal down terminates everything",
                    STR_ARG(up->head_id),
                    up->head.phase == PHASE_FAILED && up->is_released
                        ? ", except those whose setup fails: the head terminates them and launches "
                          "no others"
                        : "");
    }
}

static double cpus_of_type(const struct config *config, struct str name)
{
    for (size_t i = 0; i < config->node_type_count; i++) {
        double cpus;
        const struct value *type = value_get(value_get_c(config->tree, "available_node_types"),
                                             config->node_types[i].name);
        if (str_eq(config->node_types[i].name, name) &&
            value_number(value_path(type, "resources.CPU"), &cpus)) {
            return cpus;
        }
    }
    return 0;
}

static void up_sum_up(const struct up *up)
{
    struct launcher_result *result = up->launch.result;
    for (size_t i = 0; i < up->seen_count; i++) {
        result->failed_count += up->seen[i].has_failed;
        if (up->seen[i].phase == PHASE_READY) {
            result->cpus += cpus_of_type(up->launch.config, up->seen[i].type);
        }
    }
    size_t known = result->node_count + result->failed_count;
    /* Ray's own autoscaler decides when its workers start. */
    bool is_short = !up->is_ray_scaling && up->wanted_count > known;
    result->missing_count = is_short ? up->wanted_count - known : 0;
    result->head_address = up->head_address;
}

static struct str up_failure_text(const struct up *up, const struct err *err)
{
    const struct node_failure *failure = &up->head.failure;
    if (up->head.phase != PHASE_FAILED || failure->command.len == 0) {
        return str_from(err->text);
    }
    return arena_printf(up->launch.arena, "the head failed in %.*s (exit status %d): %.*s: %.*s",
                        STR_ARG(failure->step), (int)failure->status, STR_ARG(failure->command),
                        STR_ARG(failure->said));
}

/* Stores the failure for `status`, in case no service on the head can report it. It is not a
 * failure of the cluster if another `up` holds the lease. */
static void keep_outcome(const struct up *up, bool is_ok, const struct err *why)
{
    const struct cluster_state *state = &up->launch.state;
    struct err err;
    if (!up->has_begun || (!is_ok && why->kind == ERR_EXISTS)) {
        return;
    }
    bool is_kept = is_ok ? up_failure_remove(state, &err)
                         : up_failure_write(state,
                                            &(struct up_failure){
                                                clock_wall_ms(loop_clock(up->launch.session->loop)),
                                                up_failure_text(up, why)},
                                            &err);
    if (!is_kept) {
        launch_note(&up->launch, "%s", err.text);
    }
}

/* A rejected file leaves nothing behind, neither here nor in the cloud. */
static void forget_if_new(const struct up *up)
{
    struct err ignored;
    if (((up->launch.state.is_new && !up->has_begun) || up->is_others) && up->has_records &&
        !cluster_state_remove(&up->launch.state, &ignored)) {
        launch_note(&up->launch, "%s", ignored.text);
    }
}

bool launcher_up(const struct launcher_setup *setup, struct arena *arena,
                 struct launcher_result *ret_result, struct err *err)
{
    struct up up = {.launch = {.setup = setup, .result = ret_result, .arena = arena}};
    struct cluster_session *launch = &up.launch;
    *ret_result = (struct launcher_result){0};
    arena_init(&up.lines);
    file_limit_raise();
    bool ok = launch_open(launch, err) && adopt_old_records(launch, err);
    if (ok) {
        up.again = loop_timer_new(launch->session->loop, up_follow_again_now, &up);
        up.wait_note = loop_timer_new(launch->session->loop, up_say_wait, &up);
        up.ray_wait = loop_timer_new(launch->session->loop, up_start_ray_again, &up);
        up.start_timer = loop_timer_new(launch->session->loop, up_start_head_again, &up);
        launch_prices_start(launch);
        up_survey(&up);
        ok = cloud_session_run(launch->session, err);
        if (ok && !launch->is_ok) {
            *err = launch->err;
            ok = false;
        }
        if (!ok) {
            tell_what_is_left(&up);
        }
        up_sum_up(&up);
        ok = ok && up_note_applied(&up, err);
        keep_outcome(&up, ok, err);
    }
    ret_result->took_ms = launch->session ? loop_now_ms(launch->session->loop) - launch->began_ms
                                          : 0;
    ctl_client_close(up.ctl);
    if (up.again) {
        loop_timer_free(up.again);
        loop_timer_free(up.wait_note);
        loop_timer_free(up.ray_wait);
    }
    head_setup_end(up.head_setup);
    if (up.start_timer) {
        loop_timer_free(up.start_timer);
    }
    launch_close(launch);
    head_launch_end(up.head_launch);
    arena_clear(&up.lines);
    forget_if_new(&up);
    return ok;
}
