/*
 * line_socket.c: Unix domain sockets and TCP with libuv.
 *
 * libuv silently truncates a path that is too long and binds the truncated one, so the length of
 * every path is checked here first.
 */
#include "io/line_socket.h"

#include "base/buf.h"
#include "io/failpoint.h"
#include "io/file.h"
#include "io/loop_uv.h"
#include "io/os.h"
#include "io/xalloc.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

enum {
    LINE_MAX_BYTES = 1 << 20,
    WAITING_MAX_BYTES = 8 << 20,
    PIECE_BYTES = 64 * 1024,
    BACKLOG = 64,
};

/* The stream of a connection or a server. */
union line_stream {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_pipe_t pipe;
    uv_tcp_t tcp;
};

struct line_link {
    union line_stream uv;
    uv_connect_t connecting;
    uv_write_t writing;
    uv_shutdown_t ending;
    struct loop *loop;
    struct line_server *server;      /* the server that accepted it, while it is open */
    struct line_link *next, *before; /* in the server's list */
    struct line_link_hooks hooks;
    struct line_link_limits limits;
    struct buf line;             /* incomplete line */
    struct buf waiting, leaving; /* queued output; output being written */
    struct loop_task late;       /* calls ended() */
    struct err err;
    bool is_connected, is_writing, is_begun;
    bool is_over;     /* ended() was called or is pending */
    bool is_broken;   /* cannot write any more */
    bool is_closing;  /* uv_close() was called */
    bool is_finished; /* closes when all output is written */
    char piece[PIECE_BYTES];
};

struct line_server {
    union line_stream uv;
    bool is_tcp;
    struct loop *loop;
    struct line_link_limits limits;
    line_accept_fn *accepted;
    void *context;
    struct line_link *links;
};

static bool line_socket_measure(const char *path, struct err *err)
{
    size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
    size_t len = strlen(path);
    if (len == 0 || len > most) {
        return err_set(err, ERR_IO,
                       "%.300s: a socket path can have at most %zu bytes, but this path has %zu; "
                       "use a directory with a shorter name",
                       path, most, len);
    }
    return true;
}

bool line_socket_connect(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!line_socket_measure(path, err)) {
        return false;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = os_socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) {
        return err_set(err, ERR_IO, "cannot create a socket: %s", strerror(errno));
    }
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        enum err_kind kind = errno == ENOENT         ? ERR_NOT_FOUND
                             : errno == ECONNREFUSED ? ERR_UNAVAILABLE
                                                     : ERR_IO;
        err_set(err, kind, "%s: %s", path, strerror(errno));
        close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

/* ---- life cycle of a link ---- */

static void link_closed(uv_handle_t *handle)
{
    struct line_link *link = handle->data;
    buf_clear(&link->line);
    buf_wipe(&link->waiting);
    buf_wipe(&link->leaving);
    free(link);
}

static void leave_server(struct line_link *link)
{
    if (link->server) {
        *(link->before ? &link->before->next : &link->server->links) = link->next;
        if (link->next) {
            link->next->before = link->before;
        }
        link->server = NULL;
    }
}

void line_link_close(struct line_link *link)
{
    if (link && !link->is_closing) {
        link->is_closing = true;
        leave_server(link);
        loop_later_cancel(link->loop, &link->late);
        uv_close(&link->uv.handle, link_closed);
    }
}

static void tell_end(void *context)
{
    struct line_link *link = context;
    if (link->hooks.ended) {
        link->hooks.ended(link->hooks.context, &link->err);
    }
}

/* Always calls ended() from the loop. */
static void end_link(struct line_link *link)
{
    if (!link->is_over) {
        link->is_over = true;
        uv_read_stop(&link->uv.stream);
        loop_defer(link->loop, &link->late);
    }
}

static void break_link(struct line_link *link, enum err_kind kind, const char *why)
{
    if (link->is_closing) {
        return;
    }
    link->is_broken = true;
    if (link->is_finished) {
        line_link_close(link);
        return;
    }
    if (!link->is_over) {
        err_set(&link->err, kind, "%s", why);
    }
    end_link(link);
}

static void set_limits(struct line_link_limits *limits, const struct line_link_limits *given)
{
    *limits = given ? *given : (struct line_link_limits){0};
    if (limits->line_max == 0) {
        limits->line_max = LINE_MAX_BYTES;
    }
    if (limits->waiting_max == 0) {
        limits->waiting_max = WAITING_MAX_BYTES;
    }
}

/* A line is sent at once, and a peer that vanished without a word is found after about a minute. */
static void tune_tcp(uv_tcp_t *tcp)
{
    enum { KEEPALIVE_SECONDS = 20 };
    uv_tcp_nodelay(tcp, 1);
    uv_tcp_keepalive(tcp, 1, KEEPALIVE_SECONDS);
}

static struct line_link *make_link(struct loop *loop, bool is_tcp,
                                   const struct line_link_limits *limits)
{
    struct line_link *link = HEAP_NEW(struct line_link);
    link->loop = loop;
    set_limits(&link->limits, limits);
    buf_init(&link->line, link->limits.line_max);
    buf_init(&link->waiting, link->limits.waiting_max);
    link->late = (struct loop_task){.run = tell_end, .context = link};
    if (is_tcp) {
        uv_tcp_init(loop_uv(loop), &link->uv.tcp);
    } else {
        uv_pipe_init(loop_uv(loop), &link->uv.pipe, 0);
    }
    link->uv.handle.data = link;
    return link;
}

/* ---- reading ---- */

static void line_socket_read_line(struct line_link *link, struct str piece)
{
    buf_add(&link->line, piece);
    struct str line = buf_str(&link->line);
    if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
        line.len--;
    }
    if (link->hooks.line) {
        link->hooks.line(link->hooks.context, line);
    }
    link->line.len = 0;
}

static void line_socket_take_bytes(struct line_link *link, struct str bytes)
{
    while (bytes.len > 0 && !link->is_closing && !link->is_over && !link->is_finished) {
        size_t end = str_find_char(bytes, '\n');
        bool is_whole = end != SIZE_MAX;
        struct str piece = str_sub(bytes, 0, is_whole ? end : bytes.len);
        bytes = str_sub(bytes, is_whole ? end + 1 : bytes.len, bytes.len);
        if (piece.len > link->limits.line_max - link->line.len) {
            break_link(link, ERR_PROTOCOL, "a line from the other side is too long");
        } else if (is_whole) {
            line_socket_read_line(link, piece);
        } else {
            buf_add(&link->line, piece);
        }
    }
}

static void line_socket_lend_piece(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_piece)
{
    struct line_link *link = handle->data;
    (void)wanted;
    *ret_piece = uv_buf_init(link->piece, sizeof(link->piece));
}

static void line_socket_on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *piece)
{
    struct line_link *link = stream->data;
    if (got > 0) {
        line_socket_take_bytes(link, (struct str){piece->base, (size_t)got});
    } else if (got == UV_EOF) {
        end_link(link); /* an incomplete last line is dropped */
    } else if (got < 0) {
        break_link(link, ERR_UNAVAILABLE, uv_strerror((int)got));
    }
}

static void read_on(struct line_link *link)
{
    if (uv_read_start(&link->uv.stream, line_socket_lend_piece, line_socket_on_read) != 0) {
        break_link(link, ERR_IO, "cannot read from the connection");
    }
}

/* ---- writing ---- */

static void line_socket_push(struct line_link *link);

static void line_socket_on_shut(uv_shutdown_t *request, int fault)
{
    (void)fault;
    line_link_close(request->data);
}

static void line_socket_on_written(uv_write_t *request, int fault)
{
    struct line_link *link = request->data;
    link->is_writing = false;
    failpoint("socket", NULL, "after");
    buf_clear(&link->leaving);
    if (fault != 0) {
        break_link(link, ERR_UNAVAILABLE, "the other side stopped reading");
    } else if (link->waiting.len == 0 && link->hooks.drained && !link->is_closing) {
        link->hooks.drained(link->hooks.context); /* may close the link */
    } else {
        line_socket_push(link);
    }
}

static void line_socket_push(struct line_link *link)
{
    if (!link->is_connected || link->is_writing || link->is_broken || link->is_closing) {
        return;
    }
    if (link->waiting.len == 0) {
        link->ending.data = link;
        if (link->is_finished &&
            uv_shutdown(&link->ending, &link->uv.stream, line_socket_on_shut) != 0) {
            line_link_close(link);
        }
        return;
    }
    struct buf sent = link->leaving;
    link->leaving = link->waiting;
    link->waiting = sent;
    buf_init(&link->waiting, link->limits.waiting_max);
    uv_buf_t piece = uv_buf_init(link->leaving.ptr, (unsigned)link->leaving.len);
    link->writing.data = link;
    link->is_writing = true;
    failpoint("socket", NULL, "before");
    if (uv_write(&link->writing, &link->uv.stream, &piece, 1, line_socket_on_written) != 0) {
        link->is_writing = false;
        break_link(link, ERR_UNAVAILABLE, "cannot write to the connection");
    }
}

void line_link_write(struct line_link *link, struct str bytes)
{
    if (link->is_broken || link->is_closing || link->is_finished) {
        return;
    }
    if (bytes.len > link->limits.waiting_max - link->waiting.len) {
        break_link(link, ERR_TIMEOUT,
                   "the connection was closed, because the other side does not read");
        return;
    }
    buf_add(&link->waiting, bytes);
    line_socket_push(link);
}

void line_link_finish(struct line_link *link)
{
    link->is_finished = true;
    link->hooks = (struct line_link_hooks){0};
    if (link->is_broken) {
        line_link_close(link);
    } else {
        line_socket_push(link);
    }
}

/* ---- connecting ---- */

static void on_connected(uv_connect_t *request, int fault)
{
    struct line_link *link = request->data;
    if (fault == UV_ECANCELED || link->is_closing) {
        return;
    }
    if (fault != 0) {
        bool is_away = fault == UV_ENOENT || fault == UV_ECONNREFUSED;
        break_link(link, is_away ? ERR_UNAVAILABLE : ERR_IO, uv_strerror(fault));
        return;
    }
    link->is_connected = true;
    read_on(link);
    line_socket_push(link);
}

bool line_link_open(struct loop *loop, const char *path, const struct line_link_limits *limits,
                    const struct line_link_hooks *hooks, struct line_link **ret_link,
                    struct err *err)
{
    if (!line_socket_measure(path, err)) {
        return false;
    }
    struct line_link *link = make_link(loop, false, limits);
    line_link_begin(link, hooks);
    link->connecting.data = link;
    uv_pipe_connect(&link->connecting, &link->uv.pipe, path, on_connected);
    *ret_link = link;
    return true;
}

static bool line_socket_address(const char *host, uint16_t port, struct sockaddr_storage *ret,
                                struct err *err)
{
    if (uv_ip4_addr(host, port, (struct sockaddr_in *)ret) != 0 &&
        uv_ip6_addr(host, port, (struct sockaddr_in6 *)ret) != 0) {
        return err_set(err, ERR_USAGE, "\"%.100s\" is not an IP address", host);
    }
    return true;
}

bool line_link_open_tcp(struct loop *loop, const char *host, uint16_t port,
                        const struct line_link_limits *limits, const struct line_link_hooks *hooks,
                        struct line_link **ret_link, struct err *err)
{
    struct sockaddr_storage address;
    if (!line_socket_address(host, port, &address, err)) {
        return false;
    }
    struct line_link *link = make_link(loop, true, limits);
    line_link_begin(link, hooks);
    link->connecting.data = link;
    tune_tcp(&link->uv.tcp);
    int fault = uv_tcp_connect(&link->connecting, &link->uv.tcp, (struct sockaddr *)&address,
                               on_connected);
    if (fault != 0) {
        break_link(link, ERR_UNAVAILABLE, uv_strerror(fault));
    }
    *ret_link = link;
    return true;
}

/* ---- the server ---- */

void line_link_begin(struct line_link *link, const struct line_link_hooks *hooks)
{
    link->hooks = *hooks;
    link->is_begun = true;
}

static void join_server(struct line_link *link, struct line_server *server)
{
    link->server = server;
    link->next = server->links;
    if (link->next) {
        link->next->before = link;
    }
    server->links = link;
}

static void line_socket_on_connection(uv_stream_t *stream, int fault)
{
    struct line_server *server = stream->data;
    if (fault != 0) {
        return; /* the client disconnected, or there are no descriptors left */
    }
    struct line_link *link = make_link(server->loop, server->is_tcp, &server->limits);
    join_server(link, server);
    link->is_connected = uv_accept(stream, &link->uv.stream) == 0;
    if (link->is_connected && server->is_tcp) {
        tune_tcp(&link->uv.tcp);
    }
    if (link->is_connected) {
        server->accepted(server->context, link);
    }
    if (!link->is_begun) {
        line_link_close(link);
    } else if (!link->is_closing && !link->is_finished) {
        read_on(link);
    }
}

/* Connects to find out whether a server is alive: the file alone proves nothing. */
static bool clear_the_way(const char *path, struct err *err)
{
    struct stat status;
    struct err why;
    int fd;
    if (lstat(path, &status) != 0) {
        return true; /* does not exist */
    }
    if (!S_ISSOCK(status.st_mode)) {
        return err_set(err, ERR_EXISTS, "%s: exists and is not a socket", path);
    }
    if (line_socket_connect(path, &fd, &why)) {
        close(fd);
        return err_set(err, ERR_EXISTS, "%s: another process is already listening", path);
    }
    if (why.kind == ERR_UNAVAILABLE && unlink(path) == 0) {
        return true;
    }
    *err = why;
    return why.kind == ERR_NOT_FOUND;
}

static bool make_folder(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) {
        return true;
    }
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    return file_make_private_folder(folder, err);
}

static void server_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static struct line_server *make_server(struct loop *loop, const struct line_link_limits *limits,
                                       line_accept_fn *accepted, void *context)
{
    struct line_server *server = HEAP_NEW(struct line_server);
    server->loop = loop;
    set_limits(&server->limits, limits);
    server->accepted = accepted;
    server->context = context;
    return server;
}

bool line_server_open(struct loop *loop, const char *path, const struct line_link_limits *limits,
                      line_accept_fn *accepted, void *context, struct line_server **ret_server,
                      struct err *err)
{
    if (!line_socket_measure(path, err) || !make_folder(path, err) || !clear_the_way(path, err)) {
        return false;
    }
    struct line_server *server = make_server(loop, limits, accepted, context);
    uv_pipe_init(loop_uv(loop), &server->uv.pipe, 0);
    server->uv.handle.data = server;
    mode_t mask = umask(0177); /* private from the moment it is created */
    int fault = uv_pipe_bind(&server->uv.pipe, path);
    umask(mask);
    if (fault == 0) {
        fault = uv_listen(&server->uv.stream, BACKLOG, line_socket_on_connection);
    }
    if (fault != 0) {
        uv_close(&server->uv.handle, server_closed);
        return err_set(err, ERR_IO, "%s: %s", path, uv_strerror(fault));
    }
    *ret_server = server;
    return true;
}

bool line_server_open_tcp(struct loop *loop, const char *host, uint16_t port,
                          const struct line_link_limits *limits, line_accept_fn *accepted,
                          void *context, struct line_server **ret_server, struct err *err)
{
    struct sockaddr_storage address;
    if (!line_socket_address(host, port, &address, err)) {
        return false;
    }
    struct line_server *server = make_server(loop, limits, accepted, context);
    server->is_tcp = true;
    uv_tcp_init(loop_uv(loop), &server->uv.tcp);
    server->uv.handle.data = server;
    int fault = uv_tcp_bind(&server->uv.tcp, (struct sockaddr *)&address, 0);
    if (fault == 0) {
        fault = uv_listen(&server->uv.stream, BACKLOG, line_socket_on_connection);
    }
    if (fault != 0) {
        uv_close(&server->uv.handle, server_closed);
        return err_set(err, fault == UV_EADDRINUSE ? ERR_EXISTS : ERR_IO, "%s, port %u: %s", host,
                       (unsigned)port, uv_strerror(fault));
    }
    *ret_server = server;
    return true;
}

uint16_t line_server_port(const struct line_server *server)
{
    struct sockaddr_storage address = {0};
    int size = sizeof(address);
    if (uv_tcp_getsockname(&server->uv.tcp, (struct sockaddr *)&address, &size) != 0) {
        return 0;
    }
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

/* libuv unlinks the path that it bound. */
void line_server_close(struct line_server *server)
{
    if (!server) {
        return;
    }
    while (server->links) {
        line_link_close(server->links);
    }
    uv_close(&server->uv.handle, server_closed);
}
