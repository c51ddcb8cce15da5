/* http_server.c: serves connections over libuv's TCP. */
#include "io/http_server.h"

#include "io/loop_uv.h"
#include "io/xalloc.h"

#include <netinet/in.h>
#include <stdio.h>
#include <uv.h>

enum {
    VISITS_MAX = 256,     /* all replicas of a training job call at the same time */
    VISIT_MS = 10 * 1000, /* limit for the whole connection */
    BACKLOG = 256,
    BODIES_MAX = 4 * HTTP_SERVE_BODY_MAX, /* of answers that clients have not read */
    HEAD_BYTES_MAX = 512,
    FINE = 200,
    NOT_FOUND = 404,
    INTERNAL = 500,
};

/* One connection. Frees itself when closed, even after the server was closed. */
struct http_conn {
    uv_tcp_t uv;
    uv_write_t writing;
    uv_shutdown_t ending;
    struct http_serve *serve;
    struct http_conn *next, *before; /* in the server's list */
    struct loop_timer *limit;
    struct buf request;
    struct buf head;
    struct http_served answer;
    bool is_answered, is_closing;
    bool has_more; /* the client sent more than its request */
    char piece[4096];
};

struct http_serve {
    uv_tcp_t uv;
    struct loop *loop;
    http_serve_fn *answer;
    void *context;
    size_t body_max; /* of a PUT; 0: not accepted */
    struct http_conn *visits;
    size_t visit_count;
};

/* ---- life cycle of a connection ---- */

static void visit_closed(uv_handle_t *handle)
{
    struct http_conn *http_conn = handle->data;
    buf_clear(&http_conn->request);
    buf_clear(&http_conn->head);
    buf_clear(&http_conn->answer.body);
    free(http_conn);
}

static void close_visit(struct http_conn *http_conn)
{
    struct http_serve *serve = http_conn->serve;
    if (http_conn->is_closing) {
        return;
    }
    http_conn->is_closing = true;
    *(http_conn->before ? &http_conn->before->next : &serve->visits) = http_conn->next;
    if (http_conn->next) {
        http_conn->next->before = http_conn->before;
    }
    serve->visit_count--;
    loop_timer_free(http_conn->limit);
    uv_close((uv_handle_t *)&http_conn->uv, visit_closed);
}

static void on_limit(void *context)
{
    close_visit(context);
}

/* ---- replying ---- */

static const char *http_server_reason_of(int status)
{
    static const struct {
        int status;
        const char *words;
    } rows[] = {
        {FINE, "OK"},
        {400, "Bad Request"},
        {NOT_FOUND, "Not Found"},
        {405, "Method Not Allowed"},
        {411, "Length Required"},
        {413, "Content Too Large"},
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

/* With more input than the request, the client closes first: our close would reset the connection
 * and discard the part of the reply that the client has not read. */
static void http_server_on_shut(uv_shutdown_t *request, int fault)
{
    struct http_conn *http_conn = request->data;
    if (fault != 0 || !http_conn->has_more) {
        close_visit(http_conn);
    }
}

static void http_server_on_written(uv_write_t *request, int fault)
{
    struct http_conn *http_conn = request->data;
    http_conn->ending.data = http_conn;
    if (http_conn->is_closing) {
        return;
    }
    if (fault != 0 ||
        uv_shutdown(&http_conn->ending, (uv_stream_t *)&http_conn->uv, http_server_on_shut) != 0) {
        close_visit(http_conn);
    }
}

static void make_answer(struct http_conn *http_conn, int status,
                        const struct http_server_request *request)
{
    struct http_served *answer = &http_conn->answer;
    if (status == FINE) {
        http_conn->serve->answer(http_conn->serve->context, request, answer);
        status = answer->body.is_full ? INTERNAL : answer->status ? answer->status : NOT_FOUND;
    }
    if (status != FINE) {
        buf_clear(&answer->body);
        buf_addf(&answer->body, "%d %s\n", status, http_server_reason_of(status));
        answer->type = "text/plain";
    }
    buf_addf(&http_conn->head,
             "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
             "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
             "Connection: close\r\n\r\n",
             status, http_server_reason_of(status), answer->type, answer->body.len,
             status != 405                    ? ""
             : http_conn->serve->body_max > 0 ? "Allow: GET, HEAD, PUT\r\n"
                                              : "Allow: GET, HEAD\r\n");
}

/* Clients that do not read must not fill the memory: the oldest ones are closed. */
static void limit_bodies(const struct http_conn *newest)
{
    size_t size = 0;
    struct http_conn *next;
    for (struct http_conn *one = newest->serve->visits; one; one = next) {
        next = one->next;
        size += one->answer.body.len;
        if (size > BODIES_MAX && one != newest && one->answer.body.len > 0) {
            close_visit(one);
        }
    }
}

static void answer_visit(struct http_conn *http_conn, int status,
                         const struct http_server_request *request)
{
    http_conn->is_answered = true;
    buf_init(&http_conn->head, HEAD_BYTES_MAX);
    buf_init(&http_conn->answer.body, HTTP_SERVE_BODY_MAX);
    make_answer(http_conn, status, request);
    limit_bodies(http_conn);
    uv_buf_t pieces[] = {
        uv_buf_init(http_conn->head.ptr, (unsigned)http_conn->head.len),
        uv_buf_init(http_conn->answer.body.ptr, (unsigned)http_conn->answer.body.len),
    };
    unsigned count = request->is_head || http_conn->answer.body.len == 0 ? 1 : 2;
    http_conn->writing.data = http_conn;
    if (uv_write(&http_conn->writing, (uv_stream_t *)&http_conn->uv, pieces, count,
                 http_server_on_written) != 0) {
        close_visit(http_conn);
    }
}

/* ---- reading ---- */

static void http_server_lend_piece(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_piece)
{
    struct http_conn *http_conn = handle->data;
    (void)wanted;
    *ret_piece = uv_buf_init(http_conn->piece, sizeof(http_conn->piece));
}

static void http_server_on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *piece)
{
    struct http_conn *http_conn = stream->data;
    struct http_server_request request = {0};
    if (got < 0) {
        close_visit(http_conn);
        return;
    }
    if (http_conn->is_answered) {
        http_conn->has_more = true; /* bytes after the request are ignored */
        return;
    }
    buf_add(&http_conn->request, (struct str){piece->base, (size_t)got});
    int status = http_request_read(buf_str(&http_conn->request), http_conn->serve->body_max,
                                   &request);
    if (status != HTTP_REQUEST_INCOMPLETE) {
        http_conn->has_more = status != FINE || http_conn->request.len > request.size;
        answer_visit(http_conn, status, &request);
    }
}

/* Silent clients must not keep others out: the one that has waited longest leaves. */
static bool make_room(struct http_serve *serve)
{
    struct http_conn *oldest = NULL;
    for (struct http_conn *one = serve->visits; one; one = one->next) {
        oldest = one->is_answered ? oldest : one; /* the newest is first */
    }
    if (serve->visit_count >= VISITS_MAX && oldest) {
        close_visit(oldest);
    }
    return serve->visit_count < VISITS_MAX;
}

static void http_server_on_connection(uv_stream_t *stream, int fault)
{
    struct http_serve *serve = stream->data;
    if (fault != 0) {
        return; /* the client disconnected, or there are no descriptors left */
    }
    struct http_conn *http_conn = HEAP_NEW(struct http_conn);
    bool has_room = make_room(serve);
    http_conn->serve = serve;
    http_conn->next = serve->visits;
    if (http_conn->next) {
        http_conn->next->before = http_conn;
    }
    serve->visits = http_conn;
    serve->visit_count++;
    http_conn->limit = loop_timer_new(serve->loop, on_limit, http_conn);
    buf_init(&http_conn->request,
             HTTP_REQUEST_BYTES_MAX + serve->body_max + sizeof(http_conn->piece));
    uv_tcp_init(loop_uv(serve->loop), &http_conn->uv);
    http_conn->uv.data = http_conn;
    bool is_fine = uv_accept(stream, (uv_stream_t *)&http_conn->uv) == 0 && has_room &&
                   uv_read_start((uv_stream_t *)&http_conn->uv, http_server_lend_piece,
                                 http_server_on_read) == 0;
    if (is_fine) {
        loop_timer_start(http_conn->limit, VISIT_MS);
    } else {
        close_visit(http_conn);
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
    return fault != 0 ? fault
                      : uv_listen((uv_stream_t *)&serve->uv, BACKLOG, http_server_on_connection);
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
                       "cannot listen on port %u of %.100s: %s", port, address, uv_strerror(fault));
    }
    *ret_serve = serve;
    return true;
}

void http_serve_accept_put(struct http_serve *serve, size_t body_max)
{
    serve->body_max = body_max;
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
