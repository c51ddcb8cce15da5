/* worker_report.c: writes the events of a worker's steps to its log and its progress. */
#include "app/head/workers/worker_setup_internal.h"
#include "app/setup/setup_failure.h"

enum { DETAIL_MAX_BYTES = 300 };

/* NULL if the node reports a step that was not requested. */
static const struct setup_step *step_of(const struct worker *worker, const struct step_event *event)
{
    bool is_known = worker->has_plan && event->step < worker->plan.request.bundle.count;
    return is_known ? &worker->plan.steps[event->step] : NULL;
}

static void fail_step(struct worker *worker, const struct step_event *event)
{
    struct node_failure failure = setup_failure(step_of(worker, event), event, &worker->arena);
    if (failure.next.len == 0) {
        failure.next = arena_printf(&worker->arena, "its log on the head is %s", worker->log.path);
    }
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

void worker_tell_event(struct worker *worker, const struct step_event *event)
{
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
