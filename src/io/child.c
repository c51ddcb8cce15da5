/*
 * child.c: starts, runs and ends child processes.
 *
 * A child has ended when its process was reaped and its output pipes are at EOF. A descendant (ssh
 * leaves a master connection behind) may hold the pipes open forever, so after the process has
 * exited, the wait for EOF is short.
 */
#include "io/child.h"

#include "base/require.h"
#include "io/child_internal.h"
#include "io/failpoint.h"
#include "io/file_limit.h"
#include "io/loop_uv.h"
#include "io/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 64 * 1024,
    STARTS_PER_TURN = 16, /* a fork takes up to 1 ms; sockets must not starve */
    GRACE_MS = 5000,
    LINGER_MS = 500,
    GIVE_UP_MS = 5000, /* after SIGKILL: do not wait for a process stuck in the kernel */
    REAP_MS = 1000,
};

struct ring {
    struct child *first, *last;
    size_t count;
};

struct child_pool {
    struct loop *loop;
    struct ring waiting, running;
    size_t running_max;
    struct loop_task start; /* starts waiting children */
    char piece[PIECE_BYTES];
};

const char *const child_usual_env[] = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "TERM",
    "NO_COLOR",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    /* For a ProxyCommand that runs the AWS CLI. */
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CA_BUNDLE",
    NULL,
};

static void ring_add(struct ring *ring, struct child *child)
{
    child->next = NULL;
    child->before = ring->last;
    *(ring->last ? &ring->last->next : &ring->first) = child;
    ring->last = child;
    ring->count++;
}

static void ring_add_first(struct ring *ring, struct child *child)
{
    child->before = NULL;
    child->next = ring->first;
    *(ring->first ? &ring->first->before : &ring->last) = child;
    ring->first = child;
    ring->count++;
}

static void ring_remove(struct ring *ring, struct child *child)
{
    *(child->before ? &child->before->next : &ring->first) = child->next;
    *(child->next ? &child->next->before : &ring->last) = child->before;
    ring->count--;
}

uv_buf_t child_pool_piece(struct child_pool *pool)
{
    return uv_buf_init(pool->piece, sizeof(pool->piece));
}

struct uv_loop_s *child_uv_loop(const struct child *child)
{
    return loop_uv(child->pool->loop);
}

/* ---- memory ---- */

static void child_free(struct child *child)
{
    buf_wipe(&child->readers[0].kept); /* a credential helper may have printed keys */
    buf_wipe(&child->readers[1].kept);
    buf_wipe(&child->writer.waiting);
    buf_wipe(&child->writer.leaving);
    arena_clear(&child->arena);
    free(child);
}

static void child_release(struct child *child)
{
    if (--child->holds == 0) {
        child_free(child);
    }
}

void child_handle_closed(uv_handle_t *handle)
{
    child_release(handle->data);
}

static void process_closed(uv_handle_t *handle)
{
    free(handle);
}

static void close_process(struct child *child)
{
    if (child->process) {
        uv_close((uv_handle_t *)child->process, process_closed);
        child->process = NULL;
    }
}

/* Ends the child object: closes its handles; the last close callback frees the memory. */
static void child_let_go(struct child *child)
{
    loop_timer_free(child->timer);
    child->timer = NULL;
    child_pipes_end(child);
    close_process(child);
    child_release(child);
}

static char *child_copy_word(struct arena *arena, const char *word)
{
    size_t size = strlen(word) + 1;
    return memcpy(arena_alloc(arena, size), word, size);
}

static char **child_copy_argv(struct arena *arena, const char *const *words)
{
    size_t count = 0;
    while (words && words[count]) {
        count++;
    }
    char **copy = ARENA_ARRAY(arena, count + 1, char *);
    for (size_t i = 0; i < count; i++) {
        copy[i] = child_copy_word(arena, words[i]);
    }
    return copy;
}

static bool is_set_by(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; env[i]; i++) {
        if (strncmp(env[i], name, len) == 0 && env[i][len] == '=') {
            return true;
        }
    }
    return false;
}

/* `extra` first; then the variables of ours that are named, set, and not overridden by `extra`. */
static char **make_env(struct arena *arena, const char *const *names, const char *const *extra)
{
    char **env = child_copy_argv(arena, extra);
    size_t count = 0;
    while (env[count]) {
        count++;
    }
    size_t capacity = count + 1;
    for (size_t i = 0; names && names[i]; i++) {
        const char *value = getenv(names[i]);
        if (value && !is_set_by(env, names[i])) {
            ARENA_GROW(arena, env, count + 1, capacity);
            env[count++] = child_copy_word(arena,
                                           arena_printf(arena, "%s=%s", names[i], value).ptr);
            env[count] = NULL;
        }
    }
    return env;
}

static void copy_spec(struct child *child, const struct child_spec *spec)
{
    child->spec = *spec;
    child->argv = child_copy_argv(&child->arena, spec->argv);
    child->env = make_env(&child->arena, spec->env_names, spec->env_extra);
    child->spec.argv = child->spec.env_names = child->spec.env_extra = NULL;
    child->spec.folder = spec->folder ? child_copy_word(&child->arena, spec->folder) : NULL;
    child->spec.grace_ms = spec->grace_ms > 0 ? spec->grace_ms : GRACE_MS;
    child->spec.linger_ms = spec->linger_ms > 0 ? spec->linger_ms : LINGER_MS;
    buf_init(&child->writer.waiting, SIZE_MAX / 2);
    if (!spec->is_fed) { /* passed as a whole, so CHILD_INPUT_MAX does not apply */
        buf_add(&child->writer.waiting, spec->input);
        child->writer.is_ending = true;
    }
    child->writer.waiting.cap = spec->is_fed ? CHILD_INPUT_MAX : child->writer.waiting.len;
    child->spec.input.ptr = NULL; /* only the length is used from now on */
}

/* ---- finishing ---- */

static const char *program_name(const struct child *child)
{
    const char *path = child->argv[0] ? child->argv[0] : "(no program)";
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void child_describe(struct child *child)
{
    struct child_result *result = &child->result;
    const char *name = program_name(child);
    switch (result->end) {
    case CHILD_EXITED:
        if (result->exit_status != 0) {
            err_set(&result->err, ERR_UNAVAILABLE, "%s: exited with status %d", name,
                    result->exit_status);
        }
        break;
    case CHILD_SIGNALLED:
        err_set(&result->err, ERR_UNAVAILABLE, "%s: killed by signal %d (%s)", name, result->signal,
                strsignal(result->signal));
        break;
    case CHILD_TIMED_OUT:
        err_set(&result->err, ERR_TIMEOUT, "%s: did not finish within %lld ms", name,
                (long long)child->spec.deadline_ms);
        break;
    case CHILD_CANCELLED:
        err_set(&result->err, ERR_CANCELLED, "%s: stopped", name);
        break;
    case CHILD_NOT_STARTED:
        break; /* set where it failed */
    }
}

/* Calls `done` and releases the child. The pool starts the next one in its next turn. */
static void child_finish(struct child *child)
{
    require(child->state != CHILD_ENDED, "a child process ends only once");
    require(child->state != CHILD_RUNS || child->pool->running.count > 0,
            "a running child is in the pool");
    struct child_pool *pool = child->pool;
    struct ring *ring = child->state == CHILD_RUNS ? &pool->running : &pool->waiting;
    if (child->state == CHILD_RUNS) {
        child->result.ran_ms = loop_now_ms(pool->loop) - child->started_ms;
    }
    if (child->is_killed) {
        child->result.end = child->reason;
    }
    child_pipes_finish(child);
    child_describe(child);
    ring_remove(ring, child);
    child->state = CHILD_ENDED;
    if (pool->waiting.count > 0) {
        loop_defer(pool->loop, &pool->start);
    }
    if (child->spec.done) {
        failpoint("child", child->argv[0], "reply");
        child->spec.done(child->spec.context, &child->result);
    }
    child_let_go(child);
}

static void finish_late(void *context)
{
    child_finish(context);
}

static void finish_if_over(struct child *child)
{
    bool is_quiet = !child->readers[0].is_open && !child->readers[1].is_open;
    if (child->state == CHILD_RUNS && child->is_exited && is_quiet) {
        child_finish(child);
    }
}

void child_pipe_ended(struct child *child)
{
    finish_if_over(child);
}

static void kill_group(const struct child *child, int number)
{
    require(child->process && child->process->pid > 1, "a child has a process group of its own");
    kill(-child->process->pid, number);
}

static void on_process_end(uv_process_t *uv, int64_t exit_status, int number)
{
    struct child *child = uv->data;
    child->is_exited = true;
    require(child->state == CHILD_RUNS, "only a running child exits");
    child->result.end = number ? CHILD_SIGNALLED : CHILD_EXITED;
    child->result.exit_status = (int)exit_status;
    child->result.signal = number;
    if (child->is_killed) {
        /* Now, not later: once the group is empty, its id may be reused. */
        kill_group(child, SIGKILL);
    }
    loop_timer_start(child->timer, child->spec.linger_ms);
    finish_if_over(child);
}

/* ---- stopping early ---- */

static void on_time(void *context)
{
    struct child *child = context;
    if (child->is_exited) {
        child_finish(child); /* a descendant holds its output open */
    } else if (!child->is_killed) {
        child->is_killed = true;
        child->reason = CHILD_TIMED_OUT;
        kill_group(child, SIGTERM);
        loop_timer_start(child->timer, child->spec.grace_ms);
    } else if (child->result.signal == 0) {
        child->result.signal = SIGKILL;
        kill_group(child, SIGKILL);
        loop_timer_start(child->timer, GIVE_UP_MS);
    } else {
        child_finish(child);
    }
}

void child_cancel(struct child *child)
{
    if (child->state == CHILD_ENDED || child->is_killed || child->is_exited) {
        return; /* already exited; its end is about to be reported */
    }
    child->is_killed = true;
    child->reason = CHILD_CANCELLED;
    if (child->state == CHILD_WAITS) {
        loop_defer(child->pool->loop, &child->late);
    } else {
        kill_group(child, SIGTERM);
        loop_timer_start(child->timer, child->spec.grace_ms);
    }
}

void child_forget(struct child *child)
{
    child->spec.done = NULL;
    child_cancel(child);
}

/* ---- starting ---- */

/*
 * Libraries open descriptors that a child would inherit (libcurl: its wake-up sockets). libuv
 * duplicates the three standard ones for the child, so all others may be closed on exec. libuv's
 * way includes the standard ones, but a program in the foreground inherits them: foreground.c.
 */
static void child_close_others(void)
{
    if (!os_close_on_exec_all()) {
        uv_disable_stdio_inheritance();
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
            (void)fcntl(fd, F_SETFD, 0);
        }
    }
}

static int child_spawn(struct child *child, const struct child_ends *ends)
{
    uv_stdio_container_t stdio[3];
    for (int i = 0; i < 3; i++) {
        stdio[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = ends->theirs[i]};
    }
    uv_process_options_t options = {
        .exit_cb = on_process_end,
        .file = child->argv[0],
        .args = child->argv,
        .env = child->env,
        .cwd = child->spec.folder,
        .flags = UV_PROCESS_DETACHED, /* own session and process group */
        .stdio_count = 3,
        .stdio = stdio,
    };
    child_close_others();
    child->process = HEAP_NEW(uv_process_t);
    child->process->data = child;
    file_limit_begin_child();
    failpoint("child", child->argv[0], "before");
    int fault = uv_spawn(child_uv_loop(child), child->process, &options);
    file_limit_end_child();
    if (fault != 0) {
        close_process(child);
    }
    failpoint("child", child->argv[0], "after");
    return fault;
}

/* The system lacks a resource that is freed when a child exits. */
static bool is_shortage(int fault)
{
    return fault == EMFILE || fault == ENFILE || fault == EAGAIN || fault == ENOMEM;
}

static void say_not_started(struct child *child, int fault)
{
    enum err_kind kind = fault == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    child->result.end = CHILD_NOT_STARTED;
    err_set(&child->result.err, is_shortage(fault) ? ERR_UNAVAILABLE : kind, "%s: cannot start: %s",
            child->argv[0] ? child->argv[0] : "(no program)", strerror(fault));
}

static int try_start(struct child *child)
{
    struct child_ends ends;
    int fault = child->argv[0] ? child_pipes_open(child, &ends) : EINVAL;
    if (fault != 0) {
        return fault;
    }
    fault = -child_spawn(child, &ends);
    child_pipes_close(ends.theirs);
    if (fault != 0) {
        child_pipes_close(ends.ours);
        return fault;
    }
    require(child->state == CHILD_WAITS, "only a waiting child starts");
    child->state = CHILD_RUNS;
    child->started_ms = loop_now_ms(child->pool->loop);
    child->timer = loop_timer_new(child->pool->loop, on_time, child);
    if (child->spec.deadline_ms > 0) {
        loop_timer_start(child->timer, child->spec.deadline_ms);
    }
    child_pipes_begin(child, &ends);
    return 0;
}

static void start_waiting(void *context)
{
    struct child_pool *pool = context;
    for (int i = 0; i < STARTS_PER_TURN; i++) {
        struct child *child = pool->waiting.first;
        while (child && child->late.is_waiting) {
            child = child->next; /* cancelled; its `done` is pending */
        }
        if (!child || pool->running.count >= pool->running_max) {
            return;
        }
        require(pool->running.count < pool->running_max, "there is room for a child");
        int fault = try_start(child);
        if (is_shortage(fault) && pool->running.count > 0) {
            return; /* retried when a child has exited */
        }
        if (fault == 0) {
            ring_remove(&pool->waiting, child);
            ring_add(&pool->running, child);
        } else {
            say_not_started(child, fault);
            child_finish(child);
        }
    }
    loop_defer(pool->loop, &pool->start);
}

struct child *child_start(struct child_pool *pool, const struct child_spec *spec)
{
    struct child *child = HEAP_NEW(struct child);
    child->pool = pool;
    child->holds = 1; /* released when it has ended */
    arena_init(&child->arena);
    copy_spec(child, spec);
    child->late = (struct loop_task){.run = finish_late, .context = child};
    (spec->is_urgent ? ring_add_first : ring_add)(&pool->waiting, child);
    loop_defer(pool->loop, &pool->start);
    return child;
}

int child_pid(const struct child *child)
{
    return child->state == CHILD_RUNS && !child->is_exited ? child->process->pid : 0;
}

bool child_was_fine(const struct child_result *result)
{
    return result->end == CHILD_EXITED && result->exit_status == 0;
}

/* ---- the pool ---- */

struct child_pool *child_pool_new(struct loop *loop, size_t running_max)
{
    struct child_pool *pool = HEAP_NEW(struct child_pool);
    pool->loop = loop;
    pool->running_max = running_max > 0 ? running_max : 1;
    pool->start = (struct loop_task){.run = start_waiting, .context = pool};
    return pool;
}

size_t child_pool_running(const struct child_pool *pool)
{
    return pool->running.count;
}

size_t child_pool_waiting(const struct child_pool *pool)
{
    return pool->waiting.count;
}

/* The loop no longer reports their exits, so they are reaped here. */
static void child_reap(struct child_pool *pool)
{
    const struct timespec nap = {0, 1000000};
    int64_t until = clock_monotonic_ms(&clock_of_machine) + REAP_MS;
    for (struct child *child = pool->running.first; child; child = child->next) {
        while (!child->is_exited && waitpid(child->process->pid, NULL, WNOHANG) == 0 &&
               clock_monotonic_ms(&clock_of_machine) < until) {
            nanosleep(&nap, NULL);
        }
    }
}

void child_pool_free(struct child_pool *pool)
{
    if (!pool) {
        return;
    }
    for (struct child *child = pool->running.first; child; child = child->next) {
        if (!child->is_exited) {
            kill_group(child, SIGKILL);
        }
    }
    child_reap(pool);
    struct ring *const rings[] = {&pool->running, &pool->waiting};
    for (size_t i = 0; i < ARRAY_LEN(rings); i++) {
        while (rings[i]->first) {
            struct child *child = rings[i]->first;
            ring_remove(rings[i], child);
            loop_later_cancel(pool->loop, &child->late);
            child->state = CHILD_ENDED;
            child_let_go(child);
        }
    }
    loop_later_cancel(pool->loop, &pool->start);
    free(pool);
}
