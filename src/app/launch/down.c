/*
 * down.c: the end of a cluster, or its rest: with cache_stopped_nodes machines are only stopped and
 * what surrounds them stays.
 *
 *     the head's service stands down (or its lease is taken) -> everything is terminated at once ->
 *     the cloud says that all of it is gone -> what surrounded the machines is removed
 *
 * Finds everything by the cluster's uid, so that it works after any crash and from any laptop.
 */
#include "app/head/service.h"
#include "app/launch/launch_parts.h"
#include "app/setup/setup_plan.h"

#include <string.h>

enum { STAND_DOWN_MS = 5000, CONNECT_S = 3 };

struct down {
    struct launch launch;
    struct ctl_client *ctl;
    struct loop_timer *patience;
    struct str head_id; /* empty: there is none */
    uint64_t take_from; /* the lease to be broken */
    bool is_head_gone;
    bool is_standing_down; /* the head's service was asked */
    bool is_removing;
    struct arena views;
};

static void fail_down(struct down *down, const struct err *err)
{
    launch_end(&down->launch, err);
}

static void show(struct down *down, const struct controlled *controlled)
{
    const struct launcher_hooks *hooks = &down->launch.setup->hooks;
    struct node_view view;
    arena_clear(&down->views);
    launch_view(&down->launch, controlled, &down->views, &view);
    hooks->node(hooks->context, &view);
}

/* ---- what surrounds the machines ---- */

static void on_removed(void *context, const struct provider_answer *answer,
                       const struct provider_thing *things, size_t count)
{
    struct down *down = context;
    struct launch *launch = &down->launch;
    struct launcher_result *result = launch->result;
    const struct launcher_hooks *hooks = &launch->setup->hooks;
    struct provider_thing *left = ARENA_ARRAY(launch->arena, count, struct provider_thing);
    for (size_t i = 0; i < count; i++) {
        if (things[i].is_gone) {
            hooks->thing(hooks->context, &things[i], false);
            continue;
        }
        left[result->left_count++] = (struct provider_thing){
            .kind = arena_str(launch->arena, things[i].kind),
            .id = arena_str(launch->arena, things[i].id),
            .note = arena_str(launch->arena, things[i].note)};
    }
    result->left = left;
    if (answer->outcome != OUTCOME_DONE) {
        fail_down(down, &answer->err);
        return;
    }
    launch_end(launch, NULL);
}

static void on_released(void *context, const struct provider_answer *answer)
{
    struct down *down = context;
    (void)answer;
    launch_end(&down->launch, NULL);
}

static void count_stopped(void *context, const struct controlled *controlled)
{
    size_t *count = context;
    *count += controlled->machine && controlled->machine->state == MACHINE_STOPPED;
}

static void end_if_empty(struct down *down)
{
    struct launch *launch = &down->launch;
    size_t stopped = 0;
    if (down->is_removing || !controller_is_empty(launch->controller)) {
        return;
    }
    controller_each(launch->controller, count_stopped, &stopped);
    if (launch->setup->is_workers_only || (down->is_head_gone && stopped > 0)) {
        launch->result->stopped_count = stopped;
        down->is_removing = true;
        controller_release(launch->controller, on_released, down);
    } else if (down->is_head_gone) {
        down->is_removing = true;
        launch->provider->ops->remove(launch->provider, on_removed, down);
    }
}

/* ---- machines ---- */

/* What is kept is done when it stands still. */
static bool is_over(const struct down *down, const struct machine *machine)
{
    return machine->state == MACHINE_GONE ||
           (machine->state == MACHINE_STOPPED && down->launch.setup->keeps_stopped);
}

static void on_terminated(void *context, const struct provider_answer *answer)
{
    struct down *down = context;
    if (answer->outcome != OUTCOME_DONE && answer->outcome != OUTCOME_NOT_FOUND) {
        fail_down(down, &answer->err);
        return;
    }
    controller_look(down->launch.controller);
}

static void on_changed(void *context, const struct controlled *controlled)
{
    struct down *down = context;
    const struct machine *machine = controlled->machine;
    show(down, controlled);
    if (controlled->is_head && machine && is_over(down, machine)) {
        down->is_head_gone = true;
    }
    end_if_empty(down);
}

static void on_emptied(void *context)
{
    end_if_empty(context);
}

/* As Ray: a spot machine cannot be stopped, and neither can one that is still on its way. */
static void end_head(struct down *down, const struct machine *head)
{
    struct launch *launch = &down->launch;
    const struct provider_ops *ops = launch->provider->ops;
    bool is_stop = launch->setup->keeps_stopped && head->market == MARKET_ON_DEMAND &&
                   head->state != MACHINE_PENDING;
    struct str id = arena_str(launch->arena, head->id);
    (is_stop ? ops->stop : ops->terminate)(launch->provider, &id, 1, on_terminated, down);
}

static void on_started(void *context, const struct cluster_lease *lease)
{
    struct down *down = context;
    struct launch *launch = &down->launch;
    struct controlled head;
    (void)lease;
    bool has_head = controller_find(launch->controller, HEAD_INSTANCE, &head) && head.machine &&
                    !is_over(down, head.machine);
    down->is_head_gone = !has_head;
    if (has_head && !launch->setup->is_workers_only) {
        end_head(down, head.machine);
    }
    end_if_empty(down);
}

static void on_trouble(void *context, const struct provider_answer *answer, struct str what)
{
    struct down *down = context;
    (void)answer; /* its words are in `what` */
    launch_note(&down->launch, "%.*s", STR_ARG(what));
}

static void on_deposed(void *context, const struct cluster_lease *lease);

static void open_controller(struct down *down)
{
    struct launch *launch = &down->launch;
    if (launch->controller) {
        controller_close(launch->controller);
    }
    launch->controller = controller_open(&(struct controller_setup){
        .session = launch->session,
        .provider = launch->provider,
        .journal = launch->journal,
        .config = launch->config,
        .core = &launch->core,
        .holder = launch_holder("down", launch->arena),
        .secret = launch->state.secret,
        .public_key = launch->state.public_key,
        .take_from = down->take_from,
        .gives_way = true,
        .keeps_stopped = launch->setup->keeps_stopped,
        .goal = GOAL_DOWN,
        .hooks = {down, on_started, NULL, on_changed, on_trouble, on_deposed, on_emptied},
    });
}

/* ---- the head's service ---- */

static void stop_waiting(struct down *down)
{
    struct ctl_client *ctl = down->ctl;
    down->ctl = NULL;
    ctl_client_close(ctl);
    loop_timer_stop(down->patience);
    open_controller(down);
}

static void on_ctl_line(void *context, const struct ctl_line *line)
{
    struct down *down = context;
    if (line->kind == CTL_DONE && str_is(line->text, "stand-down")) {
        down->take_from = 0;
        stop_waiting(down);
    }
}

static void on_ctl_done(void *context, const struct err *err)
{
    struct down *down = context;
    (void)err;
    if (down->ctl) {
        stop_waiting(down);
    }
}

static void on_patience(void *context)
{
    struct down *down = context;
    if (down->ctl) {
        launch_note(&down->launch, "the head's service does not answer: its lease is taken");
        stop_waiting(down);
    }
}

static bool ask_to_stand_down(struct down *down, const struct machine *head)
{
    struct launch *launch = &down->launch;
    struct ssh_place place;
    const char *const *argv;
    struct err err;
    struct ssh_session session = {.command = STR(SETUP_PROGRAM " ctl")};
    struct str address = launch_address(launch->config, head, true);
    if (head->state != MACHINE_RUNNING || address.len == 0 ||
        !launch_head_place(launch, head->id, address, &place)) {
        return false;
    }
    place.connect_s = CONNECT_S;
    if (!ssh_words(&place, &session, launch->arena, &argv, &err)) {
        return false;
    }
    down->ctl = ctl_client_open(launch->session->children, argv,
                                &(struct ctl_client_hooks){down, on_ctl_line, on_ctl_done});
    ctl_client_ask(down->ctl, "stand-down");
    loop_timer_start(down->patience, STAND_DOWN_MS);
    return true;
}

static void on_listed(void *context, const struct provider_answer *answer,
                      const struct machine *machines, size_t count)
{
    struct down *down = context;
    down->is_standing_down = true;
    for (size_t i = 0; answer->outcome == OUTCOME_DONE && i < count; i++) {
        if (machine_is_head(&machines[i]) && ask_to_stand_down(down, &machines[i])) {
            return;
        }
    }
    open_controller(down);
}

/* Somebody has the lease. The head's service is asked to let go of it; when it does not, or when it
 * is a laptop that is gone, it is taken. */
static void on_deposed(void *context, const struct cluster_lease *lease)
{
    struct down *down = context;
    struct launch *launch = &down->launch;
    struct err err;
    if (!lease || down->take_from != 0) {
        err_set(&err, ERR_EXISTS, "somebody else is at this cluster: %.*s",
                STR_ARG(lease ? lease->holder : STR("not known who")));
        fail_down(down, &err);
        return;
    }
    down->take_from = lease->epoch;
    if (!down->is_standing_down && str_starts(lease->holder, SERVICE_HOLDER)) {
        launch->provider->ops->list(launch->provider, on_listed, down);
        return;
    }
    launch_note(launch, "taking the cluster from %.*s", STR_ARG(lease->holder));
    open_controller(down);
}

/* ---- the whole ---- */

/* Nothing is there that runs and no launch is open: what is written down of them says nothing any
 * more, and whoever starts these machines must not take it for news. */
static bool forget_all(struct journal *journal, struct err *err)
{
    if (!journal_begin(journal, err)) {
        return false;
    }
    bool ok = journal_forget_machines(journal, err) &&
              journal_set(journal, "applied", STR(""), err);
    return journal_end(journal, ok, err);
}

bool launcher_down(const struct launcher_setup *setup, struct arena *arena,
                   struct launcher_result *ret_result, struct err *err)
{
    struct down down = {.launch = {.setup = setup, .result = ret_result, .arena = arena}};
    struct launch *launch = &down.launch;
    *ret_result = (struct launcher_result){0};
    arena_init(&down.views);
    bool ok = launch_open(launch, "down", true, err);
    if (ok) {
        down.patience = loop_timer_new(launch->session->loop, on_patience, &down);
        open_controller(&down);
        ok = cloud_session_run(launch->session, err);
        if (ok && !launch->is_ok) {
            *err = launch->err;
            ok = false;
        }
        ret_result->took_ms = loop_now_ms(launch->session->loop) - launch->began_ms;
        ctl_client_close(down.ctl);
        loop_timer_free(down.patience);
    }
    bool is_gone = ok && ret_result->left_count == 0 && !setup->is_workers_only &&
                   ret_result->stopped_count == 0;
    if (ok && ret_result->stopped_count > 0 && !setup->is_workers_only) {
        ok = forget_all(launch->journal, err);
    }
    launch_close(launch);
    ok = ok && (!is_gone || cluster_state_remove(&launch->state, err));
    arena_clear(&down.views);
    return ok;
}
