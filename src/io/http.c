/*
 * http.c: queues, starts and finishes calls.
 *
 * A call waits at its host, runs, and ends. `done` is always called from the loop, never from
 * inside http_start() or http_cancel(). Calls are started from a task, so that a burst of starts
 * and ends is handled once.
 */
#include "io/http.h"

#include "base/memzero.h"
#include "base/require.h"
#include "io/http_internal.h"

#include <string.h>

enum { CALLS_MAX = 256, CALLS_PER_HOST_MAX = 32, IDLE_CONNECTIONS = 64, TOTAL_MS = 60000 };

/* ---- queues ---- */

static void queue_add(struct http_queue *queue, struct http_call *call, bool is_first)
{
    call->before = is_first ? NULL : queue->last;
    call->next = is_first ? queue->first : NULL;
    *(call->before ? &call->before->next : &queue->first) = call;
    *(call->next ? &call->next->before : &queue->last) = call;
    queue->count++;
}

static void queue_remove(struct http_queue *queue, struct http_call *call)
{
    *(call->before ? &call->before->next : &queue->first) = call->next;
    *(call->next ? &call->next->before : &queue->last) = call->before;
    queue->count--;
}

/* ---- hosts ---- */

static struct http_host *http_find_host(struct http *http, const char *origin, bool is_raw)
{
    for (struct http_host *host = http->hosts; host; host = host->next) {
        if (host->is_raw == is_raw && strcmp(host->key, origin) == 0) {
            return host;
        }
    }
    size_t size = strlen(origin) + 1;
    struct http_host *host = HEAP_NEW(struct http_host);
    host->http = http;
    host->key = memcpy(heap_zeroed(size), origin, size);
    host->is_raw = is_raw;
    host->is_nowhere = *origin == '\0';
    host->raw_socket = CURL_SOCKET_BAD;
    host->next = http->hosts;
    http->hosts = host;
    return host;
}

void http_host_connected(struct http_host *host)
{
    if (host->is_connecting) {
        host->is_connecting = false;
        loop_defer(host->http->loop, &host->http->start);
    }
}

static bool may_begin(const struct http_host *host)
{
    return host->waiting.first && !host->is_connecting && !host->is_nowhere &&
           host->active.count < host->http->limits.calls_per_host_max;
}

/* ---- finishing a call ---- */

static struct http_multi *multi_of(const struct http_call *call)
{
    return call->host->is_raw ? call->host->http->raw_multi : call->host->http->multi;
}

/* Detaches the transfer from libcurl; its easy handle is kept for reuse. */
static void drop_transfer(struct http_call *call)
{
    struct http *http = call->host->http;
    if (call->easy) {
        curl_multi_remove_handle(http_multi_curl(multi_of(call)), call->easy);
        curl_easy_reset(call->easy);
        if (http->spare_count < ARRAY_LEN(http->spare)) {
            http->spare[http->spare_count++] = call->easy;
        } else {
            curl_easy_cleanup(call->easy);
        }
    }
    /* Headers contain tokens. */
    for (struct curl_slist *line = call->lines; line; line = line->next) {
        memzero(line->data, strlen(line->data));
    }
    curl_slist_free_all(call->lines);
    call->easy = NULL;
    call->lines = NULL;
}

/* Removes the call from the queue that it is in. */
static void unqueue(struct http_call *call)
{
    require(call->state != HTTP_WAITS || call->host->http->waiting > 0,
            "a waiting call is counted");
    require(call->state != HTTP_RUNS || call->host->http->active > 0, "a running call is counted");
    struct http *http = call->host->http;
    if (call->state == HTTP_WAITS) {
        queue_remove(&call->host->waiting, call);
        http->waiting--;
    } else if (call->state == HTTP_RUNS) {
        queue_remove(&call->host->active, call);
        http->active--;
    }
}

static void http_call_free(struct http_call *call)
{
    loop_timer_free(call->patience);
    loop_later_cancel(call->host->http->loop, &call->late);
    drop_transfer(call);
    buf_wipe(&call->body);
    arena_clear(&call->arena);
    free(call);
}

static void http_describe(const struct http_call *call, struct http_reply *reply)
{
    static const struct {
        enum err_kind kind;
        const char *words;
    } table[HTTP_OUTCOME_COUNT] = {
        [HTTP_BAD_REQUEST] = {ERR_USAGE, "cannot send the request"},
        [HTTP_NOT_RESOLVED] = {ERR_UNAVAILABLE, "cannot resolve the host name"},
        [HTTP_NOT_CONNECTED] = {ERR_UNAVAILABLE, "cannot connect"},
        [HTTP_TLS_FAILED] = {ERR_UNAVAILABLE, "TLS handshake failed"},
        [HTTP_NOT_TRUSTED] = {ERR_AUTH, "the certificate is not trusted"},
        [HTTP_TIMEOUT_UNSENT] = {ERR_UNAVAILABLE, "timed out before anything was sent"},
        [HTTP_TIMEOUT_SENT] = {ERR_TIMEOUT, "timed out waiting for the complete response"},
        [HTTP_RESET] = {ERR_UNAVAILABLE, "the connection was lost"},
        [HTTP_TRUNCATED] = {ERR_UNAVAILABLE, "the response is incomplete"},
        [HTTP_TOO_LARGE] = {ERR_PROTOCOL, "the response is too large"},
        [HTTP_GARBAGE] = {ERR_PROTOCOL, "the response is not HTTP"},
        [HTTP_CANCELLED] = {ERR_CANCELLED, "stopped"},
        [HTTP_FAILED] = {ERR_INTERNAL, "failed"},
    };
    if (reply->outcome == HTTP_REPLIED) {
        return;
    }
    err_set(&reply->err, table[reply->outcome].kind, "%s %s: %s%s%s", call->request.method,
            call->origin, table[reply->outcome].words, call->words[0] ? ": " : "", call->words);
}

static void http_report(struct http_call *call, struct http_reply *reply)
{
    require(call->state != HTTP_ENDED, "a call ends only once");
    require(reply->outcome < HTTP_OUTCOME_COUNT, "the outcome of the call is valid");
    struct http *http = call->host->http;
    reply->took_ms = loop_now_ms(http->loop) - call->began_ms;
    http_describe(call, reply);
    unqueue(call);
    call->state = HTTP_ENDED;
    if (http->waiting > 0) {
        loop_defer(http->loop, &http->start);
    }
    if (call->request.done) {
        call->request.done(call->request.context, reply);
    }
    http_call_free(call);
}

/* Fails a call before it was given to libcurl. */
static void end_unsent(struct http_call *call, enum http_outcome outcome)
{
    struct http_reply reply = {.outcome = outcome, .body = STR("")};
    http_report(call, &reply);
}

/* Decides whether the raw connection of this call can be reused. */
static void settle_raw(struct http_call *call, CURLcode code)
{
    struct http_host *host = call->host;
    curl_socket_t socket = CURL_SOCKET_BAD;
    if (call->is_fresh) {
        host->is_connecting = false;
    }
    if (code != CURLE_OK && (call->is_fresh || host->raw_socket == call->raw_socket)) {
        host->raw_socket = CURL_SOCKET_BAD;
    } else if (code == CURLE_OK && call->is_fresh && host->raw_socket != CURL_SOCKET_BAD) {
        /* If two addresses were tried at once, the one that connected. */
        curl_easy_getinfo(call->easy, CURLINFO_ACTIVESOCKET, &socket);
        host->raw_socket = socket != CURL_SOCKET_BAD ? socket : host->raw_socket;
    }
}

/* We refused libcurl a socket, so nothing was sent: start again, as the first call of a
 * connection. */
static bool repeat_raw(struct http_call *call)
{
    struct http *http = call->host->http;
    if (!call->was_vetoed || call->was_repeated || call->is_cancelled) {
        return false;
    }
    unqueue(call);
    drop_transfer(call);
    require(!call->easy, "the transfer was dropped");
    call->was_repeated = true;
    call->state = HTTP_WAITS;
    call->words[0] = '\0';
    queue_add(&call->host->waiting, call, true);
    http->waiting++;
    loop_defer(http->loop, &http->start);
    return true;
}

static void on_transfer_end(CURL *easy, CURLcode code)
{
    struct http_call *call = NULL;
    struct http_reply reply = {0};
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &call);
    if (call->host->is_raw) {
        settle_raw(call, code);
        if (code != CURLE_OK && repeat_raw(call)) {
            return;
        }
    }
    http_transfer_read(call, code, &reply);
    http_report(call, &reply);
}

static void end_late(void *context)
{
    struct http_call *call = context;
    struct http_reply reply = {0};
    if (call->state != HTTP_RUNS) {
        end_unsent(call, call->is_cancelled ? HTTP_CANCELLED : call->forced);
        return;
    }
    if (call->host->is_raw) {
        settle_raw(call, CURLE_ABORTED_BY_CALLBACK);
    }
    http_transfer_read(call, CURLE_ABORTED_BY_CALLBACK, &reply);
    call->words[0] = '\0';
    http_report(call, &reply);
}

void http_cancel(struct http_call *call)
{
    if (call->state != HTTP_ENDED && !call->is_cancelled) {
        call->is_cancelled = true;
        loop_defer(call->host->http->loop, &call->late);
    }
}

void http_forget(struct http_call *call)
{
    call->request.done = NULL;
    http_cancel(call);
}

void *http_call_context(const struct http_call *call)
{
    return call->request.context;
}

int http_call_status(const struct http_call *call)
{
    return call->head.status;
}

/* ---- starting a call ---- */

static void http_begin(struct http_call *call)
{
    require(call->state == HTTP_WAITS, "only a waiting call begins");
    require(!call->easy, "a call has one transfer");
    require(call->host->http->active < call->host->http->limits.calls_max,
            "the number of active calls is below the limit");
    struct http_host *host = call->host;
    struct http *http = host->http;
    int64_t left_ms = call->request.total_ms - (loop_now_ms(http->loop) - call->began_ms);
    unqueue(call);
    call->state = HTTP_RUNS;
    queue_add(&host->active, call, false);
    http->active++;
    loop_timer_free(call->patience);
    call->patience = NULL;
    call->easy = http->spare_count > 0 ? http->spare[--http->spare_count] : curl_easy_init();
    if (!call->easy) {
        panic("out of memory (libcurl)");
    }
    http_transfer_prepare(call, left_ms);
    host->is_connecting = host->is_raw && call->is_fresh;
    if (curl_multi_add_handle(http_multi_curl(multi_of(call)), call->easy) != CURLM_OK) {
        call->forced = HTTP_FAILED;
        host->is_connecting = false;
        loop_defer(http->loop, &call->late);
    }
}

/* Round robin over the hosts, so that a busy one does not starve the others. */
static void http_give_turns(void *context)
{
    struct http *http = context;
    bool has_begun = true;
    while (has_begun && http->active < http->limits.calls_max) {
        has_begun = false;
        for (struct http_host *host = http->hosts; host; host = host->next) {
            if (may_begin(host) && http->active < http->limits.calls_max) {
                has_begun = true;
                http_begin(host->waiting.first);
            }
        }
    }
}

static void lose_patience(void *context)
{
    struct http_call *call = context;
    end_unsent(call, HTTP_TIMEOUT_UNSENT);
}

/* ---- creating a call ---- */

static const char *http_copy_text(struct arena *arena, const char *text)
{
    return text ? arena_str(arena, str_from(text)).ptr : NULL;
}

static void copy_request(struct http_call *call, const struct http_request *request)
{
    struct arena *arena = &call->arena;
    struct http_header *headers = ARENA_ARRAY(arena, request->header_count, struct http_header);
    call->request = *request;
    call->request.method = http_copy_text(arena, request->method ? request->method : "GET");
    call->request.url = http_copy_text(arena, request->url ? request->url : "");
    call->request.ca_file = http_copy_text(arena, request->ca_file);
    call->request.cert_file = http_copy_text(arena, request->cert_file);
    call->request.key_file = http_copy_text(arena, request->key_file);
    call->request.body = arena_str(arena, request->body);
    call->request.total_ms = request->total_ms > 0 ? request->total_ms : TOTAL_MS;
    for (size_t i = 0; i < request->header_count; i++) {
        headers[i].name = arena_str(arena, request->headers[i].name);
        headers[i].value = arena_str(arena, request->headers[i].value);
    }
    call->request.headers = headers;
}

/* Reads "https://host:443" from the URL; fails for other schemes. */
static bool read_origin(struct http_call *call, struct err *err)
{
    CURLU *url = curl_url();
    char *scheme = NULL;
    char *host = NULL;
    char *port = NULL;
    bool ok = false;
    CURLUcode code = curl_url_set(url, CURLUPART_URL, call->request.url, CURLU_DISALLOW_USER);
    if (code == CURLUE_OK && curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        call->origin = arena_printf(&call->arena, "%s://%s:%s", scheme, host, port).ptr;
        call->is_https = strcmp(scheme, "https") == 0;
        ok = call->is_https || strcmp(scheme, "http") == 0;
    }
    bool is_raw = call->request.version == HTTP_VERSION_2_RAW;
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(url);
    if (!ok) {
        return err_set(err, ERR_USAGE,
                       "the URL must start with http or https and cannot contain a user name");
    }
    if (call->is_https && is_raw) {
        return err_set(err, ERR_USAGE, "HTTP/2 without TLS needs an http URL");
    }
    return true;
}

struct http_call *http_start(struct http *http, const struct http_request *request)
{
    struct http_call *call = HEAP_NEW(struct http_call);
    struct err err = {0};
    arena_init_secret(&call->arena);
    copy_request(call, request);
    call->began_ms = loop_now_ms(http->loop);
    call->late = (struct loop_task){.run = end_late, .context = call};
    bool ok = read_origin(call, &err) && http_transfer_check(&call->request, &err);
    if (!call->origin) {
        call->origin = "(no URL)";
    }
    call->host = http_find_host(http, ok ? call->origin : "",
                                request->version == HTTP_VERSION_2_RAW);
    queue_add(&call->host->waiting, call, false);
    http->waiting++;
    if (!ok) {
        call->forced = HTTP_BAD_REQUEST;
        memcpy(call->words, err.text, sizeof(call->words) - 1);
        loop_defer(http->loop, &call->late);
        return call;
    }
    call->patience = loop_timer_new(http->loop, lose_patience, call);
    loop_timer_start(call->patience, call->request.total_ms);
    loop_defer(http->loop, &http->start);
    return call;
}

size_t http_active(const struct http *http)
{
    return http->active;
}

size_t http_waiting(const struct http *http)
{
    return http->waiting;
}

/* ---- the reply ---- */

struct str http_find_header(const struct http_reply *reply, const char *name)
{
    return http_fields_find(reply->headers, reply->header_count, name);
}

struct str http_find_trailer(const struct http_reply *reply, const char *name)
{
    return http_fields_find(reply->trailers, reply->trailer_count, name);
}

const char *http_outcome_name(enum http_outcome outcome)
{
    static const char *const names[HTTP_OUTCOME_COUNT] = {
        [HTTP_REPLIED] = "replied",
        [HTTP_BAD_REQUEST] = "bad-request",
        [HTTP_NOT_RESOLVED] = "not-resolved",
        [HTTP_NOT_CONNECTED] = "not-connected",
        [HTTP_TLS_FAILED] = "tls-failed",
        [HTTP_NOT_TRUSTED] = "not-trusted",
        [HTTP_TIMEOUT_UNSENT] = "timeout-unsent",
        [HTTP_TIMEOUT_SENT] = "timeout-sent",
        [HTTP_RESET] = "reset",
        [HTTP_TRUNCATED] = "truncated",
        [HTTP_TOO_LARGE] = "too-large",
        [HTTP_GARBAGE] = "garbage",
        [HTTP_CANCELLED] = "cancelled",
        [HTTP_FAILED] = "failed",
    };
    return names[outcome];
}

/* ---- the client ---- */

bool http_open(struct loop *loop, const struct http_limits *limits, struct http **ret_http,
               struct err *err)
{
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        return err_set(err, ERR_INTERNAL, "cannot initialize libcurl: %s",
                       curl_easy_strerror(code));
    }
    struct http *http = HEAP_NEW(struct http);
    http->loop = loop;
    http->limits = *limits;
    http->start = (struct loop_task){.run = http_give_turns, .context = http};
    http->limits.calls_max = limits->calls_max ? limits->calls_max : CALLS_MAX;
    http->limits.calls_per_host_max = limits->calls_per_host_max ? limits->calls_per_host_max
                                                                 : CALLS_PER_HOST_MAX;
    long idle = (long)(limits->idle_connections ? limits->idle_connections : IDLE_CONNECTIONS);
    http->multi = http_multi_new(loop, on_transfer_end);
    http->raw_multi = http_multi_new(loop, on_transfer_end);
    curl_multi_setopt(http_multi_curl(http->multi), CURLMOPT_MAXCONNECTS, idle);
    curl_multi_setopt(http_multi_curl(http->raw_multi), CURLMOPT_MAXCONNECTS, idle);
    /* A raw server gets one connection; see http_transfer.c. */
    curl_multi_setopt(http_multi_curl(http->raw_multi), CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    http_trust_find(&http->trust, curl_version_info(CURLVERSION_NOW)->cainfo, "");
    *ret_http = http;
    return true;
}

static void free_calls(struct http_queue *queue)
{
    while (queue->first) {
        struct http_call *call = queue->first;
        unqueue(call);
        http_call_free(call);
    }
}

struct loop *http_loop(const struct http *http)
{
    return http->loop;
}

void http_close(struct http *http)
{
    if (!http) {
        return;
    }
    for (struct http_host *host = http->hosts; host; host = host->next) {
        free_calls(&host->waiting);
        free_calls(&host->active);
    }
    loop_later_cancel(http->loop, &http->start);
    while (http->spare_count > 0) {
        curl_easy_cleanup(http->spare[--http->spare_count]);
    }
    /* Closing a connection calls back into its host, so hosts are freed last. */
    http_multi_free(http->multi);
    http_multi_free(http->raw_multi);
    while (http->hosts) {
        struct http_host *host = http->hosts;
        http->hosts = host->next;
        free(host->key);
        free(host);
    }
    http_trust_clear(&http->trust);
    free(http);
    curl_global_cleanup();
}
