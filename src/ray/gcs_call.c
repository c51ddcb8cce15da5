/* gcs_call.c: general calls to a GCS: liveness, nodes, versions. */
#include "base/arena.h"
#include "base/encode.h"
#include "ray/gcs.h"
#include "ray/gcs.pb-c.h"
#include "ray/gcs_internal.h"
#include "ray/wire.h"

/* ---- CheckAlive ---- */

static void gcs_call_handle_alive(struct gcs_call *call, const struct gcs_answer *answer,
                                  struct str body)
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
    struct gcs_call *call = gcs_call_new(gcs, GCS_NODES "CheckAlive", gcs_call_handle_alive,
                                         context);
    call->done.alive = done;
    gcs_call_start(call);
}

/* ---- GetAllNodeInfo ---- */

/* Value of Ray's NodeDeathInfo.Reason. */
enum { DEATH_BY_PREEMPTION = 3 };

static struct str gcs_call_copy(struct arena *arena, const char *text)
{
    return arena_str(arena, str_from(text));
}

static struct gcs_node gcs_call_read_node(const Shoal__Gcs__Node *from, struct arena *arena)
{
    char id[2 * RAY_ID_BYTES + 1] = "";
    const Shoal__Gcs__DeathInfo *death = from->death_info;
    if (from->node_id.len == RAY_ID_BYTES) {
        encode_hex_to(id, from->node_id.data, RAY_ID_BYTES);
    }
    return (struct gcs_node){
        .id = gcs_call_copy(arena, id),
        .address = gcs_call_copy(arena, from->address),
        .hostname = gcs_call_copy(arena, from->hostname),
        .instance_id = gcs_call_copy(arena, from->instance_id),
        .type = gcs_call_copy(arena, from->node_type_name),
        .death = death ? gcs_call_copy(arena, death->message) : (struct str){0},
        .is_preempted = death && death->reason == DEATH_BY_PREEMPTION,
        .started_ms = (int64_t)from->start_time_ms,
        .ended_ms = (int64_t)from->end_time_ms,
        .is_alive = from->state == 0,
        .is_head = from->is_head,
    };
}

struct gcs_answer gcs_nodes_read(struct str body, struct arena *arena,
                                 const struct gcs_node **ret_nodes, size_t *ret_count)
{
    static const char method[] = GCS_NODES "GetAllNodeInfo";
    struct gcs_answer answer = {GCS_FINE, {0}};
    Shoal__Gcs__NodesReply *reply = shoal__gcs__nodes_reply__unpack(NULL, body.len,
                                                                    (const uint8_t *)body.ptr);
    struct gcs_node *nodes = NULL;
    size_t count = 0;
    if (!reply) {
        answer = gcs_garbled(method);
    } else if (!gcs_is_refused(reply->status, method, &answer)) {
        count = reply->n_nodes;
        nodes = ARENA_ARRAY(arena, count, struct gcs_node);
    }
    for (size_t i = 0; i < count; i++) {
        nodes[i] = gcs_call_read_node(reply->nodes[i], arena);
    }
    shoal__gcs__nodes_reply__free_unpacked(reply, NULL);
    *ret_nodes = nodes;
    *ret_count = count;
    return answer;
}

static void on_nodes(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const struct gcs_node *nodes = NULL;
    size_t count = 0;
    if (answer->trouble == GCS_FINE) {
        result = gcs_nodes_read(body, &arena, &nodes, &count);
    }
    call->done.nodes(call->context, &result, nodes, count);
}

void gcs_list_nodes(struct gcs *gcs, gcs_nodes_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, GCS_NODES "GetAllNodeInfo", on_nodes, context);
    call->done.nodes = done;
    gcs_call_start(call);
}

/* {state_filter: DEAD}; a release without the filter returns all nodes. */
void gcs_list_dead_nodes(struct gcs *gcs, gcs_nodes_fn *done, void *context)
{
    enum { STATE_DEAD = 1 };
    struct gcs_call *call = gcs_call_new(gcs, GCS_NODES "GetAllNodeInfo", on_nodes, context);
    call->done.nodes = done;
    wire_add_number(&call->body, 3, STATE_DEAD);
    gcs_call_start(call);
}

/* ---- GetDrainingNodes ---- */

#define DRAINING "/ray.rpc.NodeResourceInfoGcsService/GetDrainingNodes"

struct gcs_answer gcs_draining_read(struct str body, struct arena *arena,
                                    const struct gcs_draining **ret_nodes, size_t *ret_count)
{
    struct gcs_answer answer = {GCS_FINE, {0}};
    Shoal__Gcs__DrainingReply *reply = shoal__gcs__draining_reply__unpack(
        NULL, body.len, (const uint8_t *)body.ptr);
    struct gcs_draining *nodes = NULL;
    size_t count = 0;
    if (!reply) {
        answer = gcs_garbled(DRAINING);
    } else if (!gcs_is_refused(reply->status, DRAINING, &answer)) {
        nodes = ARENA_ARRAY(arena, reply->n_nodes, struct gcs_draining);
        for (size_t i = 0; i < reply->n_nodes; i++) {
            const Shoal__Gcs__DrainingNode *from = reply->nodes[i];
            char id[2 * RAY_ID_BYTES + 1] = "";
            if (from->node_id.len == RAY_ID_BYTES) {
                encode_hex_to(id, from->node_id.data, RAY_ID_BYTES);
                nodes[count++] = (struct gcs_draining){
                    .id = arena_str(arena, str_from(id)),
                    .deadline_ms = from->deadline_ms > 0 ? from->deadline_ms : 0,
                };
            }
        }
    }
    shoal__gcs__draining_reply__free_unpacked(reply, NULL);
    *ret_nodes = nodes;
    *ret_count = count;
    return answer;
}

static void on_draining(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const struct gcs_draining *nodes = NULL;
    size_t count = 0;
    if (answer->trouble == GCS_FINE) {
        result = gcs_draining_read(body, &arena, &nodes, &count);
    }
    call->done.draining(call->context, &result, nodes, count);
}

void gcs_list_draining(struct gcs *gcs, gcs_draining_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, DRAINING, on_draining, context);
    call->done.draining = done;
    gcs_call_start(call);
}

/* ---- InternalKVGet ---- */

enum { STATUS_NOT_FOUND = 17 };

#define KV_GET "/ray.rpc.InternalKVGcsService/InternalKVGet"

/* KvGetRequest {key: "CLUSTER_METADATA", namespace: "cluster"} */
#define VERSIONS_REQUEST \
    "\x0a\x10"           \
    "CLUSTER_METADATA"   \
    "\x12\x07"           \
    "cluster"

struct gcs_answer gcs_versions_read(struct str body, struct arena *arena, bool *ret_is_there,
                                    struct gcs_versions *ret_versions)
{
    struct gcs_answer answer = {GCS_FINE, {0}};
    Shoal__Gcs__KvGetReply *reply = shoal__gcs__kv_get_reply__unpack(NULL, body.len,
                                                                     (const uint8_t *)body.ptr);
    *ret_is_there = false;
    if (!reply) {
        answer = gcs_garbled(KV_GET);
    } else if (reply->status && reply->status->code == STATUS_NOT_FOUND) {
        *ret_is_there = false; /* the value is not published yet */
    } else if (!gcs_is_refused(reply->status, KV_GET, &answer)) {
        struct str json = {(const char *)reply->value.data, reply->value.len};
        *ret_is_there = gcs_versions_from(json, arena, ret_versions, &answer.err);
        answer.trouble = *ret_is_there ? GCS_FINE : GCS_REFUSED;
    }
    shoal__gcs__kv_get_reply__free_unpacked(reply, NULL);
    return answer;
}

static void gcs_call_handle_versions(struct gcs_call *call, const struct gcs_answer *answer,
                                     struct str body)
{
    struct gcs_answer result = *answer;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct gcs_versions versions;
    bool is_there = false;
    if (answer->trouble == GCS_FINE) {
        result = gcs_versions_read(body, &arena, &is_there, &versions);
    }
    call->done.versions(call->context, &result, is_there ? &versions : NULL);
}

void gcs_read_versions(struct gcs *gcs, gcs_versions_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, KV_GET, gcs_call_handle_versions, context);
    buf_add(&call->body, STR(VERSIONS_REQUEST));
    call->done.versions = done;
    gcs_call_start(call);
}
