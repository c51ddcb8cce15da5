/*
 * step_run.h: runs a bundle of steps on the node, in a separate process.
 *
 * The runner is detached from the ssh session that started it: a broken link neither stops nor
 * repeats a step. A client that reconnects with the same bundle only follows it. Files in the
 * folder:
 *
 *     bundle.json   the bundle
 *     events        step events, one per line (step_event.h)
 *     log/3         all output of the latest run of step 3
 *     log/all       all output of all steps, over all runs
 *     done/KEY      marks a step that need not run again
 *     place         the id of the container that `inside` steps run in, written by a step; such a
 *                   step is marked as done/KEY-ID
 *     lock          held by the runner; contains the key of its bundle
 *     runner        process id of the runner
 *     group         process group of the running step (step_group.h)
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"
#include "remote/bundle.h"

/*
 * Starts a runner for the bundle, unless one runs it already. Fails with ERR_EXISTS if a runner is
 * busy with another bundle. A non-empty `run` identifies the request: if the last run has the same
 * one and has ended, it is not started again. Forks, so no loop may be open.
 */
bool step_run_start(const char *folder, struct str bundle, struct str run,
                    char ret_key[STEP_KEY_SIZE], struct err *err) MUST_USE;

/* Stops the running runner and its step, and waits for it. Succeeds if there is none. */
bool step_run_stop(const char *folder, struct err *err) MUST_USE;

/* ---- following ---- */

struct step_follow;

/* One line of `events`, including the newline. */
typedef void step_line_fn(void *context, struct str line);

/* Called once: the bundle has ended (see `is_ok`), or, with `err`, its runner died or another
 * bundle replaced it. */
typedef void step_follow_done_fn(void *context, bool is_ok, const struct err *err);

/* Follows the bundle of step_run_start() from its first event. Call step_follow_end() even after
 * `done`. */
bool step_follow_start(struct loop *loop, const char *folder, step_line_fn *line,
                       step_follow_done_fn *done, void *context, struct step_follow **ret_follow,
                       struct err *err) MUST_USE;
void step_follow_end(struct step_follow *follow); /* NULL is allowed */
