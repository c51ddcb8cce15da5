/* gcs.c: the client of a GCS: its cluster's id, its calls, what their failures mean. */
#include "ray/gcs.h"

#include "base/arena.h"
#include "base/encode.h"
#include "io/heap.h"
#include "ray/gcs.pb-c.h"

enum { ID_BYTES = 28, ID_TEXT = 2 * ID_BYTES };

struct gcs_call;
typedef void finish_fn(struct gcs_call *call, const struct gcs_answer *answer, struct str body);

/* In the list of its client from its start to its end. Without a client: nobody waits any more. */
struct gcs_call {
    struct gcs *gcs;
    const char *method;
    struct http_call *http; /* NULL: waits for the cluster's id */
    finish_fn *finish;
    union {
        gcs_alive_fn *alive;
        gcs_nodes_fn *nodes;
        gcs_versions_fn *versions;
    } done;
    void *context;
    struct str body; /* of the request; constant text */
    struct gcs_call *next, *before;
};

struct gcs {
    struct http *http;
    struct arena arena;
    const char *server;
    const char *ca_file, *cert_file, *key_file;
    struct str bearer;            /* "Bearer ..."; empty: none */
    char cluster_id[ID_TEXT + 1]; /* empty: not known */
    bool is_asking_id;
    int64_t deadline_ms;
    struct gcs_call *calls;
};

#define SERVICE "/ray.rpc.NodeInfoGcsService/"

/* ---- opening and closing ---- */

static const char *copy_path(struct gcs *gcs, const char *path)
{
    return path ? arena_str(&gcs->arena, str_from(path)).ptr : NULL;
}

struct gcs *gcs_open(const struct gcs_setup *setup)
{
    struct gcs *gcs = HEAP_NEW(struct gcs);
    arena_init(&gcs->arena);
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

static struct gcs_call *add_call(struct gcs *gcs, const char *method, finish_fn *finish,
                                 void *context)
{
    struct gcs_call *call = HEAP_NEW(struct gcs_call);
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
        if (call->http) {
            http_cancel(call->http); /* frees the call when it has ended */
        } else {
            free(call);
        }
    }
    arena_clear(&gcs->arena);
    free(gcs);
}

/* ---- what failures mean ---- */

static enum gcs_trouble judge(const struct grpc_reply *reply)
{
    switch (reply->status) {
    case GRPC_OK:
        return GCS_FINE;
    case GRPC_UNAUTHENTICATED:
        return str_starts(reply->message, "WrongClusterID") ? GCS_OTHER_CLUSTER : GCS_TOKEN_REFUSED;
    case GRPC_UNIMPLEMENTED:
        return GCS_TOO_OLD;
    case GRPC_UNKNOWN: /* what a GCS says that is just starting or ending */
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

/* The end of a call: its finisher is told, and it is gone. */
static void end_call(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    leave_list(call);
    call->finish(call, answer, body);
    free(call);
}

static void hear(void *context, const struct grpc_reply *reply)
{
    struct gcs_call *call = context;
    if (!call->gcs) {
        free(call);
        return;
    }
    struct gcs_answer answer = {.trouble = judge(reply), .err = reply->err};
    if (answer.trouble == GCS_OTHER_CLUSTER) {
        call->gcs->cluster_id[0] = '\0'; /* the next call asks who it is now */
    }
    end_call(call, &answer, reply->body);
}

/* A reply that came whole and makes no sense. */
static struct gcs_answer garbled(const char *method)
{
    struct gcs_answer answer = {.trouble = GCS_REFUSED};
    err_set(&answer.err, ERR_PROTOCOL, "%s: a reply that is not understood", method);
    return answer;
}

/* Most services put a status of their own into a reply that went well. */
static bool is_refused(const Shoal__Gcs__Status *status, const char *method,
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
        .body = call->body,
        .deadline_ms = gcs->deadline_ms,
        .ca_file = gcs->ca_file,
        .cert_file = gcs->cert_file,
        .key_file = gcs->key_file,
        .done = hear,
        .context = call,
    };
    call->http = grpc_start(gcs->http, &request);
}

/* Takes the id, or says what was wrong with it. */
static struct gcs_answer take_id(struct gcs *gcs, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    if (answer->trouble != GCS_FINE) {
        return result;
    }
    Shoal__Gcs__ClusterIdReply *reply = shoal__gcs__cluster_id_reply__unpack(
        NULL, body.len, (const uint8_t *)body.ptr);
    if (!reply || reply->cluster_id.len != ID_BYTES) {
        result = garbled(SERVICE "GetClusterId");
    } else if (!is_refused(reply->status, SERVICE "GetClusterId", &result)) {
        encode_hex_to(gcs->cluster_id, reply->cluster_id.data, ID_BYTES);
    }
    shoal__gcs__cluster_id_reply__free_unpacked(reply, NULL);
    return result;
}

/* Whoever waited for the id goes on, or hears why not. A finisher may start new calls: they are
 * put before those that are looked at, and wait for the next id. */
static void hear_id(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs *gcs = call->context;
    struct gcs_answer result = take_id(gcs, answer, body);
    gcs->is_asking_id = false;
    struct gcs_call *next;
    for (struct gcs_call *waiting = gcs->calls; waiting; waiting = next) {
        next = waiting->next;
        if (waiting->http) {
            continue;
        }
        if (result.trouble == GCS_FINE) {
            send_call(waiting, true);
        } else {
            end_call(waiting, &result, (struct str){0});
        }
    }
}

static void start(struct gcs_call *call)
{
    struct gcs *gcs = call->gcs;
    if (gcs->cluster_id[0] != '\0') {
        send_call(call, true);
    } else if (!gcs->is_asking_id) {
        gcs->is_asking_id = true;
        send_call(add_call(gcs, SERVICE "GetClusterId", hear_id, gcs), false);
    }
}

/* ---- CheckAlive ---- */

static void hear_alive(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    Shoal__Gcs__AliveReply *reply = NULL;
    if (answer->trouble == GCS_FINE) {
        reply = shoal__gcs__alive_reply__unpack(NULL, body.len, (const uint8_t *)body.ptr);
        if (!reply) {
            result = garbled(call->method);
        } else {
            (void)is_refused(reply->status, call->method, &result);
        }
    }
    bool is_fine = result.trouble == GCS_FINE;
    call->done.alive(call->context, &result, str_from(is_fine ? reply->ray_version : ""));
    shoal__gcs__alive_reply__free_unpacked(reply, NULL);
}

void gcs_check_alive(struct gcs *gcs, gcs_alive_fn *done, void *context)
{
    struct gcs_call *call = add_call(gcs, SERVICE "CheckAlive", hear_alive, context);
    call->done.alive = done;
    start(call);
}

/* ---- GetAllNodeInfo ---- */

static struct gcs_node read_node(const Shoal__Gcs__Node *from, struct arena *arena)
{
    char id[ID_TEXT + 1] = "";
    if (from->node_id.len == ID_BYTES) {
        encode_hex_to(id, from->node_id.data, ID_BYTES);
    }
    return (struct gcs_node){
        .id = arena_str(arena, str_from(id)),
        .address = str_from(from->address),
        .hostname = str_from(from->hostname),
        .instance_id = str_from(from->instance_id),
        .type = str_from(from->node_type_name),
        .death = from->death_info ? str_from(from->death_info->message) : (struct str){0},
        .started_ms = (int64_t)from->start_time_ms,
        .ended_ms = (int64_t)from->end_time_ms,
        .is_alive = from->state == 0,
        .is_head = from->is_head,
    };
}

static void hear_nodes(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    struct arena arena;
    struct gcs_node *nodes = NULL;
    Shoal__Gcs__NodesReply *reply = NULL;
    size_t count = 0;
    arena_init(&arena);
    if (answer->trouble == GCS_FINE) {
        reply = shoal__gcs__nodes_reply__unpack(NULL, body.len, (const uint8_t *)body.ptr);
        if (!reply) {
            result = garbled(call->method);
        } else if (!is_refused(reply->status, call->method, &result)) {
            count = reply->n_nodes;
            nodes = ARENA_ARRAY(&arena, count, struct gcs_node);
        }
    }
    for (size_t i = 0; i < count; i++) {
        nodes[i] = read_node(reply->nodes[i], &arena);
    }
    call->done.nodes(call->context, &result, nodes, count);
    shoal__gcs__nodes_reply__free_unpacked(reply, NULL);
    arena_clear(&arena);
}

void gcs_list_nodes(struct gcs *gcs, gcs_nodes_fn *done, void *context)
{
    struct gcs_call *call = add_call(gcs, SERVICE "GetAllNodeInfo", hear_nodes, context);
    call->done.nodes = done;
    start(call);
}

/* ---- InternalKVGet ---- */

enum { STATUS_NOT_FOUND = 17 };

/* KvGetRequest {key: "CLUSTER_METADATA", namespace: "cluster"} */
#define VERSIONS_REQUEST \
    "\x0a\x10"           \
    "CLUSTER_METADATA"   \
    "\x12\x07"           \
    "cluster"

static void hear_versions(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    struct arena arena;
    struct gcs_versions versions;
    bool is_there = false;
    Shoal__Gcs__KvGetReply *reply = NULL;
    arena_init(&arena);
    if (answer->trouble == GCS_FINE) {
        reply = shoal__gcs__kv_get_reply__unpack(NULL, body.len, (const uint8_t *)body.ptr);
        if (!reply) {
            result = garbled(call->method);
        } else if (reply->status && reply->status->code == STATUS_NOT_FOUND) {
            is_there = false;
        } else if (!is_refused(reply->status, call->method, &result)) {
            struct str json = {(const char *)reply->value.data, reply->value.len};
            is_there = gcs_versions_from(json, &arena, &versions, &result.err);
            result.trouble = is_there ? GCS_FINE : GCS_REFUSED;
        }
    }
    call->done.versions(call->context, &result, is_there ? &versions : NULL);
    shoal__gcs__kv_get_reply__free_unpacked(reply, NULL);
    arena_clear(&arena);
}

void gcs_read_versions(struct gcs *gcs, gcs_versions_fn *done, void *context)
{
    struct gcs_call *call = add_call(gcs, "/ray.rpc.InternalKVGcsService/InternalKVGet",
                                     hear_versions, context);
    call->body = STR(VERSIONS_REQUEST);
    call->done.versions = done;
    start(call);
}
