/* up_head.c: launches, restarts and sets up the head, the only machine that the laptop manages. */
#include "app/control/launch_request.h"
#include "app/handover/handover.h"
#include "app/launch/up_internal.h"
#include "io/failpoint.h"
#include "provider/launch_token.h"

#include <unistd.h>

enum { START_TRIES = 5, START_RETRY_MS = 1000, TAG_BYTES_MAX = 255 };

/* ---- the handover ---- */

static struct head_spec request_of(struct up *up)
{
    const struct controller *controller = up->launch.controller;
    return (struct head_spec){
        .launch = &up->launch,
        .uid = up->uid,
        .epoch = up->is_update ? 0 : up->epoch,
        .lease_object = up->is_update ? STR("") : controller_lease(controller)->lease_object,
        .id = up->head_id,
        .private_ip = up->head_private_ip,
        .public_ip = up->head_public_ip,
        .machine = up->head.machine,
        .is_spot = up->head.is_spot,
    };
}

#define SENT_NAME "handover-sent"

/* Picks a serial newer than the head's and any sent from here, whatever the clock says. */
static bool choose_serial(struct up *up, const struct node_hello *hello, struct err *err)
{
    struct journal *journal = up->launch.journal;
    int64_t wall_ms = clock_wall_ms(loop_clock(up->launch.session->loop));
    uint64_t sent;
    if (!journal_get_number(journal, SENT_NAME, &sent, err)) {
        return false;
    }
    up->serial = handover_next_serial(wall_ms, hello->handover, (int64_t)sent);
    return journal_begin(journal, err) &&
           journal_end(journal, journal_set_number(journal, SENT_NAME, (uint64_t)up->serial, err),
                       err);
}

static bool plan_head(void *context, const struct node_hello *hello, struct setup_plan *ret_plan,
                      struct err *err)
{
    struct up *up = context;
    failpoint("at-head-contact", NULL, NULL);
    if (!choose_serial(up, hello, err)) {
        return false;
    }
    struct head_spec spec = request_of(up);
    spec.serial = up->serial;
    spec.written_ms = spec.epoch != 0 ? controller_time_ms(up->launch.controller) : 0;
    if (!head_plan_make(&spec, &up->plan, err)) {
        return false;
    }
    failpoint("after-files", NULL, NULL);
    up->wanted = up->plan.wanted;
    *ret_plan = up->plan.setup;
    for (size_t i = 0; i < ret_plan->warning_count; i++) {
        launch_note(&up->launch, "%.*s", STR_ARG(ret_plan->warnings[i]));
    }
    return true;
}

/*
 * From here on only the head's service acts. The request handed the lease over: the service takes
 * it from us without further notification.
 */
static void up_head_on_sent(void *context)
{
    struct up *up = context;
    failpoint("after-request", NULL, NULL);
    if (!up->is_update) {
        controller_stand_down(up->launch.controller);
        up->is_released = true;
        failpoint("after-release", NULL, NULL);
    }
}

static void on_service(void *context)
{
    struct up *up = context;
    failpoint("while-following", NULL, NULL);
    up_follow(up);
}

/* ---- the head ---- */

static void on_head_changed(void *context)
{
    up_show_head(context);
}

static void up_head_on_tagged(void *context, const struct provider_answer *answer)
{
    struct up *up = context;
    (void)answer; /* tags are for users and Ray's tools: nothing here depends on them */
    up->is_tagging = false;
    up_end_if_done(up);
}

/* As Ray's updater does when it is done. It runs while other nodes are still joining. */
static void tag_head(struct up *up)
{
    struct provider *provider = up->launch.provider;
    struct arena *arena = up->launch.arena;
    const struct machine_tag tags[] = {
        {STR("ray-node-status"), STR("up-to-date")},
        {STR("ray-runtime-config"), up->plan.runtime_hash},
        {STR(TAG_HEAD), STR("in-use")},
        {STR(TAG_STARTED_FROM), str_sub(launch_here(arena), 0, TAG_BYTES_MAX)},
        /* Last: without a certain key it is left out. */
        {STR(TAG_HOST_KEY), cluster_state_pinned(&up->launch.state, up->head_id, arena)},
    };
    size_t count = ARRAY_LEN(tags);
    count -= tags[count - 1].value.len == 0 || tags[count - 1].value.len > TAG_BYTES_MAX;
    up->is_tagging = true;
    (provider->ops->note && !up->had_failed ? provider->ops->note : provider->ops->tag)(
        provider, &up->head_id, 1, tags, count, up_head_on_tagged, up);
}

static void up_head_on_slow(void *context)
{
    const struct up *up = context;
    struct str rule = up->launch.ssh_rule;
    if (rule.len > 0) {
        launch_note(&up->launch,
                    "the head does not answer over ssh yet. %.*s: if your ssh leaves this network "
                    "from another address (a proxy, a VPN), set metadata.shoal.ssh_from. VPC Block "
                    "Public Access, a network ACL or a missing internet gateway also stop ssh",
                    STR_ARG(rule));
    }
}

static void up_head_on_kept_host_key(void *context, struct str why)
{
    const struct up *up = context;
    launch_note(
        &up->launch,
        "the head still uses the host key of its first boot, because it could not be replaced: "
        "%.*s. Anyone who can read the machine's user-data knows that key and could impersonate "
        "the head. The next `shoal up` tries again.",
        STR_ARG(str_sub(why, 0, 300)));
}

static void up_head_on_tagged_failed(void *context, const struct provider_answer *answer)
{
    struct up *up = context;
    (void)answer; /* `ls` shows the tag */
    up_fail(up, &up->head_err);
}

/* A Ray that still runs on the head is in use, whatever failed now. */
static void fail_head(struct up *up, const struct err *err)
{
    struct provider *provider = up->launch.provider;
    const struct machine_tag tag = {STR("ray-node-status"), STR("update-failed")};
    if (up->is_update || up->is_head_in_ray || err->kind == ERR_CANCELLED) {
        up_fail(up, err);
        return;
    }
    up->head_err = *err;
    provider->ops->tag(provider, &up->head_id, 1, &tag, 1, up_head_on_tagged_failed, up);
}

static void on_head_done(void *context, bool is_ok, const struct err *err)
{
    struct up *up = context;
    up->is_head_done = is_ok;
    if (!is_ok) {
        fail_head(up, err);
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

static void up_head_on_host_key(void *context, const struct provider_answer *answer, struct str id,
                                struct str key)
{
    struct up *up = context;
    struct err err = answer->err;
    up->waits_for_key = false;
    if (up->head_setup || !str_eq(id, up->head_id)) {
        return; /* another head replaced it */
    }
    if (answer->outcome != OUTCOME_DONE ||
        !cluster_state_pin(&up->launch.state, id, key, false, &err)) {
        up_fail(up, &err);
        return;
    }
    up_set_head_up(up);
}

/* False: the key is awaited, or `up` has failed. */
static bool up_head_pin(struct up *up)
{
    const struct cluster_session *launch = &up->launch;
    struct provider *provider = launch->provider;
    struct err err;
    if (config_is_local(launch->config) || config_trusts_first_key(launch->config)) {
        return true;
    }
    if (provider->ops->host_key) {
        if (!up->waits_for_key) {
            up->waits_for_key = true;
            provider->ops->host_key(provider, up->head_id, up->head.zone, up->head_address,
                                    up_head_on_host_key, up);
        }
        return false;
    }
    if (!cluster_state_pin_launch(&launch->state, up->head_id, up->head_number, &err)) {
        up_fail(up, &err);
        return false;
    }
    return true;
}

void up_set_head_up(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    struct ssh_target place;
    if (up->head_setup || (up->head_address.len == 0 && !launch_reaches_by_id(launch->config)) ||
        (!launch_head_place(launch, up->head_id, up->head_address, &place) && !up_head_pin(up))) {
        return;
    }
    up->head_setup = head_setup_start(&(struct head_setup_input){
        .session = launch->session,
        .config = launch->config,
        .keeps_host_key = config_is_local(launch->config) || launch->provider->ops->host_key,
        .state = &launch->state,
        .place = place,
        .view = &up->head,
        .hooks = {up, on_head_changed, plan_head, up_head_on_sent, up_head_on_kept_host_key,
                  on_service, on_head_done, up_head_on_slow},
    });
}

/* ---- nothing to do ---- */

/* The cluster is as the last `up` from here left it, provided no other process has changed it. */
bool up_is_up_to_date(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    struct str applied;
    struct err err;
    return up->is_update && !launch->setup->restart_only && !launch->restarts_ray &&
           head_plan_wanted(launch, &up->wanted, &err) &&
           journal_get(launch->journal, "applied", launch->arena, &applied, &err) && applied.ptr &&
           str_eq(applied, up->wanted);
}

bool up_note_applied(struct up *up, struct err *err)
{
    const struct launcher_result *result = up->launch.result;
    bool is_whole = result->failed_count == 0 && result->missing_count == 0 && !up->is_role_old;
    /* An incomplete cluster is updated again by the next `up`, which also re-enables node types
     * that were disabled after failures. */
    return journal_note(up->launch.journal, "applied", is_whole ? up->wanted : STR(""), err);
}

uint64_t up_launch_number(const struct machine *machine)
{
    uint64_t number = 0;
    return launch_number_parse(machine_tag_value(machine, TAG_LAUNCH), &number) ? number : 0;
}

void up_know_head(struct up *up, const struct machine *machine, uint64_t launch_number)
{
    struct arena *arena = up->launch.arena;
    struct managed_node head = {HEAD_INSTANCE, machine, NULL, true};
    struct node_view view;
    launch_view(&up->launch, &head, arena, &view);
    if (up->head_setup) { /* the connection's state is newer */
        view.phase = up->head.phase;
        view.since_ms = up->head.since_ms;
        view.step = up->head.step;
        view.steps = up->head.steps;
        view.detail = up->head.detail;
        view.failure = up->head.failure;
    }
    up->has_head = true;
    up->had_failed = str_is(machine_tag_value(machine, "ray-node-status"), "update-failed");
    view.requested_ms = up->head.requested_ms > 0 ? up->head.requested_ms : view.since_ms;
    up->head = view;
    up->head_id = view.id;
    up->head_private_ip = view.private_ip;
    up->head_public_ip = view.public_ip;
    up->head_number = launch_number;
    up->head_address = arena_str(arena, launch_address(up->launch.config, machine, true));
    if (up_is_up_to_date(up)) {
        up->launch.result->was_up_to_date = true;
        up->is_head_done = true;
        up->head.phase = PHASE_JOINING;
        up_show_head(up);
        up_follow(up);
        return;
    }
    up_show_head(up);
    up_set_head_up(up);
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
    failpoint("after-head-launch", NULL, NULL);
    controller_learn(up->launch.controller, machine, 1);
    up_know_head(up, machine, launch_number);
    /* One without any address is pending, and is listed now. */
    if (machine->private_ip.len > 0 &&
        (machine->state == MACHINE_PENDING || up->head_address.len == 0)) {
        controller_refresh(up->launch.controller);
    }
}

/* ---- a stopped head ---- */

void up_start_head_again(void *context)
{
    up_start_head(context);
}

static void on_head_started(void *context, const struct provider_answer *answer)
{
    struct up *up = context;
    struct managed_node head;
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
        machine.public_ip = STR(""); /* the address from before the stop, if any */
        failpoint("after-head-start", NULL, NULL);
        controller_learn(up->launch.controller, &machine, 1);
        up_know_head(up, &machine, up_launch_number(&machine));
    }
    controller_refresh(up->launch.controller);
}

/* After a stop all steps must run again, and the old ssh connection must not be used. */
static bool forget_steps(struct up *up, struct str id, struct err *err)
{
    struct cluster_session *launch = &up->launch;
    unlink(cluster_state_control(&launch->state, id, launch->arena));
    return journal_note(launch->journal, "head-steps", STR(""), err);
}

void up_start_head(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    struct managed_node head;
    struct err err;
    if (!controller_find(launch->controller, HEAD_INSTANCE, &head) || !head.machine) {
        return;
    }
    if (head.machine->state == MACHINE_STOPPING) {
        up->waits_for_stop = true; /* on_changed() continues */
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

/*
 * A cluster has one head. Replacing it would kill every job and lose its disk, so `up` refuses and
 * leaves that to the user; it never ignores a changed head.
 */
bool up_is_head_usable(struct up *up, const struct machine *head, struct err *err)
{
    struct cluster_session *launch = &up->launch;
    const struct config *config = launch->config;
    struct up_plan_input input = {.config = config, .core = &launch->core};
    if (up->is_keyless && machine_tag_value(head, TAG_HOST_KEY).len > 0) {
        up->is_others = true;
        return launch_refuse_keyless(launch, machine_tag_value(head, TAG_STARTED_FROM), err);
    }
    struct str wanted = launch->core.facts[config->head_type].machine;
    if (!launch_config_hashes(config, launch->arena, &input.config_hashes, err) ||
        !launch_hash(config, config->head_type, launch->arena, &input.head_launch_hash, err)) {
        return false;
    }
    if (!up_plan_head_differs(&input, head)) {
        return true;
    }
    struct str what = str_eq(head->type, wanted)
                          ? STR("was launched with a different node_config than the file has now")
                          : arena_printf(launch->arena, "runs %.*s, the file says %.*s",
                                         STR_ARG(head->type), STR_ARG(wanted));
    bool is_stopped = head->state >= MACHINE_STOPPING;
    return err_set(
        err, ERR_EXISTS,
        "the head %.*s %s%.*s. Shoal does not replace the head of an existing cluster, because "
        "that would stop its jobs. Nothing was changed.\n  to replace it     shoal down%s FILE, "
        "then shoal up FILE\n  to keep it        undo the change, or set "
        "provider.disable_launch_config_check: true",
        STR_ARG(head->id), is_stopped ? "is stopped; it " : "", STR_ARG(what),
        is_stopped ? " --terminate" : "");
}

bool up_stopped_head(struct up *up, struct managed_node *ret_head)
{
    return controller_find(up->launch.controller, HEAD_INSTANCE, ret_head) && ret_head->machine &&
           (ret_head->machine->state == MACHINE_STOPPING ||
            ret_head->machine->state == MACHINE_STOPPED);
}

static void on_head_waits(void *context)
{
    const struct up *up = context;
    launch_note(&up->launch,
                "another process worked on this cluster; waiting up to 3 minutes for the cloud to "
                "list the instances that process launched");
}

void up_launch_head(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    failpoint("after-prepare", NULL, NULL);
    up->head_launch = head_launch_start(&(struct head_launch_setup){
        .loop = launch->session->loop,
        .provider = launch->provider,
        .journal = launch->journal,
        .config = launch->config,
        .core = &launch->core,
        .controller = launch->controller,
        .uid = up->uid,
        .secret = launch->state.secret,
        .cluster_key = launch->state.public_key,
        .epoch = up->epoch,
        .context = up,
        .waits = on_head_waits,
        .done = on_head_launched,
    });
}
