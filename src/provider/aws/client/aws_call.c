/*
 * aws_call.c: the life cycle of a call: credentials, queue, reply, retry.
 *
 * `in_doubt` is set when a try may have taken effect although no complete reply came. Only an error
 * that proves the contrary clears it.
 */
#include "base/require.h"
#include "io/failpoint.h"
#include "provider/aws/client/aws_client_internal.h"
#include "provider/aws_time.h"

#include <string.h>

enum {
    DEADLINE_MS = 60 * 1000,
    REPLY_BYTES_MAX = 32 * 1024 * 1024,
    REFUSAL_BYTES_MAX = 64 * 1024,
    SKEW_MS = 4 * 60 * 1000,
    NOWHERE_TRIES = 4, /* an unresolvable name is usually a wrong name */
};

static struct loop *loop_of(const struct aws_call *call)
{
    return call->client->setup.loop;
}

/* ---- finishing ---- */

static void aws_call_free(struct aws_call *call)
{
    require(call->before ? call->before->next == call : call->client->calls == call,
            "the call is in the list of its client");
    struct aws_client *client = call->client;
    *(call->before ? &call->before->next : &client->calls) = call->next;
    if (call->next) {
        call->next->before = call->before;
    }
    if (call->is_gone) {
        *call->is_gone = true;
    }
    if (call->http) {
        http_forget(call->http);
    }
    if (call->state == CALL_QUEUED) {
        aws_lane_leave(call->lane, call);
    }
    credentials_leave(client->credentials, &call->wait);
    loop_later_cancel(client->setup.loop, &call->start);
    loop_timer_free(call->timer);
    buf_clear(&call->refusal);
    arena_clear(&call->arena);
    free(call);
}

void aws_call_cancel(struct aws_call *call)
{
    if (call->state != CALL_ENDED) {
        aws_call_free(call);
    }
}

/* "ec2 RunInstances in us-west-2: ...". Redacted, because AWS quotes the request. */
static void set_words(struct aws_call *call, enum err_kind kind, const char *words)
{
    AUTO_BUF struct buf clean;
    struct err *err = &call->last.err;
    buf_init(&clean, 4 * sizeof(err->text));
    if (call->client->setup.redact) {
        redact_clean(call->client->setup.redact, str_from(words), &clean);
    } else {
        buf_add_c(&clean, words);
    }
    err_set(err, kind, "%s %s in %.*s: %s", aws_service_name(call->request.service),
            call->request.action, STR_ARG(call->request.region),
            clean.ptr ? clean.ptr : "no reason given");
}

/* Reads have no failpoints: being killed there is equivalent to being killed between two other
 * points. */
static void reach(const struct aws_call *call, const char *moment)
{
    if (call->request.care != AWS_READ) {
        failpoint("aws", call->request.action, moment);
    }
}

static void aws_call_finish(struct aws_call *call)
{
    require(call->state != CALL_ENDED, "a call ends only once");
    require(call->last.is_ok || call->last.error.class < AWS_ERROR_CLASS_COUNT,
            "a failed call has an error");
    struct aws_reply *reply = &call->last;
    reply->tries = call->tries;
    call->state = CALL_ENDED;
    call->http = NULL;
    call->request.done(call->request.context, reply);
    reach(call, "after");
    aws_call_free(call);
}

static void succeed(struct aws_call *call, struct str body, struct str etag)
{
    call->last = (struct aws_reply){.is_ok = true, .body = body, .etag = etag};
    aws_call_finish(call);
}

/* Finishes with the error in `last`. */
static void aws_call_fail(struct aws_call *call)
{
    require(call->last.error.class < AWS_ERROR_CLASS_COUNT, "the error class is valid");
    struct aws_reply *reply = &call->last;
    struct aws_error *error = &reply->error;
    bool is_read = call->request.care == AWS_READ;
    reply->is_ok = false;
    reply->body = STR("");
    reply->may_have_acted = !is_read && (error->class == AWS_AMBIGUOUS || call->in_doubt);
    if (reply->may_have_acted && error->class != AWS_AMBIGUOUS) {
        /* "Not found" is definite, even after an earlier try may have acted. */
        error->outcome = error->outcome == OUTCOME_NOT_FOUND ? OUTCOME_NOT_FOUND : OUTCOME_UNKNOWN;
        error->class = AWS_AMBIGUOUS;
        error->remedy = AWS_REMEDY_NONE;
    }
    require(!reply->may_have_acted || error->class == AWS_AMBIGUOUS,
            "a call that may have acted is ambiguous");
    aws_call_finish(call);
}

/* An error on our side: this try sent nothing. */
static void fail_unsent(struct aws_call *call, const char *code, enum aws_error_class class,
                        enum outcome outcome, const struct err *err)
{
    call->last.error = (struct aws_error){.code = str_from(code),
                                          .message = arena_str(&call->arena, str_from(err->text)),
                                          .request_id = STR(""),
                                          .class = class,
                                          .outcome = outcome};
    set_words(call, err->kind, err->text);
    if (class == AWS_AUTH) {
        call->last.err = *err; /* missing credentials are not specific to this call */
    }
    aws_call_fail(call);
}

static void fail_late(struct aws_call *call)
{
    struct err err;
    if (call->tries > 0) {
        aws_call_fail(call); /* the error of the last try is more useful than "deadline exceeded" */
        return;
    }
    err_set(&err, ERR_TIMEOUT, "not sent within %lld s: %s",
            (long long)call->request.deadline_ms / 1000,
            call->state == CALL_NEEDS_KEY ? "no credentials yet" : "too many calls are queued");
    fail_unsent(call, "Deadline", AWS_DEFINITE_NO, OUTCOME_THROTTLED, &err);
}

/* Another process may hold the cluster lease. */
static void fail_without_lease(struct aws_call *call)
{
    struct err err;
    err_set(&err, ERR_EXISTS, "not sent, because this process no longer holds the cluster lease");
    fail_unsent(call, "NoLease", AWS_DEFINITE_NO, OUTCOME_NO_LEASE, &err);
}

/* ---- tries ---- */

static void on_bytes(void *context, struct str bytes);
static void aws_call_on_reply(void *context, const struct http_reply *reply);
static void aws_call_proceed(struct aws_call *call);

static int64_t left_ms(const struct aws_call *call)
{
    return call->ends_ms - loop_now_ms(loop_of(call));
}

static void on_credentials(void *context, const struct err *err)
{
    struct aws_call *call = context;
    if (!err) {
        aws_call_proceed(call);
        return;
    }
    bool may_pass = err->kind == ERR_UNAVAILABLE || err->kind == ERR_TIMEOUT ||
                    err->kind == ERR_THROTTLED;
    fail_unsent(call, may_pass ? "CredentialsUnavailable" : "NoCredentials",
                may_pass ? AWS_DEFINITE_NO : AWS_AUTH,
                may_pass ? OUTCOME_THROTTLED : OUTCOME_DENIED, err);
}

static bool aws_call_has_keys(struct aws_call *call)
{
    unsigned number;
    return call->way.auth != AUTH_OWN || credentials_now(call->client->credentials, &number);
}

/* Credentials first, then the queue. Keys may change while the call is queued, so they are read
 * again. */
static void aws_call_proceed(struct aws_call *call)
{
    if (left_ms(call) <= 0) {
        fail_late(call);
        return;
    }
    loop_timer_start(call->timer, left_ms(call));
    if (!aws_call_has_keys(call)) {
        call->state = CALL_NEEDS_KEY;
        credentials_await(call->client->credentials, &call->wait);
        return;
    }
    call->state = CALL_QUEUED;
    aws_lane_join(call->lane, call);
}

void aws_call_take_turn(struct aws_call *call)
{
    require(call->state == CALL_QUEUED, "only a queued call is sent");
    require(!call->http, "a call has one request in flight");
    const struct aws_credentials *keys = NULL;
    if (call->way.auth == AUTH_OWN) {
        keys = credentials_now(call->client->credentials, &call->key_number);
        if (!keys) {
            call->state = CALL_NEEDS_KEY;
            credentials_await(call->client->credentials, &call->wait);
            return;
        }
    } else if (call->way.auth == AUTH_KEYS) {
        keys = call->way.keys;
    }
    loop_timer_stop(call->timer);
    if (call->creates && !aws_client_has_lease(call->client)) {
        fail_without_lease(call);
        return;
    }
    call->state = CALL_SENT;
    call->sent_ms = loop_now_ms(loop_of(call));
    call->signed_ms = aws_client_now_ms(call->client);
    call->has_begun = call->is_too_large = false;
    call->streamed = 0;
    buf_clear(&call->refusal);
    call->tries++;
    call->client->counts.tries++;
    reach(call, "before");
    aws_call_send(call, keys, call->request.bytes ? on_bytes : NULL, aws_call_on_reply);
}

/* Called after a pause. If many calls fail at once, their retries share a bucket, so that a broken
 * service is not flooded. */
static void end_pause(struct aws_call *call)
{
    require(call->state == CALL_PAUSES, "the call is waiting for its retry");
    struct aws_bucket *bucket = &call->client->again[call->request.service];
    int64_t now_ms = loop_now_ms(loop_of(call));
    if (aws_bucket_take(bucket, now_ms)) {
        aws_call_proceed(call);
        return;
    }
    int64_t wait_ms = aws_bucket_wait_ms(bucket, now_ms) + aws_retry_wait_ms(1, &call->client->rng);
    if (wait_ms >= left_ms(call)) {
        aws_call_fail(call);
    } else {
        loop_timer_start(call->timer, wait_ms);
    }
}

static void aws_call_on_timer(void *context)
{
    struct aws_call *call = context;
    if (call->state == CALL_PAUSES) {
        end_pause(call);
        return;
    }
    if (call->state == CALL_QUEUED) {
        aws_lane_leave(call->lane, call);
    }
    credentials_leave(call->client->credentials, &call->wait);
    fail_late(call);
}

/* Retries later if the deadline allows, otherwise fails. */
static void pause_or_fail(struct aws_call *call)
{
    require(call->tries > 0, "only a call that was sent is repeated");
    int64_t wait_ms = aws_retry_wait_ms(call->tries, &call->client->rng);
    if (wait_ms >= left_ms(call)) {
        aws_call_fail(call);
        return;
    }
    log_write(call->client->setup.log, LOG_LEVEL_DEBUG,
              "retrying tries=%u wait_ms=%lld "
              "error=\"%s\"",
              call->tries, (long long)wait_ms, call->last.err.text);
    call->state = CALL_PAUSES;
    loop_timer_start(call->timer, wait_ms);
}

/* ---- replies ---- */

/* The caller's callbacks may cancel the call; these functions then return false and the call is
 * freed. */

static bool aws_call_begin(struct aws_call *call)
{
    bool is_gone = false;
    if (!call->has_begun && call->request.begin) {
        call->is_gone = &is_gone;
        call->request.begin(call->request.context);
        if (is_gone) {
            return false;
        }
        call->is_gone = NULL;
    }
    call->has_begun = true;
    return true;
}

static bool aws_call_do_check(struct aws_call *call, struct str body, bool *ret_ok, struct err *err)
{
    bool is_gone = false;
    const struct aws_request *request = &call->request;
    if (!request->check) {
        *ret_ok = request->bytes || aws_call_check(call, body, err);
        return true;
    }
    call->is_gone = &is_gone;
    *ret_ok = request->check(request->context, body, err);
    if (is_gone) {
        return false;
    }
    call->is_gone = NULL;
    return true;
}

static void on_bytes(void *context, struct str bytes)
{
    struct aws_call *call = context;
    if (http_call_status(call->http) != 200) {
        buf_add(&call->refusal, str_sub(bytes, 0, REFUSAL_BYTES_MAX - call->refusal.len));
        return;
    }
    if (bytes.len > call->request.body_max - call->streamed) {
        call->is_too_large = true;
        http_cancel(call->http);
        return;
    }
    call->streamed += bytes.len;
    require(call->streamed <= call->request.body_max, "the reply is within its limit");
    if (aws_call_begin(call)) {
        call->request.bytes(call->request.context, bytes);
    }
}

/* Uses the Date of every reply, including errors. */
static void learn_time(struct aws_call *call, const struct http_reply *reply)
{
    int64_t date;
    if (aws_time_parse_http(http_find_header(reply, "Date"), &date)) {
        server_clock_observe(&call->client->time, date, call->sent_ms, loop_now_ms(loop_of(call)));
    }
}

/* If the request was refused because of its time, signs and sends it again, once. Returns true
 * then. */
static bool mend_clock(struct aws_call *call, const struct http_reply *reply)
{
    struct aws_client *client = call->client;
    int64_t date;
    if (call->was_resigned || !aws_time_parse_http(http_find_header(reply, "Date"), &date)) {
        return false;
    }
    int64_t error_ms = date * 1000 - call->signed_ms;
    if (error_ms < SKEW_MS && error_ms > -SKEW_MS) {
        return false;
    }
    call->was_resigned = true;
    client->counts.resigned++;
    server_clock_set(&client->time, date, call->sent_ms, loop_now_ms(loop_of(call)));
    if (!client->has_warned_of_clock) {
        client->has_warned_of_clock = true;
        log_write(client->setup.log, LOG_LEVEL_WARNING,
                  "the clock of this machine is wrong; using AWS's time skew_s=%lld",
                  (long long)(-error_ms / 1000));
    }
    aws_call_proceed(call);
    return true;
}

/* If new credentials may help, sends it again with them, once. Returns true then. */
static bool mend_keys(struct aws_call *call)
{
    if (call->was_refreshed || call->way.auth != AUTH_OWN) {
        return false;
    }
    call->was_refreshed = true;
    credentials_reject(call->client->credentials, call->key_number);
    aws_call_proceed(call);
    return true;
}

static bool mend(struct aws_call *call, const struct http_reply *reply)
{
    enum aws_remedy remedy = call->last.error.remedy;
    bool may_be_clock = remedy == AWS_REMEDY_CLOCK || remedy == AWS_REMEDY_EITHER;
    bool may_be_keys = remedy == AWS_REMEDY_REFRESH || remedy == AWS_REMEDY_EITHER;
    if (left_ms(call) <= 0) {
        return false;
    }
    return (may_be_clock && mend_clock(call, reply)) || (may_be_keys && mend_keys(call));
}

/* Retries or finishes with the error in `last`. */
static void aws_call_settle(struct aws_call *call, const struct http_reply *reply, bool is_hopeless)
{
    struct aws_error *error = &call->last.error;
    struct aws_try try = {call->request.care, call->request.settles, call->tries};
    if (error->class == AWS_AMBIGUOUS) {
        call->in_doubt = true;
    } else if (aws_retry_settles_doubt(error)) {
        call->in_doubt = false;
    }
    if (error->class == AWS_THROTTLE) {
        call->client->counts.throttled++;
        aws_bucket_drain(&call->lane->bucket, loop_now_ms(loop_of(call)));
    }
    if (is_hopeless) {
        aws_call_fail(call);
    } else if (mend(call, reply)) {
        return;
    } else if (aws_retry_may(&try, error)) {
        pause_or_fail(call);
    } else {
        aws_call_fail(call);
    }
}

/* AWS returned an error. */
static void take_refusal(struct aws_call *call, const struct http_reply *reply)
{
    struct str body = call->request.bytes ? buf_str(&call->refusal) : reply->body;
    struct aws_error *error = &call->last.error;
    *error = aws_error_read(reply->status, http_find_header(reply, "x-amzn-ErrorType"), body,
                            &call->arena);
    if (error->request_id.len == 0) {
        error->request_id = arena_str(&call->arena, http_find_header(reply, "x-amzn-RequestId"));
    }
    call->last.region = arena_str(&call->arena, http_find_header(reply, "x-amz-bucket-region"));
    bool has_id = error->request_id.len > 0;
    bool says_who = error->class == AWS_AUTH && call->way.auth == AUTH_OWN;
    struct str code = error->code.len > 0
                          ? error->code
                          : arena_printf(&call->arena, "HTTP status %d", reply->status);
    struct str source = says_who ? aws_client_source(call->client) : STR("");
    struct str words = arena_printf(
        &call->arena, "%.*s%s%.*s%s%.*s%s%s%.*s", STR_ARG(code), error->message.len > 0 ? ": " : "",
        STR_ARG(error->message), has_id ? " (request " : "", STR_ARG(error->request_id),
        has_id ? ")" : "", says_who ? " with credentials from " : "", STR_ARG(source));
    set_words(call, aws_error_kind(error), words.ptr);
    aws_call_settle(call, reply, false);
}

/* A success status with an unreadable body: it has taken effect, but the result is unknown. */
static void take_unreadable(struct aws_call *call, const struct http_reply *reply,
                            const struct err *err)
{
    struct str words = arena_printf(&call->arena, "cannot read the response: %s", err->text);
    call->last.error = (struct aws_error){.code = STR("UnreadableReply"),
                                          .message = words,
                                          .request_id = STR(""),
                                          .status = reply->status,
                                          .class = AWS_AMBIGUOUS,
                                          .outcome = OUTCOME_UNKNOWN};
    set_words(call, ERR_PROTOCOL, words.ptr);
    aws_call_settle(call, reply, false);
}

static void take_success(struct aws_call *call, const struct http_reply *reply)
{
    struct err err = {0};
    struct str body = call->request.bytes ? STR("") : reply->body;
    bool ok;
    aws_bucket_record_success(&call->lane->bucket, loop_now_ms(loop_of(call)));
    if (!aws_call_begin(call) || !aws_call_do_check(call, body, &ok, &err)) {
        return;
    }
    if (ok) {
        succeed(call, body, http_find_header(reply, "ETag"));
    } else {
        take_unreadable(call, reply, &err);
    }
}

/* No complete reply. */
static void take_failure(struct aws_call *call, const struct http_reply *reply)
{
    struct aws_error *error = &call->last.error;
    enum http_outcome outcome = call->is_too_large ? HTTP_TOO_LARGE : reply->outcome;
    bool is_bad = outcome == HTTP_BAD_REQUEST;
    bool is_mistrust = outcome == HTTP_NOT_TRUSTED && !reply->may_have_acted;
    bool is_nowhere = outcome == HTTP_NOT_RESOLVED && call->tries >= NOWHERE_TRIES;
    *error = (struct aws_error){.code = STR(""),
                                .message = arena_str(&call->arena, str_from(reply->err.text)),
                                .request_id = STR(""),
                                .class = AWS_DEFINITE_NO,
                                .remedy = AWS_REMEDY_REPEAT,
                                .outcome = OUTCOME_THROTTLED};
    if (is_bad || is_mistrust) {
        error->class = is_bad ? AWS_PERMANENT : AWS_AUTH;
        error->outcome = is_bad ? OUTCOME_INVALID : OUTCOME_DENIED;
        error->remedy = AWS_REMEDY_NONE;
    } else if (reply->may_have_acted) {
        error->class = AWS_AMBIGUOUS;
        error->outcome = OUTCOME_UNKNOWN;
        error->remedy = AWS_REMEDY_NONE;
    }
    set_words(call, call->is_too_large ? ERR_PROTOCOL : reply->err.kind,
              call->is_too_large ? "the response is too large" : reply->err.text);
    aws_call_settle(call, reply, is_nowhere || outcome == HTTP_TOO_LARGE);
}

static void aws_call_on_reply(void *context, const struct http_reply *reply)
{
    struct aws_call *call = context;
    call->http = NULL;
    call->last = (struct aws_reply){.is_ok = false};
    reach(call, "reply");
    learn_time(call, reply);
    if (reply->outcome == HTTP_CANCELLED && call->creates && !reply->may_have_acted) {
        fail_without_lease(call); /* the lease expired while connecting */
    } else if (reply->outcome != HTTP_REPLIED) {
        take_failure(call, reply);
    } else if (reply->status == 200 || reply->status == 204) {
        take_success(call, reply);
    } else {
        take_refusal(call, reply);
    }
}

/* ---- starting ---- */

static void aws_call_do_start(void *context)
{
    struct aws_call *call = context;
    if (call->bad.kind != ERR_NONE) {
        fail_unsent(call, "BadCall", AWS_PERMANENT, OUTCOME_INVALID, &call->bad);
        return;
    }
    aws_call_proceed(call);
}

static void copy_way(struct aws_call *call, const struct aws_call_way *way)
{
    struct arena *arena = &call->arena;
    call->way = *way;
    call->way.path = arena_str(arena, way->path);
    call->way.header.name = arena_str(arena, way->header.name);
    call->way.header.value = arena_str(arena, way->header.value);
    if (way->keys) {
        struct aws_credentials *keys = ARENA_NEW(arena, struct aws_credentials);
        keys->access_key = arena_str(arena, way->keys->access_key);
        keys->secret_key = arena_str(arena, way->keys->secret_key);
        keys->session_token = arena_str(arena, way->keys->session_token);
        call->way.keys = keys;
    }
}

struct aws_call *aws_call_start_way(struct aws_client *client, const struct aws_request *request,
                                    const struct aws_call_way *way)
{
    struct aws_call *call = HEAP_NEW(struct aws_call);
    arena_init_secret(&call->arena);
    call->client = client;
    call->request = *request;
    copy_way(call, way);
    call->request.deadline_ms = request->deadline_ms > 0 ? request->deadline_ms : DEADLINE_MS;
    call->request.body_max = request->body_max > 0 ? request->body_max : REPLY_BYTES_MAX;
    call->ends_ms = loop_now_ms(client->setup.loop) + call->request.deadline_ms;
    call->timer = loop_timer_new(client->setup.loop, aws_call_on_timer, call);
    call->wait = (struct waiter){.ready = on_credentials, .context = call};
    call->start = (struct loop_task){.run = aws_call_do_start, .context = call};
    buf_init(&call->refusal, REFUSAL_BYTES_MAX);
    call->next = client->calls;
    if (call->next) {
        call->next->before = call;
    }
    client->calls = call;
    client->counts.calls++;
    if (aws_call_prepare(call, &call->bad)) {
        call->bad.kind = ERR_NONE;
    }
    loop_defer(client->setup.loop, &call->start);
    return call;
}

struct aws_call *aws_call_start(struct aws_client *client, const struct aws_request *request)
{
    struct aws_call_way way = {.auth = AUTH_OWN, .method = request->method, .path = request->path};
    if (request->is_new) {
        way.header = (struct http_header){STR("If-None-Match"), STR("*")};
    }
    return aws_call_start_way(client, request, &way);
}
