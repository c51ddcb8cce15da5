/*
 * service_resume.c: starts Ray on the head after a reboot.
 *
 * Only the service that holds the lease does so: a head that was replaced must not run Ray. The
 * step runner runs the head's start commands, under systemd in a separate unit, because what they
 * start must outlive this service and be outside its sandbox. The workers had joined a Ray that no
 * longer exists, so they are set up again (service_setup.c), unless the GCS kept its tables on disk
 * and already has them.
 */
#include "app/head/supervisor/boot.h"
#include "app/head/supervisor/resume_rule.h"
#include "app/head/supervisor/service_supervisor.h"
#include "app/head/supervisor/systemd_unit.h"
#include "app/setup/node_jobs.h"
#include "app/setup/node_tools.h"
#include "io/xalloc.h"
#include "remote/step_event.h"
#include "remote/step_run.h"

#include <stdio.h>

enum {
    LOOK_MS = 5000, /* Ray may also be started at boot by other means */
    START_MS = 30 * 1000,
    NOTE_BYTES = 600,
    TAIL_BYTES = 300,
};

#define SEEN_NAME "ray-boot"     /* boot in which Ray last answered */
#define TRIED_NAME "ray-resumed" /* boot in which Ray was last started here */

struct resume {
    struct arena arena;
    struct str boot;
    struct str seen, tried; /* as in the journal */
    struct loop_timer *look;
    struct child *child;
    struct step_follow *follow;
    char note[NOTE_BYTES]; /* the problem; may be empty */
    char why_not_at_boot[NOTE_BYTES];
};

/* ---- the journal ---- */

static struct str service_resume_get(struct service *service, const char *name)
{
    struct str text = STR("");
    struct err err;
    return journal_get(service->journal, name, &service->resume->arena, &text, &err) ? text
                                                                                     : STR("");
}

static void note(struct service *service, const char *name, struct str *place)
{
    struct err err;
    if (str_eq(*place, service->resume->boot)) {
        return;
    }
    *place = service->resume->boot;
    if (!journal_note(service->journal, name, *place, &err)) {
        LOG(service, WARNING, "cannot write %s: %s", name, err.text);
    }
}

/* ---- the result ---- */

static void say_failed(struct service *service, const char *what)
{
    struct resume *resume = service->resume;
    snprintf(resume->note, sizeof(resume->note),
             "this machine rebooted and Ray could not be started again: %s; run `shoal up`", what);
    LOG(service, ERROR, "%s", resume->note);
    events_add(service->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("Ray did not start after a reboot"), str_from(what));
    ctl_server_broadcast_error(service->ctl_server, str_from(resume->note));
    ctl_server_notify(service->ctl_server, INSTANCE_NONE);
}

static void hear_step(void *context, struct str line)
{
    struct service *service = context;
    struct arena arena;
    struct step_event event;
    struct err err;
    arena_init(&arena);
    if (step_event_read(line, &arena, &event, &err) && event.kind == STEP_FAILED) {
        size_t skipped = event.tail.len > TAIL_BYTES ? event.tail.len - TAIL_BYTES : 0;
        say_failed(service, arena_printf(&arena, "%.*s failed with status %d: %.*s",
                                         STR_ARG(str_sub(event.name, 0, 60)), event.status,
                                         STR_ARG(str_sub(event.tail, skipped, event.tail.len)))
                                .ptr);
    }
    arena_clear(&arena);
}

static void service_resume_handle_end(void *context, bool is_ok, const struct err *err)
{
    struct service *service = context;
    if (is_ok) {
        LOG(service, INFO, "the head's start commands are done");
    } else if (err && service->resume->note[0] == '\0') { /* otherwise the step reported it */
        LOG(service, WARNING, "cannot tell whether the head's start commands finished: %s",
            err->text);
    }
}

static void hear_started(void *context, const struct child_result *result)
{
    struct service *service = context;
    struct resume *resume = service->resume;
    struct err err;
    resume->child = NULL;
    if (result->end == CHILD_EXITED && result->exit_status == NODE_RESUME_BUSY) {
        LOG(service, INFO, "the head is being set up; its setup starts Ray");
        return;
    }
    if (!child_was_fine(result)) {
        struct str said = str_trim(result->output[CHILD_STDERR]);
        say_failed(service, said.len > 0 ? arena_str(&resume->arena, said).ptr : result->err.text);
        return;
    }
    if (!step_follow_start(service->session.loop, tools_home(&resume->arena, "~/.shoal/steps"),
                           hear_step, service_resume_handle_end, service, &resume->follow, &err)) {
        LOG(service, WARNING, "cannot follow the head's start commands: %s", err.text);
    }
}

/* ---- start ---- */

static const char *const *words_of(struct service *service)
{
    struct resume *resume = service->resume;
    struct arena *arena = &resume->arena;
    struct unit_setup setup;
    struct err err;
    const char **words = ARENA_ARRAY(arena, 6, const char *);
    words[0] = service->program.ptr;
    words[1] = "node";
    words[2] = "resume";
    words[3] = "--run";
    words[4] = resume->boot.ptr;
    bool is_unit = unit_find(service->folder, arena, &setup, &err);
    return is_unit ? unit_words_beside(&setup, words, arena) : words;
}

static void look(void *context)
{
    struct service *service = context;
    struct resume *resume = service->resume;
    struct resume_view view = {resume->boot, resume->seen, resume->tried, service->is_head_alive};
    if (!service->is_leading || service->is_ending || resume->child || !resume_is_due(&view)) {
        return;
    }
    note(service, TRIED_NAME, &resume->tried);
    LOG(service, INFO, "this machine rebooted; starting Ray again");
    events_add(service->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("starting Ray after a reboot"), STR(""));
    resume->child = child_start(service->session.children,
                                &(struct child_spec){
                                    .argv = words_of(service),
                                    .env_names = tools_environment(&resume->arena),
                                    .output = {{0}, {.bytes_max = NOTE_BYTES, .keeps_tail = true}},
                                    .deadline_ms = START_MS,
                                    .done = hear_started,
                                    .context = service,
                                });
}

void service_resume_look(struct service *service)
{
    loop_timer_start(service->resume->look, LOOK_MS);
}

void service_resume_seen(struct service *service)
{
    struct resume *resume = service->resume;
    resume->note[0] = '\0';
    if (resume->boot.len > 0) {
        note(service, SEEN_NAME, &resume->seen);
    }
}

struct str service_resume_note(const struct service *service, struct arena *arena)
{
    const struct resume *resume = service->resume;
    if (resume && resume->note[0]) {
        return arena_str(arena, str_from(resume->note));
    }
    if (resume && resume->why_not_at_boot[0]) {
        return arena_printf(arena,
                            "this service will not start by itself when the head reboots (%s); run "
                            "`shoal up` after a reboot",
                            resume->why_not_at_boot);
    }
    return STR("");
}

/* ---- opening and closing ---- */

void service_open_resume(struct service *service)
{
    struct resume *resume = HEAP_NEW(struct resume);
    service->resume = resume;
    arena_init(&resume->arena);
    resume->boot = boot_id(&resume->arena);
    resume->seen = service_resume_get(service, SEEN_NAME);
    resume->tried = service_resume_get(service, TRIED_NAME);
    snprintf(resume->why_not_at_boot, sizeof(resume->why_not_at_boot), "%.*s",
             STR_ARG(boot_why_not(service->folder, &resume->arena)));
    resume->look = loop_timer_new(service->session.loop, look, service);
}

void service_close_resume(struct service *service)
{
    struct resume *resume = service->resume;
    if (resume) {
        if (resume->child) {
            child_forget(resume->child);
        }
        step_follow_end(resume->follow);
        loop_timer_free(resume->look);
        arena_clear(&resume->arena);
        free(resume);
        service->resume = NULL;
    }
}
