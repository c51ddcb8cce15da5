/*
 * service_start.c: starts the service in the background, from a command that exits.
 *
 * The background process must not keep files of that command open: a setup step is finished when
 * its output is closed.
 *
 * The supervisor is a systemd unit where possible (systemd_unit.h), otherwise a process of ours. In
 * both cases the service is started again at boot (boot.h), if the machine allows it.
 */
#include "app/contact.h"
#include "app/handover/handover.h"
#include "app/head/ctl/ctl.h"
#include "app/head/supervisor/boot.h"
#include "app/head/supervisor/supervise.h"
#include "app/head/supervisor/systemd_unit.h"
#include "app/paths.h"
#include "app/program.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/line_socket.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MS = 10 * 1000, LOOK_FIRST_MS = 5, LOOK_MOST_MS = 100, LOG_TAIL_BYTES = 64 * 1024 };

static int64_t service_start_now_ms(void)
{
    return clock_monotonic_ms(&clock_of_machine);
}

/* ---- supervisor ---- */

/* From here on this machine is a head that was set up, so it must not shut itself down. */
static int supervise(const char *folder, struct str program, struct err *err)
{
    if (!contact_write(CONTACT_FILE, STR(CONTACT_KEEP "\n"), err)) {
        fprintf(stderr, "warning: this head may shut itself down when Ray stops: %s\n", err->text);
    }
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
    return number == 0 || err_set(err, ERR_IO, "cannot start the service: %s", strerror(number));
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
        status = 0; /* another supervisor is running: no restart needed */
    }
    arena_clear(&arena);
    return status;
}

/* ---- requests to the service ---- */

/* Reads one line from the socket, until `until`. */
static bool service_start_read_line(int fd, int64_t until, struct buf *line)
{
    line->len = 0;
    for (;;) {
        struct pollfd end = {fd, POLLIN, 0};
        char c;
        int64_t left = until - service_start_now_ms();
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
    static const char request[] = "{\"request\":\"update\"}\n";
    AUTO_BUF struct buf text;
    struct ctl_line line = {.kind = CTL_LOG};
    buf_init(&text, CTL_LINE_BYTES_MAX);
    if (!service_start_read_line(fd, until, &text)) {
        return err_set(err, ERR_UNAVAILABLE, "the service sent no greeting");
    }
    if (!asks_update) {
        return true;
    }
    if (write(fd, request, strlen(request)) != (ssize_t)strlen(request)) {
        return err_set(err, ERR_UNAVAILABLE, "cannot send a request to the service");
    }
    while (line.kind != CTL_DONE && line.kind != CTL_ERROR) {
        if (!service_start_read_line(fd, until, &text) ||
            !ctl_line_read(buf_str(&text), arena, &line, err)) {
            return err_set(err, ERR_UNAVAILABLE, "the service has not answered");
        }
    }
    return line.kind == CTL_DONE ||
           err_set(err, ERR_EXISTS, "%.*s", STR_ARG(str_sub(line.text, 0, 400)));
}

static bool service_start_request(const char *path, bool asks_update, int64_t until,
                                  struct arena *arena, struct err *err)
{
    int fd;
    if (!line_socket_connect(path, &fd, err)) {
        return false;
    }
    bool ok = talk(fd, asks_update, until, arena, err);
    close(fd);
    return ok;
}

/* If the service dies, its supervisor restarts it, and the request can be repeated. */
static bool service_start_wait_for_answer(const char *path, bool asks_update, struct arena *arena,
                                          struct err *err)
{
    int64_t until = service_start_now_ms() + ANSWER_MS;
    int64_t nap_ms = LOOK_FIRST_MS;
    while (!service_start_request(path, asks_update, until, arena, err)) {
        const struct timespec nap = {0, nap_ms * 1000000};
        bool may_come = err->kind == ERR_NOT_FOUND || err->kind == ERR_UNAVAILABLE;
        if (!may_come || service_start_now_ms() >= until) {
            return false;
        }
        nanosleep(&nap, NULL);
        nap_ms = 2 * nap_ms < LOOK_MOST_MS ? 2 * nap_ms : LOOK_MOST_MS;
    }
    return true;
}

/* ---- start ---- */

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

/* Adds the last line of the service's log, ignoring those of its supervisor. */
static bool service_start_explain(const char *folder, struct arena *arena, struct err *err)
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
                   "the cluster's service did not answer within %d s; the last line of its log %s "
                   "is: %.*s",
                   ANSWER_MS / 1000, path, STR_ARG(str_sub(last, 0, 250)));
}

static void keep_note(const char *folder, const char *why_not)
{
    struct err err;
    if (!boot_note(folder, why_not, &err)) {
        fprintf(stderr,
                "warning: cannot record whether the service starts at boot, so `shoal status` may "
                "be wrong about it: %s\n",
                err.text);
    }
}

/* Without systemd. A head that cannot start its service at boot still works until then. */
static bool service_start_process(const char *folder, const struct err *no_unit,
                                  struct arena *arena, struct err *err)
{
    struct err no_script;
    if (boot_install_script(folder, arena, &no_script)) {
        keep_note(folder, NULL);
    } else {
        const char *why = arena_printf(arena, "%s; %s", no_unit->text, no_script.text).ptr;
        keep_note(folder, why);
        /* Not on standard output, which belongs to the caller. */
        fprintf(stderr,
                "warning: the cluster's service will not start by itself when this machine "
                "reboots (%s); run `shoal up` after a reboot\n",
                why);
    }
    return start_supervisor(folder, arena, err);
}

static bool service_start_new(const char *folder, struct arena *arena, struct err *err)
{
    struct err no_unit;
    if (unit_start(folder, arena, &no_unit)) {
        keep_note(folder, NULL);
        return true;
    }
    return service_start_process(folder, &no_unit, arena, err);
}

/* A supervisor without a handover would restart a service that cannot run, forever. */
static bool service_start_has_handover(const char *folder, struct arena *arena, struct err *err)
{
    const char *path = arena_printf(arena, "%s/" HANDOVER_NAME, folder).ptr;
    return file_stat(path).kind != FILE_MISSING || handover_missing(path, err);
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
        kill(pid, SIGHUP); /* ends a pause after crashes */
    }
    bool ok = (pid > 0 || service_start_has_handover(folder, &arena, err)) &&
              file_make_private_folder(folder, err) && boot_set(folder, true, err) &&
              (pid > 0 || service_start_new(folder, &arena, err));
    if (ok && !service_start_wait_for_answer(path, pid > 0, &arena, err)) {
        bool is_silent = err->kind == ERR_NOT_FOUND || err->kind == ERR_UNAVAILABLE;
        ok = is_silent ? service_start_explain(folder, &arena, err) : false;
    }
    arena_clear(&arena);
    return ok;
}
