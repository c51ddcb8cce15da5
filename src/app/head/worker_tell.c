/* worker_tell.c: what a worker's steps do, for its log and for whoever follows the cluster. */
#include "app/head/worker_setup_parts.h"
#include "base/utf8.h"
#include "io/clock.h"
#include "io/file.h"

#include <stdarg.h>

enum { LINE_MAX_BYTES = 4096, TEXT_MAX_BYTES = 128 * 1024, DETAIL_MAX_BYTES = 300 };

/* ---- its log ---- */

static void append(struct worker *worker, struct str text)
{
    struct arena arena;
    struct err ignored; /* a full disk costs the log, not the set-up */
    arena_init(&arena);
    const char *path = arena_printf(&arena, "%s/log/%.*s", worker->all->setup.state->folder,
                                    STR_ARG(worker->machine.name))
                           .ptr;
    if (!file_append(path, text, 0600, &ignored)) {
        ignored.kind = ERR_NONE;
    }
    arena_clear(&arena);
}

void worker_log(struct worker *worker, const char *fmt, ...)
{
    AUTO_BUF struct buf said;
    AUTO_BUF struct buf line;
    va_list args;
    buf_init(&said, LINE_MAX_BYTES);
    buf_init(&line, 2 * LINE_MAX_BYTES);
    va_start(args, fmt);
    buf_add_args(&said, fmt, args);
    va_end(args);
    clock_add_utc(&line, clock_wall_ms(loop_clock(worker->all->setup.loop)));
    buf_add_char(&line, ' ');
    utf8_add_visible(&line, buf_str(&said), false);
    buf_add_char(&line, '\n');
    append(worker, buf_str(&line));
}

void worker_log_text(struct worker *worker, struct str text)
{
    AUTO_BUF struct buf lines;
    buf_init(&lines, TEXT_MAX_BYTES);
    struct str rest = str_trim(text);
    while (rest.len > 0) {
        buf_add_c(&lines, "    ");
        utf8_add_visible(&lines, str_cut(&rest, '\n'), false);
        buf_add_char(&lines, '\n');
    }
    append(worker, buf_str(&lines));
}

/* ---- steps ---- */

/* NULL: the node tells of a step that we have not asked for. */
static const struct setup_step *step_of(const struct worker *worker, const struct step_event *event)
{
    bool is_known = worker->has_plan && event->step < worker->plan.request.bundle.count;
    return is_known ? &worker->plan.steps[event->step] : NULL;
}

static enum node_phase phase_of(const struct setup_step *step)
{
    switch (step->phase) {
    case SETUP_IS_WAITING:
        return PHASE_WAITING;
    case SETUP_IS_STARTING:
        return PHASE_STARTING;
    case SETUP_IS_SETUP:
        break;
    }
    return PHASE_SETTING_UP;
}

/* "set-up step 3 of 5", "look around". */
static struct str name_of(struct worker *worker, const struct setup_step *step)
{
    return step->count > 0 ? arena_printf(&worker->arena, "%s step %zu of %zu", step->kind,
                                          step->number, step->count)
                           : arena_str(&worker->arena, str_from(step->kind));
}

static void explain(struct worker *worker, const struct step_event *event,
                    struct node_failure *failure)
{
    if (setup_explain(event->tail, &failure->why, &failure->next)) {
        return;
    }
    if (event->is_late) {
        failure->why = STR("it took longer than it may");
    } else if (event->signal != 0) {
        failure->why = arena_printf(&worker->arena, "ended by signal %d", event->signal);
    } else if (!setup_explain_status(event->status, &failure->why, &failure->next)) {
        failure->why = STR("");
    }
}

static void fail_step(struct worker *worker, const struct step_event *event)
{
    const struct setup_step *step = step_of(worker, event);
    struct node_failure failure = {
        .step = step ? name_of(worker, step) : event->name,
        .command = step ? step->command : STR(""),
        .path = step ? step->path : STR(""),
        .said = event->tail,
        .status = event->status,
    };
    explain(worker, event, &failure);
    if (failure.next.len == 0) {
        failure.next = arena_printf(&worker->arena, "its log on the head is %s/log/%.*s",
                                    worker->all->setup.state->folder,
                                    STR_ARG(worker->machine.name));
    }
    worker_fail(worker, &failure);
}

static void begin_step(struct worker *worker, const struct step_event *event)
{
    const struct setup_step *step = step_of(worker, event);
    if (!step) {
        return;
    }
    worker->progress.step = event->step + 1;
    struct str detail = step->command.len > 0 ? step->command : str_from(step->kind);
    worker_log(worker, "%.*s: %.*s", STR_ARG(name_of(worker, step)), STR_ARG(detail));
    worker_phase(worker, phase_of(step), str_sub(detail, 0, DETAIL_MAX_BYTES));
}

void worker_tell_event(struct worker *worker, const struct step_event *event)
{
    if (worker->is_over) {
        return;
    }
    switch (event->kind) {
    case STEP_BEGAN:
        begin_step(worker, event);
        break;
    case STEP_SKIPPED:
        worker_log(worker, "%.*s: done before", STR_ARG(event->name));
        break;
    case STEP_DONE:
        worker_log(worker, "%.*s: done in %lld ms", STR_ARG(event->name),
                   (long long)event->took_ms);
        break;
    case STEP_AGAIN:
        worker_log(worker, "%.*s: failed with status %d, and is tried again", STR_ARG(event->name),
                   event->status);
        worker_log_text(worker, event->tail);
        break;
    case STEP_FAILED:
        fail_step(worker, event);
        break;
    case STEP_BUNDLE_BEGAN:
    case STEP_BUNDLE_DONE:
    case STEP_BUNDLE_FAILED:
    case STEP_EVENT_KIND_COUNT:
        break; /* the session tells of its end */
    }
}
