/*
 * ctl_server_log.c: sends a log to one client, line by line.
 *
 * A log may be larger than the send buffer of a client, so it is sent in pieces: the next one when
 * the client has read the last.
 */
#include "app/head/ctl/ctl_server_internal.h"

#include "app/paths.h"
#include "io/file.h"
#include "io/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 * 1024 };

/* ---- one piece ---- */

/* The end of the last complete line; a line longer than a piece is split. */
static size_t whole_lines(struct str bytes)
{
    size_t end = bytes.len;
    while (end > 0 && bytes.ptr[end - 1] != '\n') {
        end--;
    }
    return end == 0 && bytes.len == PIECE_BYTES ? PIECE_BYTES : end;
}

static void say_lines(struct ctl_conn *conn, struct str bytes)
{
    while (bytes.len > 0) {
        ctl_conn_send_text(conn, CTL_LOG, str_cut(&bytes, '\n'), STR(""));
    }
}

/* A log that is shorter than what was sent was truncated and is sent from the start. */
static bool ctl_server_log_open_log(struct ctl_conn *conn, int *ret_fd, struct err *err)
{
    struct stat status;
    int fd = open(conn->log_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        int fault = fd < 0 ? errno : EINVAL;
        if (fd >= 0) {
            close(fd);
        }
        return err_set(err, fault == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %s", conn->log_path,
                       strerror(fault));
    }
    if ((size_t)status.st_size < conn->log_offset) {
        conn->log_offset = 0;
    }
    *ret_fd = fd;
    return true;
}

/* Sends the next piece; sets *ret_is_more if there may be more. */
static bool say_piece(struct ctl_conn *conn, bool *ret_is_more, struct err *err)
{
    int fd;
    *ret_is_more = false;
    if (!ctl_server_log_open_log(conn, &fd, err)) {
        return false;
    }
    char *piece = heap_zeroed(PIECE_BYTES);
    ssize_t size = pread(fd, piece, PIECE_BYTES, (off_t)conn->log_offset);
    int fault = errno;
    close(fd);
    if (size > 0) {
        size_t whole = whole_lines((struct str){piece, (size_t)size});
        conn->log_offset += whole;
        *ret_is_more = size == PIECE_BYTES;
        say_lines(conn, (struct str){piece, whole});
    }
    free(piece);
    return size >= 0 || err_set(err, ERR_IO, "%s: %s", conn->log_path, strerror(fault));
}

/* ---- the whole ---- */

static void stop_watch(struct ctl_conn *conn)
{
    file_watch_end(conn->log_watch);
    conn->log_watch = NULL;
}

static void on_log_changed(void *context)
{
    struct ctl_conn *conn = context;
    if (!conn->is_sending_log) { /* otherwise it is being read to its end */
        conn->is_sending_log = true;
        ctl_conn_continue_log(conn);
    }
}

static void end_log(struct ctl_conn *conn)
{
    struct err err;
    conn->is_sending_log = false;
    if (!conn->follows_log) {
        ctl_conn_send_text(conn, CTL_END, STR("log"), STR(""));
    } else if (!conn->log_watch &&
               !file_watch_start(conn->server->loop, conn->log_path, on_log_changed, conn,
                                 &conn->log_watch, &err)) {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR("log"));
    }
}

void ctl_conn_continue_log(struct ctl_conn *conn)
{
    struct err err;
    bool is_more = false;
    if (!say_piece(conn, &is_more, &err)) {
        conn->is_sending_log = false;
        stop_watch(conn);
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR("log"));
    } else if (!is_more) {
        end_log(conn);
    }
}

/* ---- log files ---- */

static bool is_node_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) {
            return false;
        }
    }
    return name.len > 0 && name.len < 64;
}

/* The head was set up by the laptop; its log is with the steps. */
static struct str log_path(struct ctl_server *server, struct str node)
{
    return str_is(node, "service")
               ? arena_printf(&server->arena, "%s/%s", server->folder, SERVICE_LOG)
           : str_is(node, "head")
               ? file_expand_home(&server->arena, STR("~/.shoal/steps/log/all"))
               : arena_printf(&server->arena, "%s/log/%.*s", server->folder, STR_ARG(node));
}

void ctl_conn_send_log(struct ctl_conn *conn, const struct ctl_request *request)
{
    struct ctl_server *server = conn->server;
    if (!is_node_name(request->node)) {
        ctl_conn_send_text(conn, CTL_ERROR,
                           STR("the request needs a node: set \"node\" to the name of a node"),
                           STR("log"));
        return;
    }
    struct str path = log_path(server, request->node);
    stop_watch(conn);
    free(conn->log_path);
    conn->log_path = ctl_server_copy(path);
    conn->log_offset = 0;
    conn->follows_log = request->follows;
    conn->is_sending_log = true;
    ctl_conn_continue_log(conn);
}
