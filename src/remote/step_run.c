/* step_run.c: the runner: one step after the other, each a login shell of the user's. */
#include "remote/step_run.h"

#include "io/child.h"
#include "io/file.h"
#include "io/lock.h"
#include "remote/step_event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 8 * 1024,
    TAIL_LINES = 20,
    TAIL_BYTES = 4 * 1024,
};

struct runner {
    const char *folder;
    struct arena *arena;
    struct bundle bundle;
    char (*keys)[STEP_KEY_SIZE];
    struct loop *loop;
    struct child_pool *pool;
    size_t at; /* the step that runs */
    int events, log;
    struct buf tail[TAIL_LINES]; /* a ring of the last lines */
    size_t line_count;
    bool is_ok;
};

/* Bundles are short: what is left behind in the arena is given back when the runner ends. */
static const char *in_folder(const struct runner *runner, const char *name)
{
    return arena_printf(runner->arena, "%s/%s", runner->folder, name).ptr;
}

static const char *mark_of(const struct runner *runner)
{
    return arena_printf(runner->arena, "%s/done/%s", runner->folder, runner->keys[runner->at]).ptr;
}

/* ---- telling ---- */

static void write_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t size = write(fd, bytes.ptr, bytes.len);
        if (size < 0 && errno != EINTR) {
            return; /* a full disk: the step itself will say so, and its end is tried again */
        }
        bytes = str_sub(bytes, size > 0 ? (size_t)size : 0, bytes.len);
    }
}

static void tell(struct runner *runner, struct step_event event)
{
    AUTO_BUF struct buf line;
    buf_init(&line, 64 * 1024);
    event.wall_ms = clock_wall_ms(&clock_of_machine);
    step_event_write(&event, &line);
    write_all(runner->events, buf_str(&line));
}

static void tell_step(struct runner *runner, enum step_event_kind kind)
{
    tell(runner, (struct step_event){.kind = kind,
                                     .step = runner->at,
                                     .name = runner->bundle.steps[runner->at].name});
}

/* ---- what a step says ---- */

/* An interactive shell without a terminal complains twice before it does anything. */
static bool is_noise(struct str line)
{
    return str_starts(line, "bash: cannot set terminal process group") ||
           str_starts(line, "bash: no job control in this shell");
}

static void take_line(void *context, enum child_stream stream, struct str line)
{
    struct runner *runner = context;
    if (stream == CHILD_STDERR && is_noise(line)) {
        return;
    }
    write_all(runner->log, line);
    write_all(runner->log, STR("\n"));
    struct buf *kept = &runner->tail[runner->line_count++ % TAIL_LINES];
    buf_clear(kept);
    buf_init(kept, TAIL_BYTES / 4);
    buf_add(kept, str_sub(line, 0, TAIL_BYTES / 4 - 1));
}

static void write_tail(const struct runner *runner, struct buf *out)
{
    size_t first = runner->line_count > TAIL_LINES ? runner->line_count - TAIL_LINES : 0;
    for (size_t i = first; i < runner->line_count; i++) {
        buf_add(out, buf_str(&runner->tail[i % TAIL_LINES]));
        buf_add_char(out, '\n');
    }
}

/* ---- one step ---- */

static void next_step(struct runner *runner);

static bool was_done(const struct runner *runner)
{
    return !runner->bundle.steps[runner->at].is_always &&
           file_look(mark_of(runner)).kind == FILE_REGULAR;
}

/* A mark that cannot be written only means that the step is done again some day. */
static void mark_done(const struct runner *runner)
{
    struct err err;
    if (!file_write(mark_of(runner), STR(""), 0600, &err)) {
        write_all(runner->log, str_from(err.text));
    }
}

static void finish_step(void *context, const struct child_result *result)
{
    struct runner *runner = context;
    struct step_event event = {
        .kind = child_was_fine(result) ? STEP_DONE : STEP_FAILED,
        .step = runner->at,
        .name = runner->bundle.steps[runner->at].name,
        .took_ms = result->ran_ms,
        .status = result->exit_status,
        .signal = result->signal,
        .is_late = result->end == CHILD_TIMED_OUT,
    };
    AUTO_BUF struct buf tail;
    buf_init(&tail, TAIL_BYTES * 2);
    if (result->end == CHILD_NOT_STARTED) {
        buf_add_c(&tail, result->err.text);
    }
    if (event.kind == STEP_FAILED) {
        write_tail(runner, &tail);
        event.tail = buf_str(&tail);
    }
    runner->is_ok = event.kind == STEP_DONE;
    if (runner->is_ok) {
        mark_done(runner);
    }
    close(runner->log);
    tell(runner, event);
    if (!runner->is_ok) {
        loop_stop(runner->loop);
        return;
    }
    runner->at++;
    next_step(runner);
}

/* Secrets among the variables must not stand in an argv, so the script is a file of its own. */
static bool write_script(const struct step *step, const char *path, struct err *err)
{
    AUTO_BUF struct buf script;
    buf_init(&script, BUNDLE_BYTES_MAX * 4);
    for (size_t i = 0; i < step->variable_count; i++) {
        struct str value = step->variables[i].value;
        buf_addf(&script, "export %.*s='", STR_ARG(step->variables[i].name));
        for (size_t at = 0; at < value.len; at++) {
            if (value.ptr[at] == '\'') {
                buf_add_c(&script, "'\\''");
            } else {
                buf_add_char(&script, value.ptr[at]);
            }
        }
        buf_add_c(&script, "'\n");
    }
    buf_add(&script, step->command);
    buf_add_char(&script, '\n');
    return file_write(path, buf_str(&script), 0600, err);
}

static int open_log(const struct runner *runner)
{
    const char *path =
        arena_printf(runner->arena, "%s/log/%zu", runner->folder, runner->at + 1).ptr;
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* The shell that Ray gives to users' commands: a login shell that also reads ~/.bashrc, the command
 * in a shell below it, so that its exit ends only itself. */
static void run_step(struct runner *runner)
{
    static const char shell[] = "source ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore "
                                "&& (. \"$SHOAL_STEP\")";
    const struct step *step = &runner->bundle.steps[runner->at];
    const char *path = in_folder(runner, "step.sh");
    struct err err = {0};
    tell_step(runner, STEP_BEGAN);
    runner->line_count = 0;
    runner->log = open_log(runner);
    if (!write_script(step, path, &err)) {
        finish_step(runner, &(struct child_result){.end = CHILD_NOT_STARTED, .err = err});
        return;
    }
    const char *const argv[] = {"bash", "--login", "-c", "-i", shell, NULL};
    const char *const extra[] = {arena_printf(runner->arena, "SHOAL_STEP=%s", path).ptr, NULL};
    child_start(runner->pool, &(struct child_spec){
                                  .argv = argv,
                                  .env_names = child_usual_env,
                                  .env_extra = extra,
                                  .output = {{LINE_MAX_BYTES, take_line, false},
                                             {LINE_MAX_BYTES, take_line, false}},
                                  .deadline_ms = step->deadline_ms,
                                  .done = finish_step,
                                  .context = runner,
                              });
}

static void next_step(struct runner *runner)
{
    while (runner->at < runner->bundle.count && was_done(runner)) {
        tell_step(runner, STEP_SKIPPED);
        runner->at++;
    }
    if (runner->at < runner->bundle.count) {
        run_step(runner);
    } else {
        loop_stop(runner->loop);
    }
}

/* ---- the runner's own process ---- */

static void leave_session(void)
{
    int nothing = open("/dev/null", O_RDWR);
    setsid();
    for (int fd = 0; nothing >= 0 && fd < 3; fd++) {
        dup2(nothing, fd);
    }
    if (nothing > 2) {
        close(nothing);
    }
}

static void run_all(struct runner *runner)
{
    struct err err;
    if (!loop_open(&clock_of_machine, &runner->loop, &err)) {
        return;
    }
    runner->pool = child_pool_new(runner->loop, 1);
    runner->is_ok = true;
    next_step(runner);
    if (runner->at < runner->bundle.count) {
        loop_run(runner->loop);
    }
    tell(runner,
         (struct step_event){.kind = runner->is_ok ? STEP_BUNDLE_DONE : STEP_BUNDLE_FAILED});
    child_pool_free(runner->pool);
    loop_close(runner->loop);
}

/* The lock is inherited, and free when the runner has ended, however it ends. */
static bool start_process(struct runner *runner, struct err *err)
{
    pid_t pid = fork();
    if (pid < 0) {
        return err_set(err, ERR_IO, "cannot start a process: %s", strerror(errno));
    }
    if (pid == 0) {
        leave_session();
        run_all(runner);
        _exit(0);
    }
    return true;
}

/* ---- starting ---- */

static bool make_folders(const struct runner *runner, struct err *err)
{
    return file_make_private_folder(runner->folder, err) &&
           file_make_private_folder(in_folder(runner, "log"), err) &&
           file_make_private_folder(in_folder(runner, "done"), err);
}

static bool begin(struct runner *runner, struct str text, struct err *err)
{
    const char *path = in_folder(runner, "events");
    if (!file_write(in_folder(runner, "bundle.json"), text, 0600, err)) {
        return false;
    }
    runner->events = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                          0600);
    if (runner->events < 0) {
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    }
    tell(runner, (struct step_event){.kind = STEP_BUNDLE_BEGAN,
                                     .key = str_from(runner->keys[runner->bundle.count - 1]),
                                     .count = runner->bundle.count});
    bool ok = start_process(runner, err);
    close(runner->events);
    return ok;
}

bool step_run_start(const char *folder, struct str text, char ret_key[STEP_KEY_SIZE],
                    struct err *err)
{
    struct arena arena;
    struct lock *lock = NULL;
    struct runner runner = {.folder = folder, .arena = &arena};
    arena_init(&arena);
    bool ok = bundle_read(text, &arena, &runner.bundle, err) &&
              (runner.bundle.count > 0 || err_set(err, ERR_PROTOCOL, "a bundle without steps")) &&
              make_folders(&runner, err);
    if (ok) {
        runner.keys = arena_array(&arena, runner.bundle.count, STEP_KEY_SIZE);
        bundle_keys(&runner.bundle, runner.keys);
        memcpy(ret_key, runner.keys[runner.bundle.count - 1], STEP_KEY_SIZE);
        ok = lock_take(in_folder(&runner, "lock"), ret_key, &lock, err)
                 ? begin(&runner, text, err)
                 : err->kind == ERR_EXISTS && strstr(err->text, ret_key); /* at it already */
    }
    lock_drop(lock);
    arena_clear(&arena);
    return ok;
}
