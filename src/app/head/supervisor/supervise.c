/*
 * supervise.c: starts the service, writes its output to the log, and restarts it.
 *
 * Signals are blocked except while waiting, so that none is missed between a check and the wait.
 */
#include "app/head/supervisor/supervise.h"

#include "app/paths.h"
#include "app/program.h"
#include "app/retention.h"
#include "base/buf.h"
#include "io/clock.h"
#include "io/failpoint.h"
#include "io/file.h"
#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE_BYTES = 16 * 1024, GRACE_MS = 10 * 1000, PATH_BYTES_MAX = 4096 };

struct supervisor {
    char log_path[PATH_BYTES_MAX], old_path[PATH_BYTES_MAX];
    int log;       /* descriptor; -1 if it cannot be opened, and output is lost */
    off_t written; /* size of the log */
    off_t most;    /* bytes in it; then a new one begins and the old one stays */
    int output;    /* output of the child; -1 if none */
    pid_t child;   /* 0 if none */
    int64_t started_ms;
    int64_t ending_since_ms; /* when SIGTERM was received, or 0 */
    bool is_frozen;          /* the service was started frozen */
    char last_end[100];      /* as text */
    struct supervise_deaths deaths;
};

static volatile sig_atomic_t was_told_to_end, was_told_to_go_on, has_child_news;

static void supervise_note_signal(int number)
{
    if (number == SIGCHLD) {
        has_child_news = 1;
    } else if (number == SIGHUP) {
        was_told_to_go_on = 1;
    } else {
        was_told_to_end = 1;
    }
}

static int64_t supervise_now_ms(void)
{
    return clock_monotonic_ms(&clock_of_machine);
}

/* ---- delay ---- */

int64_t supervise_delay(struct supervise_deaths *deaths, int64_t now, int64_t lived_ms)
{
    int64_t *place = &deaths->at_ms[deaths->count % SUPERVISE_DEATHS];
    bool is_loop = deaths->count >= SUPERVISE_DEATHS && now - *place <= SUPERVISE_WINDOW_MS;
    *place = now;
    deaths->count++;
    if (is_loop) {
        bool was_frozen = deaths->is_frozen;
        deaths->count = 0; /* the next loop needs ten more */
        deaths->is_frozen = true;
        return deaths->delay_ms = was_frozen ? SUPERVISE_PAUSE_MS : SUPERVISE_FIRST_MS;
    }
    bool was_well = lived_ms >= SUPERVISE_WELL_MS || deaths->delay_ms == SUPERVISE_PAUSE_MS;
    if (was_well || deaths->delay_ms == 0) {
        return deaths->delay_ms = SUPERVISE_FIRST_MS;
    }
    int64_t twice = 2 * deaths->delay_ms;
    return deaths->delay_ms = twice < SUPERVISE_MOST_MS ? twice : SUPERVISE_MOST_MS;
}

/* ---- the log ---- */

static void supervise_open_log(struct supervisor *self)
{
    struct stat status;
    self->log = open(self->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    self->written = self->log >= 0 && fstat(self->log, &status) == 0 ? status.st_size : 0;
}

static void write_log(struct supervisor *self, struct str bytes)
{
    if (self->written + (off_t)bytes.len > self->most && self->log >= 0) {
        close(self->log);
        failpoint("file", self->old_path, "before");
        rename(self->log_path, self->old_path);
        supervise_open_log(self);
    }
    while (self->log >= 0 && bytes.len > 0) {
        ssize_t put = write(self->log, bytes.ptr, bytes.len);
        if (put <= 0 && errno != EINTR) {
            return; /* disk full: cannot be reported */
        }
        if (put > 0) {
            self->written += put;
            bytes = str_sub(bytes, (size_t)put, bytes.len);
        }
    }
}

static void supervise_send(struct supervisor *self, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void supervise_send(struct supervisor *self, const char *fmt, ...)
{
    AUTO_BUF struct buf line;
    va_list args;
    buf_init(&line, 4096);
    clock_add_utc(&line, clock_wall_ms(&clock_of_machine));
    buf_add_c(&line, " supervisor ");
    va_start(args, fmt);
    buf_add_args(&line, fmt, args);
    va_end(args);
    buf_add_char(&line, '\n');
    write_log(self, buf_str(&line));
}

/* False at the end of the pipe. */
static bool drain_output(struct supervisor *self)
{
    char piece[PIECE_BYTES];
    for (;;) {
        ssize_t got = read(self->output, piece, sizeof(piece));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        }
        write_log(self, (struct str){piece, (size_t)got});
    }
}

static void close_output(struct supervisor *self)
{
    if (self->output >= 0) {
        drain_output(self);
        close(self->output);
        self->output = -1;
    }
}

/* ---- the child ---- */

static NO_RETURN void become_service(const struct supervisor *self, const char *const *argv,
                                     int output)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGHUP, SIG_DFL);
    if (self->is_frozen) {
        setenv(SUPERVISE_CRASH_LOOPING, self->last_end, 1);
    } else {
        unsetenv(SUPERVISE_CRASH_LOOPING);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
    program_end_with_parent();
    if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0) {
        program_become(argv);
    }
    dprintf(STDERR_FILENO, "cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(126);
}

static bool start_child(struct supervisor *self, const char *const *argv)
{
    int both[2];
    if (pipe2(both, O_CLOEXEC) != 0) {
        supervise_send(self, "cannot create a pipe: %s", strerror(errno));
        return false;
    }
    self->is_frozen = self->deaths.is_frozen;
    failpoint("fork", "service", "before");
    pid_t child = fork();
    if (child == 0) {
        become_service(self, argv, both[1]);
    }
    close(both[1]);
    if (child < 0) {
        close(both[0]);
        supervise_send(self, "cannot start a process: %s", strerror(errno));
        return false;
    }
    fcntl(both[0], F_SETFL, O_NONBLOCK);
    self->output = both[0];
    failpoint("fork", "service", "after");
    self->child = child;
    self->started_ms = supervise_now_ms();
    return true;
}

/* True if it has exited, with `ret_status`. */
static bool supervise_reap(struct supervisor *self, int *ret_status)
{
    has_child_news = 0;
    if (self->child == 0 || waitpid(self->child, ret_status, WNOHANG) != self->child) {
        return false;
    }
    self->child = 0;
    close_output(self);
    return true;
}

static void hand_on_end(struct supervisor *self)
{
    if (self->child == 0) {
        return;
    }
    if (self->ending_since_ms == 0) {
        self->ending_since_ms = supervise_now_ms();
        kill(self->child, SIGTERM);
    } else if (supervise_now_ms() - self->ending_since_ms > GRACE_MS) {
        kill(self->child, SIGKILL);
    }
}

/* ---- waiting ---- */

static void wait_for_something(struct supervisor *self, int64_t most_ms)
{
    struct pollfd output = {self->output, POLLIN, 0};
    struct timespec limit = {most_ms / 1000, (most_ms % 1000) * 1000000};
    sigset_t none;
    sigemptyset(&none);
    if (ppoll(&output, 1, most_ms < 0 ? NULL : &limit, &none) > 0 && !drain_output(self)) {
        close_output(self); /* the child's output is closed, but it may still run */
    }
}

static void pause_for(struct supervisor *self, int64_t delay_ms)
{
    int64_t until = supervise_now_ms() + delay_ms;
    was_told_to_go_on = 0;
    while (!was_told_to_end && !was_told_to_go_on && supervise_now_ms() < until) {
        wait_for_something(self, until - supervise_now_ms());
    }
}

static void supervise_describe_end(struct supervisor *self, int status, int64_t delay_ms)
{
    if (WIFSIGNALED(status)) {
        snprintf(self->last_end, sizeof(self->last_end), "was killed by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        snprintf(self->last_end, sizeof(self->last_end), "exited with status %d",
                 WEXITSTATUS(status));
    }
    supervise_send(self, "the service %s; restarting in %lld ms", self->last_end,
                   (long long)delay_ms);
    if (self->deaths.is_frozen && !self->is_frozen) {
        supervise_send(
            self,
            "the service died %d times within %d s; until `shoal up` or SIGHUP, it only answers "
            "requests",
            SUPERVISE_DEATHS, SUPERVISE_WINDOW_MS / 1000);
    }
}

/* SIGHUP: forgets earlier deaths. A service that acts is left alone; a frozen one restarts itself,
 * a moment later, so that a new handover can arrive first. */
static void supervise_proceed(struct supervisor *self)
{
    was_told_to_go_on = 0;
    self->deaths = (struct supervise_deaths){0};
    if (self->is_frozen && self->child > 0) {
        kill(self->child, SIGHUP);
    }
    self->is_frozen = false;
}

static int watch_over(struct supervisor *self, const char *const *argv)
{
    for (;;) {
        int status = 0;
        bool is_started = start_child(self, argv);
        while (is_started && !supervise_reap(self, &status)) {
            if (was_told_to_end) {
                hand_on_end(self);
            }
            if (was_told_to_go_on) {
                supervise_proceed(self);
            }
            wait_for_something(self, was_told_to_end ? 200 : -1);
        }
        if (was_told_to_end || (is_started && WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
            supervise_send(self, "the service has exited; its supervisor exits too");
            return 0;
        }
        int64_t now = supervise_now_ms();
        int64_t delay = supervise_delay(&self->deaths, now, now - self->started_ms);
        if (is_started) {
            supervise_describe_end(self, status, delay);
        }
        pause_for(self, delay);
        if (was_told_to_go_on) {
            supervise_proceed(self);
        }
    }
}

static void block_signals(void)
{
    static const int numbers[] = {SIGCHLD, SIGHUP, SIGTERM, SIGINT};
    struct sigaction action = {.sa_handler = supervise_note_signal};
    sigset_t all;
    sigemptyset(&all);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        sigaction(numbers[i], &action, NULL);
        sigaddset(&all, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &all, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int supervise_run(const char *folder, const char *const *argv, struct err *err)
{
    struct supervisor self = {.output = -1, .log = -1, .most = retention_make().service_bytes};
    char lock_path[PATH_BYTES_MAX], holder[64];
    struct lock *lock;
    snprintf(self.log_path, sizeof(self.log_path), "%s/%s", folder, SERVICE_LOG);
    snprintf(self.old_path, sizeof(self.old_path), "%s/%s.1", folder, SERVICE_LOG);
    snprintf(lock_path, sizeof(lock_path), "%s/%s", folder, SERVICE_LOCK);
    snprintf(holder, sizeof(holder), "a supervisor, pid %ld", (long)getpid());
    if (!lock_take(lock_path, holder, &lock, err)) {
        return err_exit_status(err->kind);
    }
    block_signals();
    supervise_open_log(&self);
    supervise_send(&self, "starting the service in %s", folder);
    int status = watch_over(&self, argv);
    if (self.log >= 0) {
        close(self.log);
    }
    lock_drop(lock);
    return status;
}

int supervise_pid(const char *folder)
{
    static const char mark[] = "pid ";
    char path[PATH_BYTES_MAX];
    int64_t pid = 0;
    struct err err;
    AUTO_BUF struct buf text;
    buf_init(&text, 200);
    snprintf(path, sizeof(path), "%s/%s", folder, SERVICE_LOCK);
    if (!lock_is_held(path) || !file_read(path, &text, &err)) {
        return 0;
    }
    size_t at = str_find(buf_str(&text), mark);
    struct str number = str_sub(buf_str(&text), at == SIZE_MAX ? text.len : at + strlen(mark),
                                text.len);
    return str_to_i64(str_trim(number), &pid) && pid > 1 && pid < INT32_MAX ? (int)pid : 0;
}
