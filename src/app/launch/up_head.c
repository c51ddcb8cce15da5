/* up_head.c: the one machine that a laptop launches, starts again and sets up itself. */
#include "app/control/launch_compose.h"
#include "app/launch/up_parts.h"
#include "provider/launch_token.h"

#include <unistd.h>

enum { START_TRIES = 5, START_RETRY_MS = 1000 };

/* ---- the handover ---- */

static struct head_wish wish_of(struct up *up)
{
    return (struct head_wish){
        .launch = &up->launch,
        .uid = up->uid,
        .epoch = up->is_update ? 0 : up->epoch,
        .anchor = up->is_update ? STR("") : up->anchor,
        .id = up->head_id,
        .private_ip = up->head_private_ip,
        .public_ip = up->head_public_ip,
        .machine = up->head.machine,
        .is_spot = up->head.is_spot,
    };
}

static bool plan_head(void *context, const struct node_hello *hello, struct setup_plan *ret_plan,
                      struct err *err)
{
    struct up *up = context;
    struct head_wish wish = wish_of(up);
    (void)hello;
    failpoint("up:at-head-contact");
    up->serial = clock_wall_ms(loop_clock(up->launch.session->loop));
    wish.serial = up->serial;
    if (!head_plan_make(&wish, &up->plan, err)) {
        return false;
    }
    failpoint("up:after-files");
    up->wanted = up->plan.wanted;
    *ret_plan = up->plan.setup;
    for (size_t i = 0; i < ret_plan->warning_count; i++) {
        launch_note(&up->launch, "%.*s", STR_ARG(ret_plan->warnings[i]));
    }
    return true;
}

/*
 * From here on the head's service is the one that acts. The lease was handed over with what was
 * sent: the service takes it from us, and nobody has to be told before.
 */
static void on_sent(void *context)
{
    struct up *up = context;
    failpoint("up:after-request");
    if (!up->is_update) {
        controller_stand_down(up->launch.controller);
        up->is_released = true;
        failpoint("up:after-release");
    }
}

static void on_service(void *context)
{
    struct up *up = context;
    failpoint("up:while-following");
    up_follow(up);
}

/* ---- the head ---- */

static void on_head_changed(void *context)
{
    up_show_head(context);
}

static void on_tagged(void *context, const struct provider_answer *answer)
{
    struct up *up = context;
    (void)answer; /* tags are for people and for Ray's tools: nothing here depends on them */
    up->is_tagging = false;
    up_end_if_done(up);
}

/* As Ray's updater does at its end. While others are still joining nobody waits for it. */
static void tag_head(struct up *up)
{
    struct provider *provider = up->launch.provider;
    const struct machine_tag tags[] = {
        {STR("ray-node-status"), STR("up-to-date")},
        {STR("ray-runtime-config"), up->plan.runtime_hash},
    };
    up->is_tagging = true;
    provider->ops->tag(provider, &up->head_id, 1, tags, ARRAY_LEN(tags), on_tagged, up);
}

static void on_head_done(void *context, bool is_ok, const struct err *err)
{
    struct up *up = context;
    up->is_head_done = is_ok;
    if (!is_ok) {
        up_fail(up, err);
        return;
    }
    struct err why;
    if (!head_plan_done(&up->launch, &up->plan, up->head_id, &why)) {
        up_fail(up, &why);
        return;
    }
    tag_head(up);
    up_show_head_ready(up);
    up_end_if_done(up);
}

static void connect_head(struct up *up)
{
    struct launch *launch = &up->launch;
    struct ssh_place place;
    struct err err;
    if (up->head_setup || up->head_address.len == 0) {
        return;
    }
    if (!launch_head_place(launch, up->head_id, up->head_address, &place) &&
        !cluster_state_pin_launch(&launch->state, up->head_id, up->head_number, &err)) {
        up_fail(up, &err);
        return;
    }
    up->head_setup = head_setup_start(&(struct head_setup_input){
        .session = launch->session,
        .config = launch->config,
        .state = &launch->state,
        .place = place,
        .view = &up->head,
        .hooks = {up, on_head_changed, plan_head, on_sent, on_service, on_head_done},
    });
}

/* ---- nothing to do ---- */

/* What the last `up` from here brought the cluster to; nobody else may have changed it since. */
static bool is_up_to_date(struct up *up)
{
    struct launch *launch = &up->launch;
    struct str applied;
    struct err err;
    return up->is_update && !launch->setup->restart_only &&
           head_plan_wanted(launch, &up->wanted, &err) &&
           journal_get(launch->journal, "applied", launch->arena, &applied, &err) && applied.ptr &&
           str_eq(applied, up->wanted);
}

bool up_note_applied(struct up *up, struct err *err)
{
    return journal_note(up->launch.journal, "applied", up->wanted, err);
}

uint64_t up_launch_number(const struct machine *machine)
{
    uint64_t number = 0;
    return launch_number_parse(machine_tag_value(machine, TAG_LAUNCH), &number) ? number : 0;
}

void up_know_head(struct up *up, const struct machine *machine, uint64_t launch_number)
{
    struct arena *arena = up->launch.arena;
    struct controlled head = {HEAD_INSTANCE, machine, NULL, true};
    struct node_view view;
    launch_view(&up->launch, &head, arena, &view);
    if (up->head_setup) { /* what its connection tells is newer */
        view.phase = up->head.phase;
        view.since_ms = up->head.since_ms;
        view.step = up->head.step;
        view.steps = up->head.steps;
        view.detail = up->head.detail;
        view.failure = up->head.failure;
    }
    up->has_head = true;
    view.born_ms = up->head.born_ms > 0 ? up->head.born_ms : view.since_ms;
    up->head = view;
    up->head_id = view.id;
    up->head_private_ip = view.private_ip;
    up->head_public_ip = view.public_ip;
    up->head_number = launch_number;
    up->head_address = arena_str(arena, launch_address(up->launch.config, machine, true));
    if (is_up_to_date(up)) {
        up->launch.result->was_up_to_date = true;
        up->is_head_done = true;
        up->head.phase = PHASE_JOINING;
        up_show_head(up);
        up_follow(up);
        return;
    }
    up_show_head(up);
    connect_head(up);
}

static void on_head_launched(void *context, const struct machine *machine, uint64_t launch_number,
                             const struct err *err)
{
    struct up *up = context;
    if (!machine) {
        struct err why = *err;
        err_set(&why, why.kind, "the head could not be launched: %s", err->text);
        up_fail(up, &why);
        return;
    }
    failpoint("up:after-head-launch");
    controller_learn(up->launch.controller, machine, 1);
    up_know_head(up, machine, launch_number);
    controller_look(up->launch.controller);
}

/* ---- a head that stands still ---- */

void up_start_head_again(void *context)
{
    up_start_head(context);
}

static void on_head_started(void *context, const struct provider_answer *answer)
{
    struct up *up = context;
    struct controlled head;
    struct err err = answer->err;
    bool is_unsure = answer->outcome == OUTCOME_UNKNOWN || answer->outcome == OUTCOME_THROTTLED;
    if (is_unsure && ++up->start_tries < START_TRIES) {
        loop_timer_start(up->start_timer, START_RETRY_MS * up->start_tries);
        return;
    }
    if (answer->outcome != OUTCOME_DONE) {
        err_set(&err, err.kind, "the head could not be started: %s", answer->err.text);
        up_fail(up, &err);
        return;
    }
    if (!up->has_head && controller_find(up->launch.controller, HEAD_INSTANCE, &head) &&
        head.machine) {
        struct machine machine = *head.machine;
        machine.state = MACHINE_PENDING;
        machine.public_ip = STR(""); /* that of before, if any */
        failpoint("up:after-head-start");
        controller_learn(up->launch.controller, &machine, 1);
        up_know_head(up, &machine, up_launch_number(&machine));
    }
    controller_look(up->launch.controller);
}

/* Its steps have to run again, whatever was done before it stopped; and nothing may go over a
 * connection of then. */
static bool forget_steps(struct up *up, struct str id, struct err *err)
{
    struct launch *launch = &up->launch;
    unlink(cluster_state_control(&launch->state, id, launch->arena));
    return journal_note(launch->journal, "head-steps", STR(""), err);
}

void up_start_head(struct up *up)
{
    struct launch *launch = &up->launch;
    struct controlled head;
    struct err err;
    if (!controller_find(launch->controller, HEAD_INSTANCE, &head) || !head.machine) {
        return;
    }
    if (head.machine->state == MACHINE_STOPPING) {
        up->waits_for_stop = true; /* on_changed() goes on */
        return;
    }
    up->waits_for_stop = false;
    struct str id = arena_str(launch->arena, head.machine->id);
    if (!forget_steps(up, id, &err)) {
        up_fail(up, &err);
        return;
    }
    launch->provider->ops->start(launch->provider, &id, 1, on_head_started, up);
}

/* A cluster has one head: another beside one that was stopped would be forgotten and paid for. */
bool up_is_head_usable(struct up *up, const struct machine *head, struct err *err)
{
    struct launch *launch = &up->launch;
    struct str hash;
    if (!launch_hash(launch->config, launch->config->head_type, launch->arena, &hash, err)) {
        return false;
    }
    return str_eq(machine_tag_value(head, "ray-launch-config"), hash) ||
           err_set(err, ERR_EXISTS,
                   "the head %.*s is stopped and was launched with other settings than the file "
                   "has now: end it with shoal down --terminate, or bring the settings back",
                   STR_ARG(head->id));
}

bool up_stopped_head(struct up *up, struct controlled *ret_head)
{
    return controller_find(up->launch.controller, HEAD_INSTANCE, ret_head) && ret_head->machine &&
           (ret_head->machine->state == MACHINE_STOPPING ||
            ret_head->machine->state == MACHINE_STOPPED);
}

void up_launch_head(struct up *up)
{
    struct launch *launch = &up->launch;
    failpoint("up:after-prepare");
    up->head_launch = head_launch_start(&(struct head_launch_setup){
        .loop = launch->session->loop,
        .provider = launch->provider,
        .journal = launch->journal,
        .config = launch->config,
        .core = &launch->core,
        .uid = up->uid,
        .secret = launch->state.secret,
        .epoch = up->epoch,
        .context = up,
        .done = on_head_launched,
    });
}
