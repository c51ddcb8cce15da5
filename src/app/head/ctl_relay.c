/*
 * ctl_relay.c: `shoal ctl`: copies bytes between standard input and output and the service's
 * socket.
 *
 * It does not interpret them, so it works between a laptop and a service of any versions.
 */
#include "app/head/ctl_relay.h"

#include "app/head/ctl/ctl.h"
#include "app/head/supervisor/supervise.h"
#include "app/paths.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/line_socket.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 * 1024, LOOK_AGAIN_MS = 20 };

static bool connect_within(const char *path, int64_t wait_ms, int *ret_fd, struct err *err)
{
    const struct timespec nap = {0, LOOK_AGAIN_MS * 1000000L};
    int64_t until = clock_monotonic_ms(&clock_of_machine) + wait_ms;
    while (!line_socket_connect(path, ret_fd, err)) {
        bool may_come = err->kind == ERR_NOT_FOUND || err->kind == ERR_UNAVAILABLE;
        if (!may_come || clock_monotonic_ms(&clock_of_machine) >= until) {
            return false;
        }
        nanosleep(&nap, NULL);
    }
    return true;
}

static bool ctl_relay_write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

/* Copies one piece. False at the end or on an error. */
static bool carry(int from, int to, char *piece)
{
    ssize_t got = read(from, piece, PIECE_BYTES);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return true;
    }
    return got > 0 && ctl_relay_write_all(to, piece, (size_t)got);
}

/* The end of input does not end the answers: the service closes when it has sent everything. */
static void relay(int socket_fd)
{
    static char piece[PIECE_BYTES];
    struct pollfd ends[] = {{STDIN_FILENO, POLLIN, 0},
                            {socket_fd, POLLIN, 0},
                            {STDOUT_FILENO, 0, 0}}; /* POLLHUP: the reader is gone */
    for (;;) {
        if (poll(ends, ARRAY_LEN(ends), -1) < 0) {
            if (errno == EINTR) {
                continue;
            }
            return;
        }
        if (ends[1].revents != 0 && !carry(socket_fd, STDOUT_FILENO, piece)) {
            return;
        }
        if ((ends[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
            return;
        }
        if (ends[0].revents != 0 && !carry(STDIN_FILENO, socket_fd, piece)) {
            shutdown(socket_fd, SHUT_WR);
            ends[0].fd = -1;
        }
    }
}

static int say_away(const char *folder, const struct err *err)
{
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf line;
    buf_init(&text, 2048);
    buf_init(&line, 8192);
    if (err->kind == ERR_NOT_FOUND || err->kind == ERR_UNAVAILABLE) {
        buf_addf(&text,
                 "the cluster's service is not running on this machine; its log is %s/%s. `shoal "
                 "up` starts it again",
                 folder, SERVICE_LOG);
    } else {
        buf_add_c(&text, err->text);
    }
    ctl_line_write(&(struct ctl_line){.kind = CTL_ERROR, .text = buf_str(&text)}, &line);
    return ctl_relay_write_all(STDOUT_FILENO, line.ptr, line.len) ? 1 : 1;
}

/* A service that was killed with its supervisor would not restart by itself. */
static void start_if_lost(const char *folder, const char *path, struct arena *arena)
{
    const char *handover = arena_printf(arena, "%s/handover.json", folder).ptr;
    struct err ignored;
    int fd;
    if (line_socket_connect(path, &fd, &ignored)) {
        close(fd);
    } else if (supervise_pid(folder) == 0 && file_stat(handover).kind == FILE_REGULAR &&
               !service_start(folder, &ignored)) {
        ignored.kind = ERR_NONE; /* connecting fails next and reports it */
    }
}

int ctl_relay(const char *folder, int64_t wait_ms)
{
    struct arena arena;
    struct err err = {0};
    int fd;
    arena_init(&arena);
    folder = service_folder(folder, &arena);
    struct str path = arena_printf(&arena, "%s/%s", folder, SERVICE_SOCKET);
    signal(SIGPIPE, SIG_IGN);
    int status = 0;
    if (wait_ms > 0) {
        start_if_lost(folder, path.ptr, &arena);
    }
    if (connect_within(path.ptr, wait_ms, &fd, &err)) {
        relay(fd);
        close(fd);
    } else {
        status = say_away(folder, &err);
    }
    arena_clear(&arena);
    return status;
}
