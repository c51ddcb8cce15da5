/*
 * up.c: from a file to a cluster that runs.
 *
 *     survey -> lease -> what surrounds the machines -> head and workers, at once
 *            -> the head answers -> handover -> the head's service does the rest, watched from here
 *
 * Until the handover this process alone creates machines; after it the head's service alone does. A
 * cluster whose lease the service holds is only told what has changed.
 */
#include "app/head/service.h"
#include "app/launch/up_parts.h"
#include "io/file_limit.h"

void up_fail(struct up *up, const struct err *err)
{
    launch_end(&up->launch, err);
}

static struct seen *seen_of(struct up *up, const struct node_view *view)
{
    for (size_t i = 0; i < up->seen_count; i++) {
        if (str_eq(up->seen[i].name, view->name)) {
            return &up->seen[i];
        }
    }
    void *items = up->seen;
    arena_grow(up->launch.arena, &items, up->seen_count, &up->seen_capacity, sizeof(*up->seen));
    up->seen = items;
    struct seen *seen = &up->seen[up->seen_count++];
    *seen = (struct seen){.name = arena_str(up->launch.arena, view->name),
                          .type = arena_str(up->launch.arena, view->type)};
    return seen;
}

void up_show(struct up *up, const struct node_view *view)
{
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct seen *seen = seen_of(up, view);
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
    (void)answer; /* what could not be given back runs out by itself */
    launch_end(&up->launch, NULL);
}

void up_end_if_done(struct up *up)
{
    if (!up->is_head_done || !up->is_settled || up->is_tagging || up->is_given_back) {
        return;
    }
    if (up->is_rays) {
        launch_note(&up->launch, "the head's service is %.*s", STR_ARG(up->stance));
    }
    if (up->is_rays && !up->is_update) {
        /* It stands by and does not take the lease that it was handed. */
        up->is_given_back = true;
        controller_release(up->launch.controller, on_given_back, up);
        return;
    }
    launch_end(&up->launch, NULL);
}

/* ---- before any machine ---- */

static bool head_of(struct up *up, struct controlled *ret_head)
{
    return controller_find(up->launch.controller, HEAD_INSTANCE, ret_head) && ret_head->machine &&
           ret_head->machine->state < MACHINE_STOPPING;
}

static void on_prepared(void *context, const struct provider_answer *answer,
                        const struct provider_thing *things, size_t count)
{
    struct up *up = context;
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct controlled head;
    for (size_t i = 0; i < count; i++) {
        hooks->thing(hooks->context, &things[i], str_is(things[i].note, "new"));
    }
    if (answer->outcome != OUTCOME_DONE) {
        up_fail(up, &answer->err);
        return;
    }
    if (head_of(up, &head)) {
        up_know_head(up, head.machine, up_launch_number(head.machine));
    } else if (up_stopped_head(up, &head)) {
        launch_note(&up->launch, "the head %.*s was stopped: it is started again",
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

static void on_started(void *context, const struct cluster_lease *lease)
{
    struct up *up = context;
    struct launch *launch = &up->launch;
    struct controlled head;
    struct err err;
    failpoint("up:after-take");
    show_account(up, lease);
    up->uid = arena_str(launch->arena, lease->uid);
    up->anchor = arena_str(launch->arena, lease->anchor);
    up->epoch = lease->epoch;
    if (up_stopped_head(up, &head) && !up_is_head_usable(up, head.machine, &err)) {
        up_fail(up, &err);
        return;
    }
    controller_prepare(launch->controller, on_prepared, up);
}

static void on_changed(void *context, const struct controlled *controlled)
{
    struct up *up = context;
    struct node_view view;
    if (up->is_released) {
        return;
    }
    if (controlled->is_head) {
        if (up->waits_for_stop) {
            up_start_head(up);
        }
        if (up->has_head && controlled->machine) {
            up_know_head(up, controlled->machine, up->head_number);
        }
        return;
    }
    if (controlled->machine && (controlled->machine->state == MACHINE_STOPPING ||
                                controlled->machine->state == MACHINE_STOPPED)) {
        return; /* it waits, perhaps to be used again */
    }
    failpoint("up:after-worker-launch");
    arena_clear(&up->lines);
    launch_view(&up->launch, controlled, &up->lines, &view);
    view.phase = view.phase == PHASE_CONNECTING ? PHASE_BOOTING : view.phase;
    up_show(up, &view);
}

static void on_trouble(void *context, const struct provider_answer *answer, struct str what)
{
    struct up *up = context;
    (void)answer; /* its words are in `what` */
    launch_note(&up->launch, "%.*s", STR_ARG(what));
}

/* ---- a cluster that its head already keeps ---- */

static void on_listed(void *context, const struct provider_answer *answer,
                      const struct machine *machines, size_t count)
{
    struct up *up = context;
    struct err err;
    if (answer->outcome != OUTCOME_DONE) {
        up_fail(up, &answer->err);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (machine_is_head(&machines[i]) && machines[i].state < MACHINE_STOPPING) {
            up_know_head(up, &machines[i], up_launch_number(&machines[i]));
            return;
        }
    }
    err_set(&err, ERR_UNAVAILABLE,
            "the cluster's lease is held, but no head is listed; run it "
            "again in a minute, or end it with shoal down");
    up_fail(up, &err);
}

/* The lease is somebody else's: the head's service is told what is new, others are left alone. */
static void on_deposed(void *context, const struct cluster_lease *lease)
{
    struct up *up = context;
    struct err err;
    if (up->is_released || up->is_update) {
        return;
    }
    if (lease && str_starts(lease->holder, SERVICE_HOLDER) && !up->has_head) {
        up->is_update = true;
        show_account(up, lease);
        up->uid = arena_str(up->launch.arena, lease->uid);
        up->epoch = lease->epoch;
        up->launch.provider->ops->list(up->launch.provider, on_listed, up);
        return;
    }
    err_set(&err, ERR_EXISTS, "somebody else is at this cluster: %.*s",
            STR_ARG(lease ? lease->holder : STR("not known who")));
    up_fail(up, &err);
}

static void open_controller(struct up *up)
{
    struct launch *launch = &up->launch;
    up->has_begun = true;
    launch->controller = controller_open(&(struct controller_setup){
        .session = launch->session,
        .provider = launch->provider,
        .journal = launch->journal,
        .config = launch->config,
        .core = &launch->core,
        .holder = launch_holder("up", launch->arena),
        .secret = launch->state.secret,
        .public_key = launch->state.public_key,
        .is_surveyed = true,
        .gives_way = true,
        .keeps_stopped = launch->setup->keeps_stopped,
        .goal = GOAL_RUN,
        .hooks = {up, on_started, NULL, on_changed, on_trouble, on_deposed},
    });
}

static void on_surveyed(void *context, const struct provider_answer *answer,
                        const struct finding *findings, size_t count)
{
    struct up *up = context;
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct err err;
    size_t errors = 0;
    if (answer->outcome != OUTCOME_DONE) {
        up_fail(up, &answer->err);
        return;
    }
    hooks->findings(hooks->context, findings, count);
    for (size_t i = 0; i < count; i++) {
        errors += findings[i].level == FINDING_ERROR;
    }
    if (errors > 0) {
        err_set(&err, ERR_CONFIG, "%zu thing%s must be mended first; nothing was created", errors,
                errors == 1 ? "" : "s");
        up_fail(up, &err);
        return;
    }
    if (!launch_place(&up->launch, &err)) {
        up_fail(up, &err);
        return;
    }
    open_controller(up);
}

/* ---- the whole ---- */

/* What somebody has who stops here. */
static void tell_what_is_left(struct up *up)
{
    if (up->has_head) {
        launch_note(&up->launch,
                    "left running: the head (%.*s) and what was asked for beside it; shoal up goes "
                    "on from here, shoal down ends all of it",
                    STR_ARG(up->head_id));
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

static void sum_up(const struct up *up)
{
    struct launcher_result *result = up->launch.result;
    for (size_t i = 0; i < up->seen_count; i++) {
        result->failed_count += up->seen[i].has_failed;
        if (up->seen[i].phase == PHASE_READY) {
            result->cpus += cpus_of_type(up->launch.config, up->seen[i].type);
        }
    }
    size_t known = result->node_count + result->failed_count;
    /* What Ray's own autoscaler keeps comes when it sees fit. */
    bool is_short = !up->is_rays && up->wanted_count > known;
    result->missing_count = is_short ? up->wanted_count - known : 0;
    result->head_address = up->head_address;
}

/* A file that was refused leaves nothing behind, here as little as in the cloud. */
static void forget_if_new(const struct up *up)
{
    struct err ignored;
    if (up->launch.state.is_new && !up->has_begun &&
        !cluster_state_remove(&up->launch.state, &ignored)) {
        launch_note(&up->launch, "%s", ignored.text);
    }
}

bool launcher_up(const struct launcher_setup *setup, struct arena *arena,
                 struct launcher_result *ret_result, struct err *err)
{
    struct up up = {.launch = {.setup = setup, .result = ret_result, .arena = arena}};
    struct launch *launch = &up.launch;
    *ret_result = (struct launcher_result){0};
    arena_init(&up.lines);
    file_limit_raise();
    bool ok = launch_open(launch, "up", true, err);
    if (ok) {
        up.again = loop_timer_new(launch->session->loop, up_follow_again_now, &up);
        up.start_timer = loop_timer_new(launch->session->loop, up_start_head_again, &up);
        launch->provider->ops->survey(launch->provider, SURVEY_FOR_LAUNCH, on_surveyed, &up);
        ok = cloud_session_run(launch->session, err);
        if (ok && !launch->is_ok) {
            *err = launch->err;
            ok = false;
        }
        if (!ok) {
            tell_what_is_left(&up);
        }
        ok = ok && up_note_applied(&up, err);
    }
    sum_up(&up);
    ret_result->took_ms = launch->session ? loop_now_ms(launch->session->loop) - launch->began_ms
                                          : 0;
    ctl_client_close(up.ctl);
    if (up.again) {
        loop_timer_free(up.again);
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
