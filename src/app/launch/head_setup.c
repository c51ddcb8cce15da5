/* head_setup.c: sets up the head over one connection and keeps its view up to date. */
#include "app/launch/head_setup.h"

#include "app/node_log.h"
#include "app/payload.h"
#include "app/setup/container.h"
#include "app/setup/node_copy.h"
#include "app/setup/setup_failure.h"
#include "io/xalloc.h"

enum { SERVICE_STEP = 0 };

struct head_setup {
    struct head_setup_input input;
    struct arena arena;
    struct node_session *session;
    struct child *copy; /* the running rsync */
    size_t mount;       /* index of the mount being copied */
    struct node_hello hello;
    struct setup_plan plan;
    bool has_plan;
    struct node_log log;
    struct loop_timer *slow;
    bool is_refused; /* ssh gets through, but the head does not accept it, or is not accepted */
    bool is_over;    /* a later connection starts nothing */
};

static int64_t head_setup_now_ms(const struct head_setup *setup)
{
    return clock_wall_ms(loop_clock(setup->input.session->loop));
}

static void head_setup_show(struct head_setup *setup, enum node_phase phase, struct str detail)
{
    struct node_view *view = setup->input.view;
    if (view->phase != phase) {
        view->phase = phase;
        view->since_ms = head_setup_now_ms(setup);
    }
    view->detail = arena_str(&setup->arena, detail);
    setup->input.hooks.changed(setup->input.hooks.context);
}

static void head_setup_finish(struct head_setup *setup, bool is_ok, const struct err *err)
{
    setup->is_over = true;
    setup->input.hooks.done(setup->input.hooks.context, is_ok, err);
}

static void head_setup_fail(struct head_setup *setup, const struct err *err)
{
    struct node_failure *failure = &setup->input.view->failure;
    if (failure->said.len == 0) {
        failure->said = arena_str(&setup->arena, str_from(err->text));
    }
    head_setup_show(setup, PHASE_FAILED, STR(""));
    head_setup_finish(setup, false, err);
}

/* ---- mounts ---- */

static void copy_next(struct head_setup *setup);

static void head_setup_on_copied(void *context, const struct child_result *result)
{
    struct head_setup *setup = context;
    const struct config_mount *mount = &setup->input.config->mounts[setup->mount];
    setup->copy = NULL;
    node_log_say(&setup->log, "copied %.*s in %lld ms", STR_ARG(mount->remote),
                 (long long)result->ran_ms);
    node_log_text(&setup->log, result->output[CHILD_STDERR]);
    if (!child_was_fine(result)) {
        struct err err;
        struct node_failure *failure = &setup->input.view->failure;
        failure->step = STR("copying files");
        failure->command = arena_printf(&setup->arena, "%.*s from %.*s", STR_ARG(mount->remote),
                                        STR_ARG(mount->local));
        failure->path = STR("file_mounts");
        failure->said = arena_str(&setup->arena, str_trim(result->output[CHILD_STDERR]));
        err_set(&err, ERR_IO, "%.*s could not be copied to the head: %s", STR_ARG(mount->local),
                result->err.text);
        head_setup_fail(setup, &err);
        return;
    }
    setup->mount++;
    copy_next(setup);
}

static void head_setup_send_request(struct head_setup *setup)
{
    struct err err;
    const struct head_setup_hooks *hooks = &setup->input.hooks;
    if (!hooks->plan(hooks->context, &setup->hello, &setup->plan, &err)) {
        head_setup_fail(setup, &err);
        return;
    }
    setup->has_plan = true;
    node_session_send(setup->session, &setup->plan.request);
    hooks->sent(hooks->context);
}

static void copy_next(struct head_setup *setup)
{
    const struct config *config = setup->input.config;
    struct err err;
    if (setup->mount == config->mount_count) {
        head_setup_send_request(setup);
        return;
    }
    const struct config_mount *mount = &config->mounts[setup->mount];
    head_setup_show(setup, PHASE_COPYING, mount->local);
    struct node_copy copy = {
        .children = setup->input.session->children,
        .config = config,
        .place = &setup->input.place,
        .here = mount->local,
        .there = container_copy_path(config, &config->node_types[config->head_type], mount->remote,
                                     &setup->arena),
        .done = head_setup_on_copied,
        .context = setup,
    };
    setup->copy = node_copy_start(&copy, &setup->arena, &err);
    if (!setup->copy) {
        head_setup_fail(setup, &err);
    }
}

/* ---- the connection ---- */

static bool find_payload(void *context, struct str machine, struct arena *arena,
                         struct str *ret_path, struct err *err)
{
    (void)context;
    return payload_find_here(arena, machine, ret_path, err);
}

static void head_setup_on_waiting(void *context, struct str why)
{
    struct head_setup *setup = context;
    setup->is_refused = str_find(why, "denied") != SIZE_MAX ||
                        str_find(why, "host key") != SIZE_MAX;
    head_setup_show(setup, PHASE_CONNECTING, why);
}

static void head_setup_tell_slow(void *context)
{
    struct head_setup *setup = context;
    if (setup->input.hooks.slow && setup->hello.machine.len == 0 && !setup->is_refused) {
        setup->input.hooks.slow(setup->input.hooks.context);
    }
}

static void head_setup_on_hello(void *context, const struct node_hello *hello)
{
    struct head_setup *setup = context;
    struct err err;
    if (setup->is_over) {
        return;
    }
    if (!cluster_state_pin_greeted(setup->input.state, setup->input.place.machine, hello, &err)) {
        head_setup_fail(setup, &err);
        return;
    }
    setup->hello = *hello;
    setup->hello.home = arena_str(&setup->arena, hello->home);
    setup->hello.machine = arena_str(&setup->arena, hello->machine);
    setup->hello.os = arena_str(&setup->arena, hello->os);
    setup->hello.user = arena_str(&setup->arena, hello->user);
    setup->hello.version = arena_str(&setup->arena, hello->version);
    setup->hello.host_key = arena_str(&setup->arena, hello->host_key);
    if (!setup->has_plan) { /* skipped after a reconnect */
        copy_next(setup);
    }
}

static void head_setup_on_rotated(void *context, bool is_ok, struct str why)
{
    struct head_setup *setup = context;
    struct err err;
    if (!is_ok) {
        node_log_say(&setup->log, "it still uses the host key of its first boot: %.*s",
                     STR_ARG(why));
        setup->input.hooks.kept_host_key(setup->input.hooks.context, why);
    } else if (!cluster_state_pin(setup->input.state, setup->input.place.machine,
                                  setup->hello.host_key, false, &err)) {
        node_log_say(&setup->log, "cannot remove the first host key of the head: %s", err.text);
    }
}

static void head_setup_on_event(void *context, const struct step_event *event)
{
    struct head_setup *setup = context;
    size_t count = setup->plan.request.bundle.count;
    node_log_event(&setup->log, event);
    if (event->step >= count) {
        return;
    }
    const struct setup_step *step = &setup->plan.steps[event->step];
    struct node_view *view = setup->input.view;
    view->step = event->step + 1;
    view->steps = count;
    if (event->kind == STEP_BEGAN) {
        head_setup_show(setup, setup_phase(step), setup_detail(step, &setup->arena));
    } else if (event->kind == STEP_FAILED) {
        view->failure = setup_failure(step, event, setup->input.config->provider_type,
                                      &setup->arena);
    }
    if (event->step == SERVICE_STEP && (event->kind == STEP_DONE || event->kind == STEP_SKIPPED)) {
        setup->input.hooks.service(setup->input.hooks.context);
    }
}

static void head_setup_on_done(void *context, bool is_ok, const struct err *err)
{
    struct head_setup *setup = context;
    if (!is_ok) {
        head_setup_fail(setup, err);
        return;
    }
    head_setup_show(setup, PHASE_JOINING, STR(""));
    head_setup_finish(setup, true, NULL);
}

struct head_setup *head_setup_start(const struct head_setup_input *input)
{
    struct head_setup *setup = HEAP_NEW(struct head_setup);
    setup->input = *input;
    arena_init(&setup->arena);
    setup->log = node_log_at(input->state->folder, STR("head"), loop_clock(input->session->loop),
                             &setup->arena);
    head_setup_show(setup, PHASE_CONNECTING, STR(""));
    setup->session = node_session_open(&(struct node_session_setup){
        .loop = input->session->loop,
        .children = input->session->children,
        .place = input->place,
        .contact_ms = setup_contact_ms(),
        .keeps_host_key = input->keeps_host_key,
        .hooks = {setup, find_payload, head_setup_on_waiting, head_setup_on_hello,
                  head_setup_on_rotated, head_setup_on_event, head_setup_on_done},
    });
    setup->slow = loop_timer_new(input->session->loop, head_setup_tell_slow, setup);
    loop_timer_start(setup->slow, setup_contact_ms() * 2 / 15);
    return setup;
}

void head_setup_end(struct head_setup *setup)
{
    if (setup) {
        node_session_close(setup->session);
        loop_timer_free(setup->slow);
        if (setup->copy) {
            child_forget(setup->copy);
        }
        arena_clear(&setup->arena);
        free(setup);
    }
}
