/*
 * up.c: from a file to a cluster that runs.
 *
 *     survey -> lease -> what surrounds the machines -> head and workers, at once
 *            -> the head answers -> handover -> the head's service does the rest, watched from here
 *
 * Until the handover this process alone creates machines; after it the head's service alone does. A
 * cluster whose lease the service holds is only told what has changed.
 */
#include "app/control/launch_compose.h"
#include "app/head/service.h"
#include "app/launch/head_launch.h"
#include "app/launch/head_plan.h"
#include "app/launch/head_setup.h"
#include "app/launch/launch_parts.h"

#include "io/file_limit.h"
#include "provider/launch_token.h"

#include <unistd.h>

enum {
    AGAIN_FIRST_MS = 50,
    AGAIN_MOST_MS = 2000,
    START_TRIES = 5,
    START_RETRY_MS = 1000,
};

struct up {
    struct launch launch;
    struct head_launch *head_launch;
    struct head_setup *head_setup;
    struct ctl_client *ctl;
    struct loop_timer *again; /* the control channel is tried again */
    int64_t again_ms;
    struct node_view head;
    struct str head_id, head_private_ip, head_public_ip, head_address;
    uint64_t head_number; /* of its launch */
    struct str uid;
    uint64_t epoch;
    int64_t serial;
    bool is_update;      /* the head's service has the lease */
    bool has_begun;      /* something may have been made */
    bool has_head;       /* it was launched, or found */
    bool is_released;    /* the lease was handed back */
    bool is_head_done;   /* all its steps */
    bool is_head_in_ray; /* says the service */
    bool is_tagging;
    bool waits_for_stop; /* the head is on its way to standing still */
    int start_tries;
    struct loop_timer *start_timer;
    bool is_settled;
    bool is_rays;          /* Ray's own autoscaler keeps the workers */
    struct str stance;     /* why, in the service's words */
    struct head_plan plan; /* what the head was sent */
    struct str wanted;     /* what the cluster is brought to, as a text to compare (head_plan.h) */
    struct arena lines;    /* of one view at a time */
    struct seen *seen;     /* every node that was told of */
    size_t seen_count, seen_capacity;
    size_t wanted_count; /* nodes */
};

/* What the summary at the end needs of a node. */
struct seen {
    struct str name, type;
    enum node_phase phase;
    bool has_failed;
};

static void fail_up(struct up *up, const struct err *err)
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

static void show(struct up *up, const struct node_view *view)
{
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct seen *seen = seen_of(up, view);
    seen->phase = view->phase;
    seen->has_failed = seen->has_failed || view->phase == PHASE_FAILED;
    hooks->node(hooks->context, view);
}

static void show_head(struct up *up)
{
    show(up, &up->head);
}

/* ---- the end ---- */

static void end_if_done(struct up *up)
{
    if (up->is_head_done && up->is_settled && !up->is_tagging) {
        if (up->is_rays) {
            launch_note(&up->launch, "the head's service is %.*s", STR_ARG(up->stance));
        }
        launch_end(&up->launch, NULL);
    }
}

/* ---- following the head's service ---- */

static void take_status(struct up *up, const struct ctl_status *status)
{
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct launcher_result *result = up->launch.result;
    hooks->status(hooks->context, status);
    result->ray_version = arena_str(up->launch.arena, status->ray_version);
    result->node_count = status->joined;
    up->wanted_count = status->wanted;
    up->is_settled = status->is_settled && status->serial >= up->serial;
    if (status->is_rays != up->is_rays) {
        up->is_rays = status->is_rays;
        up->stance = arena_str(up->launch.arena, status->stance);
    }
    end_if_done(up);
}

/* Its steps are told by the connection that runs them, who is in Ray by the service. */
static void show_head_ready(struct up *up)
{
    if (up->is_head_in_ray && up->is_head_done && up->head.phase == PHASE_JOINING) {
        up->head.phase = PHASE_READY;
        up->head.since_ms = clock_wall_ms(loop_clock(up->launch.session->loop));
        show_head(up);
    }
}

static void take_node(struct up *up, const struct node_view *view)
{
    if (view->is_head) {
        up->is_head_in_ray = view->phase == PHASE_READY;
        show_head_ready(up);
        return;
    }
    show(up, view);
}

static void on_ctl_line(void *context, const struct ctl_line *line)
{
    struct up *up = context;
    up->again_ms = 0;
    if (line->kind == CTL_STATUS) {
        take_status(up, &line->status);
    } else if (line->kind == CTL_NODE) {
        take_node(up, &line->node);
    } else if (line->kind == CTL_ERROR) {
        launch_note(&up->launch, "the head's service says: %.*s", STR_ARG(line->text));
    }
}

static void follow(struct up *up);

static void on_follow_again(void *context)
{
    follow(context);
}

/* At once when it had answered before; then less and less often. */
static void follow_again(struct up *up)
{
    loop_timer_start(up->again, up->again_ms);
    up->again_ms = up->again_ms == 0 ? AGAIN_FIRST_MS : up->again_ms * 2;
    up->again_ms = up->again_ms < AGAIN_MOST_MS ? up->again_ms : AGAIN_MOST_MS;
}

static void on_ctl_done(void *context, const struct err *err)
{
    struct up *up = context;
    struct ctl_client *ended = up->ctl;
    up->ctl = NULL;
    ctl_client_close(ended);
    if (up->launch.is_ok || up->launch.err.kind != ERR_NONE) {
        return;
    }
    if (err &&
        err->kind == ERR_UNAVAILABLE) { /* the service was started again, or the link broke */
        follow_again(up);
        return;
    }
    fail_up(up, err);
}

static void follow(struct up *up)
{
    struct launch *launch = &up->launch;
    struct ssh_place place;
    const char *const *argv;
    struct err err;
    struct ssh_session session = {.command = STR(SETUP_PROGRAM " ctl --wait")};
    if (up->ctl) {
        return;
    }
    launch_head_place(launch, up->head_id, up->head_address, &place);
    if (!ssh_words(&place, &session, launch->arena, &argv, &err)) {
        fail_up(up, &err);
        return;
    }
    up->ctl = ctl_client_open(launch->session->children, argv,
                              &(struct ctl_client_hooks){up, on_ctl_line, on_ctl_done});
    if (!launch->result->was_up_to_date) {
        /* Nothing to a service that was started with it, news to one that ran before. */
        ctl_client_ask(up->ctl, "update");
    }
    ctl_client_ask(up->ctl, "follow");
}

/* ---- the handover ---- */

static struct head_wish wish_of(struct up *up)
{
    return (struct head_wish){
        .launch = &up->launch,
        .uid = up->uid,
        .epoch = up->is_update ? 0 : up->epoch,
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

static void on_released(void *context, const struct provider_answer *answer)
{
    struct up *up = context;
    (void)answer; /* what could not be handed back runs out by itself */
    up->is_released = true;
    failpoint("up:after-release");
}

/* From here on the head's service is the one that acts. */
static void on_sent(void *context)
{
    struct up *up = context;
    failpoint("up:after-request");
    if (!up->is_update) {
        controller_release(up->launch.controller, on_released, up);
    }
}

static void on_service(void *context)
{
    struct up *up = context;
    failpoint("up:while-following");
    follow(up);
}

/* ---- the head ---- */

static void on_head_changed(void *context)
{
    show_head(context);
}

static void on_tagged(void *context, const struct provider_answer *answer)
{
    struct up *up = context;
    (void)answer; /* tags are for people and for Ray's tools: nothing here depends on them */
    up->is_tagging = false;
    end_if_done(up);
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
        fail_up(up, err);
        return;
    }
    struct err why;
    if (!head_plan_done(&up->launch, &up->plan, up->head_id, &why)) {
        fail_up(up, &why);
        return;
    }
    tag_head(up);
    show_head_ready(up);
    end_if_done(up);
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
        fail_up(up, &err);
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

static bool note_applied(struct up *up, struct err *err)
{
    struct journal *journal = up->launch.journal;
    return journal_begin(journal, err) && journal_set(journal, "applied", up->wanted, err) &&
           journal_commit(journal, err);
}

static uint64_t launch_number_of(const struct machine *machine)
{
    uint64_t number = 0;
    return launch_number_parse(machine_tag_value(machine, TAG_LAUNCH), &number) ? number : 0;
}

static void know_head(struct up *up, const struct machine *machine, uint64_t launch_number)
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
        show_head(up);
        follow(up);
        return;
    }
    show_head(up);
    connect_head(up);
}

static void on_head_launched(void *context, const struct machine *machine, uint64_t launch_number,
                             const struct err *err)
{
    struct up *up = context;
    if (!machine) {
        struct err why = *err;
        err_set(&why, why.kind, "the head could not be launched: %s", err->text);
        fail_up(up, &why);
        return;
    }
    failpoint("up:after-head-launch");
    controller_learn(up->launch.controller, machine, 1);
    know_head(up, machine, launch_number);
    controller_look(up->launch.controller);
}

/* ---- a head that stands still ---- */

static void start_head(struct up *up);

static void on_start_again(void *context)
{
    start_head(context);
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
        fail_up(up, &err);
        return;
    }
    if (!up->has_head && controller_find(up->launch.controller, HEAD_INSTANCE, &head) &&
        head.machine) {
        struct machine machine = *head.machine;
        machine.state = MACHINE_PENDING;
        machine.public_ip = STR(""); /* that of before, if any */
        failpoint("up:after-head-start");
        controller_learn(up->launch.controller, &machine, 1);
        know_head(up, &machine, launch_number_of(&machine));
    }
    controller_look(up->launch.controller);
}

/* Its steps have to run again, whatever was done before it stopped; and nothing may go over a
 * connection of then. */
static bool forget_steps(struct up *up, struct str id, struct err *err)
{
    struct launch *launch = &up->launch;
    unlink(cluster_state_control(&launch->state, id, launch->arena));
    return journal_begin(launch->journal, err) &&
           journal_set(launch->journal, "head-steps", STR(""), err) &&
           journal_commit(launch->journal, err);
}

static void start_head(struct up *up)
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
        fail_up(up, &err);
        return;
    }
    launch->provider->ops->start(launch->provider, &id, 1, on_head_started, up);
}

/* A cluster has one head: another beside one that was stopped would be forgotten and paid for. */
static bool is_head_usable(struct up *up, const struct machine *head, struct err *err)
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

static bool stopped_head(struct up *up, struct controlled *ret_head)
{
    return controller_find(up->launch.controller, HEAD_INSTANCE, ret_head) && ret_head->machine &&
           (ret_head->machine->state == MACHINE_STOPPING ||
            ret_head->machine->state == MACHINE_STOPPED);
}

static void launch_head(struct up *up)
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
        fail_up(up, &answer->err);
        return;
    }
    if (head_of(up, &head)) {
        know_head(up, head.machine, launch_number_of(head.machine));
    } else if (stopped_head(up, &head)) {
        launch_note(&up->launch, "the head %.*s was stopped: it is started again",
                    STR_ARG(head.machine->id));
        start_head(up);
    } else {
        launch_head(up);
    }
}

static void on_started(void *context, const struct cluster_lease *lease)
{
    struct up *up = context;
    struct launch *launch = &up->launch;
    struct controlled head;
    struct err err;
    failpoint("up:after-take");
    up->uid = arena_str(launch->arena, lease->uid);
    up->epoch = lease->epoch;
    if (stopped_head(up, &head) && !is_head_usable(up, head.machine, &err)) {
        fail_up(up, &err);
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
            start_head(up);
        }
        if (up->has_head && controlled->machine) {
            know_head(up, controlled->machine, up->head_number);
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
    show(up, &view);
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
        fail_up(up, &answer->err);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (machine_is_head(&machines[i]) && machines[i].state < MACHINE_STOPPING) {
            know_head(up, &machines[i], launch_number_of(&machines[i]));
            return;
        }
    }
    err_set(&err, ERR_UNAVAILABLE,
            "the cluster's lease is held, but no head is listed; run it "
            "again in a minute, or end it with shoal down");
    fail_up(up, &err);
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
        up->uid = arena_str(up->launch.arena, lease->uid);
        up->epoch = lease->epoch;
        up->launch.provider->ops->list(up->launch.provider, on_listed, up);
        return;
    }
    err_set(&err, ERR_EXISTS, "somebody else is at this cluster: %.*s",
            STR_ARG(lease ? lease->holder : STR("not known who")));
    fail_up(up, &err);
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
        fail_up(up, &answer->err);
        return;
    }
    hooks->findings(hooks->context, findings, count);
    for (size_t i = 0; i < count; i++) {
        errors += findings[i].level == FINDING_ERROR;
    }
    if (errors > 0) {
        err_set(&err, ERR_CONFIG, "%zu thing%s must be mended first; nothing was created", errors,
                errors == 1 ? "" : "s");
        fail_up(up, &err);
        return;
    }
    if (!launch_place(&up->launch, &err)) {
        fail_up(up, &err);
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
    result->missing_count = up->wanted_count > known ? up->wanted_count - known : 0;
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
        up.again = loop_timer_new(launch->session->loop, on_follow_again, &up);
        up.start_timer = loop_timer_new(launch->session->loop, on_start_again, &up);
        launch->provider->ops->survey(launch->provider, on_surveyed, &up);
        ok = cloud_session_run(launch->session, err);
        if (ok && !launch->is_ok) {
            *err = launch->err;
            ok = false;
        }
        if (!ok) {
            tell_what_is_left(&up);
        }
        ok = ok && note_applied(&up, err);
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
