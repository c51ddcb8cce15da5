/*
 * child.h: runs other programs on the loop: ssh, rsync, docker, credential helpers.
 *
 * A program is started with an argv, never through a shell. It gets only the listed environment
 * variables, no terminal, and its own process group, so that stopping it also stops its
 * descendants. It inherits no descriptors except the standard three. A pool runs a bounded number
 * at once; the rest wait in order.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct child_pool;
struct child;

/* ---- the pool ---- */

/* At most `running_max` programs run at once. If the system refuses to start more (descriptors,
 * processes), a child starts when another one has exited. */
struct child_pool *child_pool_new(struct loop *loop, size_t running_max);

/* Kills running children and drops waiting ones, without calling callbacks. Not from a callback. */
void child_pool_free(struct child_pool *pool);

size_t child_pool_running(const struct child_pool *pool);
size_t child_pool_waiting(const struct child_pool *pool);

/* ---- starting ---- */

enum child_stream { CHILD_STDOUT, CHILD_STDERR };

/* One line without its newline. A line longer than the limit arrives in pieces; the last line may
 * lack its newline. */
typedef void child_line_fn(void *context, enum child_stream stream, struct str line);

struct child_output {
    size_t bytes_max;    /* limit for all output, or for one piece of a line; 0: discarded */
    child_line_fn *line; /* NULL: collected for the result */
    bool keeps_tail;     /* if the output is too long, keep its end instead of its beginning */
};

struct child_result;
typedef void child_done_fn(void *context, const struct child_result *result);

/* Everything is copied. Zero fields take the default given in their comment. */
struct child_spec {
    const char *const *argv;      /* ends with NULL; argv[0] has a slash or is searched in PATH */
    const char *const *env_names; /* variables to pass on; ends with NULL; NULL: none */
    const char *const *env_extra; /* "NAME=value", overrides ours; ends with NULL; NULL: none */
    const char *folder;           /* working directory; NULL: ours */
    struct str input;             /* standard input, followed by EOF */
    bool is_fed;                  /* input comes from child_write() until child_end_input() */
    loop_fn *drained;             /* is_fed only: all input was written; NULL: not called */
    struct child_output output[2];
    bool is_urgent;      /* starts before those that wait */
    int64_t deadline_ms; /* from its start; 0: no limit */
    int64_t grace_ms;    /* from SIGTERM to SIGKILL; default 5 s */
    int64_t linger_ms;   /* wait for EOF if a descendant holds the pipe; default 500 ms */
    child_done_fn *done; /* called exactly once */
    void *context;       /* argument of done, line and drained */
};

/* For env_names: the variables that ssh, rsync and cloud helpers need; no secrets. */
extern const char *const child_usual_env[];

/* Queues the child. All errors are reported through `done`, later. The child is freed when `done`
 * returns. */
struct child *child_start(struct child_pool *pool, const struct child_spec *spec);

/* Queues more input for an is_fed child, copied. False if more than CHILD_INPUT_MAX bytes would be
 * queued. */
enum { CHILD_INPUT_MAX = 4 * 1024 * 1024 };
bool child_write(struct child *child, struct str bytes) MUST_USE;
void child_end_input(struct child *child);

/* Sends SIGTERM to its group, and SIGKILL to the rest after the grace period or when the leader has
 * exited. The deadline does the same. A child that still waits never starts. */
void child_cancel(struct child *child);

/* Like child_cancel(), but no callback is called any more: their context may be freed
 * immediately. */
void child_forget(struct child *child);

/* The process id while it runs, otherwise 0. */
int child_pid(const struct child *child);

/* ---- result ---- */

enum child_end {
    CHILD_EXITED,      /* exited; see exit_status */
    CHILD_SIGNALLED,   /* killed by a signal that we did not send */
    CHILD_TIMED_OUT,   /* stopped at its deadline */
    CHILD_CANCELLED,   /* stopped by child_cancel(), or never started */
    CHILD_NOT_STARTED, /* see err; ERR_NOT_FOUND if there is no such program */
};

struct child_result {
    enum child_end end;
    int exit_status;
    int signal;           /* signal that ended it; 0: none */
    struct str output[2]; /* by enum child_stream; collected streams only, valid during the call */
    bool is_cut[2];       /* more than bytes_max, or a descendant held the pipe open */
    int64_t ran_ms;
    struct err err; /* set unless the exit status is 0: a message, "ssh: ended with status 255" */
};

/* True only for exit status 0. */
bool child_was_fine(const struct child_result *result);
