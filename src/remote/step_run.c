/* step_run.c: the runner: executes steps in order, each in a login shell of the user. */
#include "remote/step_run.h"

#include "base/require.h"
#include "base/shell_quote.h"
#include "io/child.h"
#include "io/failpoint.h"
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

extern char **environ;

enum {
    LINE_MAX_BYTES = 8 * 1024,
    TAIL_LINES = 60,
    TAIL_LINE_BYTES = 1024,
    /* Limits on output in events: for each step, its first and last bytes. Once the bundle exceeds
     * its own limit, only the last part of each step's output is sent. */
    FIRST_BYTES_MAX = 1 << 20,
    LAST_BYTES_MAX = 1 << 20,
    BUNDLE_BYTES_MAX_TOLD = 8 << 20,
    SHORT_BYTES_MAX = 64 << 10,
    EVENT_BYTES = 64,         /* overhead of a line in addition to its text */
    ALL_BYTES_MAX = 32 << 20, /* size of log/all */
    STOP_MS = 12000,          /* a step has 5 s between SIGTERM and SIGKILL */
    STOP_LOOK_MS = 10,
    FULL_MS = 10000, /* for an event that does not fit on the disk */
    FULL_LOOK_MS = 100,
    EVENTS_MAX = 16 << 20,
    PLACE_BYTES_MAX = 100,
};

struct runner {
    const char *folder;
    struct arena *arena;
    struct bundle bundle;
    struct str run;
    char (*keys)[STEP_KEY_SIZE];
    struct loop *loop;
    struct child_pool *pool;
    size_t at;       /* index of the running step */
    int64_t attempt; /* counted from 1 */
    struct child *child;
    struct loop_task note; /* records the process group after the step starts */
    int events, log, all;
    struct buf tail[TAIL_LINES]; /* ring buffer of the last lines */
    size_t line_count;
    size_t told_bytes; /* output of the bundle sent in events */
    size_t step_bytes; /* output of this try sent from its beginning */
    struct buf last;   /* complete lines not sent yet */
    size_t left_out;   /* bytes dropped before `last` */
    bool is_ok, is_stopped;
    bool is_lost; /* an event could not be recorded */
};

/* Bundles are short: nothing is freed before the runner exits. */
static const char *step_run_in_folder(const struct runner *runner, const char *name)
{
    return arena_printf(runner->arena, "%s/%s", runner->folder, name).ptr;
}

/* The id becomes a part of a file name. */
static struct str step_run_place(const struct runner *runner)
{
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, PLACE_BYTES_MAX);
    bool ok = file_read(step_run_in_folder(runner, "place"), &text, &err) &&
              str_find_char(buf_str(&text), '/') == SIZE_MAX;
    return ok ? arena_str(runner->arena, str_trim(buf_str(&text))) : STR("none");
}

static const char *mark_of(const struct runner *runner)
{
    require(runner->at < runner->bundle.count, "the current step is in the bundle");
    struct str mark = arena_printf(runner->arena, "%s/done/%s", runner->folder,
                                   runner->keys[runner->at]);
    if (runner->bundle.steps[runner->at].inside.len > 0) {
        mark = arena_printf(runner->arena, "%.*s-%.*s", STR_ARG(mark),
                            STR_ARG(step_run_place(runner)));
    }
    return mark.ptr;
}

/* ---- reporting ---- */

/* Appends all of the bytes or none of them: a part of a line would spoil the next one. */
static bool step_run_write_all(int fd, struct str bytes)
{
    struct stat before;
    bool is_known = fstat(fd, &before) == 0;
    while (bytes.len > 0) {
        ssize_t size = write(fd, bytes.ptr, bytes.len);
        if (size < 0 && errno != EINTR) {
            (void)(is_known && ftruncate(fd, before.st_size) == 0);
            return false;
        }
        bytes = str_sub(bytes, size > 0 ? (size_t)size : 0, bytes.len);
    }
    return true;
}

/* On a full disk: the log of all runs is emptied to make room, and the user may delete files.
 * Output that cannot be recorded is left out; the follower needs every other event. */
static void step_run_record(struct runner *runner, enum step_event_kind kind, struct str line)
{
    const struct timespec nap = {0, FULL_LOOK_MS * 1000000};
    bool is_done = step_run_write_all(runner->events, line);
    for (int i = 0; !is_done && kind != STEP_SAID && i < FULL_MS / FULL_LOOK_MS; i++) {
        if (runner->all >= 0) {
            (void)!ftruncate(runner->all, 0);
        }
        is_done = step_run_write_all(runner->events, line);
        if (!is_done) {
            nanosleep(&nap, NULL);
        }
    }
    runner->is_lost = runner->is_lost || (!is_done && kind != STEP_SAID);
}

static void step_run_report(struct runner *runner, struct step_event event)
{
    AUTO_BUF struct buf line;
    buf_init(&line, (size_t)TAIL_LINES * TAIL_LINE_BYTES * 2 + 4096); /* escaped */
    event.wall_ms = clock_wall_ms(&clock_of_machine);
    step_event_write(&event, &line);
    failpoint("event", step_event_word(event.kind), "before");
    step_run_record(runner, event.kind, buf_str(&line));
    failpoint("event", step_event_word(event.kind), "after");
}

static void tell_step(struct runner *runner, enum step_event_kind kind)
{
    require(runner->at < runner->bundle.count, "the step is in the bundle");
    step_run_report(runner, (struct step_event){.kind = kind,
                                                .step = runner->at,
                                                .name = runner->bundle.steps[runner->at].name});
}

/* ---- output of a step ---- */

/* An interactive shell without a terminal prints two warnings first. */
static bool is_noise(struct str line)
{
    return str_starts(line, "bash: cannot set terminal process group") ||
           str_starts(line, "bash: no job control in this shell");
}

/* Appends to log/all, for humans. */
static void log_all(const struct runner *runner, const char *before, struct str text)
{
    AUTO_BUF struct buf line;
    buf_init(&line, 2 * LINE_MAX_BYTES);
    buf_addf(&line, "%s%.*s\n", before, STR_ARG(text));
    if (runner->all >= 0) {
        (void)!step_run_write_all(runner->all, buf_str(&line)); /* the events have it too */
    }
}

static void tell_said(struct runner *runner, struct str line)
{
    runner->told_bytes += line.len + EVENT_BYTES;
    step_run_report(runner,
                    (struct step_event){.kind = STEP_SAID, .step = runner->at, .tail = line});
}

static bool is_much_told(const struct runner *runner)
{
    return runner->told_bytes > BUNDLE_BYTES_MAX_TOLD;
}

/* Drops the older half, up to the end of a line. */
static void drop_oldest(struct buf *last, size_t *left_out)
{
    struct str rest = str_sub(buf_str(last), last->len / 2, last->len);
    (void)str_cut(&rest, '\n');
    *left_out += last->len - rest.len;
    require(rest.len <= last->len, "only the older part is dropped");
    memmove(last->ptr, rest.ptr, rest.len);
    last->len = rest.len;
}

/* Sends the first part of the output as it comes and the last part when the step ends. */
static void step_run_report_line(struct runner *runner, struct str line)
{
    if (runner->step_bytes <= FIRST_BYTES_MAX && !is_much_told(runner)) {
        runner->step_bytes += line.len + EVENT_BYTES;
        tell_said(runner, line);
        return;
    }
    runner->step_bytes = FIRST_BYTES_MAX + 1; /* later output goes to `last` */
    size_t most = is_much_told(runner) ? SHORT_BYTES_MAX : LAST_BYTES_MAX;
    if (runner->last.len + line.len + 1 > 2 * most) {
        drop_oldest(&runner->last, &runner->left_out);
    }
    buf_add(&runner->last, line);
    buf_add_char(&runner->last, '\n');
}

static void tell_last(struct runner *runner)
{
    AUTO_BUF struct buf mark;
    buf_init(&mark, 200);
    struct str rest = buf_str(&runner->last);
    if (runner->left_out > 0) {
        buf_addf(&mark,
                 "(%zu bytes of output are omitted here; the complete output is on this node, in "
                 "~/.shoal/steps/log/%zu)",
                 runner->left_out, runner->at + 1);
        tell_said(runner, buf_str(&mark));
    }
    while (rest.len > 0) {
        tell_said(runner, str_cut(&rest, '\n'));
    }
    runner->last.len = 0;
    runner->left_out = runner->step_bytes = 0;
}

static void step_run_read_line(void *context, enum child_stream stream, struct str line)
{
    struct runner *runner = context;
    if (stream == CHILD_STDERR && is_noise(line)) {
        return;
    }
    (void)(step_run_write_all(runner->log, line) && step_run_write_all(runner->log, STR("\n")));
    log_all(runner, "    ", line);
    step_run_report_line(runner, line);
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

/* Without fsync, for files whose loss in a crash is harmless. */
static bool write_plain(const char *path, struct str bytes)
{
    failpoint("file", path, "before");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    ssize_t size = write(fd, bytes.ptr ? bytes.ptr : "", bytes.len);
    close(fd);
    failpoint("file", path, "after");
    return size >= 0 && (size_t)size == bytes.len;
}

static bool step_run_was_done(const struct runner *runner)
{
    return !runner->bundle.steps[runner->at].is_always &&
           file_stat(mark_of(runner)).kind == FILE_REGULAR;
}

/* If the mark cannot be written, the step only runs again later. */
static void mark_done(const struct runner *runner)
{
    if (!write_plain(mark_of(runner), STR(""))) {
        (void)!step_run_write_all(runner->log, STR("shoal: cannot record that this step is done, "
                                                   "so it will run again\n"));
    }
}

static enum step_event_kind step_run_kind_of(const struct runner *runner,
                                             const struct child_result *result)
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
        .kind = step_run_kind_of(runner, result),
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
        buf_add_c(&tail, runner->is_stopped ? "stopped, because another setup of this node was "
                                              "started\n"
                                            : "");
        event.tail = buf_str(&tail);
    }
    runner->is_ok = event.kind == STEP_DONE;
    if (runner->is_ok) {
        mark_done(runner);
    }
    close(runner->log);
    tell_last(runner);
    step_run_report(runner, event);
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

/* Variables may be secret and must not appear in an argv, so the script is a file. */
static bool write_script(const struct step *step, const char *path)
{
    AUTO_BUF struct buf script;
    buf_init(&script, BUNDLE_BYTES_MAX * 4);
    for (size_t i = 0; i < step->variable_count; i++) {
        buf_addf(&script, "export %.*s=", STR_ARG(step->variables[i].name));
        shell_quote(&script, step->variables[i].value);
        buf_add_char(&script, '\n');
    }
    buf_add(&script, step->command);
    buf_add_char(&script, '\n');
    return write_plain(path, buf_str(&script));
}

/* Kept across runs, up to ALL_BYTES_MAX. */
static int step_run_open_all(const struct runner *runner)
{
    const char *path = step_run_in_folder(runner, "log/all");
    struct stat status;
    int whole = stat(path, &status) == 0 && status.st_size > ALL_BYTES_MAX ? O_TRUNC : 0;
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | whole, 0600);
}

static int step_run_open_log(const struct runner *runner)
{
    const char *path =
        arena_printf(runner->arena, "%s/log/%zu", runner->folder, runner->at + 1).ptr;
    int whole = runner->attempt > 1 ? 0 : O_TRUNC; /* keep the output of the failed tries */
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | whole, 0600);
}

static void note_group(void *context)
{
    struct runner *runner = context;
    if (runner->child && child_pid(runner->child) > 0) {
        step_group_note(runner->folder, child_pid(runner->child));
    }
}

/* The whole environment of the session: settings of the machine's administrators, such as a proxy,
 * apply to the user's commands too. */
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

/* The same shell as Ray uses: an interactive login shell, which reads ~/.bashrc, with the command
 * in a child shell, so that `exit` ends only the command. */
static void try_step(struct runner *runner)
{
    static const char shell[] = "source ~/.bashrc; export OMP_NUM_THREADS=1 PYTHONWARNINGS=ignore "
                                "&& (. \"$SHOAL_STEP\")";
    const struct step *step = &runner->bundle.steps[runner->at];
    const char *path = step_run_in_folder(runner, "step.sh");
    struct str elsewhere = arena_printf(
        runner->arena, "source ~/.bashrc; { %.*s; } <\"$SHOAL_STEP\"", STR_ARG(step->inside));
    struct err err = {0};
    runner->line_count = 0;
    runner->log = step_run_open_log(runner);
    log_all(runner, "", step->name);
    if (!write_script(step, path)) {
        err_set(&err, ERR_IO, "%s: %s", path, strerror(errno));
        finish_step(runner, &(struct child_result){.end = CHILD_NOT_STARTED, .err = err});
        return;
    }
    const char *const argv[] = {
        "bash", "--login", "-c", "-i", step->inside.len > 0 ? elsewhere.ptr : shell, NULL};
    runner->child = child_start(runner->pool,
                                &(struct child_spec){
                                    .argv = argv,
                                    .env_extra = step_environment(runner, path),
                                    .output = {{LINE_MAX_BYTES, step_run_read_line, false},
                                               {LINE_MAX_BYTES, step_run_read_line, false}},
                                    .deadline_ms = step->deadline_ms,
                                    .done = finish_step,
                                    .context = runner,
                                });
    loop_defer(runner->loop, &runner->note); /* after the pool's task that starts the child */
}

static void next_step(struct runner *runner)
{
    while (runner->at < runner->bundle.count && step_run_was_done(runner)) {
        tell_step(runner, STEP_SKIPPED);
        runner->at++;
    }
    if (runner->at < runner->bundle.count && (runner->is_stopped || runner->is_lost)) {
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

/* SIGTERM: another setup replaces this one. */
static void step_run_do_stop(void *context, int number)
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
        !loop_signal_new(runner->loop, SIGTERM, step_run_do_stop, runner, &term, &err) ||
        !write_plain(step_run_in_folder(runner, "runner"), str_from(text))) {
        step_run_report(runner, (struct step_event){.kind = STEP_BUNDLE_FAILED});
        return;
    }
    runner->note = (struct loop_task){.run = note_group, .context = runner};
    runner->pool = child_pool_new(runner->loop, 1);
    runner->is_ok = true;
    runner->all = step_run_open_all(runner);
    next_step(runner);
    if (runner->at < runner->bundle.count) {
        loop_run(runner->loop);
    }
    if (!runner->is_lost) { /* else the follower says that the disk is full */
        step_run_report(runner, (struct step_event){.kind = runner->is_ok ? STEP_BUNDLE_DONE
                                                                          : STEP_BUNDLE_FAILED});
    }
    child_pool_free(runner->pool);
    loop_signal_free(term);
    loop_close(runner->loop);
}

/* The child inherits the lock, which is released when it exits for any reason. */
static bool step_run_start_process(struct runner *runner, struct err *err)
{
    failpoint("fork", "runner", "before");
    pid_t pid = fork();
    if (pid < 0) {
        return err_set(err, ERR_IO, "cannot start a process: %s", strerror(errno));
    }
    if (pid == 0) {
        leave_session();
        run_all(runner);
        _exit(0);
    }
    failpoint("fork", "runner", "after");
    return true;
}

/* ---- starting ---- */

static bool step_run_make_folders(const struct runner *runner, struct err *err)
{
    return file_make_private_folder(runner->folder, err) &&
           file_make_private_folder(step_run_in_folder(runner, "log"), err) &&
           file_make_private_folder(step_run_in_folder(runner, "done"), err);
}

static bool step_run_begin(struct runner *runner, struct str text, struct err *err)
{
    const char *path = step_run_in_folder(runner, "events");
    step_group_end(runner->folder);
    unlink(step_run_in_folder(runner, "runner"));
    if (!write_plain(step_run_in_folder(runner, "bundle.json"), text)) {
        return err_set(err, ERR_IO, "%s/bundle.json: %s", runner->folder, strerror(errno));
    }
    runner->events = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                          0600);
    if (runner->events < 0) {
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    }
    step_run_report(runner,
                    (struct step_event){.kind = STEP_BUNDLE_BEGAN,
                                        .key = str_from(runner->keys[runner->bundle.count - 1]),
                                        .run = runner->run,
                                        .count = runner->bundle.count});
    bool ok = step_run_start_process(runner, err);
    close(runner->events);
    return ok;
}

/* What the events file says about the last run in this folder. */
struct past {
    bool has_ended;
    bool is_ours; /* this is the same run of the same bundle */
};

static struct past look_back(const struct runner *runner, const char *key)
{
    AUTO_BUF struct buf text;
    struct err err;
    struct step_event first = {0}, event = {0};
    buf_init(&text, EVENTS_MAX);
    if (!file_read(step_run_in_folder(runner, "events"), &text, &err)) {
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

/* If the lock is held although the events are complete, a runner is either about to exit or has not
 * written its first event yet. Wait until it is clear which. */
static bool begin_or_join(struct runner *runner, struct str text, const char *key, struct err *err)
{
    const struct timespec nap = {0, STOP_LOOK_MS * 1000000};
    int64_t until = clock_monotonic_ms(&clock_of_machine) + STOP_MS;
    struct lock *lock = NULL;
    struct past past;
    while (!lock_take(step_run_in_folder(runner, "lock"), key, &lock, err)) {
        if (err->kind != ERR_EXISTS) {
            return false;
        }
        past = look_back(runner, key);
        if (!past.has_ended || past.is_ours || clock_monotonic_ms(&clock_of_machine) > until) {
            return strstr(err->text, key) != NULL; /* true if that runner has the same bundle */
        }
        nanosleep(&nap, NULL);
    }
    past = look_back(runner, key);
    bool ok = (past.has_ended && past.is_ours) || step_run_begin(runner, text, err);
    lock_drop(lock);
    return ok;
}

bool step_run_start(const char *folder, struct str text, struct str run,
                    char ret_key[STEP_KEY_SIZE], struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct runner runner = {.folder = folder, .arena = &arena, .run = run};
    buf_init(&runner.last, 2 * LAST_BYTES_MAX + 2 * LINE_MAX_BYTES);
    bool ok = bundle_read(text, &arena, &runner.bundle, err) &&
              (runner.bundle.count > 0 || err_set(err, ERR_PROTOCOL, "the bundle has no steps")) &&
              step_run_make_folders(&runner, err);
    if (ok) {
        runner.keys = arena_array(&arena, runner.bundle.count, STEP_KEY_SIZE);
        bundle_keys(&runner.bundle, runner.keys);
        memcpy(ret_key, runner.keys[runner.bundle.count - 1], STEP_KEY_SIZE);
        ok = begin_or_join(&runner, text, ret_key, err);
    }
    return ok;
}

/* ---- stopping ---- */

/* Call only while the lock is held: otherwise the pid may have been reused. */
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
        int64_t pid = runner_of(runner); /* 0 if the runner has only just started */
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
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const char *lock = arena_printf(&arena, "%s/lock", folder).ptr;
    const char *runner = arena_printf(&arena, "%s/runner", folder).ptr;
    bool ok = wait_for_end(lock, runner, SIGTERM, STOP_MS) ||
              wait_for_end(lock, runner, SIGKILL, STOP_MS / 4) ||
              err_set(err, ERR_EXISTS,
                      "cannot stop the setup that is running on this node; its process ID is in %s",
                      runner);
    return ok;
}
