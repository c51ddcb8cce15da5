/* gcs_ask.c: what anybody may ask a GCS: is it alive, who is there, which versions. */
#include "base/arena.h"
#include "base/encode.h"
#include "ray/gcs.h"
#include "ray/gcs.pb-c.h"
#include "ray/gcs_parts.h"

/* ---- CheckAlive ---- */

static void hear_alive(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    Shoal__Gcs__AliveReply *reply = NULL;
    if (answer->trouble == GCS_FINE) {
        reply = shoal__gcs__alive_reply__unpack(NULL, body.len, (const uint8_t *)body.ptr);
        if (!reply) {
            result = gcs_garbled(call->method);
        } else {
            (void)gcs_is_refused(reply->status, call->method, &result);
        }
    }
    bool is_fine = result.trouble == GCS_FINE;
    call->done.alive(call->context, &result, str_from(is_fine ? reply->ray_version : ""));
    shoal__gcs__alive_reply__free_unpacked(reply, NULL);
}

void gcs_check_alive(struct gcs *gcs, gcs_alive_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, GCS_NODES "CheckAlive", hear_alive, context);
    call->done.alive = done;
    gcs_call_start(call);
}

/* ---- GetAllNodeInfo ---- */

static struct gcs_node read_node(const Shoal__Gcs__Node *from, struct arena *arena)
{
    char id[2 * RAY_ID_BYTES + 1] = "";
    if (from->node_id.len == RAY_ID_BYTES) {
        encode_hex_to(id, from->node_id.data, RAY_ID_BYTES);
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
            result = gcs_garbled(call->method);
        } else if (!gcs_is_refused(reply->status, call->method, &result)) {
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
    struct gcs_call *call = gcs_call_new(gcs, GCS_NODES "GetAllNodeInfo", hear_nodes, context);
    call->done.nodes = done;
    gcs_call_start(call);
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
            result = gcs_garbled(call->method);
        } else if (reply->status && reply->status->code == STATUS_NOT_FOUND) {
            is_there = false;
        } else if (!gcs_is_refused(reply->status, call->method, &result)) {
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
    struct gcs_call *call = gcs_call_new(gcs, "/ray.rpc.InternalKVGcsService/InternalKVGet",
                                         hear_versions, context);
    buf_add(&call->body, STR(VERSIONS_REQUEST));
    call->done.versions = done;
    gcs_call_start(call);
}
