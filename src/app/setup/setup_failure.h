/* setup_failure.h: a step's event, in the words of a view. */
#pragma once

#include "app/setup/setup_plan.h"
#include "app/view.h"
#include "remote/step_event.h"

/* In which phase is a node whose step this is? */
enum node_phase setup_phase(const struct setup_step *step);

/* What runs, for the view: the command of the file, or what our own step is for. */
struct str setup_detail(const struct setup_step *step);

/* Of STEP_FAILED: which step, what it said, what that usually means. `step` may be NULL: the node
 * tells of a step that nobody asked for. Texts live in `arena`. */
struct node_failure setup_failure(const struct setup_step *step, const struct step_event *event,
                                  struct arena *arena);
