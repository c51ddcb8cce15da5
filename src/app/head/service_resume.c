/*
 * service_resume.c: starts Ray on the head after a reboot.
 *
 * Only the service that holds the lease does so: a head that was replaced must not run Ray. The
 * step runner runs the head's start commands, under systemd in a separate unit, because what they
 * start must outlive this service and be outside its sandbox. The workers had joined a Ray that no
 * longer exists, so they are set up again (service_setup.c), unless the GCS kept its tables on disk
 * and already has them.
 */
#include "app/head/service_resume.h"

#include "app/head/supervisor/boot.h"
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
    struct head_context *head;
    struct arena arena;
    struct str boot;
    struct str seen, tried; /* values from the journal */
    struct loop_timer *look;
    struct child *child;
    struct step_follow *follow;
    char note[NOTE_BYTES]; /* the problem; may be empty */
    char why_not_at_boot[NOTE_BYTES];
};

/* ---- the rule ---- */

bool resume_is_due(const struct resume_view *view)
{
    return !view->is_alive && view->boot.len > 0 && view->seen.len > 0 &&
           !str_eq(view->seen, view->boot) && !str_eq(view->tried, view->boot);
}

/* ---- the journal ---- */

static struct str service_resume_get(struct resume *resume, const char *name)
{
    struct str text = STR("");
    struct err err;
    return journal_get(resume->head->journal, name, &resume->arena, &text, &err) ? text : STR("");
}

static void note(struct resume *resume, const char *name, struct str *place)
{
    struct err err;
    if (str_eq(*place, resume->boot)) {
        return;
    }
    *place = resume->boot;
    if (!journal_note(resume->head->journal, name, *place, &err)) {
        LOG(resume->head, WARNING, "cannot write %s: %s", name, err.text);
    }
}

/* ---- the result ---- */

static void say_failed(struct resume *resume, const char *what)
{
    snprintf(resume->note, sizeof(resume->note),
             "this machine rebooted and Ray could not be started again: %s; run `shoal up "
             "--restart-only FILE`",
             what);
    LOG(resume->head, ERROR, "%s", resume->note);
    events_add(resume->head->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("Ray did not start after a reboot"), str_from(what));
    ctl_server_broadcast_error(resume->head->ctl_server, str_from(resume->note));
    ctl_server_notify(resume->head->ctl_server, INSTANCE_NONE);
}

static void on_step(void *context, struct str line)
{
    struct resume *resume = context;
    struct arena arena;
    struct step_event event;
    struct err err;
    arena_init(&arena);
    if (step_event_read(line, &arena, &event, &err) && event.kind == STEP_FAILED) {
        size_t skipped = event.tail.len > TAIL_BYTES ? event.tail.len - TAIL_BYTES : 0;
        say_failed(resume, arena_printf(&arena, "%.*s failed with status %d: %.*s",
                                        STR_ARG(str_sub(event.name, 0, 60)), event.status,
                                        STR_ARG(str_sub(event.tail, skipped, event.tail.len)))
                               .ptr);
    }
    arena_clear(&arena);
}

static void service_resume_handle_end(void *context, bool is_ok, const struct err *err)
{
    struct resume *resume = context;
    if (is_ok) {
        LOG(resume->head, INFO, "the head's start commands have finished");
    } else if (err && resume->note[0] == '\0') { /* otherwise the step reported it */
        LOG(resume->head, WARNING, "cannot tell whether the head's start commands finished: %s",
            err->text);
    }
}

static void on_started(void *context, const struct child_result *result)
{
    struct resume *resume = context;
    struct err err;
    resume->child = NULL;
    if (result->end == CHILD_EXITED && result->exit_status == NODE_RESUME_BUSY) {
        LOG(resume->head, INFO, "the head is being set up; its setup starts Ray");
        return;
    }
    if (!child_was_fine(result)) {
        struct str said = str_trim(result->output[CHILD_STDERR]);
        say_failed(resume, said.len > 0 ? arena_str(&resume->arena, said).ptr : result->err.text);
        return;
    }
    if (!step_follow_start(resume->head->session.loop, tools_home(&resume->arena, "~/.shoal/steps"),
                           on_step, service_resume_handle_end, resume, &resume->follow, &err)) {
        LOG(resume->head, WARNING, "cannot follow the head's start commands: %s", err.text);
    }
}

/* ---- start ---- */

static const char *const *words_of(struct resume *resume)
{
    struct arena *arena = &resume->arena;
    struct unit_setup setup;
    struct err err;
    const char **words = ARENA_ARRAY(arena, 6, const char *);
    words[0] = resume->head->program.ptr;
    words[1] = "node";
    words[2] = "resume";
    words[3] = "--run";
    words[4] = resume->boot.ptr;
    bool is_unit = unit_find(resume->head->folder, arena, &setup, &err);
    return is_unit ? unit_words_beside(&setup, words, arena) : words;
}

static void look(void *context)
{
    struct resume *resume = context;
    struct resume_view view = {resume->boot, resume->seen, resume->tried,
                               resume->head->ray.is_alive};
    if (!resume->head->is_leading || resume->head->is_ending || resume->child ||
        !resume_is_due(&view)) {
        return;
    }
    note(resume, TRIED_NAME, &resume->tried);
    LOG(resume->head, INFO, "this machine rebooted; starting Ray again");
    events_add(resume->head->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("starting Ray after a reboot"), STR(""));
    resume->child = child_start(resume->head->session.children,
                                &(struct child_spec){
                                    .argv = words_of(resume),
                                    .env_names = tools_environment(&resume->arena),
                                    .output = {{0}, {.bytes_max = NOTE_BYTES, .keeps_tail = true}},
                                    .deadline_ms = START_MS,
                                    .done = on_started,
                                    .context = resume,
                                });
}

void resume_look(struct resume *resume)
{
    loop_timer_start(resume->look, LOOK_MS);
}

void resume_seen(struct resume *resume)
{
    resume->note[0] = '\0';
    if (resume->boot.len > 0) {
        note(resume, SEEN_NAME, &resume->seen);
    }
}

struct str resume_note(const struct resume *resume, struct arena *arena)
{
    if (resume->note[0]) {
        return arena_str(arena, str_from(resume->note));
    }
    if (resume->why_not_at_boot[0]) {
        return arena_printf(arena,
                            "this service will not start by itself when the head reboots (%s); run "
                            "`shoal up` after a reboot",
                            resume->why_not_at_boot);
    }
    return STR("");
}

/* ---- opening and closing ---- */

struct resume *resume_open(struct head_context *head)
{
    struct resume *resume = HEAP_NEW(struct resume);
    resume->head = head;
    arena_init(&resume->arena);
    resume->boot = boot_id(&resume->arena);
    resume->seen = service_resume_get(resume, SEEN_NAME);
    resume->tried = service_resume_get(resume, TRIED_NAME);
    snprintf(resume->why_not_at_boot, sizeof(resume->why_not_at_boot), "%.*s",
             STR_ARG(boot_why_not(head->folder, &resume->arena)));
    resume->look = loop_timer_new(head->session.loop, look, resume);
    return resume;
}

void resume_close(struct resume *resume)
{
    if (resume) {
        if (resume->child) {
            child_forget(resume->child);
        }
        step_follow_end(resume->follow);
        loop_timer_free(resume->look);
        arena_clear(&resume->arena);
        free(resume);
    }
}
