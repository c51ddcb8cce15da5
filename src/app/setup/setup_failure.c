/* setup_failure.c: converts a failed step into the failure shown to users. */
#include "app/setup/setup_failure.h"

#include "base/secret_text.h"

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

struct str setup_detail(const struct setup_step *step, struct arena *arena)
{
    return step->command.len > 0 ? secret_mask_text(arena, step->command) : str_from(step->kind);
}

/* "setup step 3 of 5", "look around". */
static struct str setup_failure_name_of(const struct setup_step *step, struct arena *arena)
{
    return step->count > 0
               ? arena_printf(arena, "%s step %zu of %zu", step->kind, step->number, step->count)
               : arena_str(arena, str_from(step->kind));
}

static void setup_failure_explain(const struct step_event *event, struct arena *arena,
                                  struct node_failure *failure)
{
    if (setup_explain(event->tail, &failure->why, &failure->next)) {
        return;
    }
    if (event->is_late) {
        failure->why = STR("timed out");
    } else if (event->signal != 0) {
        failure->why = arena_printf(arena, "killed by signal %d", event->signal);
    } else if (!setup_explain_status(event->status, &failure->why, &failure->next)) {
        failure->why = STR("");
    }
}

struct node_failure setup_failure(const struct setup_step *step, const struct step_event *event,
                                  struct arena *arena)
{
    struct node_failure failure = {
        .step = step ? setup_failure_name_of(step, arena) : arena_str(arena, event->name),
        .command = step ? secret_mask_text(arena, step->command) : STR(""),
        .path = step ? step->path : STR(""),
        .said = secret_mask_text(arena, arena_str(arena, event->tail)),
        .status = event->status,
    };
    setup_failure_explain(event, arena, &failure);
    return failure;
}
