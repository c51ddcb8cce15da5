/*
 * runner.h: the Python process of a slot that starts replicas (python/runner.py).
 *
 * It imports slow modules once and forks a replica for each generation, or starts a new interpreter
 * if it must not fork. Uses JSON lines over its standard input and output; the output of replicas
 * arrives on its standard error.
 */
#pragma once

#include "app/train/replica_env.h"
#include "base/str.h"
#include "io/child.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct runner;

struct runner_hooks {
    void *context;
    /* Once, before the others. `reason`: why it is not warm. */
    void (*ready)(void *context, bool is_warm, int64_t took_ms, struct str reason);
    void (*started)(void *context, int64_t generation, int pid);
    /* The script's own code has ended; its process still runs exit handlers. */
    void (*returned)(void *context, int64_t generation, int code);
    /* The process is gone. `signal` is 0 if it exited with `code`. */
    void (*exited)(void *context, int64_t generation, int code, int signal);
    /* A line that a replica wrote. */
    void (*output)(void *context, struct str line);
    /* The runner itself is gone, with its replicas. */
    void (*ended)(void *context, const struct err *err);
};

struct runner_setup {
    struct child_pool *pool;
    const char *python;
    const char *program; /* path of runner.py */
    const char *preload; /* modules separated by commas; empty: no fork */
    bool is_cuda_warm;   /* initializes CUDA for the first replica before it is ready */
    struct runner_hooks hooks;
};

/* All texts are copied. */
struct runner *runner_open(const struct runner_setup *setup);
void runner_close(struct runner *runner); /* kills it and its replicas; NULL is allowed */

struct runner_start {
    int64_t generation;
    struct str script;
    const char *const *args;
    size_t arg_count;
    struct str folder;
    struct str steps; /* file with the counters */
    const struct replica_variable *variables;
    size_t variable_count;
};
void runner_start(struct runner *runner, const struct runner_start *start);
void runner_signal(struct runner *runner, int64_t generation, int signal);
void runner_kill(struct runner *runner, int64_t generation);
