/* setup_failure.h: converts the events of setup steps into fields of a node view. */
#pragma once

#include "app/model/node_view.h"
#include "app/setup/setup_plan.h"
#include "remote/step_event.h"

/* The phase of a node that runs this step. */
enum node_phase setup_phase(const struct setup_step *step);

/* The detail shown for a running step: the file's command with secrets removed, or the purpose of
 * our own step. */
struct str setup_detail(const struct setup_step *step, struct arena *arena);

/* For STEP_FAILED: the step, its output, and the likely cause. `step` is NULL if the node reports a
 * step that was not in the plan. `cloud` is provider.type. Strings live in `arena`. */
struct node_failure setup_failure(const struct setup_step *step, const struct step_event *event,
                                  struct str cloud, struct arena *arena);

/* Looks up the output of a failed step in a table: likely cause and next step. False if unknown. */
bool setup_explain(struct str tail, struct str *ret_why, struct str *ret_next);

/* A new node would fail in the same way for a long time: the registry counts pulls by the hour. */
bool setup_is_blocked(struct str said);

/* The same from the exit status alone, for output that is not in the table. */
bool setup_explain_status(int status, struct str *ret_why, struct str *ret_next);

/* The next step in the words of this cloud (provider.type). */
struct str setup_next_on(struct str cloud, struct str next);
