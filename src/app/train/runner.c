/* runner.c: starts runner.py and speaks its protocol. */
#include "app/train/runner.h"

#include "base/arena.h"
#include "base/buf.h"
#include "io/json_line.h"
#include "io/xalloc.h"

#include <limits.h>
#include <signal.h>

extern char **environ;

enum { LINE_BYTES = 64 * 1024, START_BYTES = 1 << 20 };

struct runner {
    struct child *child;
    struct runner_hooks hooks;
};

/* ---- lines from it ---- */

static int take_int(const json_t *object, const char *name)
{
    return (int)json_take_number(object, name, 0, INT_MAX);
}

static void runner_read(struct runner *runner, const json_t *event, struct arena *arena)
{
    const struct runner_hooks *hooks = &runner->hooks;
    struct str word = json_take_text(event, "event", arena);
    int64_t generation = json_take_number(event, "generation", 0, INT64_MAX);
    if (str_is(word, "ready")) {
        double seconds = json_number_value(json_object_get(event, "seconds"));
        hooks->ready(hooks->context, json_is_true(json_object_get(event, "warm")),
                     (int64_t)(seconds * 1000), json_take_text(event, "reason", arena));
        struct str cuda = json_take_text(event, "cuda", arena);
        if (cuda.len > 0) {
            hooks->output(hooks->context,
                          arena_printf(arena,
                                       "cannot initialize CUDA early: %.*s; the script "
                                       "does it itself",
                                       STR_ARG(cuda)));
        }
    } else if (str_is(word, "started")) {
        hooks->started(hooks->context, generation, take_int(event, "pid"));
    } else if (str_is(word, "returned")) {
        hooks->returned(hooks->context, generation, take_int(event, "code"));
    } else if (str_is(word, "exited")) {
        hooks->exited(hooks->context, generation, take_int(event, "code"),
                      take_int(event, "signal"));
    } else {
        hooks->output(hooks->context, json_take_text(event, "text", arena));
        if (generation > 0) { /* a start that failed */
            hooks->exited(hooks->context, generation, 1, 0);
        }
    }
}

static void runner_on_line(void *context, enum child_stream stream, struct str line)
{
    struct runner *runner = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *event;
    struct err err;
    if (stream == CHILD_STDERR) {
        runner->hooks.output(runner->hooks.context, line);
    } else if (json_line_read(line, "a line of the runner", &event, &err)) {
        runner_read(runner, event, &arena);
        json_decref(event);
    } else {
        runner->hooks.output(runner->hooks.context, line);
    }
}

static void runner_on_end(void *context, const struct child_result *result)
{
    struct runner *runner = context;
    runner->child = NULL;
    runner->hooks.ended(runner->hooks.context, &result->err);
}

/* ---- lines to it ---- */

static void runner_send(struct runner *runner, json_t *command)
{
    AUTO_BUF struct buf line;
    buf_init(&line, START_BYTES);
    json_put_out(command, true, &line);
    if (runner->child && !line.is_full) {
        bool is_queued = child_write(runner->child, buf_str(&line));
        (void)is_queued; /* a runner that does not read ends by itself */
    }
}

static json_t *runner_command(const char *word, int64_t generation)
{
    json_t *command = json_object();
    json_put_text(command, "command", str_from(word));
    json_put_number(command, "generation", generation);
    return command;
}

void runner_start(struct runner *runner, const struct runner_start *start)
{
    json_t *command = runner_command("start", start->generation);
    json_t *args = json_array();
    json_t *env = json_object();
    json_put_text(command, "script", start->script);
    json_put_text(command, "folder", start->folder);
    json_put_text(command, "steps", start->steps);
    for (size_t i = 0; i < start->arg_count; i++) {
        json_array_append_new(args, json_string_nocheck(start->args[i]));
    }
    for (size_t i = 0; i < start->variable_count; i++) {
        json_put_text(env, start->variables[i].name, start->variables[i].value);
    }
    json_object_set_new(command, "args", args);
    json_object_set_new(command, "env", env);
    runner_send(runner, command);
}

void runner_signal(struct runner *runner, int64_t generation, int signal)
{
    json_t *command = runner_command("signal", generation);
    json_put_number(command, "signal", signal);
    runner_send(runner, command);
}

void runner_kill(struct runner *runner, int64_t generation)
{
    runner_send(runner, runner_command("kill", generation));
}

/* ---- its life ---- */

struct runner *runner_open(const struct runner_setup *setup)
{
    struct runner *runner = HEAP_NEW(struct runner);
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    const char **env = ARENA_ARRAY(&arena, count + 3, const char *);
    for (size_t i = 0; i < count; i++) {
        env[i] = environ[i];
    }
    env[count++] = arena_printf(&arena, "SHOAL_TRAIN_PRELOAD=%s", setup->preload).ptr;
    if (setup->is_cuda_warm) {
        env[count] = "SHOAL_TRAIN_WARM_CUDA=1";
    }
    runner->hooks = setup->hooks;
    const char *argv[] = {setup->python, setup->program, NULL};
    runner->child = child_start(setup->pool,
                                &(struct child_spec){
                                    .argv = argv,
                                    .env_extra = env,
                                    .is_fed = true,
                                    .output = {{.bytes_max = LINE_BYTES, .line = runner_on_line},
                                               {.bytes_max = LINE_BYTES, .line = runner_on_line}},
                                    .done = runner_on_end,
                                    .context = runner,
                                });
    return runner;
}

void runner_close(struct runner *runner)
{
    if (runner) {
        if (runner->child) {
            child_forget(runner->child);
        }
        free(runner);
    }
}
