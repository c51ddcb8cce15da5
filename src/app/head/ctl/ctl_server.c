/* ctl_server.c: clients on the control socket. */
#include "app/head/ctl/ctl_server.h"

#include "app/head/ctl/ctl_server_internal.h"
#include "app/paths.h"
#include "io/xalloc.h"

#include <string.h>

enum { GUESTS_MAX = 200 };

static void ctl_server_on_end(void *context, const struct err *err);
static void end_if_done(struct ctl_conn *conn);

/* ---- sending ---- */

void ctl_conn_send(struct ctl_conn *conn, const struct ctl_line *line)
{
    AUTO_BUF struct buf out;
    buf_init(&out, DESK_OUT_BYTES_MAX);
    ctl_line_write(line, &out);
    if (!out.is_full) {
        line_link_write(conn->link, buf_str(&out));
    }
}

void ctl_conn_send_text(struct ctl_conn *conn, enum ctl_line_kind kind, struct str text,
                        struct str about)
{
    ctl_conn_send(conn, &(struct ctl_line){.kind = kind, .text = text, .about = about});
}

char *ctl_server_copy(struct str text)
{
    char *copy = heap_zeroed(text.len + 1);
    return memcpy(copy, text.ptr, text.len);
}

/* ---- requests ---- */

static void answer_update(struct ctl_conn *conn)
{
    struct err err;
    struct ctl_server *server = conn->server;
    if (server->hooks.update(server->hooks.context, &err)) {
        ctl_conn_send_text(conn, CTL_DONE, STR("update"), STR(""));
    } else {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR("update"));
    }
}

/* For requests that usually take time. */
static void answer_later(struct ctl_conn *conn, const char *what,
                         bool (*work)(void *context, bool *ret_is_later, struct err *err))
{
    struct err err;
    bool is_later = false;
    if (!work(conn->server->hooks.context, &is_later, &err)) {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), str_from(what));
    } else if (is_later) {
        conn->waits_for = what;
    } else {
        ctl_conn_send_text(conn, CTL_DONE, str_from(what), STR(""));
    }
}

/* ---- queries ---- */

static void say_answer(void *context, const struct ctl_answer *answer)
{
    ctl_conn_send(context, &(struct ctl_line){.kind = CTL_EXPLAIN, .answer = *answer});
}

static void ctl_conn_explain(struct ctl_conn *conn, struct str about)
{
    struct ctl_server *server = conn->server;
    struct err err;
    if (server->hooks.explain(server->hooks.context, about, &server->arena, say_answer, conn,
                              &err)) {
        ctl_conn_send_text(conn, CTL_END, STR("explain"), STR(""));
    } else {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR("explain"));
    }
}

static void answer_explain(struct ctl_conn *conn, const struct ctl_request *request)
{
    struct ctl_server *server = conn->server;
    if (conn->waits_for || !server->hooks.explain_later ||
        !server->hooks.explain_later(server->hooks.context, &server->arena)) {
        ctl_conn_explain(conn, request->about);
        return;
    }
    conn->waits_for = "explain";
    conn->about = ctl_server_copy(request->about);
}

static void answer_events(struct ctl_conn *conn, const struct ctl_request *request)
{
    struct err err;
    conn->events_after = request->after;
    if (!ctl_conn_send_events(conn, &err)) {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR("events"));
    } else if (request->follows) {
        ctl_conn_follow_events(conn);
    } else {
        ctl_conn_send_text(conn, CTL_END, STR("events"), STR(""));
    }
}

static void answer_requests(struct ctl_conn *conn, const struct ctl_request *request)
{
    struct ctl_server *server = conn->server;
    struct err err;
    if (server->hooks.request_resources(server->hooks.context, request->bundles,
                                        request->bundle_count, &err)) {
        conn->waits_for = "request-resources";
    } else {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR("request-resources"));
    }
}

static void answer_train_demand(struct ctl_conn *conn, const struct ctl_request *request)
{
    struct ctl_server *server = conn->server;
    struct str why = STR("");
    struct err err;
    if (!server->hooks.train_demand(server->hooks.context, request, &server->arena, &why, &err)) {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR("train-demand"));
    } else if (why.len > 0) {
        ctl_conn_send_text(conn, CTL_TEXT, why, STR("train-demand"));
        ctl_conn_send_text(conn, CTL_END, STR("train-demand"), STR(""));
    } else {
        ctl_conn_send_text(conn, CTL_DONE, STR("train-demand"), STR(""));
    }
}

static void answer_ray_status(struct ctl_conn *conn)
{
    struct ctl_server *server = conn->server;
    struct err err;
    if (server->hooks.ray_status(server->hooks.context, &err)) {
        conn->waits_for = "ray-status";
    } else {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR("ray-status"));
    }
}

static void answer_unknown(struct ctl_conn *conn, struct str what)
{
    struct str words = arena_printf(&conn->server->arena,
                                    "this service (Shoal %s) does not know the request \"%.*s\"; "
                                    "run `shoal up` to update the head",
                                    SHOAL_VERSION, STR_ARG(str_sub(what, 0, 100)));
    ctl_conn_send_text(conn, CTL_ERROR, words, what);
}

static void ctl_server_send_status(struct ctl_conn *conn, bool wants_full)
{
    ctl_conn_send_all(conn, wants_full);
    ctl_conn_send_text(conn, CTL_END, STR("status"), STR(""));
}

/* Requests that change nothing. */
static bool answer_question(struct ctl_conn *conn, const struct ctl_request *request)
{
    if (str_is(request->what, "status")) {
        ctl_server_send_status(conn, request->wants_full);
    } else if (str_is(request->what, "follow")) {
        ctl_conn_follow(conn, request->wants_full);
    } else if (str_is(request->what, "log")) {
        ctl_conn_send_log(conn, request);
    } else if (str_is(request->what, "events")) {
        answer_events(conn, request);
    } else if (str_is(request->what, "explain")) {
        answer_explain(conn, request);
    } else if (str_is(request->what, "ray-status")) {
        answer_ray_status(conn);
    } else {
        return false;
    }
    return true;
}

static void ctl_server_do_answer(struct ctl_conn *conn, const struct ctl_request *request)
{
    struct ctl_server *server = conn->server;
    if (answer_question(conn, request)) {
        return;
    }
    if (str_is(request->what, "update")) {
        answer_update(conn);
    } else if (str_is(request->what, "release")) {
        answer_later(conn, "release", server->hooks.stand_down);
    } else if (str_is(request->what, CTL_REQUEST_TERMINATE)) {
        answer_later(conn, CTL_REQUEST_TERMINATE, server->hooks.end);
    } else if (str_is(request->what, "request-resources")) {
        answer_requests(conn, request);
    } else if (str_is(request->what, "train-demand")) {
        answer_train_demand(conn, request);
    } else {
        answer_unknown(conn, request->what);
    }
}

/* Answers all clients that wait for `what`: with `text`, an error, or success. */
static void answer_waiting(struct ctl_server *server, const char *what, const struct str *text,
                           const struct err *err)
{
    struct ctl_conn *next;
    for (struct ctl_conn *conn = server->conns; conn; conn = next) {
        next = conn->next;
        if (!conn->waits_for || strcmp(conn->waits_for, what) != 0) {
            continue;
        }
        conn->waits_for = NULL;
        if (err) {
            ctl_conn_send_text(conn, CTL_ERROR, str_from(err->text), str_from(what));
        } else if (text) {
            ctl_conn_send_text(conn, CTL_TEXT, *text, STR(""));
            ctl_conn_send_text(conn, CTL_END, str_from(what), STR(""));
        } else {
            if (strcmp(what, "release") == 0) { /* the service ends: it cannot be asked later */
                ctl_server_send_status(conn, false);
                arena_clear(&server->arena);
            }
            ctl_conn_send_text(conn, CTL_DONE, str_from(what), STR(""));
        }
        end_if_done(conn);
    }
}

void ctl_server_answer(struct ctl_server *server, const char *what, const struct err *err)
{
    answer_waiting(server, what, NULL, err);
}

void ctl_server_answer_text(struct ctl_server *server, const char *what, struct str text)
{
    answer_waiting(server, what, &text, NULL);
}

void ctl_server_explain(struct ctl_server *server)
{
    struct ctl_conn *next;
    for (struct ctl_conn *conn = server->conns; conn; conn = next) {
        next = conn->next;
        if (!conn->about) {
            continue;
        }
        ctl_conn_explain(conn, str_from(conn->about));
        free(conn->about);
        conn->about = NULL;
        conn->waits_for = NULL;
        arena_clear(&server->arena);
        end_if_done(conn);
    }
}

/* ---- clients ---- */

static void ctl_conn_remove(struct ctl_conn *conn)
{
    struct ctl_server *server = conn->server;
    *(conn->before ? &conn->before->next : &server->conns) = conn->next;
    if (conn->next) {
        conn->next->before = conn->before;
    }
    server->conn_count--;
    file_watch_end(conn->log_watch);
    free(conn->log_path);
    free(conn->about);
    free(conn);
}

static void ctl_server_on_line(void *context, struct str text)
{
    struct ctl_conn *conn = context;
    struct ctl_server *server = conn->server;
    struct ctl_request request;
    struct err err;
    if (str_trim(text).len == 0) {
        return;
    }
    if (ctl_request_read(text, &server->arena, &request, &err)) {
        ctl_server_do_answer(conn, &request);
    } else {
        ctl_conn_send_text(conn, CTL_ERROR, str_from(err.text), STR(""));
    }
    arena_clear(&server->arena);
}

static void end_if_done(struct ctl_conn *conn)
{
    if (conn->has_ended && !conn->waits_for && !conn->is_sending_log) {
        ctl_server_on_end(conn, &(struct err){0});
    }
}

/* The client has read everything that was sent. */
static void on_drained(void *context)
{
    struct ctl_conn *conn = context;
    if (conn->is_sending_log) {
        ctl_conn_continue_log(conn);
    }
    end_if_done(conn);
}

/* A client that closed its side still receives pending answers, but no changes. */
static void ctl_server_on_end(void *context, const struct err *err)
{
    struct ctl_conn *conn = context;
    struct line_link *link = conn->link;
    if (err->kind == ERR_NONE && (conn->waits_for || conn->is_sending_log)) {
        conn->has_ended = true;
        return;
    }
    ctl_conn_remove(conn);
    if (err->kind == ERR_NONE) {
        line_link_finish(link);
    } else {
        line_link_close(link);
    }
}

static void on_conn(void *context, struct line_link *link)
{
    struct ctl_server *server = context;
    struct ctl_line greeting = {.kind = CTL_GREETING};
    if (server->conn_count >= GUESTS_MAX) {
        return; /* the caller closes it */
    }
    struct ctl_conn *conn = HEAP_NEW(struct ctl_conn);
    conn->server = server;
    conn->link = link;
    conn->next = server->conns;
    if (conn->next) {
        conn->next->before = conn;
    }
    server->conns = conn;
    server->conn_count++;
    line_link_begin(
        link, &(struct line_link_hooks){conn, ctl_server_on_line, ctl_server_on_end, on_drained});
    server->hooks.greeting(server->hooks.context, &greeting);
    ctl_conn_send(conn, &greeting);
}

/* ---- opening and closing ---- */

bool ctl_server_open(struct loop *loop, const char *folder, const struct ctl_server_hooks *hooks,
                     struct ctl_server **ret_ctl_server, struct err *err)
{
    struct ctl_server *server = HEAP_NEW(struct ctl_server);
    server->loop = loop;
    server->hooks = *hooks;
    server->folder = ctl_server_copy(str_from(folder));
    arena_init(&server->arena);
    ctl_server_follow_open(server);
    const char *path = arena_printf(&server->arena, "%s/%s", folder, SERVICE_SOCKET).ptr;
    struct line_link_limits limits = {.line_max = CTL_LINE_BYTES_MAX};
    if (!line_server_open(loop, path, &limits, on_conn, server, &server->socket, err)) {
        ctl_server_close(server);
        return false;
    }
    *ret_ctl_server = server;
    return true;
}

void ctl_server_close(struct ctl_server *server)
{
    if (!server) {
        return;
    }
    ctl_server_follow_close(server);
    while (server->conns) {
        ctl_conn_remove(server->conns);
    }
    line_server_close(server->socket); /* also closes its links */
    arena_clear(&server->arena);
    free(server->folder);
    free(server);
}
