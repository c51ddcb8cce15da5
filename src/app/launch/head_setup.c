/* head_setup.c: one connection to the head, and what is told of it. */
#include "app/launch/head_setup.h"

#include "app/payload.h"
#include "io/file.h"
#include "io/heap.h"
#include "remote/rsync.h"

#include <fcntl.h>
#include <unistd.h>

enum { COPY_SAID_MAX = 4096, SERVICE_STEP = 0 };

struct head_setup {
    struct head_setup_input input;
    struct arena arena;
    struct node_session *session;
    struct child *copy; /* the rsync that runs */
    size_t mount;       /* that is being copied */
    struct node_hello hello;
    struct setup_plan plan;
    bool has_plan;
    int log;
};

static int64_t now_ms(const struct head_setup *setup)
{
    return clock_wall_ms(loop_clock(setup->input.session->loop));
}

static void show(struct head_setup *setup, enum node_phase phase, struct str detail)
{
    struct node_view *view = setup->input.view;
    if (view->phase != phase) {
        view->phase = phase;
        view->since_ms = now_ms(setup);
    }
    view->detail = arena_str(&setup->arena, detail);
    setup->input.hooks.changed(setup->input.hooks.context);
}

static void finish(struct head_setup *setup, bool is_ok, const struct err *err)
{
    setup->input.hooks.done(setup->input.hooks.context, is_ok, err);
}

static void fail(struct head_setup *setup, const struct err *err)
{
    struct node_failure *failure = &setup->input.view->failure;
    if (failure->said.len == 0) {
        failure->said = arena_str(&setup->arena, str_from(err->text));
    }
    show(setup, PHASE_FAILED, STR(""));
    finish(setup, false, err);
}

/* ---- the log of the head, kept here ---- */

static void log_open(struct head_setup *setup)
{
    const char *path = arena_printf(&setup->arena, "%s/log/head", setup->input.state->folder).ptr;
    setup->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void log_line(const struct head_setup *setup, const char *what, struct str text)
{
    if (setup->log >= 0) {
        dprintf(setup->log, "%s: %.*s\n", what, STR_ARG(text));
    }
}

/* ---- mounts ---- */

static void copy_next(struct head_setup *setup);

static void on_copied(void *context, const struct child_result *result)
{
    struct head_setup *setup = context;
    const struct config_mount *mount = &setup->input.config->mounts[setup->mount];
    setup->copy = NULL;
    log_line(setup, "rsync", result->output[CHILD_STDERR]);
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
        fail(setup, &err);
        return;
    }
    setup->mount++;
    copy_next(setup);
}

/* As Ray: a folder goes as its contents, whatever it is called there. */
static bool copy_words(struct head_setup *setup, const struct config_mount *mount,
                       const char *const **ret_argv, struct err *err)
{
    const struct config *config = setup->input.config;
    struct str local = file_expand_home(&setup->arena, mount->local);
    struct str remote = mount->remote;
    if (file_look(local.ptr).kind == FILE_FOLDER) {
        local = arena_printf(&setup->arena, "%.*s%s", STR_ARG(local),
                             str_ends(local, "/") ? "" : "/");
        remote = arena_printf(&setup->arena, "%.*s%s", STR_ARG(remote),
                              str_ends(remote, "/") ? "" : "/");
    }
    const struct rsync_copy copy = {
        .place = &setup->input.place,
        .here = local,
        .there = remote,
        .excludes = config->rsync_exclude.items,
        .exclude_count = config->rsync_exclude.count,
        .filters = config->rsync_filter.items,
        .filter_count = config->rsync_filter.count,
        .makes_parents = true,
    };
    return rsync_words(&copy, &setup->arena, ret_argv, err);
}

static void send_request(struct head_setup *setup)
{
    struct err err;
    const struct head_setup_hooks *hooks = &setup->input.hooks;
    if (!hooks->plan(hooks->context, &setup->hello, &setup->plan, &err)) {
        fail(setup, &err);
        return;
    }
    setup->has_plan = true;
    node_session_send(setup->session, &setup->plan.request);
    hooks->sent(hooks->context);
}

static void copy_next(struct head_setup *setup)
{
    const struct config *config = setup->input.config;
    const char *const *argv;
    struct err err;
    if (setup->mount == config->mount_count) {
        send_request(setup);
        return;
    }
    const struct config_mount *mount = &config->mounts[setup->mount];
    show(setup, PHASE_COPYING, mount->local);
    if (!copy_words(setup, mount, &argv, &err)) {
        fail(setup, &err);
        return;
    }
    setup->copy = child_start(setup->input.session->children,
                              &(struct child_spec){
                                  .argv = argv,
                                  .env_names = child_usual_env,
                                  .output = {{0, NULL, false}, {COPY_SAID_MAX, NULL, true}},
                                  .done = on_copied,
                                  .context = setup,
                              });
}

/* ---- the connection ---- */

static bool find_payload(void *context, struct str machine, struct arena *arena,
                         struct str *ret_path, struct err *err)
{
    struct payload_places places;
    (void)context;
    return payload_places_find(arena, &places, err) &&
           payload_find(arena, &places, machine, ret_path, err);
}

static void on_waiting(void *context, struct str why)
{
    struct head_setup *setup = context;
    show(setup, PHASE_CONNECTING, why);
}

static void on_hello(void *context, const struct node_hello *hello)
{
    struct head_setup *setup = context;
    struct err err;
    if (hello->host_key.len > 0 &&
        !cluster_state_pin(setup->input.state, setup->input.place.machine, hello->host_key, true,
                           &err)) {
        fail(setup, &err);
        return;
    }
    setup->hello = *hello;
    setup->hello.home = arena_str(&setup->arena, hello->home);
    setup->hello.machine = arena_str(&setup->arena, hello->machine);
    setup->hello.os = arena_str(&setup->arena, hello->os);
    setup->hello.user = arena_str(&setup->arena, hello->user);
    setup->hello.version = arena_str(&setup->arena, hello->version);
    setup->hello.host_key = arena_str(&setup->arena, hello->host_key);
    if (!setup->has_plan) { /* a link that broke is opened again by itself */
        copy_next(setup);
    }
}

static void on_rotated(void *context, bool is_ok, struct str why)
{
    struct head_setup *setup = context;
    struct err err;
    if (!is_ok) {
        log_line(setup, "it keeps the host key of its first boot", why);
    } else if (!cluster_state_pin(setup->input.state, setup->input.place.machine,
                                  setup->hello.host_key, false, &err)) {
        log_line(setup, "forgetting its first host key", str_from(err.text));
    }
}

static enum node_phase phase_of(const struct setup_step *step)
{
    return step->phase == SETUP_IS_STARTING  ? PHASE_STARTING
           : step->phase == SETUP_IS_WAITING ? PHASE_WAITING
                                             : PHASE_SETTING_UP;
}

static void take_failure(struct head_setup *setup, const struct setup_step *step,
                         const struct step_event *event)
{
    struct node_failure *failure = &setup->input.view->failure;
    *failure = (struct node_failure){
        .step = arena_str(&setup->arena, event->name),
        .command = step->command,
        .path = step->path,
        .said = arena_str(&setup->arena, event->tail),
        .status = event->status,
    };
    struct str why;
    struct str next;
    if (setup_explain(failure->said, &why, &next)) {
        failure->why = why;
        failure->next = next;
    }
}

static void on_event(void *context, const struct step_event *event)
{
    struct head_setup *setup = context;
    size_t count = setup->plan.request.bundle.count;
    if (event->step >= count) {
        return;
    }
    const struct setup_step *step = &setup->plan.steps[event->step];
    struct node_view *view = setup->input.view;
    view->step = event->step + 1;
    view->steps = count;
    log_line(setup, event->kind == STEP_FAILED ? "failed" : "step", event->name);
    if (event->kind == STEP_BEGAN) {
        show(setup, phase_of(step), step->command.len > 0 ? step->command : event->name);
    } else if (event->kind == STEP_FAILED) {
        log_line(setup, "said", event->tail);
        take_failure(setup, step, event);
    } else if (event->kind == STEP_AGAIN) {
        log_line(setup, "tried again; it said", event->tail);
    }
    if (event->step == SERVICE_STEP && (event->kind == STEP_DONE || event->kind == STEP_SKIPPED)) {
        setup->input.hooks.service(setup->input.hooks.context);
    }
}

static void on_done(void *context, bool is_ok, const struct err *err)
{
    struct head_setup *setup = context;
    if (!is_ok) {
        fail(setup, err);
        return;
    }
    show(setup, PHASE_JOINING, STR(""));
    finish(setup, true, NULL);
}

struct head_setup *head_setup_start(const struct head_setup_input *input)
{
    struct head_setup *setup = HEAP_NEW(struct head_setup);
    setup->input = *input;
    arena_init(&setup->arena);
    log_open(setup);
    show(setup, PHASE_CONNECTING, STR(""));
    setup->session = node_session_open(&(struct node_session_setup){
        .loop = input->session->loop,
        .children = input->session->children,
        .place = input->place,
        .hooks = {setup, find_payload, on_waiting, on_hello, on_rotated, on_event, on_done},
    });
    return setup;
}

void head_setup_end(struct head_setup *setup)
{
    if (setup) {
        node_session_close(setup->session);
        if (setup->copy) {
            child_forget(setup->copy);
        }
        if (setup->log >= 0) {
            close(setup->log);
        }
        arena_clear(&setup->arena);
        free(setup);
    }
}
