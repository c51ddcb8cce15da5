/* worker_setup.c: sets up each worker over one session, from first contact to the last step. */
#include "app/head/workers/worker_setup.h"

#include "app/contact.h"
#include "app/head/workers/worker_setup_internal.h"
#include "app/setup/setup_failure.h"
#include "io/clock.h"
#include "io/xalloc.h"
#include "ray/token.h"

#include <string.h>

enum {
    LOOK_FIRST_MS = 25,
    LOOK_MOST_MS = 250,
    COPIES_MAX = 16, /* concurrent copies, because disks and network are shared */
    FAILED_MAX = 20, /* failed workers that are remembered */
    DETAIL_MAX_BYTES = 300,
};

/* ---- progress ---- */

void worker_phase(struct worker *worker, enum node_phase phase, struct str detail)
{
    struct worker_progress *progress = &worker->progress;
    if (progress->phase != phase) {
        progress->phase = phase;
        progress->since_ms = clock_wall_ms(loop_clock(worker->all->setup.loop));
    }
    if (detail.ptr != progress->detail.ptr) {
        arena_clear(&worker->words);
        progress->detail = arena_str(&worker->words, detail);
    }
    worker->all->setup.hooks.changed(worker->all->setup.hooks.context, worker->machine.instance);
}

static void tag(struct worker *worker, struct str status)
{
    worker->all->setup.hooks.tag(worker->all->setup.hooks.context, worker->machine.instance,
                                 status);
}

static void tell_news(struct worker *worker, enum setup_news news)
{
    worker->all->setup.hooks.news(worker->all->setup.hooks.context, worker->machine.instance, news);
}

static void tell_failure(struct worker *worker)
{
    bool is_blocked = setup_is_blocked(worker->progress.failure.said);
    tell_news(worker, is_blocked ? SETUP_BLOCKED : SETUP_FAILED);
}

/* Stops all work on it; its progress is kept. */
static void end_work(struct worker *worker)
{
    worker->is_over = true;
    worker->waits = false;
    if (worker->copy) {
        child_forget(worker->copy);
        worker->copy = NULL;
    }
    node_session_close(worker->session);
    worker->session = NULL;
}

static struct node_failure keep_failure(struct arena *arena, const struct node_failure *failure)
{
    return (struct node_failure){
        .step = arena_str(arena, failure->step),
        .command = arena_str(arena, failure->command),
        .path = arena_str(arena, failure->path),
        .said = arena_str(arena, failure->said),
        .why = arena_str(arena, failure->why),
        .next = arena_str(arena, failure->next),
        .status = failure->status,
    };
}

/* Its steps ran for a Ray on the head that is being replaced. */
static void wait_for_next(struct worker *worker, const struct node_failure *failure)
{
    worker_log(worker, "failed: %.*s, while Ray on the head was replaced; setting it up again",
               STR_ARG(failure->step));
    end_work(worker);
    worker->progress.is_outdated = true;
    worker_phase(worker, PHASE_WAITING, STR("Ray on the head was replaced"));
}

void worker_fail(struct worker *worker, const struct node_failure *failure)
{
    const struct worker_setup_hooks *hooks = &worker->all->setup.hooks;
    if (worker->is_over) {
        return;
    }
    if (hooks->is_outdated(hooks->context, worker->machine.instance)) {
        wait_for_next(worker, failure);
        return;
    }
    worker->progress.is_unused = worker->progress.is_unused || !worker->is_sent;
    worker->progress.failure = keep_failure(&worker->arena, failure);
    worker_log(worker, "failed: %.*s%s%.*s", STR_ARG(failure->step),
               failure->why.len > 0 ? ": " : "", STR_ARG(failure->why));
    node_log_text(&worker->log, failure->why);
    end_work(worker);
    tag(worker, STR("update-failed"));
    tell_failure(worker);
    worker_phase(worker, PHASE_FAILED, failure->step);
}

static void fail_with(struct worker *worker, const char *step, const struct err *err)
{
    struct str log = arena_printf(&worker->arena, "its log on the head is %s/log/%.*s",
                                  worker->all->setup.state->folder, STR_ARG(worker->machine.name));
    worker_fail(worker, &(struct node_failure){
                            .step = str_from(step),
                            .said = str_from(err->text),
                            .next = log,
                        });
}

/* ---- waiting for the head ---- */

static void look_again(void *context)
{
    struct worker_setups *setups = context;
    bool is_any = false;
    worker_setups_go_on(setups);
    for (const struct worker *worker = setups->workers; worker; worker = worker->next) {
        is_any = is_any || worker->waits;
    }
    if (is_any) {
        int64_t twice = 2 * setups->look_ms;
        setups->look_ms = twice < LOOK_MOST_MS ? twice : LOOK_MOST_MS;
        loop_timer_start(setups->look, setups->look_ms);
    }
}

void worker_wait(struct worker *worker, struct str what)
{
    bool is_new = !worker->waits;
    worker->waits = true;
    if (is_new) {
        worker->all->look_ms = LOOK_FIRST_MS;
        loop_timer_start(worker->all->look, LOOK_FIRST_MS);
        worker_log(worker, "waits: %.*s", STR_ARG(what));
        worker_phase(worker, PHASE_WAITING, what);
    }
}

void worker_setups_go_on(struct worker_setups *setups)
{
    for (struct worker *worker = setups->workers; worker; worker = worker->next) {
        if (worker->waits && !worker->is_over) {
            worker_copy_next(worker);
        }
    }
}

/* ---- steps ---- */

static bool make_plan(const struct worker_setups *setups, const struct worker_machine *machine,
                      enum setup_restart restart, struct arena *arena, struct setup_plan *ret_plan,
                      struct err *err)
{
    const struct worker_setups_setup *setup = &setups->setup;
    struct buf token;
    buf_init(&token, RAY_TOKEN_BYTES_MAX);
    if (setup->token_path && !ray_token_read(setup->token_path, &token, err)) {
        return false;
    }
    struct setup_input input = {
        .config = setup->config,
        .type = machine->type,
        .instance_id = machine->id,
        .machine = machine->machine,
        .is_spot = machine->is_spot,
        .head_ip = setup->head_ip,
        .token = arena_str(arena, buf_str(&token)),
        .runtime_hash = setup->runtime_hash,
        .restart = restart,
    };
    buf_wipe(&token);
    return setup_plan_make(&input, arena, ret_plan, err);
}

/* The request has the same name after a restart of this service, so that a worker that is already
 * set up does not restart its Ray. */
static bool plan_worker(struct worker *worker, struct err *err)
{
    const struct worker_machine *machine = &worker->machine;
    enum setup_restart restart = machine->keeps_ray ? SETUP_NO_RESTART : SETUP_RESTARTS;
    if (!make_plan(worker->all, machine, restart, &worker->arena, &worker->plan, err)) {
        return false;
    }
    worker->plan.request.run = machine->run;
    return true;
}

bool worker_setups_key(const struct worker_setups *setups, const struct worker_machine *machine,
                       char *ret_key, struct err *err)
{
    struct arena arena;
    struct setup_plan plan;
    arena_init_secret(&arena);
    bool ok = make_plan(setups, machine, SETUP_RESTARTS, &arena, &plan, err);
    if (ok) {
        const struct bundle *bundle = &plan.request.bundle;
        char(*keys)[STEP_KEY_SIZE] = arena_array(&arena, bundle->count, STEP_KEY_SIZE);
        bundle_keys(bundle, keys);
        memcpy(ret_key, keys[bundle->count - 1], STEP_KEY_SIZE);
    }
    arena_clear(&arena);
    return ok;
}

/* ---- the dead-man switch ---- */

enum { SWITCH_MS = 90 * 1000 }; /* a startup script may begin after ssh */

static const char switch_command[] = "exec sh -c 'n=0; while ! test -e " CONTACT_FILE
                                     "; do n=$((n + 1)); test $n -lt 60 || exit 7; sleep 1; done'";

static void worker_setup_on_switch(void *context, const struct child_result *result)
{
    struct worker *worker = context;
    const struct worker_setup_hooks *hooks = &worker->all->setup.hooks;
    worker->copy = NULL;
    if (result->end == CHILD_EXITED && result->exit_status == 7) {
        worker_log(worker, "it has no " CONTACT_FILE);
        hooks->has_no_switch(hooks->context, worker->machine.name);
    }
}

/* At Google the switch is started by a script that some images do not run: then a lost
 * worker bills for ever. */
static void worker_look_for_switch(struct worker *worker)
{
    const struct worker_setups_setup *setup = &worker->all->setup;
    const char *const *argv;
    struct err err;
    if (worker->machine.only_copies || contact_timeout_ms(setup->config->shoal) == 0 ||
        !str_is(setup->config->provider_type, "gcp") ||
        !ssh_argv(&worker->place, &(struct ssh_session){.command = str_from(switch_command)},
                  &worker->arena, &argv, &err)) {
        return;
    }
    worker->copy = child_start(setup->children, &(struct child_spec){.argv = argv,
                                                                     .env_names = child_usual_env,
                                                                     .deadline_ms = SWITCH_MS,
                                                                     .done = worker_setup_on_switch,
                                                                     .context = worker});
}

static void worker_finish(struct worker *worker, const char *what)
{
    worker_log(worker, "%s", what);
    end_work(worker);
    worker_look_for_switch(worker);
    tag(worker, STR("up-to-date"));
    tell_news(worker, SETUP_DONE);
    worker_phase(worker, PHASE_JOINING, STR(""));
}

void worker_send(struct worker *worker)
{
    struct err err;
    if (worker->machine.only_copies) {
        worker_finish(worker, "all copies finished");
        return;
    }
    if (!worker->has_plan && !plan_worker(worker, &err)) {
        if (err.kind == ERR_NOT_FOUND) {
            worker_wait(worker, STR("the head has not created Ray's token yet"));
        } else {
            fail_with(worker, "planning its setup", &err);
        }
        return;
    }
    worker->waits = false;
    worker->has_plan = worker->is_sent = true;
    worker->progress.steps = worker->plan.request.bundle.count;
    for (size_t i = 0; i < worker->plan.warning_count; i++) {
        worker_log(worker, "warning: %.*s", STR_ARG(worker->plan.warnings[i]));
    }
    tag(worker, STR("setting-up"));
    worker_phase(worker, PHASE_SETTING_UP, STR(""));
    node_session_send(worker->session, &worker->plan.request);
}

/* ---- session hooks ---- */

static bool worker_setup_on_payload(void *context, struct str machine, struct arena *arena,
                                    struct str *ret_path, struct err *err)
{
    struct worker *worker = context;
    const struct worker_setup_hooks *hooks = &worker->all->setup.hooks;
    return hooks->payload(hooks->context, machine, arena, ret_path, err);
}

static void worker_setup_on_waiting(void *context, struct str why)
{
    struct worker *worker = context;
    if (!worker->has_contact && !str_eq(worker->progress.detail, why)) {
        worker_phase(worker, PHASE_CONNECTING, why);
    }
}

static void worker_setup_on_hello(void *context, const struct node_hello *hello)
{
    struct worker *worker = context;
    struct err err;
    if (!cluster_state_pin_greeted(worker->all->setup.state, worker->machine.id, hello, &err)) {
        fail_with(worker, "storing its host key", &err);
        return;
    }
    worker->host_key = arena_str(&worker->arena, hello->host_key);
    if (!worker->has_contact) {
        worker->has_contact = true;
        worker_log(worker, "answers: %.*s", STR_ARG(str_sub(hello->machine, 0, 40)));
        tell_news(worker, SETUP_CONTACT);
    }
    if (!worker->is_sent && !worker->is_over) { /* otherwise the session continues by itself */
        worker_copy_next(worker);
    }
}

static void worker_setup_on_rotated(void *context, bool is_ok, struct str why)
{
    struct worker *worker = context;
    struct err err;
    if (!is_ok) {
        const struct worker_setup_hooks *hooks = &worker->all->setup.hooks;
        worker_log(worker, "it still uses the host key of its first boot: %.*s", STR_ARG(why));
        hooks->kept_host_key(hooks->context, worker->machine.name, why);
    } else if (!cluster_state_pin(worker->all->setup.state, worker->machine.id, worker->host_key,
                                  false, &err)) {
        worker_log(worker, "cannot unpin the host key of its first boot: %s", err.text);
    }
}

/* NULL if the node reports a step that was not requested. */
static const struct setup_step *step_of(const struct worker *worker, const struct step_event *event)
{
    bool is_known = worker->has_plan && event->step < worker->plan.request.bundle.count;
    return is_known ? &worker->plan.steps[event->step] : NULL;
}

static void fail_step(struct worker *worker, const struct step_event *event)
{
    struct node_failure failure = setup_failure(
        step_of(worker, event), event, worker->all->setup.config->provider_type, &worker->arena);
    if (failure.next.len == 0) {
        failure.next = arena_printf(&worker->arena, "its log on the head is %s", worker->log.path);
    }
    worker->progress.is_unused = worker->progress.phase < PHASE_STARTING;
    worker_fail(worker, &failure);
}

static void begin_step(struct worker *worker, const struct step_event *event)
{
    const struct setup_step *step = step_of(worker, event);
    if (!step) {
        return;
    }
    struct str detail = setup_detail(step, &worker->arena);
    worker->progress.step = event->step + 1;
    worker_phase(worker, setup_phase(step), str_sub(detail, 0, DETAIL_MAX_BYTES));
}

static void worker_setup_on_event(void *context, const struct step_event *event)
{
    struct worker *worker = context;
    if (worker->is_over) {
        return;
    }
    node_log_event(&worker->log, event);
    if (event->kind == STEP_BEGAN) {
        begin_step(worker, event);
    } else if (event->kind == STEP_FAILED) {
        fail_step(worker, event);
    }
}

static void worker_setup_on_done(void *context, bool is_ok, const struct err *err)
{
    struct worker *worker = context;
    if (worker->is_over) {
        return;
    }
    if (!is_ok) {
        fail_with(worker, worker->has_contact ? "the ssh connection" : "waiting for ssh", err);
        return;
    }
    worker_finish(worker, "all steps finished");
}

/* ---- starting ---- */

static struct worker *worker_setup_find(const struct worker_setups *setups, uint64_t instance)
{
    struct worker *worker = setups->workers;
    while (worker && worker->machine.instance != instance) {
        worker = worker->next;
    }
    return worker;
}

static void copy_machine(struct worker *worker, const struct worker_machine *machine)
{
    struct arena *arena = &worker->arena;
    worker->machine = *machine;
    worker->machine.name = arena_str(arena, machine->name);
    worker->machine.id = arena_str(arena, machine->id);
    worker->machine.zone = arena_str(arena, machine->zone);
    worker->machine.address = arena_str(arena, machine->address);
    worker->machine.machine = arena_str(arena, machine->machine);
    worker->machine.run = arena_str(arena, machine->run);
}

static struct worker *worker_setup_add(struct worker_setups *setups,
                                       const struct worker_machine *machine)
{
    struct worker *worker = HEAP_NEW(struct worker);
    arena_init_secret(&worker->arena); /* the plan contains the token */
    arena_init(&worker->words);
    worker->all = setups;
    worker->next = setups->workers;
    setups->workers = worker;
    copy_machine(worker, machine);
    worker->log = node_log_at(setups->setup.state->folder, worker->machine.name,
                              loop_clock(setups->setup.loop), &worker->arena);
    return worker;
}

static void free_worker(struct worker *worker)
{
    end_work(worker);
    arena_clear(&worker->arena);
    arena_clear(&worker->words);
    free(worker);
}

static void worker_setup_set_place(struct worker *worker)
{
    const struct worker_setups_setup *setup = &worker->all->setup;
    struct str id = worker->machine.id;
    /* If a setup used the connection of a copy, its end would fail the setup. */
    struct str session = worker->machine.only_copies
                             ? arena_printf(&worker->arena, "%.*s copies", STR_ARG(id))
                             : id;
    worker->place = (struct ssh_target){
        .user = setup->config->ssh_user,
        .address = worker->machine.address,
        .machine = cluster_state_key_name(id),
        .known_hosts = cluster_state_known_hosts(setup->state, id, &worker->arena),
        .user_hosts = config_trusts_first_key(setup->config) ? "/dev/null" : NULL,
        .identity = setup->identity,
        .control = cluster_state_control(setup->state, session, &worker->arena),
        .is_near = true,
    };
}

static void open_session(struct worker *worker)
{
    const struct worker_setups_setup *setup = &worker->all->setup;
    worker->session = node_session_open(&(struct node_session_setup){
        .loop = setup->loop,
        .children = setup->children,
        .place = worker->place,
        .contact_ms = setup_contact_ms(),
        .keeps_host_key = config_is_local(setup->config) || setup->provider->ops->host_key,
        .hooks = {worker, worker_setup_on_payload, worker_setup_on_waiting, worker_setup_on_hello,
                  worker_setup_on_rotated, worker_setup_on_event, worker_setup_on_done},
    });
}

/* The caller missed the result, for example while another process held the lease. */
static void tell_again(struct worker *worker)
{
    if (worker->progress.phase == PHASE_FAILED) {
        tell_failure(worker);
    } else if (worker->has_contact) {
        tell_news(worker, SETUP_CONTACT);
    }
    if (worker->progress.phase == PHASE_JOINING) {
        tell_news(worker, SETUP_DONE);
    }
}

static void worker_setup_connect(struct worker *worker)
{
    worker_setup_set_place(worker);
    tag(worker, STR("waiting-for-ssh"));
    worker_phase(worker, PHASE_CONNECTING, STR(""));
    open_session(worker);
}

static void worker_setup_on_host_key(void *context, const struct provider_answer *answer,
                                     struct str id, struct str key)
{
    struct worker_setups *setups = context;
    struct worker *worker = setups->workers;
    struct err err = answer->err;
    while (worker && !(str_eq(worker->machine.id, id) && worker->waits_for_key)) {
        worker = worker->next;
    }
    if (!worker || worker->is_over) {
        return; /* it was terminated while it booted */
    }
    worker->waits_for_key = false;
    if (answer->outcome != OUTCOME_DONE ||
        !cluster_state_pin(setups->setup.state, id, key, false, &err)) {
        fail_with(worker, "reading its host key", &err);
        return;
    }
    worker_setup_connect(worker);
}

/* A worker that was set up before is already pinned. Own machines were pinned by `up`. False: the
 * key is awaited, or the setup has failed. */
static bool worker_setup_pin(struct worker *worker)
{
    const struct worker_setups_setup *setup = &worker->all->setup;
    const struct worker_machine *machine = &worker->machine;
    struct err err;
    if (cluster_state_is_pinned(setup->state, machine->id) || config_is_local(setup->config) ||
        config_trusts_first_key(setup->config)) {
        return true;
    }
    if (setup->provider->ops->host_key) {
        worker->waits_for_key = true;
        worker_phase(worker, PHASE_CONNECTING, STR("it has not reported its host key yet"));
        setup->provider->ops->host_key(setup->provider, machine->id, machine->zone,
                                       machine->address, worker_setup_on_host_key, worker->all);
        return false;
    }
    if (!cluster_state_pin_launch(setup->state, machine->id, machine->launch, &err)) {
        fail_with(worker, "storing its host key", &err);
        return false;
    }
    return true;
}

void worker_setups_begin(struct worker_setups *setups, const struct worker_machine *machine)
{
    struct worker *worker = worker_setup_find(setups, machine->instance);
    if (worker) {
        tell_again(worker);
        return;
    }
    worker = worker_setup_add(setups, machine);
    worker->progress.since_ms = clock_wall_ms(loop_clock(setups->setup.loop));
    worker_log(worker, "starting %s %.*s at %.*s", machine->only_copies ? "copies to" : "setup of",
               STR_ARG(machine->id), STR_ARG(machine->address));
    if (worker_setup_pin(worker)) {
        worker_setup_connect(worker);
    }
}

static bool worker_setup_has_failed(const struct worker *worker)
{
    return worker->progress.phase == PHASE_FAILED;
}

void worker_setups_give_up(struct worker_setups *setups, uint64_t instance, struct str why)
{
    struct worker *worker = worker_setup_find(setups, instance);
    if (worker && !worker_setup_has_failed(worker)) {
        struct node_failure failure = {
            .step = str_from(node_phase_text(worker->progress.phase)),
            .said = worker->progress.detail,
            .why = why,
        };
        worker->progress.failure = keep_failure(&worker->arena, &failure);
        worker_log(worker, "given up: %.*s", STR_ARG(why));
        end_work(worker);
        worker_phase(worker, PHASE_FAILED, failure.step);
    }
}

/* The newest are first. */
static void forget_old_failures(struct worker_setups *setups)
{
    size_t count = 0;
    struct worker **place = &setups->workers;
    while (*place) {
        struct worker *worker = *place;
        count += worker_setup_has_failed(worker);
        if (worker_setup_has_failed(worker) && count > FAILED_MAX) {
            *place = worker->next;
            free_worker(worker);
        } else {
            place = &worker->next;
        }
    }
}

void worker_setups_end(struct worker_setups *setups, uint64_t instance)
{
    struct worker **place = &setups->workers;
    while (*place && (*place)->machine.instance != instance) {
        place = &(*place)->next;
    }
    struct worker *worker = *place;
    if (!worker) {
        return;
    }
    if (worker_setup_has_failed(worker) && !worker->machine.only_copies) {
        end_work(worker);
        forget_old_failures(setups);
    } else {
        *place = worker->next;
        free_worker(worker);
    }
}

void worker_setups_each_failed(const struct worker_setups *setups, worker_machine_fn *take,
                               void *context)
{
    for (const struct worker *worker = setups->workers; worker; worker = worker->next) {
        if (worker_setup_has_failed(worker)) {
            take(context, &worker->machine);
        }
    }
}

/* ---- all workers ---- */

struct worker_setups *worker_setups_open(const struct worker_setups_setup *setup)
{
    struct worker_setups *setups = HEAP_NEW(struct worker_setups);
    setups->setup = *setup;
    setups->copies = child_pool_new(setup->loop, COPIES_MAX);
    setups->look = loop_timer_new(setup->loop, look_again, setups);
    return setups;
}

void worker_setups_close(struct worker_setups *setups)
{
    if (!setups) {
        return;
    }
    while (setups->workers) {
        struct worker *worker = setups->workers;
        setups->workers = worker->next;
        free_worker(worker);
    }
    child_pool_free(setups->copies);
    loop_timer_free(setups->look);
    free(setups);
}

const struct worker_progress *worker_setups_progress(const struct worker_setups *setups,
                                                     uint64_t instance)
{
    const struct worker *worker = worker_setup_find(setups, instance);
    return worker ? &worker->progress : NULL;
}
