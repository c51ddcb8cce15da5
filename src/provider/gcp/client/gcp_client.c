/* gcp_client.c: the client, and the life of a call. */
#include "provider/gcp/client/gcp_client.h"

#include "base/buf.h"
#include "base/encode.h"
#include "base/panic.h"
#include "base/rng.h"
#include "io/failpoint.h"
#include "io/json_line.h"
#include "io/sha256.h"
#include "io/xalloc.h"
#include "provider/aws_time.h"
#include "provider/server_clock.h"
#include "provider/variable.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
    CALL_MS = 90 * 1000,
    OPERATION_MS = 10 * 60 * 1000,
    TRY_MS = 30 * 1000,
    WAIT_TRY_MS = 130 * 1000, /* Google holds the reply for up to two minutes */
    PAUSE_FIRST_MS = 200,
    PAUSE_MOST_MS = 20 * 1000,
    POLL_MOST_MS = 4 * 1000,
    DOUBLINGS_MAX = 7,
    BUSY_MAX = 64,    /* changes under way */
    SENDING_MAX = 24, /* requests of changes: http.h allows 32 at once */
    HELD_MAX = 16,    /* of these, such that Google holds until the operation ends */
    BODY_BYTES_MAX = 4 << 20,
    REPLY_BYTES_MAX = 64 << 20,
    LEASE_MARGIN_MS = 3000,
    UUID_BYTES = 16,
    SERVICE_BYTES_MAX = 32,
};

#define ENDPOINT "https://compute.%.*s/compute/v1/"
#define OTHER_ENDPOINT "https://%s.%.*s/"
/* As in gcloud: replaces the address with its path. */
#define ENDPOINT_VARIABLE "CLOUDSDK_API_ENDPOINT_OVERRIDES_"

struct call_queue {
    struct gcp_call *first, *last;
};

struct gcp_client {
    struct gcp_client_setup setup;
    struct arena arena;
    struct gcp_credentials *credentials;
    struct server_clock time;
    struct rng rng;
    struct gcp_lease lease;
    struct str found_project; /* of the credentials */
    struct str source;        /* of the token */
    struct gcp_call *calls;
    size_t busy, sending, held;
    struct call_queue fresh, again; /* changes that wait for their turn */
};

struct gcp_call {
    struct gcp_call *next, *before;
    struct gcp_call *next_queued;
    struct call_queue *queue; /* in which it waits; NULL: none */
    struct gcp_client *client;
    struct arena arena;
    struct gcp_request request;
    struct str body;
    struct str operation; /* its path, once the change was accepted */
    struct loop_timer *timer;
    struct waiter wait;
    struct http_call *http;
    int64_t ends_ms, sent_ms;
    unsigned token_number, tries;
    bool is_in_doubt, was_refused; /* the token was refused once */
    bool is_busy, is_held;         /* counted */
    struct gcp_reply reply;        /* the last one */
    json_t *answer;
};

static struct loop *gcp_call_loop(const struct gcp_call *call)
{
    return call->client->setup.base.loop;
}

/* ---- the client ---- */

struct gcp_client *gcp_client_new(const struct gcp_client_setup *setup)
{
    struct gcp_client *client = HEAP_NEW(struct gcp_client);
    client->setup = *setup;
    arena_init(&client->arena);
    client->setup.project = arena_str(&client->arena, setup->project);
    client->credentials = gcp_credentials_new(&client->setup.base);
    client->rng = (struct rng){setup->seed};
    return client;
}

static void gcp_call_free(struct gcp_call *call)
{
    *(call->before ? &call->before->next : &call->client->calls) = call->next;
    if (call->next) {
        call->next->before = call->before;
    }
    if (call->http) {
        http_forget(call->http);
    }
    gcp_credentials_leave(call->client->credentials, &call->wait);
    loop_timer_free(call->timer);
    json_decref(call->answer);
    arena_clear(&call->arena);
    free(call);
}

void gcp_client_free(struct gcp_client *client)
{
    while (client->calls) {
        gcp_call_free(client->calls);
    }
    gcp_credentials_free(client->credentials);
    arena_clear(&client->arena);
    free(client);
}

int64_t gcp_client_now_ms(const struct gcp_client *client)
{
    struct loop *loop = client->setup.base.loop;
    return client->time.is_known ? server_clock_ms(&client->time, loop_now_ms(loop))
                                 : clock_wall_ms(loop_clock(loop));
}

struct str gcp_client_project(const struct gcp_client *client)
{
    return client->setup.project.len > 0 ? client->setup.project : client->found_project;
}

struct str gcp_client_source(const struct gcp_client *client)
{
    return client->source;
}

void gcp_client_set_lease(struct gcp_client *client, struct gcp_lease lease)
{
    client->lease = lease;
}

bool gcp_client_has_lease(const struct gcp_client *client)
{
    return loop_now_ms(client->setup.base.loop) + LEASE_MARGIN_MS < client->lease.ends_ms &&
           gcp_client_now_ms(client) + LEASE_MARGIN_MS < client->lease.until_ms;
}

void gcp_request_id(struct str text, char ret_id[GCP_REQUEST_ID_SIZE])
{
    uint8_t bytes[SHA256_BYTES];
    char hex[2 * UUID_BYTES + 1];
    if (text.len > 0) {
        sha256(text, bytes);
    } else if (getentropy(bytes, UUID_BYTES) != 0) {
        panic("cannot read random bytes from the system");
    }
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    encode_hex_to(hex, bytes, UUID_BYTES);
    snprintf(ret_id, GCP_REQUEST_ID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12,
             hex + 16, hex + 20);
}

/* ---- turns ---- */

static bool is_change(const struct gcp_call *call)
{
    return !call->request.service && call->request.method != NULL &&
           strcmp(call->request.method, "GET") != 0;
}

/* A change of a thousand instances must not delay the lease, which is in templates. */
static bool gcp_call_takes_turn(const struct gcp_call *call)
{
    return is_change(call) && !str_starts(str_from(call->request.name), "instanceTemplates.");
}

static void gcp_call_unqueue(struct gcp_call *call)
{
    struct gcp_call **at = &call->queue->first;
    struct gcp_call *before = NULL;
    while (*at != call) { /* nearly always the first */
        before = *at;
        at = &before->next_queued;
    }
    *at = call->next_queued;
    call->queue->last = call->queue->last == call ? before : call->queue->last;
    call->queue = NULL;
    call->next_queued = NULL;
}

/* The next change of the queues is sent, from the loop. */
static void gcp_client_give_turn(struct gcp_client *client)
{
    struct gcp_call *fresh = client->busy < BUSY_MAX ? client->fresh.first : NULL;
    struct gcp_call *call = client->again.first ? client->again.first : fresh;
    if (call && client->sending < SENDING_MAX) {
        gcp_call_unqueue(call);
        loop_timer_start(call->timer, 0);
    }
}

/* False: it is not its turn yet, and it was queued. */
static bool gcp_call_take_turn(struct gcp_call *call)
{
    struct gcp_client *client = call->client;
    if (client->sending >= SENDING_MAX || (!call->is_busy && client->busy >= BUSY_MAX)) {
        call->queue = call->is_busy ? &client->again : &client->fresh;
        *(call->queue->first ? &call->queue->last->next_queued : &call->queue->first) = call;
        call->queue->last = call;
        int64_t left = call->ends_ms - loop_now_ms(gcp_call_loop(call));
        loop_timer_start(call->timer, left > 0 ? left : 0);
        return false;
    }
    client->busy += !call->is_busy;
    call->is_busy = true;
    return true;
}

/* ---- ending ---- */

static void gcp_call_finish(struct gcp_call *call)
{
    struct gcp_reply *reply = &call->reply;
    reply->is_in_doubt = call->is_in_doubt;
    if (!reply->is_ok) {
        const struct gcp_failure *failure = &reply->failure;
        err_set(&reply->err, gcp_failure_kind(failure), "Google's %s: %s%s%s%s", call->request.name,
                failure->message, *failure->reason ? " (" : "", failure->reason,
                *failure->reason ? ")" : "");
    }
    call->http = NULL;
    struct gcp_client *client = call->client;
    client->busy -= call->is_busy;
    call->request.done(call->request.context, reply);
    gcp_call_free(call);
    gcp_client_give_turn(client);
}

static void gcp_call_set(struct gcp_call *call, enum outcome outcome, int status, const char *why)
{
    struct gcp_failure *failure = &call->reply.failure;
    call->reply.is_ok = false;
    *failure = (struct gcp_failure){.outcome = outcome, .status = status};
    snprintf(failure->message, sizeof(failure->message), "%.*s",
             STR_ARG(str_sub(str_from(why), 0, sizeof(failure->message) - 1)));
}

/* After a try that may have had an effect, a refusal that depends on the caller or on the rate of
 * requests proves nothing. */
static void gcp_call_give_up(struct gcp_call *call)
{
    struct gcp_failure *failure = &call->reply.failure;
    bool proves = failure->outcome == OUTCOME_INVALID || failure->outcome == OUTCOME_QUOTA ||
                  failure->outcome == OUTCOME_CAPACITY || failure->outcome == OUTCOME_MISMATCH ||
                  failure->outcome == OUTCOME_NOT_FOUND;
    if (call->is_in_doubt && !proves) {
        failure->outcome = OUTCOME_UNKNOWN;
    }
    gcp_call_finish(call);
}

/* ---- sending ---- */

static void gcp_call_send(void *context);

static void gcp_call_pause(struct gcp_call *call)
{
    int64_t now = loop_now_ms(gcp_call_loop(call));
    unsigned doublings = call->tries < DOUBLINGS_MAX ? call->tries : DOUBLINGS_MAX;
    int64_t most = (int64_t)PAUSE_FIRST_MS << doublings;
    int64_t limit = call->operation.len > 0 ? POLL_MOST_MS : PAUSE_MOST_MS;
    most = most < limit ? most : limit;
    int64_t pause = rng_between(&call->client->rng, most / 4, most);
    if (now + pause >= call->ends_ms) {
        gcp_call_give_up(call);
        return;
    }
    loop_timer_start(call->timer, pause);
}

static bool gcp_call_may_send(void *context)
{
    const struct gcp_call *call = context;
    return !call->request.creates || call->operation.len > 0 || gcp_client_has_lease(call->client);
}

static void gcp_call_on_http(void *context, const struct http_reply *reply);

/* The address of the API, with a slash. */
static struct str gcp_call_base(const struct gcp_call *call, const struct gcp_access *access,
                                struct arena *arena)
{
    const char *service = call->request.service;
    AUTO_BUF struct buf name;
    buf_init(&name, sizeof(ENDPOINT_VARIABLE) + SERVICE_BYTES_MAX);
    buf_add_c(&name, ENDPOINT_VARIABLE);
    for (const char *c = service ? service : "compute"; *c; c++) {
        buf_add_char(&name, (char)(*c - 'a' + 'A'));
    }
    const char *other = variable_get(call->client->setup.base.environ, name.ptr);
    if (other && *other) {
        return arena_printf(arena, "%s%s", other, str_ends(str_from(other), "/") ? "" : "/");
    }
    return service ? arena_printf(arena, OTHER_ENDPOINT, service, STR_ARG(access->universe))
                   : arena_printf(arena, ENDPOINT, STR_ARG(access->universe));
}

static struct str gcp_call_url(const struct gcp_call *call, const struct gcp_access *access,
                               struct arena *arena)
{
    struct str base = gcp_call_base(call, access, arena);
    struct str path = call->operation.len > 0 ? call->operation : call->request.path;
    const char *wait = call->is_held ? "/wait" : "";
    if (call->request.has_project) {
        return arena_printf(arena, "%.*s%.*s", STR_ARG(base), STR_ARG(path));
    }
    AUTO_BUF struct buf id;
    buf_init(&id, GCP_REQUEST_ID_SIZE + 16);
    if (is_change(call) && call->operation.len == 0) {
        buf_addf(&id, "%crequestId=%.*s", str_find_char(path, '?') == SIZE_MAX ? '?' : '&',
                 STR_ARG(call->request.request_id));
    }
    return arena_printf(arena, "%.*sprojects/%.*s/%.*s%s%s", STR_ARG(base),
                        STR_ARG(gcp_client_project(call->client)), STR_ARG(path), wait,
                        id.ptr ? id.ptr : "");
}

static int64_t gcp_call_try_ms(const struct gcp_call *call)
{
    int64_t left = call->ends_ms - loop_now_ms(gcp_call_loop(call));
    int64_t most = call->is_held ? WAIT_TRY_MS : TRY_MS;
    left = left > 1000 ? left : 1000;
    return left < most ? left : most;
}

static void gcp_call_send_with(struct gcp_call *call, const struct gcp_access *access)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    bool waits = call->operation.len > 0;
    call->is_held = waits && call->client->held < HELD_MAX;
    call->client->held += call->is_held;
    call->client->sending += call->is_busy;
    const char *method = call->is_held ? "POST" : waits ? "GET" : call->request.method;
    struct http_header headers[4] = {
        {STR("Authorization"), arena_printf(&arena, "Bearer %.*s", STR_ARG(access->token))}};
    size_t count = 1;
    if (access->quota_project.len > 0) {
        headers[count++] = (struct http_header){STR("x-goog-user-project"), access->quota_project};
    }
    if (call->body.len > 0 && !waits) {
        headers[count++] = (struct http_header){STR("Content-Type"), STR("application/json")};
    } else if (call->is_held || (is_change(call) && !waits)) {
        headers[count++] = (struct http_header){STR("Content-Length"), STR("0")};
    }
    struct str url = gcp_call_url(call, access, &arena);
    call->tries++;
    call->sent_ms = loop_now_ms(gcp_call_loop(call));
    if (is_change(call) && !waits) {
        failpoint("gcp", call->request.name, "before");
    }
    call->http = http_start(call->client->setup.base.http,
                            &(struct http_request){.method = method,
                                                   .url = url.ptr,
                                                   .headers = headers,
                                                   .header_count = count,
                                                   .body = waits ? STR("") : call->body,
                                                   .total_ms = gcp_call_try_ms(call),
                                                   .body_max = REPLY_BYTES_MAX,
                                                   .may_send = gcp_call_may_send,
                                                   .done = gcp_call_on_http,
                                                   .context = call});
}

static void gcp_call_refuse_lease(struct gcp_call *call)
{
    gcp_call_set(call, OUTCOME_NO_LEASE, 0, "not sent, because the cluster's lease was lost");
    gcp_call_give_up(call);
}

static void gcp_call_send(void *context)
{
    struct gcp_call *call = context;
    struct gcp_client *client = call->client;
    if (gcp_call_takes_turn(call) && !gcp_call_take_turn(call)) {
        return;
    }
    const struct gcp_access *access = gcp_credentials_now(client->credentials, &call->token_number);
    if (!access) {
        gcp_credentials_await(client->credentials, &call->wait);
        return;
    }
    if (client->found_project.len == 0) {
        client->found_project = arena_str(&client->arena, access->project);
    }
    if (client->source.len == 0) {
        client->source = arena_str(&client->arena, access->source);
    }
    if (gcp_client_project(client).len == 0) {
        gcp_call_set(call, OUTCOME_INVALID, 0,
                     "the project is not known; set provider.project_id in the cluster file");
        gcp_call_give_up(call);
    } else if (!gcp_call_may_send(call)) {
        gcp_call_refuse_lease(call);
    } else {
        gcp_call_send_with(call, access);
    }
}

static void gcp_call_on_token(void *context, const struct err *err)
{
    struct gcp_call *call = context;
    if (err) {
        gcp_call_set(call, OUTCOME_DENIED, 0, err->text);
        gcp_call_give_up(call);
        return;
    }
    gcp_call_send(call);
}

/* ---- replies ---- */

static void gcp_call_observe(struct gcp_call *call, const struct http_reply *reply)
{
    int64_t date;
    if (aws_time_parse_http(http_find_header(reply, "Date"), &date)) {
        server_clock_observe(&call->client->time, date, call->sent_ms,
                             loop_now_ms(gcp_call_loop(call)));
    }
}

/* Waits for the operation of an accepted change, or ends. */
static void gcp_call_on_operation(struct gcp_call *call)
{
    struct gcp_operation_state state;
    struct str scope = call->request.path;
    bool has_waited = call->operation.len > 0;
    if (!gcp_operation_state_read(call->answer, &state)) {
        gcp_call_set(call, OUTCOME_UNKNOWN, 0, "the reply is not an operation");
        call->is_in_doubt = true;
        gcp_call_pause(call);
        return;
    }
    if (!state.is_done && !call->request.is_accepted_only) {
        struct str first = str_cut(&scope, '/');
        struct str zone = str_is(first, "zones") ? str_cut(&scope, '/') : STR("");
        call->operation = arena_printf(&call->arena, "%.*s%s%.*s/operations/%.*s", STR_ARG(first),
                                       zone.len > 0 ? "/" : "", STR_ARG(zone), STR_ARG(state.name));
        call->tries = has_waited ? call->tries : 0;
        gcp_call_set(call, OUTCOME_UNKNOWN, 0, "the operation has not ended in time");
        if (!has_waited && call->request.accepted) {
            call->request.accepted(call->request.context);
        }
        if (loop_now_ms(gcp_call_loop(call)) >= call->ends_ms) {
            gcp_call_give_up(call);
        } else if (has_waited) { /* Google answers a wait at once if it is overloaded */
            gcp_call_pause(call);
        } else {
            gcp_call_send(call);
        }
        return;
    }
    call->reply.is_ok = !state.has_failed;
    call->reply.failure = state.failure;
    call->reply.body = call->answer;
    gcp_call_finish(call);
}

static void gcp_call_on_success(struct gcp_call *call, struct str body)
{
    json_decref(call->answer);
    call->answer = json_loadb(body.ptr ? body.ptr : "", body.len, 0, NULL);
    if (!json_is_object(call->answer)) {
        gcp_call_set(call, OUTCOME_UNKNOWN, 200, "the reply cannot be read");
        call->is_in_doubt |= is_change(call) && call->operation.len == 0;
        gcp_call_pause(call);
        return;
    }
    if (call->request.waits || call->request.is_accepted_only) {
        gcp_call_on_operation(call);
        return;
    }
    call->reply.is_ok = true;
    call->reply.body = call->answer;
    gcp_call_finish(call);
}

static void gcp_call_on_refusal(struct gcp_call *call, const struct http_reply *reply)
{
    struct gcp_failure *failure = &call->reply.failure;
    call->reply.is_ok = false;
    gcp_failure_read(reply->status, reply->body, failure);
    if (call->operation.len > 0 && failure->outcome == OUTCOME_NOT_FOUND) {
        failure->outcome = OUTCOME_UNKNOWN; /* the operation was forgotten */
        call->is_in_doubt = true;
        gcp_call_finish(call);
        return;
    }
    if (failure->status == 401 && !call->was_refused) {
        call->was_refused = true;
        gcp_credentials_reject(call->client->credentials, call->token_number);
        gcp_call_send(call);
        return;
    }
    if (failure->outcome == OUTCOME_UNKNOWN || failure->outcome == OUTCOME_THROTTLED) {
        call->is_in_doubt |= failure->outcome == OUTCOME_UNKNOWN && is_change(call);
        gcp_call_pause(call);
        return;
    }
    gcp_call_give_up(call);
}

static void gcp_call_on_http(void *context, const struct http_reply *reply)
{
    struct gcp_call *call = context;
    call->http = NULL;
    call->client->held -= call->is_held;
    call->client->sending -= call->is_busy;
    call->is_held = false;
    gcp_client_give_turn(call->client);
    if (is_change(call) && call->operation.len == 0) {
        failpoint("gcp", call->request.name, "reply");
    }
    if (reply->outcome == HTTP_CANCELLED) { /* perhaps while it was sent again */
        call->is_in_doubt |= reply->may_have_acted && is_change(call);
        gcp_call_refuse_lease(call);
    } else if (reply->outcome != HTTP_REPLIED) {
        gcp_call_set(call, OUTCOME_UNKNOWN, 0, reply->err.text);
        call->is_in_doubt |= reply->may_have_acted && is_change(call);
        if (reply->outcome == HTTP_BAD_REQUEST || reply->outcome == HTTP_NOT_TRUSTED) {
            call->reply.failure.outcome = OUTCOME_INVALID;
            gcp_call_give_up(call);
        } else {
            gcp_call_pause(call);
        }
    } else {
        gcp_call_observe(call, reply);
        if (reply->status == 200) {
            gcp_call_on_success(call, reply->body);
        } else {
            gcp_call_on_refusal(call, reply);
        }
    }
}

/* ---- starting ---- */

static void gcp_call_on_timer(void *context)
{
    struct gcp_call *call = context;
    if (!call->queue) {
        gcp_call_send(call);
        return;
    }
    gcp_call_unqueue(call); /* its time is over */
    if (!call->is_busy) {
        gcp_call_set(call, OUTCOME_THROTTLED, 0,
                     "not sent: too many other changes are in progress");
    }
    gcp_call_give_up(call);
}

void gcp_call_start(struct gcp_client *client, const struct gcp_request *request)
{
    struct gcp_call *call = HEAP_NEW(struct gcp_call);
    char id[GCP_REQUEST_ID_SIZE];
    AUTO_BUF struct buf body;
    int64_t deadline = request->waits ? OPERATION_MS : CALL_MS;
    arena_init(&call->arena);
    call->client = client;
    call->request = *request;
    call->request.path = arena_str(&call->arena, request->path);
    gcp_request_id(STR(""), id);
    call->request.request_id = arena_str(
        &call->arena, request->request_id.len > 0 ? request->request_id : str_from(id));
    buf_init(&body, BODY_BYTES_MAX);
    if (request->body && !json_add(request->body, &body)) {
        panic("a request of %s is too large", request->name);
    }
    call->body = arena_str(&call->arena, buf_str(&body));
    call->ends_ms = loop_now_ms(client->setup.base.loop) +
                    (request->deadline_ms > 0 ? request->deadline_ms : deadline);
    call->wait = (struct waiter){.ready = gcp_call_on_token, .context = call};
    call->timer = loop_timer_new(client->setup.base.loop, gcp_call_on_timer, call);
    call->next = client->calls;
    if (call->next) {
        call->next->before = call;
    }
    client->calls = call;
    loop_timer_start(call->timer, 0);
}
