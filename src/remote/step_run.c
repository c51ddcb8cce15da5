/* step_run.c: the runner: one step after the other, each a login shell of the user's. */
#include "remote/step_run.h"

#include "io/child.h"
#include "io/file.h"
#include "io/lock.h"
#include "remote/step_event.h"
#include "remote/step_group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 8 * 1024,
    TAIL_LINES = 60,
    TAIL_LINE_BYTES = 1024,
    TOLD_BYTES_MAX = 4 << 20, /* of output, in the events of one bundle */
    ALL_BYTES_MAX = 32 << 20, /* of log/all */
    STOP_MS = 12000,          /* a step has 5 s from SIGTERM to SIGKILL */
    STOP_LOOK_MS = 10,
    EVENTS_MAX = 16 << 20,
};

struct runner {
    const char *folder;
    struct arena *arena;
    struct bundle bundle;
    struct str run;
    char (*keys)[STEP_KEY_SIZE];
    struct loop *loop;
    struct child_pool *pool;
    size_t at;       /* the step that runs */
    int64_t attempt; /* from 1 */
    struct child *child;
    struct loop_task note; /* of its process group, once it has one */
    int events, log, all;
    struct buf tail[TAIL_LINES]; /* a ring of the last lines */
    size_t line_count;
    size_t told_bytes; /* of output, in the events */
    bool is_ok, is_stopped;
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
    buf_init(&line, (size_t)TAIL_LINES * TAIL_LINE_BYTES * 2 + 4096); /* with escapes */
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

/* Everything that was ever done here, for people. */
static void log_all(const struct runner *runner, const char *before, struct str text)
{
    AUTO_BUF struct buf line;
    buf_init(&line, 2 * LINE_MAX_BYTES);
    buf_addf(&line, "%s%.*s\n", before, STR_ARG(text));
    if (runner->all >= 0) {
        write_all(runner->all, buf_str(&line));
    }
}

/* Whoever follows gets all of it, up to a bound: the log has the rest. */
static void tell_line(struct runner *runner, struct str line)
{
    if (runner->told_bytes > TOLD_BYTES_MAX) {
        return;
    }
    runner->told_bytes += line.len + 1;
    bool is_too_much = runner->told_bytes > TOLD_BYTES_MAX;
    tell(runner,
         (struct step_event){
             .kind = STEP_SAID,
             .step = runner->at,
             .tail = is_too_much ? STR("(more than 4 MB: the rest is in the log there)") : line});
}

static void take_line(void *context, enum child_stream stream, struct str line)
{
    struct runner *runner = context;
    if (stream == CHILD_STDERR && is_noise(line)) {
        return;
    }
    write_all(runner->log, line);
    write_all(runner->log, STR("\n"));
    log_all(runner, "    ", line);
    tell_line(runner, line);
    struct buf *kept = &runner->tail[runner->line_count++ % TAIL_LINES];
    buf_clear(kept);
    buf_init(kept, TAIL_LINE_BYTES);
    buf_add(kept, str_sub(line, 0, TAIL_LINE_BYTES - 1));
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
static void try_step(struct runner *runner);

/* For what is no loss when the machine goes down: no waiting for the disk. */
static bool write_plain(const char *path, struct str bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    ssize_t size = write(fd, bytes.ptr ? bytes.ptr : "", bytes.len);
    close(fd);
    return size >= 0 && (size_t)size == bytes.len;
}

static bool was_done(const struct runner *runner)
{
    return !runner->bundle.steps[runner->at].is_always &&
           file_look(mark_of(runner)).kind == FILE_REGULAR;
}

/* A mark that cannot be written only means that the step is done again some day. */
static void mark_done(const struct runner *runner)
{
    if (!write_plain(mark_of(runner), STR(""))) {
        write_all(runner->log, STR("shoal: cannot remember that this was done\n"));
    }
}

static enum step_event_kind kind_of(const struct runner *runner, const struct child_result *result)
{
    bool is_last = runner->attempt >= runner->bundle.steps[runner->at].attempts;
    if (child_was_fine(result)) {
        return STEP_DONE;
    }
    return is_last || runner->is_stopped ? STEP_FAILED : STEP_AGAIN;
}

static void finish_step(void *context, const struct child_result *result)
{
    struct runner *runner = context;
    struct step_event event = {
        .kind = kind_of(runner, result),
        .step = runner->at,
        .name = runner->bundle.steps[runner->at].name,
        .took_ms = result->ran_ms,
        .status = result->exit_status,
        .signal = result->signal,
        .is_late = result->end == CHILD_TIMED_OUT,
    };
    AUTO_BUF struct buf tail;
    buf_init(&tail, (size_t)TAIL_LINES * TAIL_LINE_BYTES + 1024);
    runner->child = NULL;
    step_group_forget(runner->folder);
    if (result->end == CHILD_NOT_STARTED) {
        buf_add_c(&tail, result->err.text);
    }
    if (event.kind != STEP_DONE) {
        write_tail(runner, &tail);
        buf_add_c(&tail, runner->is_stopped ? "stopped: another set-up of this node began\n" : "");
        event.tail = buf_str(&tail);
    }
    runner->is_ok = event.kind == STEP_DONE;
    if (runner->is_ok) {
        mark_done(runner);
    }
    close(runner->log);
    tell(runner, event);
    if (event.kind == STEP_AGAIN) {
        runner->attempt++;
        try_step(runner);
    } else if (event.kind == STEP_FAILED) {
        loop_stop(runner->loop);
    } else {
        runner->at++;
        next_step(runner);
    }
}

/* Secrets among the variables must not stand in an argv, so the script is a file of its own. */
static bool write_script(const struct step *step, const char *path)
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
    return write_plain(path, buf_str(&script));
}

/* Kept over many runs, but not for ever. */
static int open_all(const struct runner *runner)
{
    const char *path = in_folder(runner, "log/all");
    struct stat status;
    int whole = stat(path, &status) == 0 && status.st_size > ALL_BYTES_MAX ? O_TRUNC : 0;
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | whole, 0600);
}

static int open_log(const struct runner *runner)
{
    const char *path =
        arena_printf(runner->arena, "%s/log/%zu", runner->folder, runner->at + 1).ptr;
    int whole = runner->attempt > 1 ? 0 : O_TRUNC; /* what it said before it failed stays */
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | whole, 0600);
}

static void note_group(void *context)
{
    struct runner *runner = context;
    if (runner->child && child_pid(runner->child) > 0) {
        step_group_note(runner->folder, child_pid(runner->child));
    }
}

/* All that the session has: what the machine's administrators set for whoever logs in, such as a
 * proxy, is for the user's commands too. */
static const char *const *step_environment(const struct runner *runner, const char *script)
{
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    const char **all = ARENA_ARRAY(runner->arena, count + 2, const char *);
    for (size_t i = 0; i < count; i++) {
        all[i + 1] = environ[i];
    }
    all[0] = arena_printf(runner->arena, "SHOAL_STEP=%s", script).ptr;
    return all;
}

/* The shell that Ray gives to users' commands: a login shell that also reads ~/.bashrc, the command
 * in a shell below it, so that its exit ends only itself. */
static void try_step(struct runner *runner)
{
    static const char shell[] = "source ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore "
                                "&& (. \"$SHOAL_STEP\")";
    const struct step *step = &runner->bundle.steps[runner->at];
    const char *path = in_folder(runner, "step.sh");
    struct err err = {0};
    runner->line_count = 0;
    runner->log = open_log(runner);
    log_all(runner, "", step->name);
    if (!write_script(step, path)) {
        err_set(&err, ERR_IO, "%s: %s", path, strerror(errno));
        finish_step(runner, &(struct child_result){.end = CHILD_NOT_STARTED, .err = err});
        return;
    }
    const char *const argv[] = {"bash", "--login", "-c", "-i", shell, NULL};
    runner->child = child_start(runner->pool, &(struct child_spec){
                                                  .argv = argv,
                                                  .env_extra = step_environment(runner, path),
                                                  .output = {{LINE_MAX_BYTES, take_line, false},
                                                             {LINE_MAX_BYTES, take_line, false}},
                                                  .deadline_ms = step->deadline_ms,
                                                  .done = finish_step,
                                                  .context = runner,
                                              });
    loop_later(runner->loop, &runner->note); /* behind the pool's own task, which starts it */
}

static void next_step(struct runner *runner)
{
    while (runner->at < runner->bundle.count && was_done(runner)) {
        tell_step(runner, STEP_SKIPPED);
        runner->at++;
    }
    if (runner->at < runner->bundle.count && runner->is_stopped) {
        runner->is_ok = false;
        loop_stop(runner->loop);
    } else if (runner->at < runner->bundle.count) {
        tell_step(runner, STEP_BEGAN);
        runner->attempt = 1;
        try_step(runner);
    } else {
        loop_stop(runner->loop);
    }
}

/* Another set-up wants the node. */
static void stop(void *context, int number)
{
    struct runner *runner = context;
    (void)number;
    runner->is_stopped = true;
    if (runner->child) {
        child_cancel(runner->child);
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
    struct loop_signal *term = NULL;
    char text[32];
    snprintf(text, sizeof(text), "%d\n", getpid());
    if (!loop_open(&clock_of_machine, &runner->loop, &err) ||
        !loop_signal_new(runner->loop, SIGTERM, stop, runner, &term, &err) ||
        !write_plain(in_folder(runner, "runner"), str_from(text))) {
        tell(runner, (struct step_event){.kind = STEP_BUNDLE_FAILED});
        return;
    }
    runner->note = (struct loop_task){.run = note_group, .context = runner};
    runner->pool = child_pool_new(runner->loop, 1);
    runner->is_ok = true;
    runner->all = open_all(runner);
    next_step(runner);
    if (runner->at < runner->bundle.count) {
        loop_run(runner->loop);
    }
    tell(runner,
         (struct step_event){.kind = runner->is_ok ? STEP_BUNDLE_DONE : STEP_BUNDLE_FAILED});
    child_pool_free(runner->pool);
    loop_signal_free(term);
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
    step_group_end(runner->folder);
    unlink(in_folder(runner, "runner"));
    if (!write_plain(in_folder(runner, "bundle.json"), text)) {
        return err_set(err, ERR_IO, "%s/bundle.json: %s", runner->folder, strerror(errno));
    }
    runner->events = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                          0600);
    if (runner->events < 0) {
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    }
    tell(runner, (struct step_event){.kind = STEP_BUNDLE_BEGAN,
                                     .key = str_from(runner->keys[runner->bundle.count - 1]),
                                     .run = runner->run,
                                     .count = runner->bundle.count});
    bool ok = start_process(runner, err);
    close(runner->events);
    return ok;
}

/* What the events say of the last run in this folder. */
struct past {
    bool has_ended;
    bool is_ours; /* this very run of this bundle */
};

static struct past look_back(const struct runner *runner, const char *key)
{
    AUTO_BUF struct buf text;
    struct err err;
    struct step_event first = {0}, event = {0};
    buf_init(&text, EVENTS_MAX);
    if (!file_read(in_folder(runner, "events"), &text, &err)) {
        return (struct past){0};
    }
    struct str rest = buf_str(&text);
    for (size_t i = 0; rest.len > 0; i++) {
        if (!step_event_read(str_cut(&rest, '\n'), runner->arena, &event, &err)) {
            return (struct past){0};
        }
        first = i == 0 ? event : first;
    }
    return (struct past){
        .has_ended = event.kind == STEP_BUNDLE_DONE || event.kind == STEP_BUNDLE_FAILED,
        .is_ours = runner->run.len > 0 && first.kind == STEP_BUNDLE_BEGAN &&
                   str_is(first.key, key) && str_eq(first.run, runner->run),
    };
}

/* While the lock is held and the events have an end, a runner is about to go, of this bundle or of
 * another, or has come and not begun yet: what it does is known in a moment. */
static bool begin_or_join(struct runner *runner, struct str text, const char *key, struct err *err)
{
    const struct timespec nap = {0, STOP_LOOK_MS * 1000000};
    int64_t until = clock_monotonic_ms(&clock_of_machine) + STOP_MS;
    struct lock *lock = NULL;
    struct past past;
    while (!lock_take(in_folder(runner, "lock"), key, &lock, err)) {
        if (err->kind != ERR_EXISTS) {
            return false;
        }
        past = look_back(runner, key);
        if (!past.has_ended || past.is_ours || clock_monotonic_ms(&clock_of_machine) > until) {
            return strstr(err->text, key) != NULL; /* at it already, or at something else */
        }
        nanosleep(&nap, NULL);
    }
    past = look_back(runner, key);
    bool ok = (past.has_ended && past.is_ours) || begin(runner, text, err);
    lock_drop(lock);
    return ok;
}

bool step_run_start(const char *folder, struct str text, struct str run,
                    char ret_key[STEP_KEY_SIZE], struct err *err)
{
    struct arena arena;
    struct runner runner = {.folder = folder, .arena = &arena, .run = run};
    arena_init(&arena);
    bool ok = bundle_read(text, &arena, &runner.bundle, err) &&
              (runner.bundle.count > 0 || err_set(err, ERR_PROTOCOL, "a bundle without steps")) &&
              make_folders(&runner, err);
    if (ok) {
        runner.keys = arena_array(&arena, runner.bundle.count, STEP_KEY_SIZE);
        bundle_keys(&runner.bundle, runner.keys);
        memcpy(ret_key, runner.keys[runner.bundle.count - 1], STEP_KEY_SIZE);
        ok = begin_or_join(&runner, text, ret_key, err);
    }
    arena_clear(&arena);
    return ok;
}

/* ---- stopping ---- */

/* Asked for while its lock is held, so that the number is not somebody else's. */
static int64_t runner_of(const char *path)
{
    AUTO_BUF struct buf text;
    struct err err;
    int64_t pid = 0;
    buf_init(&text, 64);
    return file_read(path, &text, &err) && str_to_i64(str_trim(buf_str(&text)), &pid) && pid > 1
               ? pid
               : 0;
}

static bool wait_for_end(const char *lock, const char *runner, int number, int64_t wait_ms)
{
    const struct timespec nap = {0, STOP_LOOK_MS * 1000000};
    int64_t until = clock_monotonic_ms(&clock_of_machine) + wait_ms;
    int64_t told = 0;
    while (lock_is_held(lock)) {
        int64_t pid = runner_of(runner); /* one that has just begun has no number yet */
        if (clock_monotonic_ms(&clock_of_machine) > until) {
            return false;
        }
        if (pid > 0 && pid != told) {
            told = pid;
            kill((pid_t)pid, number);
        }
        nanosleep(&nap, NULL);
    }
    return true;
}

bool step_run_stop(const char *folder, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    const char *lock = arena_printf(&arena, "%s/lock", folder).ptr;
    const char *runner = arena_printf(&arena, "%s/runner", folder).ptr;
    bool ok = wait_for_end(lock, runner, SIGTERM, STOP_MS) ||
              wait_for_end(lock, runner, SIGKILL, STOP_MS / 4) ||
              err_set(err, ERR_EXISTS,
                      "the set-up that runs on this node cannot be stopped; its "
                      "process is named in %s",
                      runner);
    arena_clear(&arena);
    return ok;
}
