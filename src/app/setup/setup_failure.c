/* setup_failure.c: from what a node tells to what people read. */
#include "app/setup/setup_failure.h"

enum node_phase setup_phase(const struct setup_step *step)
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

struct str setup_detail(const struct setup_step *step)
{
    return step->command.len > 0 ? step->command : str_from(step->kind);
}

/* "set-up step 3 of 5", "look around". */
static struct str name_of(const struct setup_step *step, struct arena *arena)
{
    return step->count > 0
               ? arena_printf(arena, "%s step %zu of %zu", step->kind, step->number, step->count)
               : arena_str(arena, str_from(step->kind));
}

static void explain(const struct step_event *event, struct arena *arena,
                    struct node_failure *failure)
{
    if (setup_explain(event->tail, &failure->why, &failure->next)) {
        return;
    }
    if (event->is_late) {
        failure->why = STR("it took longer than it may");
    } else if (event->signal != 0) {
        failure->why = arena_printf(arena, "ended by signal %d", event->signal);
    } else if (!setup_explain_status(event->status, &failure->why, &failure->next)) {
        failure->why = STR("");
    }
}

struct node_failure setup_failure(const struct setup_step *step, const struct step_event *event,
                                  struct arena *arena)
{
    struct node_failure failure = {
        .step = step ? name_of(step, arena) : arena_str(arena, event->name),
        .command = step ? step->command : STR(""),
        .path = step ? step->path : STR(""),
        .said = arena_str(arena, event->tail),
        .status = event->status,
    };
    explain(event, arena, &failure);
    return failure;
}
