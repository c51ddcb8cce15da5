/*
 * service_start.c: the service in the background, from a command that ends.
 *
 * Nothing of that command may stay open in what it leaves behind: a step of a node's set-up is over
 * when its output is at its end.
 *
 * Where systemd may be asked the supervisor is one of its units (systemd_unit.h), else a process of
 * ours.
 */
#include "app/head/channel/ctl.h"
#include "app/head/keep/supervise.h"
#include "app/head/keep/systemd_unit.h"
#include "app/head/service.h"
#include "app/program.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/local_socket.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MS = 10 * 1000, LOOK_FIRST_MS = 5, LOOK_MOST_MS = 100, LOG_TAIL_BYTES = 64 * 1024 };

static int64_t now_ms(void)
{
    return clock_monotonic_ms(&clock_of_machine);
}

/* ---- leaving ---- */

static int supervise(const char *folder, struct str program, struct err *err)
{
    const char *const argv[] = {program.ptr, "autoscaler", "--folder", folder, NULL};
    return supervise_run(folder, argv, err);
}

static bool start_supervisor(const char *folder, struct arena *arena, struct err *err)
{
    struct str program;
    int number = 0;
    if (!program_path(arena, &program, err)) {
        return false;
    }
    if (program_leave(&number)) {
        struct err nobody_hears;
        _exit(supervise(folder, program, &nobody_hears));
    }
    return number == 0 ||
           err_set(err, ERR_IO, "the service cannot be started: %s", strerror(number));
}

int service_supervise(const char *given, struct err *err)
{
    struct arena arena;
    struct str program;
    arena_init(&arena);
    const char *folder = service_folder(given, &arena);
    unit_take_environment(folder);
    int status = program_path(&arena, &program, err) ? supervise(folder, program, err) : 1;
    if (status != 0 && err->kind == ERR_EXISTS) {
        status = 0; /* another is there: nothing to be tried again */
    }
    arena_clear(&arena);
    return status;
}

/* ---- asking it ---- */

/* One line from the socket until `until`. */
static bool read_line(int fd, int64_t until, struct buf *line)
{
    line->len = 0;
    for (;;) {
        struct pollfd end = {fd, POLLIN, 0};
        char c;
        int64_t left = until - now_ms();
        if (left <= 0 || (poll(&end, 1, (int)left) <= 0 && errno != EINTR)) {
            return false;
        }
        ssize_t got = read(fd, &c, 1);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        if (got == 1 && c == '\n') {
            return !line->is_full;
        }
        if (got == 1) {
            buf_add_char(line, c);
        }
    }
}

static bool talk(int fd, bool asks_update, int64_t until, struct arena *arena, struct err *err)
{
    static const char request[] = "{\"do\":\"update\"}\n";
    AUTO_BUF struct buf text;
    struct ctl_line line = {.kind = CTL_LOG};
    buf_init(&text, CTL_LINE_BYTES_MAX);
    if (!read_line(fd, until, &text)) {
        return err_set(err, ERR_UNAVAILABLE, "the service does not greet");
    }
    if (!asks_update) {
        return true;
    }
    if (write(fd, request, strlen(request)) != (ssize_t)strlen(request)) {
        return err_set(err, ERR_UNAVAILABLE, "the service does not listen");
    }
    while (line.kind != CTL_DONE && line.kind != CTL_ERROR) {
        if (!read_line(fd, until, &text) || !ctl_line_read(buf_str(&text), arena, &line, err)) {
            return err_set(err, ERR_UNAVAILABLE, "the service has not answered");
        }
    }
    return line.kind == CTL_DONE ||
           err_set(err, ERR_UNAVAILABLE, "%.*s", STR_ARG(str_sub(line.text, 0, 400)));
}

static bool wait_for_answer(const char *path, bool asks_update, struct arena *arena,
                            struct err *err)
{
    int64_t until = now_ms() + ANSWER_MS;
    int64_t nap_ms = LOOK_FIRST_MS;
    int fd;
    while (!local_socket_connect(path, &fd, err)) {
        const struct timespec nap = {0, nap_ms * 1000000};
        bool may_come = err->kind == ERR_NOT_FOUND || err->kind == ERR_UNAVAILABLE;
        if (!may_come || now_ms() >= until) {
            return false;
        }
        nanosleep(&nap, NULL);
        nap_ms = 2 * nap_ms < LOOK_MOST_MS ? 2 * nap_ms : LOOK_MOST_MS;
    }
    bool ok = talk(fd, asks_update, until, arena, err);
    close(fd);
    return ok;
}

/* ---- both ---- */

static bool take_tail(void *context, struct str bytes)
{
    struct buf *tail = context;
    if (tail->len + bytes.len > LOG_TAIL_BYTES) {
        tail->len = 0;
    }
    buf_add(tail,
            str_sub(bytes, bytes.len > LOG_TAIL_BYTES ? bytes.len - LOG_TAIL_BYTES : 0, bytes.len));
    return true;
}

/* What the service itself said last, rather than its supervisor. */
static bool explain(const char *folder, struct arena *arena, struct err *err)
{
    const char *path = arena_printf(arena, "%s/%s", folder, SERVICE_LOG).ptr;
    struct str last = STR("nothing");
    struct err ignored;
    AUTO_BUF struct buf tail;
    buf_init(&tail, 2 * LOG_TAIL_BYTES);
    if (file_stream(path, take_tail, &tail, &ignored)) {
        struct str rest = buf_str(&tail);
        while (rest.len > 0) {
            struct str line = str_cut(&rest, '\n');
            last = line.len > 0 && str_find(line, " supervisor ") == SIZE_MAX ? line : last;
        }
    }
    return err_set(err, ERR_UNAVAILABLE,
                   "the cluster's service does not answer within %d s; its log %s says last: %.*s",
                   ANSWER_MS / 1000, path, STR_ARG(str_sub(last, 0, 250)));
}

bool service_start(const char *given, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    const char *folder = service_folder(given, &arena);
    const char *path = arena_printf(&arena, "%s/%s", folder, SERVICE_SOCKET).ptr;
    signal(SIGPIPE, SIG_IGN);
    int pid = supervise_pid(folder);
    if (pid > 0) {
        kill(pid, SIGHUP); /* a pause after deaths ends: something has changed */
    }
    bool ok = file_make_private_folder(folder, err) &&
              (pid > 0 || unit_start(folder, &arena, err) || start_supervisor(folder, &arena, err));
    if (ok && !wait_for_answer(path, pid > 0, &arena, err)) {
        bool is_silent = err->kind == ERR_NOT_FOUND || err->kind == ERR_UNAVAILABLE;
        ok = is_silent ? explain(folder, &arena, err) : false;
    }
    arena_clear(&arena);
    return ok;
}
