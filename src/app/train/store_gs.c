/* store_gs.c: one request at a time: a token, tries with growing pauses, and the error's text. */
#include "app/train/store_gs.h"

#include "base/rng.h"
#include "io/xalloc.h"
#include "provider/aws/wire/xml_tree.h"
#include "provider/gcp/credentials/adc_file.h"
#include "provider/gcp/credentials/gcp_credentials.h"
#include "provider/variable.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum {
    PAUSE_FIRST_MS = 200,
    PAUSE_MOST_MS = 20 * 1000,
    SLOW_BYTES = 1000,
    SLOW_SECONDS = 60,
    ERROR_BYTES_MAX = 64 << 10,
    STATUS_OK = 200,
    STATUS_EMPTY = 204,
    STATUS_REFUSED = 401,
    STATUS_MISSING = 404,
    STATUS_LATE = 408,
    STATUS_EXISTS = 412,
    STATUS_BUSY = 429,
    STATUS_BROKEN = 500,
};

/* As in Google's own libraries. */
#define ENDPOINT "https://storage.%.*s"
#define ENDPOINT_VARIABLE "STORAGE_EMULATOR_HOST"

struct gs_client {
    struct gcp_setup setup;
    struct gcp_credentials *credentials;
    struct rng rng;
};

struct gs_call {
    struct gs_client *client;
    const struct gs_request *request;
    struct http_call *http;
    struct loop_timer *timer;
    struct waiter wait;
    struct buf *reply;
    struct buf refusal; /* the body of an error, if `bytes` takes the other one */
    char *etag;
    int64_t ends_ms;
    unsigned token_number, tries;
    bool was_refused, is_ok;
    struct err err;
};

struct gs_client *gs_client_new(struct loop *loop, struct http *http, struct child_pool *children)
{
    static const struct log quiet = {.least = LOG_LEVEL_ERROR + 1};
    struct gs_client *client = HEAP_NEW(struct gs_client);
    client->setup = (struct gcp_setup){.loop = loop,
                                       .http = http,
                                       .children = children,
                                       .log = &quiet,
                                       .environ = (const char *const *)environ};
    client->credentials = gcp_credentials_new(&client->setup);
    client->rng = (struct rng){(uint64_t)getpid()};
    return client;
}

void gs_client_free(struct gs_client *client)
{
    gcp_credentials_free(client->credentials);
    free(client);
}

/* ---- the end of a call ---- */

static void gs_end(struct gs_call *call, bool is_ok)
{
    call->is_ok = is_ok;
    loop_stop(call->client->setup.loop);
}

/* "Google Cloud Storage: PutObject: AccessDenied: ..." */
static void gs_explain(struct gs_call *call, const struct http_reply *reply)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const struct xml_element *root;
    struct err ignored;
    struct str body = call->request->bytes ? buf_str(&call->refusal) : reply->body;
    const char *action = call->request->action;
    if (reply->outcome != HTTP_REPLIED) {
        err_set(&call->err, ERR_UNAVAILABLE, "Google Cloud Storage: %s: %s", action,
                reply->err.text);
    } else if (xml_tree_parse(body, &arena, &root, &ignored)) {
        struct str code = str_sub(xml_child_text(root, "Code"), 0, 100);
        struct str text = str_sub(xml_child_text(root, "Message"), 0, 300);
        err_set(&call->err, ERR_UNAVAILABLE, "Google Cloud Storage: %s: %.*s%s%.*s (HTTP %d)",
                action, STR_ARG(code), text.len > 0 ? ": " : "", STR_ARG(text), reply->status);
    } else {
        err_set(&call->err, ERR_UNAVAILABLE, "Google Cloud Storage: %s: HTTP status %d", action,
                reply->status);
    }
    if (reply->outcome != HTTP_REPLIED || reply->status >= STATUS_BROKEN) {
        call->err.kind = ERR_TIMEOUT;
    } else if (reply->status == STATUS_MISSING) {
        call->err.kind = ERR_NOT_FOUND;
    } else if (reply->status == STATUS_EXISTS) {
        call->err.kind = ERR_EXISTS;
    }
}

/* ---- tries ---- */

static void gs_send(void *context);

static void gs_pause(struct gs_call *call)
{
    struct loop *loop = call->client->setup.loop;
    unsigned doublings = call->tries < 8 ? call->tries : 8;
    int64_t most = (int64_t)PAUSE_FIRST_MS << doublings;
    most = most < PAUSE_MOST_MS ? most : PAUSE_MOST_MS;
    int64_t pause = rng_between(&call->client->rng, most / 4, most);
    if (loop_now_ms(loop) + pause >= call->ends_ms) {
        gs_end(call, false);
    } else {
        loop_timer_start(call->timer, pause);
    }
}

static bool gs_is_passing(const struct http_reply *reply)
{
    if (reply->outcome == HTTP_REPLIED) {
        return reply->status == STATUS_LATE || reply->status == STATUS_BUSY ||
               reply->status >= STATUS_BROKEN;
    }
    return reply->outcome != HTTP_BAD_REQUEST && reply->outcome != HTTP_NOT_TRUSTED &&
           reply->outcome != HTTP_TOO_LARGE;
}

static void gs_on_http(void *context, const struct http_reply *reply)
{
    struct gs_call *call = context;
    bool has_reply = reply->outcome == HTTP_REPLIED;
    bool is_deleted = has_reply && reply->status == STATUS_MISSING &&
                      strcmp(call->request->method, "DELETE") == 0; /* by an earlier try */
    call->http = NULL;
    if (has_reply && (reply->status == STATUS_OK || reply->status == STATUS_EMPTY || is_deleted)) {
        buf_add(call->reply, is_deleted ? STR("") : reply->body);
        snprintf(call->etag, GS_ETAG_BYTES, "%.*s", STR_ARG(http_find_header(reply, "ETag")));
        gs_end(call, true);
        return;
    }
    gs_explain(call, reply);
    if (has_reply && reply->status == STATUS_REFUSED && !call->was_refused) {
        call->was_refused = true;
        gcp_credentials_reject(call->client->credentials, call->token_number);
        gs_send(call);
    } else if (gs_is_passing(reply)) {
        gs_pause(call);
    } else {
        gs_end(call, false);
    }
}

static void gs_on_bytes(void *context, struct str bytes)
{
    struct gs_call *call = context;
    if (http_call_status(call->http) == STATUS_OK) {
        call->request->bytes(call->request->context, bytes);
    } else {
        buf_add(&call->refusal, bytes);
    }
}

static void gs_send_with(struct gs_call *call, const struct gcp_access *access)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const struct gs_request *request = call->request;
    const struct gcp_setup *setup = &call->client->setup;
    const char *other = variable_get(setup->environ, ENDPOINT_VARIABLE);
    struct str base = other && *other ? str_from(other)
                                      : arena_printf(&arena, ENDPOINT, STR_ARG(access->universe));
    struct http_header headers[4];
    size_t count = 0;
    if (adc_is_safe_url(base)) { /* an emulator on another machine gets no token in clear text */
        headers[count++] = (struct http_header){
            STR("Authorization"), arena_printf(&arena, "Bearer %.*s", STR_ARG(access->token))};
    }
    if (access->quota_project.len > 0) {
        headers[count++] = (struct http_header){STR("x-goog-user-project"), access->quota_project};
    }
    if (request->is_new) {
        headers[count++] = (struct http_header){STR("x-goog-if-generation-match"), STR("0")};
    }
    if (request->body.len == 0 && strcmp(request->method, "GET") != 0) {
        headers[count++] = (struct http_header){STR("Content-Length"), STR("0")};
    }
    if (request->begin) {
        request->begin(request->context);
    }
    buf_clear(&call->refusal);
    buf_init(&call->refusal, ERROR_BYTES_MAX);
    call->tries++;
    call->http = http_start(
        setup->http,
        &(struct http_request){
            .method = request->method,
            .url = arena_printf(&arena, "%.*s%.*s", STR_ARG(base), STR_ARG(request->path)).ptr,
            .headers = headers,
            .header_count = count,
            .body = request->body,
            .total_ms = call->ends_ms - loop_now_ms(setup->loop),
            .slow_bytes = SLOW_BYTES,
            .slow_seconds = SLOW_SECONDS,
            .body_max = request->body_max,
            .bytes = request->bytes ? gs_on_bytes : NULL,
            .done = gs_on_http,
            .context = call,
        });
}

static void gs_on_token(void *context, const struct err *err)
{
    struct gs_call *call = context;
    if (err) {
        call->err = *err;
        gs_end(call, false);
    } else {
        gs_send(call);
    }
}

static void gs_send(void *context)
{
    struct gs_call *call = context;
    struct gcp_credentials *credentials = call->client->credentials;
    const struct gcp_access *access = gcp_credentials_now(credentials, &call->token_number);
    if (access) {
        gs_send_with(call, access);
    } else {
        gcp_credentials_await(credentials, &call->wait);
    }
}

bool gs_run(struct gs_client *client, const struct gs_request *request, struct buf *reply,
            char ret_etag[GS_ETAG_BYTES], struct err *err)
{
    struct loop *loop = client->setup.loop;
    struct gs_call call = {.client = client,
                           .request = request,
                           .reply = reply,
                           .etag = ret_etag,
                           .ends_ms = loop_now_ms(loop) + request->deadline_ms};
    call.wait = (struct waiter){.ready = gs_on_token, .context = &call};
    call.timer = loop_timer_new(loop, gs_send, &call);
    buf_init(&call.refusal, ERROR_BYTES_MAX);
    loop_timer_start(call.timer, 0);
    loop_run(loop);
    if (call.http) { /* the loop was stopped by a signal */
        http_forget(call.http);
    }
    gcp_credentials_leave(client->credentials, &call.wait);
    loop_timer_free(call.timer);
    buf_clear(&call.refusal);
    *err = call.err;
    return call.is_ok;
}
