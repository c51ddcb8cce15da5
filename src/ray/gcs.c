/* gcs.c: the GCS client: the cluster id, calls, and the meaning of failures. */
#include "ray/gcs.h"

#include "base/arena.h"
#include "base/encode.h"
#include "io/xalloc.h"
#include "ray/gcs.pb-c.h"
#include "ray/gcs_internal.h"

enum { ID_TEXT = 2 * RAY_ID_BYTES };

/* More than Ray would accept. */
enum { BODY_BYTES_MAX = 128 << 20 };

struct gcs {
    struct http *http;
    struct arena arena;
    const char *server;
    const char *ca_file, *cert_file, *key_file;
    struct str bearer;            /* "Bearer ..."; empty if none */
    char cluster_id[ID_TEXT + 1]; /* empty if unknown */
    bool is_asking_id;
    bool *is_gone; /* set by gcs_close(), for a loop that is calling several finishers */
    int64_t deadline_ms;
    struct gcs_call *calls;
};

#define ID_METHOD GCS_NODES "GetClusterId"

/* ---- opening and closing ---- */

static const char *copy_path(struct gcs *gcs, const char *path)
{
    return path ? arena_str(&gcs->arena, str_from(path)).ptr : NULL;
}

struct gcs *gcs_open(const struct gcs_setup *setup)
{
    struct gcs *gcs = HEAP_NEW(struct gcs);
    arena_init_secret(&gcs->arena); /* contains the token */
    gcs->http = setup->http;
    gcs->server = copy_path(gcs, setup->server);
    gcs->ca_file = copy_path(gcs, setup->ca_file);
    gcs->cert_file = copy_path(gcs, setup->cert_file);
    gcs->key_file = copy_path(gcs, setup->key_file);
    gcs->deadline_ms = setup->deadline_ms;
    if (setup->token.len > 0) {
        gcs->bearer = arena_printf(&gcs->arena, "Bearer %.*s", STR_ARG(setup->token));
    }
    return gcs;
}

struct gcs_call *gcs_call_new(struct gcs *gcs, const char *method, gcs_finish_fn *finish,
                              void *context)
{
    struct gcs_call *call = HEAP_NEW(struct gcs_call);
    buf_init(&call->body, BODY_BYTES_MAX);
    call->gcs = gcs;
    call->method = method;
    call->finish = finish;
    call->context = context;
    call->next = gcs->calls;
    if (gcs->calls) {
        gcs->calls->before = call;
    }
    gcs->calls = call;
    return call;
}

static void free_call(struct gcs_call *call)
{
    buf_clear(&call->body);
    free(call);
}

static void leave_list(struct gcs_call *call)
{
    if (call->before) {
        call->before->next = call->next;
    } else {
        call->gcs->calls = call->next;
    }
    if (call->next) {
        call->next->before = call->before;
    }
    call->gcs = NULL;
}

void gcs_close(struct gcs *gcs)
{
    while (gcs->calls) {
        struct gcs_call *call = gcs->calls;
        leave_list(call);
        loop_later_cancel(http_loop(gcs->http), &call->refusal);
        if (call->http) {
            grpc_forget(call->http);
        }
        free_call(call);
    }
    if (gcs->is_gone) {
        *gcs->is_gone = true;
    }
    arena_clear(&gcs->arena);
    free(gcs);
}

/* ---- failures ---- */

static enum gcs_trouble gcs_evaluate(const struct grpc_reply *reply)
{
    switch (reply->status) {
    case GRPC_OK:
        return GCS_FINE;
    case GRPC_UNAUTHENTICATED:
        return str_starts(reply->message, "WrongClusterID") ? GCS_OTHER_CLUSTER : GCS_TOKEN_REFUSED;
    case GRPC_UNIMPLEMENTED:
        return GCS_TOO_OLD;
    case GRPC_UNKNOWN: /* returned by a GCS that is starting or shutting down */
    case GRPC_UNAVAILABLE:
    case GRPC_DEADLINE_EXCEEDED:
    case GRPC_CANCELLED:
        return GCS_AWAY;
    case GRPC_ABORTED:
        /* Up to Ray 2.51. */
        return str_is(reply->message, "AuthError") ? GCS_OTHER_CLUSTER : GCS_REFUSED;
    case GRPC_INVALID_ARGUMENT:
    case GRPC_NOT_FOUND:
    case GRPC_INTERNAL:
        break;
    }
    return GCS_REFUSED;
}

/* Ends a call: calls its finisher and frees it. */
static void end_call(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    leave_list(call);
    call->finish(call, answer, body);
    free_call(call);
}

static void gcs_handle(void *context, const struct grpc_reply *reply)
{
    struct gcs_call *call = context;
    struct gcs_answer answer = {
        .trouble = gcs_evaluate(reply), .has_no_server = reply->has_no_server, .err = reply->err};
    if (answer.trouble == GCS_OTHER_CLUSTER) {
        call->gcs->cluster_id[0] = '\0'; /* the next call requests the current id */
    }
    end_call(call, &answer, reply->body);
}

/* A complete reply that cannot be parsed. */
struct gcs_answer gcs_garbled(const char *method)
{
    struct gcs_answer answer = {.trouble = GCS_REFUSED};
    err_set(&answer.err, ERR_PROTOCOL, "%s: invalid reply", method);
    return answer;
}

/* Most services include a status of their own in a successful reply. */
bool gcs_is_refused(const struct Shoal__Gcs__Status *status, const char *method,
                    struct gcs_answer *answer)
{
    if (!status || status->code == 0) {
        return false;
    }
    answer->trouble = GCS_REFUSED;
    err_set(&answer->err, ERR_PROTOCOL, "%s: %s (code %d)", method, status->message,
            (int)status->code);
    return true;
}

/* ---- sending ---- */

static void send_call(struct gcs_call *call, bool with_id)
{
    struct gcs *gcs = call->gcs;
    struct http_header metadata[2];
    size_t count = 0;
    if (gcs->bearer.len > 0) {
        metadata[count++] = (struct http_header){STR("authorization"), gcs->bearer};
    }
    if (with_id) {
        metadata[count++] = (struct http_header){STR("ray_cluster_id"), str_from(gcs->cluster_id)};
    }
    struct grpc_request request = {
        .server = gcs->server,
        .method = call->method,
        .metadata = metadata,
        .metadata_count = count,
        .body = buf_str(&call->body),
        .deadline_ms = gcs->deadline_ms,
        .ca_file = gcs->ca_file,
        .cert_file = gcs->cert_file,
        .key_file = gcs->key_file,
        .done = gcs_handle,
        .context = call,
    };
    call->http = grpc_start(gcs->http, &request);
}

/* Stores the id, or returns why it is invalid. */
static struct gcs_answer take_id(struct gcs *gcs, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    if (answer->trouble != GCS_FINE) {
        return result;
    }
    Shoal__Gcs__ClusterIdReply *reply = shoal__gcs__cluster_id_reply__unpack(
        NULL, body.len, (const uint8_t *)body.ptr);
    if (!reply || reply->cluster_id.len != RAY_ID_BYTES) {
        result = gcs_garbled(ID_METHOD);
    } else if (!gcs_is_refused(reply->status, ID_METHOD, &result)) {
        encode_hex_to(gcs->cluster_id, reply->cluster_id.data, RAY_ID_BYTES);
    }
    shoal__gcs__cluster_id_reply__free_unpacked(reply, NULL);
    return result;
}

/* Sends the calls that waited for the id, or fails them. A finisher may start new calls, which are
 * inserted before the current ones and wait for the next id. It may also close the client. */
static void on_id(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs *gcs = call->context;
    struct gcs_answer result = take_id(gcs, answer, body);
    bool is_gone = false;
    gcs->is_asking_id = false;
    gcs->is_gone = &is_gone;
    struct gcs_call *next;
    for (struct gcs_call *waiting = gcs->calls; waiting && !is_gone; waiting = next) {
        next = waiting->next;
        if (waiting->http || waiting->refusal.is_waiting) {
            continue;
        }
        if (result.trouble == GCS_FINE) {
            send_call(waiting, true);
        } else {
            end_call(waiting, &result, (struct str){0});
        }
    }
    if (!is_gone) {
        gcs->is_gone = NULL;
    }
}

void gcs_call_start(struct gcs_call *call)
{
    struct gcs *gcs = call->gcs;
    if (call->body.is_full) {
        struct err err;
        err_set(&err, ERR_INTERNAL, "%s: the request is too long", call->method);
        gcs_call_refuse(call, &err);
    } else if (gcs->cluster_id[0] != '\0') {
        send_call(call, true);
    } else if (!gcs->is_asking_id) {
        gcs->is_asking_id = true;
        send_call(gcs_call_new(gcs, ID_METHOD, on_id, gcs), false);
    }
}

/* ---- refused calls ---- */

static void end_refused(void *context)
{
    struct gcs_call *call = context;
    struct gcs_answer answer = {.trouble = GCS_REFUSED, .err = call->refused};
    end_call(call, &answer, (struct str){0});
}

void gcs_call_refuse(struct gcs_call *call, const struct err *why)
{
    call->refused = *why;
    call->refusal = (struct loop_task){.run = end_refused, .context = call};
    loop_defer(http_loop(call->gcs->http), &call->refusal);
}
