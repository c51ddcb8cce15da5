/*
 * child.h: other programs, run on the loop: ssh, rsync, docker, credential helpers.
 *
 * A program is a vector of words, never a line for a shell. It sees only the variables it was
 * given, has no terminal, and is the leader of a process group of its own, so that ending it ends
 * what it has started too. It inherits no descriptor but its standard three. A pool runs a bounded
 * number at once; the rest wait in order.
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

/* At most `running_max` programs at once, and fewer while the machine refuses more (descriptors,
 * processes): whoever cannot start now starts when another one has ended. */
struct child_pool *child_pool_new(struct loop *loop, size_t running_max);

/* Kills what runs, forgets what waits. No callback is called any more. Not from a callback. */
void child_pool_free(struct child_pool *pool);

size_t child_pool_running(const struct child_pool *pool);
size_t child_pool_waiting(const struct child_pool *pool);

/* ---- what to run ---- */

enum child_stream { CHILD_STDOUT, CHILD_STDERR };

/* One line without its end. Of a line longer than the bound come pieces; the last line may lack
 * its newline. */
typedef void child_line_fn(void *context, enum child_stream stream, struct str line);

struct child_output {
    size_t bytes_max;    /* kept in all, or in one piece of a line; 0: thrown away */
    child_line_fn *line; /* NULL: collected for the result */
    bool keeps_tail;     /* when there is too much: the end of it matters, not the beginning */
};

struct child_result;
typedef void child_done_fn(void *context, const struct child_result *result);

/* Everything is copied. What is zero takes the default named behind it. */
struct child_spec {
    const char *const *argv;      /* ends with NULL; argv[0] with a slash, or found in its PATH */
    const char *const *env_names; /* of ours, those it may see; ends with NULL; NULL: none */
    const char *const *env_extra; /* "NAME=value", wins over ours; ends with NULL; NULL: none */
    const char *folder;           /* where it runs; NULL: where we do */
    struct str input;             /* its standard input, then the end of it */
    bool is_fed;                  /* instead: what child_write() gives, until child_end_input() */
    loop_fn *drained;             /* is_fed only: all that was given has left; NULL: not told */
    struct child_output output[2];
    int64_t deadline_ms; /* from its start; 0: none */
    int64_t grace_ms;    /* from SIGTERM to SIGKILL; 5 s */
    int64_t linger_ms;   /* for output after its end, when a heir keeps the pipe open; 500 ms */
    child_done_fn *done; /* called exactly once */
    void *context;       /* of done, line and drained */
};

/* What ssh, rsync and cloud helpers need of ours, and no secrets: for env_names. */
extern const char *const child_usual_env[];

/* Queues it. Whatever goes wrong is told to `done`, later. The child is gone once that returns. */
struct child *child_start(struct child_pool *pool, const struct child_spec *spec);

/* More input for an is_fed child, copied. False when more than CHILD_INPUT_MAX bytes would wait. */
enum { CHILD_INPUT_MAX = 4 * 1024 * 1024 };
bool child_write(struct child *child, struct str bytes) MUST_USE;
void child_end_input(struct child *child);

/* SIGTERM to its group; SIGKILL to what is left of it after the grace, or when its leader has
 * ended. The deadline does the same. One that still waits never starts. */
void child_cancel(struct child *child);

/* As child_cancel(), and nobody is told: no callback is called any more, so that their context may
 * go at once. */
void child_forget(struct child *child);

/* The process id while it runs, else 0. */
int child_pid(const struct child *child);

/* ---- how it ended ---- */

enum child_end {
    CHILD_EXITED,      /* by itself, with exit_status */
    CHILD_SIGNALLED,   /* by a signal that was not ours */
    CHILD_TIMED_OUT,   /* we ended it at its deadline */
    CHILD_CANCELLED,   /* we ended it because child_cancel() said so, or it never started */
    CHILD_NOT_STARTED, /* err says why: ERR_NOT_FOUND when there is no such program */
};

struct child_result {
    enum child_end end;
    int exit_status;
    int signal;           /* that ended it, 0 for none */
    struct str output[2]; /* by enum child_stream; collected ones only, valid during the call */
    bool is_cut[2];       /* there was more than bytes_max, or a heir kept the pipe open */
    int64_t ran_ms;
    struct err err; /* when it was not exit status 0: a sentence, "ssh: ended with status 255" */
};

/* Exit status 0 and nothing else. */
bool child_was_fine(const struct child_result *result);
