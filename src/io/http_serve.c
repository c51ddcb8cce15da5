/* http_serve.c: visits over libuv's TCP. */
#include "io/http_serve.h"

#include "io/heap.h"
#include "io/http_request.h"
#include "io/loop_parts.h"

#include <netinet/in.h>
#include <stdio.h>
#include <uv.h>

enum {
    VISITS_MAX = 16,
    VISIT_MS = 10 * 1000, /* from its coming to its going */
    BACKLOG = 64,
    HEAD_BYTES_MAX = 512,
    FINE = 200,
    NOT_FOUND = 404,
    INTERNAL = 500,
};

/* One connection. Closes on its own, also after the server has gone. */
struct visit {
    uv_tcp_t uv;
    uv_write_t writing;
    uv_shutdown_t ending;
    struct http_serve *serve;
    struct visit *next, *before; /* in the server's list */
    struct loop_timer *limit;
    struct buf request;
    struct buf head;
    struct http_served answer;
    bool is_answered, is_closing;
    char piece[4096];
};

struct http_serve {
    uv_tcp_t uv;
    struct loop *loop;
    http_serve_fn *answer;
    void *context;
    struct visit *visits;
    size_t visit_count;
};

/* ---- the life of a visit ---- */

static void visit_closed(uv_handle_t *handle)
{
    struct visit *visit = handle->data;
    buf_clear(&visit->request);
    buf_clear(&visit->head);
    buf_clear(&visit->answer.body);
    free(visit);
}

static void close_visit(struct visit *visit)
{
    struct http_serve *serve = visit->serve;
    if (visit->is_closing) {
        return;
    }
    visit->is_closing = true;
    *(visit->before ? &visit->before->next : &serve->visits) = visit->next;
    if (visit->next) {
        visit->next->before = visit->before;
    }
    serve->visit_count--;
    loop_timer_free(visit->limit);
    uv_close((uv_handle_t *)&visit->uv, visit_closed);
}

static void on_limit(void *context)
{
    close_visit(context);
}

/* ---- answering ---- */

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *words;
    } rows[] = {
        {FINE, "OK"},
        {400, "Bad Request"},
        {NOT_FOUND, "Not Found"},
        {405, "Method Not Allowed"},
        {431, "Request Header Fields Too Large"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].status == status) {
            return rows[i].words;
        }
    }
    return "Internal Server Error";
}

/* The other side closes when it has read everything: closing first, with bytes of it unread, would
 * throw away what it has not read. */
static void on_shut(uv_shutdown_t *request, int fault)
{
    if (fault != 0) {
        close_visit(request->data);
    }
}

static void on_written(uv_write_t *request, int fault)
{
    struct visit *visit = request->data;
    visit->ending.data = visit;
    if (visit->is_closing) {
        return;
    }
    if (fault != 0 || uv_shutdown(&visit->ending, (uv_stream_t *)&visit->uv, on_shut) != 0) {
        close_visit(visit);
    }
}

static void make_answer(struct visit *visit, int status, const struct http_request *request)
{
    struct http_served *answer = &visit->answer;
    if (status == FINE) {
        visit->serve->answer(visit->serve->context, request->path, answer);
        status = answer->body.is_full ? INTERNAL : answer->status ? answer->status : NOT_FOUND;
    }
    if (status != FINE) {
        buf_clear(&answer->body);
        buf_addf(&answer->body, "%d %s\n", status, reason_of(status));
        answer->type = "text/plain";
    }
    buf_addf(&visit->head,
             "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
             "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
             "Connection: close\r\n\r\n",
             status, reason_of(status), answer->type, answer->body.len,
             status == 405 ? "Allow: GET, HEAD\r\n" : "");
}

static void answer_visit(struct visit *visit, int status, const struct http_request *request)
{
    visit->is_answered = true;
    buf_init(&visit->head, HEAD_BYTES_MAX);
    buf_init(&visit->answer.body, HTTP_SERVE_BODY_MAX);
    make_answer(visit, status, request);
    uv_buf_t pieces[] = {
        uv_buf_init(visit->head.ptr, (unsigned)visit->head.len),
        uv_buf_init(visit->answer.body.ptr, (unsigned)visit->answer.body.len),
    };
    unsigned count = request->is_head || visit->answer.body.len == 0 ? 1 : 2;
    visit->writing.data = visit;
    if (uv_write(&visit->writing, (uv_stream_t *)&visit->uv, pieces, count, on_written) != 0) {
        close_visit(visit);
    }
}

/* ---- reading ---- */

static void lend_piece(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_piece)
{
    struct visit *visit = handle->data;
    (void)wanted;
    *ret_piece = uv_buf_init(visit->piece, sizeof(visit->piece));
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *piece)
{
    struct visit *visit = stream->data;
    struct http_request request = {0};
    if (got < 0) {
        close_visit(visit);
        return;
    }
    if (visit->is_answered) {
        return; /* more than was asked for; thrown away */
    }
    buf_add(&visit->request, (struct str){piece->base, (size_t)got});
    int status = http_request_read(buf_str(&visit->request), &request);
    if (status != HTTP_REQUEST_INCOMPLETE) {
        answer_visit(visit, status, &request);
    }
}

static void on_connection(uv_stream_t *stream, int fault)
{
    struct http_serve *serve = stream->data;
    if (fault != 0) {
        return; /* whoever wanted to come has gone, or there is no descriptor for it */
    }
    struct visit *visit = HEAP_NEW(struct visit);
    visit->serve = serve;
    visit->next = serve->visits;
    if (visit->next) {
        visit->next->before = visit;
    }
    serve->visits = visit;
    serve->visit_count++;
    visit->limit = loop_timer_new(serve->loop, on_limit, visit);
    buf_init(&visit->request, HTTP_REQUEST_BYTES_MAX + sizeof(visit->piece));
    uv_tcp_init(loop_uv(serve->loop), &visit->uv);
    visit->uv.data = visit;
    bool is_fine = uv_accept(stream, (uv_stream_t *)&visit->uv) == 0 &&
                   serve->visit_count <= VISITS_MAX &&
                   uv_read_start((uv_stream_t *)&visit->uv, lend_piece, on_read) == 0;
    if (is_fine) {
        loop_timer_start(visit->limit, VISIT_MS);
    } else {
        close_visit(visit);
    }
}

/* ---- the server ---- */

static void serve_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static int listen_at(struct http_serve *serve, const char *address, uint16_t port)
{
    struct sockaddr_storage storage = {0};
    if (uv_ip4_addr(address, port, (struct sockaddr_in *)&storage) != 0 &&
        uv_ip6_addr(address, port, (struct sockaddr_in6 *)&storage) != 0) {
        return UV_EINVAL;
    }
    int fault = uv_tcp_bind(&serve->uv, (const struct sockaddr *)&storage, 0);
    return fault != 0 ? fault : uv_listen((uv_stream_t *)&serve->uv, BACKLOG, on_connection);
}

bool http_serve_open(struct loop *loop, const char *address, uint16_t port, http_serve_fn *answer,
                     void *context, struct http_serve **ret_serve, struct err *err)
{
    struct http_serve *serve = HEAP_NEW(struct http_serve);
    serve->loop = loop;
    serve->answer = answer;
    serve->context = context;
    uv_tcp_init(loop_uv(loop), &serve->uv);
    serve->uv.data = serve;
    int fault = listen_at(serve, address, port);
    if (fault != 0) {
        uv_close((uv_handle_t *)&serve->uv, serve_closed);
        return err_set(err, fault == UV_EADDRINUSE ? ERR_EXISTS : ERR_IO,
                       "cannot listen at port %u of %.100s: %s", port, address, uv_strerror(fault));
    }
    *ret_serve = serve;
    return true;
}

uint16_t http_serve_port(const struct http_serve *serve)
{
    struct sockaddr_storage storage = {0};
    int size = sizeof(storage);
    if (uv_tcp_getsockname(&serve->uv, (struct sockaddr *)&storage, &size) != 0) {
        return 0;
    }
    return ntohs(storage.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&storage)->sin6_port
                                               : ((const struct sockaddr_in *)&storage)->sin_port);
}

void http_serve_close(struct http_serve *serve)
{
    if (!serve) {
        return;
    }
    while (serve->visits) {
        close_visit(serve->visits);
    }
    uv_close((uv_handle_t *)&serve->uv, serve_closed);
}
