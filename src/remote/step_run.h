/*
 * step_run.h: a bundle of steps, run on the node by a process of its own.
 *
 * The runner has left the ssh session that started it: a link that breaks neither ends nor repeats
 * a step. Whoever comes again with the same bundle only follows. What is left in the folder:
 *
 *     bundle.json   what is to be done
 *     events        what has happened, a line each (step_event.h)
 *     log/3         all that step 3 said, the last time it ran
 *     log/all       all that all steps said, every time
 *     done/KEY      a step that need not be done again
 *     lock          held by the runner, says which bundle
 *     runner        its process id
 *     group         the processes of the step that runs (step_group.h)
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"
#include "remote/bundle.h"

/*
 * Starts a runner for the bundle, or finds that one is at it already. Fails with ERR_EXISTS when a
 * runner is busy with another bundle. A `run` that is not empty names this request: asked for again
 * under its name, a bundle that has ended meanwhile is not begun again. Forks: not while a loop is
 * open.
 */
bool step_run_start(const char *folder, struct str bundle, struct str run,
                    char ret_key[STEP_KEY_SIZE], struct err *err) MUST_USE;

/* Ends the runner that is busy there, and its step; waits for it. Nothing when there is none. */
bool step_run_stop(const char *folder, struct err *err) MUST_USE;

/* ---- following ---- */

struct step_follow;

/* A line of `events` with its newline. */
typedef void step_line_fn(void *context, struct str line);

/* Called once: the bundle has ended, well or not, or (err) its runner has gone without a word, or
 * another bundle has taken its place. */
typedef void step_follow_done_fn(void *context, bool is_ok, const struct err *err);

/* The bundle that step_run_start() began or found, from its beginning. Call step_follow_end() also
 * after `done`. */
bool step_follow_start(struct loop *loop, const char *folder, step_line_fn *line,
                       step_follow_done_fn *done, void *context, struct step_follow **ret_follow,
                       struct err *err) MUST_USE;
void step_follow_end(struct step_follow *follow); /* NULL is fine */
