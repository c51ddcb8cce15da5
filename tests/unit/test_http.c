/* test_http.c: the client with servers that answer correctly, late, partly, or not at all. */
#include "io/http.h"

#include "http_server.h"
#include "io/file.h"
#include "open_files.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A part of a name has at most 63 letters, so no name server is asked for this one. */
#define NOWHERE "a123456789012345678901234567890123456789012345678901234567890123456789"

/* Only a call that hangs takes this long, whatever the load of the machine. */
#define HANG_MS 60000
/* For calls that must reach their limit. */
#define SHORT_MS 150

struct bench {
    struct loop *loop;
    struct http *http;
    struct http_server *server;
};

/* The result of one call. */
struct seen {
    int calls;
    struct http_reply reply;
    char body[8192], header[100], trailer[100], status_trailer[100];
    size_t streamed;
    int asked; /* whether it may be sent */
    struct http_call *call;
};

static struct bench open_bench(enum http_server_kind kind, const struct http_limits *limits)
{
    struct bench bench = {.server = http_server_start(kind)};
    struct err err = {0};
    assert_true(loop_open(&clock_of_machine, &bench.loop, &err));
    assert_true(http_open(bench.loop, limits, &bench.http, &err));
    return bench;
}

static void close_bench(struct bench *bench)
{
    http_close(bench->http);
    loop_close(bench->loop);
    http_server_stop(bench->server);
}

static const struct http_limits usual = {0};

static void copy(char *into, size_t size, struct str text)
{
    snprintf(into, size, "%.*s", STR_ARG(text));
}

static void note(void *context, const struct http_reply *reply)
{
    struct seen *seen = context;
    seen->calls++;
    seen->reply = *reply;
    copy(seen->body, sizeof(seen->body), reply->body);
    copy(seen->header, sizeof(seen->header), http_find_header(reply, "x-TEST"));
    copy(seen->trailer, sizeof(seen->trailer), http_find_trailer(reply, "x-sum"));
    copy(seen->status_trailer, sizeof(seen->status_trailer),
         http_find_trailer(reply, "grpc-status"));
}

static struct http_request ask(const char *url, struct seen *seen)
{
    return (struct http_request){.url = url, .total_ms = HANG_MS, .done = note, .context = seen};
}

/* One call to its end. */
static void run(struct bench *bench, const struct http_request *request)
{
    struct seen *seen = request->context;
    memset(seen, 0, sizeof(*seen));
    seen->call = http_start(bench->http, request);
    assert_int_equal(seen->calls, 0);
    loop_run(bench->loop);
    assert_int_equal(seen->calls, 1);
    assert_int_equal(http_active(bench->http) + http_waiting(bench->http), 0);
    assert_int_equal(seen->reply.err.kind == ERR_NONE, seen->reply.outcome == HTTP_REPLIED);
}

/* A call to a server that does not answer. If the limit ended before a busy machine had sent the
 * request, the call is repeated with twice the limit. */
static void run_into_limit(struct bench *bench, struct http_request *request)
{
    struct seen *seen = request->context;
    for (request->total_ms = SHORT_MS; request->total_ms < HANG_MS; request->total_ms *= 2) {
        run(bench, request);
        if (seen->reply.outcome != HTTP_TIMEOUT_UNSENT) {
            return;
        }
    }
}

static void get(struct bench *bench, const char *path, struct seen *seen)
{
    struct http_request request = ask(http_server_url(bench->server, "127.0.0.1", path), seen);
    run(bench, &request);
}

static void replies_are_read(void **state)
{
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    struct seen seen;
    (void)state;
    get(&bench, "/", &seen);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
    assert_int_equal(seen.reply.status, 200);
    assert_string_equal(seen.body, "hello");
    assert_string_equal(seen.header, "two words");
    assert_true(seen.reply.may_have_acted);
    assert_false(seen.reply.was_reused);
    get(&bench, "/fail", &seen);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED); /* the server's error, not ours */
    assert_int_equal(seen.reply.status, 503);
    assert_true(seen.reply.was_reused);
    get(&bench, "/redirect", &seen);
    assert_int_equal(seen.reply.status, 302);
    get(&bench, "/empty", &seen);
    assert_int_equal(seen.reply.status, 204);
    assert_string_equal(seen.body, "");
    get(&bench, "/interim", &seen);
    assert_int_equal(seen.reply.status, 200);
    assert_string_equal(seen.body, "ok");
    assert_string_equal(seen.header, ""); /* not there */
    get(&bench, "/trailers", &seen);
    assert_string_equal(seen.body, "abc");
    assert_string_equal(seen.trailer, "42");
    assert_int_equal(seen.reply.trailer_count, 2);
    assert_int_equal(http_server_connections(bench.server), 1); /* kept over all of them */
    close_bench(&bench);
}

static void requests_are_sent_as_given(void **state)
{
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    struct seen seen;
    const struct http_header headers[] = {{STR("X-One"), STR("1")}, {STR("X-None"), STR("")}};
    struct http_request request = ask(
        http_server_url(bench.server, "127.0.0.1", "/echo?a=%2F/../x&b"), &seen);
    (void)state;
    request.method = "PUT";
    request.headers = headers;
    request.header_count = ARRAY_LEN(headers);
    request.body = STR("a\0b");
    run(&bench, &request);
    assert_like(str_sub(str_from(seen.body), 0, 41), "PUT /echo?a=%2F/../x&b HTTP/1.1\r\nHost: 12");
    assert_non_null(strstr(seen.body, "\r\nX-One: 1\r\n"));
    assert_non_null(strstr(seen.body, "\r\nX-None:\r\n"));
    assert_non_null(strstr(seen.body, "\r\nContent-Length: 3\r\n"));
    assert_non_null(strstr(seen.body, "\r\nUser-Agent: shoal/"));
    assert_null(strstr(seen.body, "\r\nAccept"));
    assert_null(strstr(seen.body, "\r\nExpect"));
    assert_null(strstr(seen.body, "\r\nContent-Type"));
    request = ask(http_server_url(bench.server, "127.0.0.1", "/echo"), &seen);
    request.method = "POST"; /* without a body, which differs from length 0 */
    run(&bench, &request);
    assert_non_null(strstr(seen.body, "\r\nContent-Length: 0\r\n"));
    request.method = "DELETE";
    run(&bench, &request);
    assert_like(str_sub(str_from(seen.body), 0, 12), "DELETE /echo");
    assert_null(strstr(seen.body, "Content-Length"));
    request.method = "HEAD";
    run(&bench, &request);
    assert_int_equal(seen.reply.status, 200);
    assert_string_equal(seen.body, "");
    close_bench(&bench);
}

static void what_cannot_be_sent_is_refused(void **state)
{
    static const struct {
        const char *method, *url, *name, *value;
    } rows[] = {
        {"GET", "ftp://localhost/", "A", "b"},
        {"GET", "file:///etc/passwd", "A", "b"},
        {"GET", "http://user:pass@localhost/", "A", "b"},
        {"GET", "", "A", "b"},
        {"GET", "http://", "A", "b"},
        {"GET", "http://localhost/", "A", "b\r\nX-Forged: 1"},
        {"GET", "http://localhost/", "A: x\r\nB", "b"},
        {"GET", "http://localhost/", "", "b"},
        {"GET /x HTTP/1.1\r\n", "http://localhost/", "A", "b"},
    };
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen seen;
        struct http_header header = {str_from(rows[i].name), str_from(rows[i].value)};
        struct http_request request = ask(rows[i].url, &seen);
        request.method = rows[i].method;
        request.headers = &header;
        request.header_count = 1;
        run(&bench, &request);
        assert_int_equal(seen.reply.outcome, HTTP_BAD_REQUEST);
        assert_int_equal(seen.reply.err.kind, ERR_USAGE);
        assert_false(seen.reply.may_have_acted);
        assert_null(strstr(seen.reply.err.text, "pass"));
    }
    struct seen seen;
    struct http_request request = ask("https://localhost/", &seen);
    request.version = HTTP_VERSION_2_RAW;
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_BAD_REQUEST);
    close_bench(&bench);
}

static void every_failure_has_its_name(void **state)
{
    static const struct {
        const char *path;
        int64_t total_ms;
        enum http_outcome outcome;
        enum err_kind kind;
    } rows[] = {
        {"/slow", SHORT_MS, HTTP_TIMEOUT_SENT, ERR_TIMEOUT},
        {"/drip", SHORT_MS, HTTP_TIMEOUT_SENT, ERR_TIMEOUT},
        {"/reset", HANG_MS, HTTP_RESET, ERR_UNAVAILABLE},
        {"/close", HANG_MS, HTTP_RESET, ERR_UNAVAILABLE},
        {"/truncate", HANG_MS, HTTP_TRUNCATED, ERR_UNAVAILABLE},
        {"/truncate-chunk", HANG_MS, HTTP_TRUNCATED, ERR_UNAVAILABLE},
        {"/half-head", HANG_MS, HTTP_TRUNCATED, ERR_UNAVAILABLE},
        {"/huge", HANG_MS, HTTP_TOO_LARGE, ERR_PROTOCOL},
        {"/announce", HANG_MS, HTTP_TOO_LARGE, ERR_PROTOCOL},
        {"/heads", HANG_MS, HTTP_TOO_LARGE, ERR_PROTOCOL},
        {"/garbage", HANG_MS, HTTP_GARBAGE, ERR_PROTOCOL},
        {"/bad-status", HANG_MS, HTTP_GARBAGE, ERR_PROTOCOL},
    };
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct seen seen;
        struct http_request request = ask(http_server_url(bench.server, "127.0.0.1", rows[i].path),
                                          &seen);
        request.total_ms = rows[i].total_ms;
        request.body_max = 100000;
        if (rows[i].total_ms == SHORT_MS) {
            run_into_limit(&bench, &request);
        } else {
            run(&bench, &request);
        }
        if (seen.reply.outcome != rows[i].outcome) {
            fail_msg("%s: %s, %s", rows[i].path, http_outcome_name(seen.reply.outcome),
                     seen.reply.err.text);
        }
        assert_int_equal(seen.reply.err.kind, rows[i].kind);
        assert_true(seen.reply.may_have_acted); /* the server had the whole request */
        assert_like(str_from(seen.reply.err.text), "GET http://127.0.0.1:*: *");
        assert_null(strstr(seen.reply.err.text, rows[i].path));
    }
    close_bench(&bench);
}

static void what_never_left_cannot_have_acted(void **state)
{
    static const struct {
        const char *url;
        enum http_outcome outcome;
    } rows[] = {
        {"http://" NOWHERE "/", HTTP_NOT_RESOLVED},
        {"http://127.0.0.1:1/", HTTP_NOT_CONNECTED},
        {"https://127.0.0.1:1/", HTTP_NOT_CONNECTED},
    };
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    struct seen seen;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_request request = ask(rows[i].url, &seen);
        request.method = "POST";
        request.body = STR("order");
        run(&bench, &request);
        assert_int_equal(seen.reply.outcome, rows[i].outcome);
        assert_false(seen.reply.may_have_acted);
        assert_int_equal(seen.reply.err.kind, ERR_UNAVAILABLE);
    }
    /* A server that does not speak TLS and never answers the handshake. */
    char url[100];
    snprintf(url, sizeof(url), "https%s", http_server_url(bench.server, "127.0.0.1", "/") + 4);
    struct http_request request = ask(url, &seen);
    request.connect_ms = 150;
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_TIMEOUT_UNSENT);
    assert_false(seen.reply.may_have_acted);
    close_bench(&bench);
}

static bool never(void *context)
{
    struct seen *seen = context;
    seen->asked++;
    return false;
}

static bool always(void *context)
{
    return !never(context);
}

/* Checked when it is connected, also on a reused connection. */
static void what_may_not_be_sent_is_not_sent(void **state)
{
    static const enum http_server_kind kinds[] = {SERVER_PLAIN, SERVER_TLS};
    struct seen seen;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct bench bench = open_bench(kinds[i], &usual);
        struct http_request request = ask(http_server_url(bench.server, "localhost", "/"), &seen);
        request.ca_file = http_server_ca_file(bench.server);
        request.method = "POST";
        request.body = STR("order");
        request.may_send = never;
        run(&bench, &request);
        assert_int_equal(seen.reply.outcome, HTTP_CANCELLED);
        assert_false(seen.reply.may_have_acted);
        assert_int_equal(seen.asked, 1);
        request.may_send = always;
        run(&bench, &request);
        assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
        assert_int_equal(http_server_requests(bench.server), 1);
        request.may_send = never;
        run(&bench, &request);
        assert_int_equal(seen.reply.outcome, HTTP_CANCELLED);
        assert_false(seen.reply.may_have_acted);
        assert_int_equal(http_server_requests(bench.server), 1);
        close_bench(&bench);
    }
}

static void slow_bodies_are_given_up(void **state)
{
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    struct seen seen;
    struct http_request request = ask(http_server_url(bench.server, "127.0.0.1", "/drip"), &seen);
    (void)state;
    request.slow_bytes = 1000;
    request.slow_seconds = 1;
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_TIMEOUT_SENT);
    assert_true(seen.reply.took_ms < 4000);
    assert_true(strlen(seen.body) > 0); /* the received part is available */
    close_bench(&bench);
}

static void count_bytes(void *context, struct str bytes)
{
    struct seen *seen = context;
    seen->streamed += bytes.len;
    if (seen->streamed > 1000000) {
        http_cancel(seen->call);
    }
}

static void a_stream_has_no_bound_and_can_be_stopped(void **state)
{
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    struct seen seen;
    struct http_request request = ask(http_server_url(bench.server, "127.0.0.1", "/huge"), &seen);
    (void)state;
    request.bytes = count_bytes;
    request.body_max = 10;
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_CANCELLED);
    assert_true(seen.reply.may_have_acted);
    assert_true(seen.streamed > 1000000 && seen.streamed < 3000000);
    assert_string_equal(seen.body, "");
    close_bench(&bench);
}

/* ---- cancelling and waiting ---- */

static void cancel_now(void *context)
{
    struct seen *seen = context;
    http_cancel(seen->call);
    http_cancel(seen->call);
}

struct watch {
    struct http_server *server;
    struct loop_timer *timer;
    struct seen *seen;
};

static void cancel_once_received(void *context)
{
    struct watch *watch = context;
    if (http_server_requests(watch->server) == 0) {
        loop_timer_start(watch->timer, 10);
    } else {
        cancel_now(watch->seen);
    }
}

static void calls_can_be_cancelled_at_any_time(void **state)
{
    struct http_limits one = {.calls_per_host_max = 1};
    struct bench bench = open_bench(SERVER_PLAIN, &one);
    struct seen running = {0}, waiting = {0}, patient = {0};
    const char *url = http_server_url(bench.server, "127.0.0.1", "/slow");
    struct http_request request = ask(url, &running);
    (void)state;
    running.call = http_start(bench.http, &request);
    request.context = &waiting;
    waiting.call = http_start(bench.http, &request);
    request.context = &patient;
    request.total_ms = 40; /* its turn comes too late */
    http_start(bench.http, &request);
    struct loop_timer *first = loop_timer_new(bench.loop, cancel_now, &waiting);
    struct watch watch = {.server = bench.server, .seen = &running};
    watch.timer = loop_timer_new(bench.loop, cancel_once_received, &watch);
    loop_timer_start(first, 50);
    loop_timer_start(watch.timer, 100);
    loop_run(bench.loop);
    assert_int_equal(waiting.reply.outcome, HTTP_CANCELLED);
    assert_false(waiting.reply.may_have_acted);
    assert_int_equal(patient.reply.outcome, HTTP_TIMEOUT_UNSENT);
    assert_int_equal(running.reply.outcome, HTTP_CANCELLED);
    assert_true(running.reply.may_have_acted);
    assert_int_equal(running.calls + waiting.calls + patient.calls, 3);
    assert_int_equal(http_server_requests(bench.server), 1);
    struct seen at_once = {0};
    request = ask(url, &at_once);
    at_once.call = http_start(bench.http, &request);
    http_cancel(at_once.call);
    loop_run(bench.loop);
    assert_int_equal(at_once.reply.outcome, HTTP_CANCELLED);
    close_bench(&bench);
}

static void forget_now(void *context)
{
    struct seen *seen = context;
    http_forget(seen->call);
}

static void forget_in_stream(void *context, struct str bytes)
{
    struct seen *seen = context;
    seen->streamed += bytes.len;
    assert_int_equal(http_call_status(seen->call), 200);
    http_forget(seen->call);
}

/* Waiting, running, in the middle of its body, and already cancelled: no callback runs. */
static void forgotten_calls_are_silent(void **state)
{
    struct http_limits one = {.calls_per_host_max = 1};
    struct bench bench = open_bench(SERVER_PLAIN, &one);
    struct seen running = {0}, waiting = {0}, streamed = {0}, cancelled = {0};
    struct http_request request = ask(http_server_url(bench.server, "127.0.0.1", "/slow"),
                                      &running);
    (void)state;
    running.call = http_start(bench.http, &request);
    assert_int_equal(http_call_status(running.call), 0);
    request.context = &waiting;
    waiting.call = http_start(bench.http, &request);
    request.context = &cancelled;
    cancelled.call = http_start(bench.http, &request);
    http_cancel(cancelled.call);
    http_forget(cancelled.call);
    struct loop_timer *first = loop_timer_new(bench.loop, forget_now, &waiting);
    struct loop_timer *second = loop_timer_new(bench.loop, forget_now, &running);
    loop_timer_start(first, 20);
    loop_timer_start(second, 50);
    loop_run(bench.loop);
    request = ask(http_server_url(bench.server, "127.0.0.1", "/huge"), &streamed);
    request.bytes = forget_in_stream;
    streamed.call = http_start(bench.http, &request);
    loop_run(bench.loop);
    assert_true(streamed.streamed > 0 && streamed.streamed < 100000);
    assert_int_equal(running.calls + waiting.calls + streamed.calls + cancelled.calls, 0);
    assert_int_equal(http_active(bench.http) + http_waiting(bench.http), 0);
    request.context = &waiting; /* and closing right after is fine, too */
    waiting.call = http_start(bench.http, &request);
    http_forget(waiting.call);
    loop_timer_free(first);
    loop_timer_free(second);
    close_bench(&bench);
}

static void closing_forgets_what_is_under_way(void **state)
{
    struct http_limits one = {.calls_per_host_max = 1};
    struct bench bench = open_bench(SERVER_PLAIN, &one);
    struct seen seen = {0};
    struct http_request request = ask(http_server_url(bench.server, "127.0.0.1", "/slow"), &seen);
    (void)state;
    for (int i = 0; i < 3; i++) {
        seen.call = http_start(bench.http, &request);
    }
    request.url = "nonsense:";
    http_start(bench.http, &request);
    struct loop_timer *timer = loop_timer_new(bench.loop, (loop_fn *)loop_stop, bench.loop);
    loop_timer_start(timer, 30);
    loop_run(bench.loop);
    assert_int_equal(http_active(bench.http), 1);
    assert_int_equal(seen.calls, 1); /* the invalid text */
    request.url = "nonsense:";
    http_start(bench.http, &request);
    close_bench(&bench);
    assert_int_equal(seen.calls, 1);
    http_close(NULL);
}

struct crowd {
    size_t done, fine, reused;
};

static void count_done(void *context, const struct http_reply *reply)
{
    struct crowd *crowd = context;
    crowd->done++;
    crowd->fine += reply->outcome == HTTP_REPLIED && reply->status == 200 ? 1 : 0;
    crowd->reused += reply->was_reused ? 1 : 0;
}

static void run_crowd(struct bench *bench, struct crowd *crowd, const char *path, size_t count)
{
    struct http_request request = {.url = http_server_url(bench->server, "127.0.0.1", path),
                                   .done = count_done,
                                   .context = crowd};
    request.version = strcmp(path, "/raw") == 0 ? HTTP_VERSION_2_RAW : HTTP_VERSION_ANY;
    request.method = "POST";
    request.body = STR("body");
    int64_t began = loop_now_ms(bench->loop);
    for (size_t i = 0; i < count; i++) {
        http_start(bench->http, &request);
    }
    loop_run(bench->loop);
    print_message("%zu calls of %s in %lld ms, %zu on kept connections\n", count, path,
                  (long long)(loop_now_ms(bench->loop) - began), crowd->reused);
    assert_int_equal(crowd->done, count);
    assert_int_equal(crowd->fine, count);
}

static size_t asked_count(size_t usual_count)
{
    const char *asked = getenv("SHOAL_CALLS"); /* more of them, to measure */
    return asked ? (size_t)strtoul(asked, NULL, 10) : usual_count;
}

static void no_more_calls_at_once_than_allowed(void **state)
{
    struct http_limits few = {.calls_max = 5, .calls_per_host_max = 3};
    struct bench bench = open_bench(SERVER_PLAIN, &few);
    struct crowd crowd = {0};
    (void)state;
    run_crowd(&bench, &crowd, "/wait", 20);
    assert_int_equal(http_server_most_at_once(bench.server), 3);
    assert_int_equal(http_server_connections(bench.server), 3);
    assert_int_equal(crowd.reused, 17);
    struct crowd many = {0};
    run_crowd(&bench, &many, "/", asked_count(500));
    close_bench(&bench);
}

/* libcurl sends a request again if a reused connection breaks. If it then cannot connect, that
 * says nothing about the first try. */
static void check_failed_repeat(enum http_server_kind kind)
{
    struct bench bench = open_bench(kind, &usual);
    struct seen seen;
    struct http_request request = ask(http_server_url(bench.server, "localhost", "/once"), &seen);
    request.method = "POST";
    request.ca_file = kind == SERVER_TLS ? http_server_ca_file(bench.server) : NULL;
    run(&bench, &request);
    assert_int_equal(seen.reply.status, 200);
    http_server_deafen(bench.server);
    run(&bench, &request);
    assert_true(seen.reply.outcome == HTTP_NOT_CONNECTED || seen.reply.outcome == HTTP_RESET);
    assert_int_equal(http_server_requests(bench.server), 2);
    assert_true(seen.reply.may_have_acted);
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_NOT_CONNECTED);
    assert_false(seen.reply.may_have_acted);
    close_bench(&bench);
}

static void a_failed_repeat_may_have_acted(void **state)
{
    (void)state;
    check_failed_repeat(SERVER_PLAIN);
    check_failed_repeat(SERVER_TLS);
}

static void a_call_that_must_not_repeat_has_its_own_connection(void **state)
{
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    struct seen seen;
    struct http_request request = ask(http_server_url(bench.server, "127.0.0.1", "/once"), &seen);
    (void)state;
    request.method = "POST";
    run(&bench, &request);
    assert_int_equal(seen.reply.status, 200);
    run(&bench, &request); /* the reused connection breaks: libcurl sends it again on a new one */
    assert_int_equal(seen.reply.status, 200);
    assert_int_equal(http_server_requests(bench.server), 3);
    request.is_once = true;
    run(&bench, &request);
    assert_int_equal(http_server_requests(bench.server), 4);
    assert_false(seen.reply.was_reused);
    run(&bench, &request);
    assert_int_equal(http_server_requests(bench.server), 5);
    close_bench(&bench);
}

/* ---- TLS and proxies ---- */

static void only_trusted_servers_are_asked(void **state)
{
    struct bench bench = open_bench(SERVER_TLS, &usual);
    struct seen seen;
    struct http_request request = ask(http_server_url(bench.server, "localhost", "/"), &seen);
    (void)state;
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_NOT_TRUSTED);
    assert_int_equal(seen.reply.err.kind, ERR_AUTH);
    assert_false(seen.reply.may_have_acted);
    request.ca_file = http_server_ca_file(bench.server);
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
    assert_string_equal(seen.body, "hello");
    run(&bench, &request);
    assert_true(seen.reply.was_reused);
    /* The certificate is not for this name. */
    request.url = http_server_url(bench.server, "127.0.0.1", "/");
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_NOT_TRUSTED);
    request.url = http_server_url(bench.server, "localhost", "/slow");
    run_into_limit(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_TIMEOUT_SENT);
    request.total_ms = HANG_MS;
    request.ca_file = "/no/such/file";
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_NOT_TRUSTED);
    close_bench(&bench);
}

static void old_tls_is_refused(void **state)
{
    struct bench bench = open_bench(SERVER_OLD_TLS, &usual);
    struct seen seen;
    struct http_request request = ask(http_server_url(bench.server, "localhost", "/"), &seen);
    (void)state;
    request.ca_file = http_server_ca_file(bench.server);
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_TLS_FAILED);
    assert_false(seen.reply.may_have_acted);
    assert_int_equal(http_server_requests(bench.server), 0);
    close_bench(&bench);
}

static void tls_agrees_on_http2(void **state)
{
    struct bench bench = open_bench(SERVER_TLS_H2, &usual);
    struct seen seen;
    struct http_request request = ask(http_server_url(bench.server, "localhost", "/"), &seen);
    (void)state;
    request.method = "POST";
    request.body = STR("abc");
    request.ca_file = http_server_ca_file(bench.server);
    for (int i = 0; i < 3; i++) {
        run(&bench, &request);
        assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
        assert_string_equal(seen.body, "abc");
        assert_string_equal(seen.status_trailer, "0");
    }
    assert_int_equal(http_server_connections(bench.server), 1);
    http_server_set_mood(bench.server, RAW_SILENT);
    run_into_limit(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_TIMEOUT_SENT);
    request.total_ms = HANG_MS;
    request.version = HTTP_VERSION_1_1; /* this server offers nothing else */
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_TLS_FAILED);
    close_bench(&bench);
}

static void certificates_come_from_the_environment(void **state)
{
    struct bench bench = open_bench(SERVER_TLS, &usual);
    struct seen seen;
    struct err err = {0};
    struct http_request request = ask(http_server_url(bench.server, "localhost", "/"), &seen);
    (void)state;
    http_close(bench.http);
    setenv("SSL_CERT_FILE", http_server_ca_file(bench.server), 1);
    assert_true(http_open(bench.loop, &usual, &bench.http, &err));
    unsetenv("SSL_CERT_FILE");
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
    close_bench(&bench);
}

static void proxies_come_from_the_environment(void **state)
{
    struct bench bench = open_bench(SERVER_PLAIN, &usual);
    struct seen seen;
    struct http_request request = ask("http://" NOWHERE "/echo", &seen);
    (void)state;
    setenv("http_proxy", http_server_url(bench.server, "127.0.0.1", ""), 1);
    setenv("https_proxy", http_server_url(bench.server, "127.0.0.1", ""), 1);
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
    request.is_direct = true;
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_NOT_RESOLVED);
    request = ask("https://" NOWHERE "/", &seen); /* by CONNECT, which this proxy refuses */
    request.method = "POST";
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_NOT_CONNECTED);
    assert_false(seen.reply.may_have_acted);
    assert_int_equal(seen.reply.status, 0);
    request.url = "https://open.invalid/"; /* a tunnel to nowhere: only the CONNECT was sent */
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_TLS_FAILED);
    assert_false(seen.reply.may_have_acted);
    request.url = "https://" NOWHERE "/";
    setenv("no_proxy", NOWHERE, 1);
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_NOT_RESOLVED);
    unsetenv("http_proxy");
    unsetenv("https_proxy");
    unsetenv("no_proxy");
    close_bench(&bench);
}

/* ---- raw HTTP/2 ---- */

static void raw_calls_share_a_connection(void **state)
{
    struct bench bench = open_bench(SERVER_RAW_H2, &usual);
    struct seen seen;
    const struct http_header headers[] = {{STR("Content-Type"), STR("application/grpc")},
                                          {STR("TE"), STR("trailers")}};
    struct http_request request = ask(http_server_url(bench.server, "127.0.0.1", "/x"), &seen);
    (void)state;
    request.method = "POST";
    request.version = HTTP_VERSION_2_RAW;
    request.headers = headers;
    request.header_count = 2;
    request.body = STR("\0\0\0\0\3abc");
    for (int i = 0; i < 3; i++) {
        run(&bench, &request);
        assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
        assert_int_equal(seen.reply.status, 200);
        assert_int_equal(seen.reply.body.len, 8);
        assert_string_equal(seen.status_trailer, "0");
        assert_int_equal(seen.reply.was_reused, i > 0);
    }
    struct crowd crowd = {0};
    run_crowd(&bench, &crowd, "/raw", asked_count(300));
    assert_int_equal(http_server_connections(bench.server), 1);
    close_bench(&bench);
}

static void a_burst_of_raw_calls_opens_one_connection(void **state)
{
    struct http_limits many = {.calls_per_host_max = 100};
    struct bench bench = open_bench(SERVER_RAW_H2, &many);
    struct crowd crowd = {0};
    (void)state;
    run_crowd(&bench, &crowd, "/raw", 200);
    assert_int_equal(http_server_connections(bench.server), 1);
    assert_int_equal(crowd.reused, 199);
    close_bench(&bench);
}

static void raw_failures_heal(void **state)
{
    struct bench bench = open_bench(SERVER_RAW_H2, &usual);
    struct seen seen;
    struct http_request request = ask(http_server_url(bench.server, "127.0.0.1", "/x"), &seen);
    (void)state;
    request.method = "POST";
    request.version = HTTP_VERSION_2_RAW;
    request.body = STR("x");
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
    http_server_set_mood(bench.server, RAW_SILENT);
    run_into_limit(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_TIMEOUT_SENT);
    assert_true(seen.reply.may_have_acted);
    http_server_set_mood(bench.server, RAW_ECHO);
    request.total_ms = HANG_MS;
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
    http_server_set_mood(bench.server, RAW_HANG_UP);
    run(&bench, &request);
    assert_true(seen.reply.outcome == HTTP_RESET || seen.reply.outcome == HTTP_TRUNCATED ||
                seen.reply.outcome == HTTP_GARBAGE);
    assert_true(seen.reply.may_have_acted);
    http_server_set_mood(bench.server, RAW_ECHO);
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
    http_server_stop(bench.server); /* the reused connection is closed while it is idle */
    usleep(20000);
    run(&bench, &request);
    if (seen.reply.outcome == HTTP_RESET) { /* libcurl 8 notices it only when it sends */
        assert_true(seen.reply.may_have_acted);
        run(&bench, &request);
    }
    assert_int_equal(seen.reply.outcome, HTTP_NOT_CONNECTED);
    assert_false(seen.reply.may_have_acted);
    bench.server = http_server_start(SERVER_RAW_H2);
    request.url = http_server_url(bench.server, "127.0.0.1", "/x");
    run(&bench, &request);
    assert_int_equal(seen.reply.outcome, HTTP_REPLIED);
    close_bench(&bench);
}

static void clean_environment(void)
{
    static const char *const names[] = {"http_proxy",   "https_proxy",    "all_proxy",
                                        "no_proxy",     "HTTP_PROXY",     "HTTPS_PROXY",
                                        "ALL_PROXY",    "NO_PROXY",       "SSL_CERT_FILE",
                                        "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        unsetenv(names[i]);
    }
}

/* ---- no leaked descriptors ---- */

static int open_before;

/* After a first loop: libuv keeps a pipe for signals until the program ends. */
static int note_open(void **state)
{
    (void)state;
    clean_environment();
    struct bench bench = open_bench(SERVER_TLS, &usual);
    close_bench(&bench);
    open_before = open_files_count();
    return 0;
}

static void nothing_stays_open(void **state)
{
    (void)state;
    assert_int_equal(open_files_count(), open_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_are_read),
        cmocka_unit_test(requests_are_sent_as_given),
        cmocka_unit_test(what_cannot_be_sent_is_refused),
        cmocka_unit_test(every_failure_has_its_name),
        cmocka_unit_test(what_never_left_cannot_have_acted),
        cmocka_unit_test(what_may_not_be_sent_is_not_sent),
        cmocka_unit_test(slow_bodies_are_given_up),
        cmocka_unit_test(a_stream_has_no_bound_and_can_be_stopped),
        cmocka_unit_test(calls_can_be_cancelled_at_any_time),
        cmocka_unit_test(forgotten_calls_are_silent),
        cmocka_unit_test(closing_forgets_what_is_under_way),
        cmocka_unit_test(no_more_calls_at_once_than_allowed),
        cmocka_unit_test(a_failed_repeat_may_have_acted),
        cmocka_unit_test(a_call_that_must_not_repeat_has_its_own_connection),
        cmocka_unit_test(only_trusted_servers_are_asked),
        cmocka_unit_test(old_tls_is_refused),
        cmocka_unit_test(tls_agrees_on_http2),
        cmocka_unit_test(certificates_come_from_the_environment),
        cmocka_unit_test(proxies_come_from_the_environment),
        cmocka_unit_test(raw_calls_share_a_connection),
        cmocka_unit_test(a_burst_of_raw_calls_opens_one_connection),
        cmocka_unit_test(raw_failures_heal),
        cmocka_unit_test(nothing_stays_open),
    };
    return cmocka_run_group_tests(tests, note_open, NULL);
}
