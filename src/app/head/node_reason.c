/* node_reason.c: names and reasons. */
#include "app/head/node_reason.h"

struct str node_reason_name(const struct managed_node *managed_node, struct arena *arena)
{
    return managed_node->is_head
               ? STR("head")
               : arena_printf(arena, "worker-%llu",
                              (unsigned long long)managed_node->instance - HEAD_INSTANCE);
}

/* Why a node is being terminated. */
static const struct {
    const char *words;
    bool is_failure;
} reasons[REASON_KIND_COUNT] = {
    [REASON_SETUP_FAILED] = {"its setup failed", true},
    [REASON_TOO_SLOW] = {"timed out", true},
    [REASON_CLOUD_ENDED] = {"terminated by the cloud or by a user", true},
    [REASON_RAY_DEAD] = {"Ray reports it dead", true},
    [REASON_LOST_CONTACT] = {"no heartbeat in Ray for too long", true},
    [REASON_IDLE] = {"idle", false},
    [REASON_OUTDATED] = {"outdated: its node type was changed or removed in the file", false},
    [REASON_TYPE_LIMIT] = {"over max_workers of its node type", false},
    [REASON_CLUSTER_LIMIT] = {"over max_workers", false},
    [REASON_DRAINED] = {"drained", false},
    [REASON_NOTICE] = {"spot interruption notice", false},
    [REASON_DOWN] = {"the cluster is being removed", false},
};

bool node_reason_is_failure(const struct node *node)
{
    return node->reason.kind < REASON_KIND_COUNT && reasons[node->reason.kind].is_failure;
}

bool node_reason_is_ending(const struct node *node)
{
    return node->state == NODE_DRAINING || node->state == NODE_TERMINATING ||
           node->state == NODE_FAILED;
}

/* Only spot machines get notices. Any node may be drained externally. */
struct str node_reason_notice(const struct managed_node *managed_node)
{
    bool is_spot = managed_node->machine && managed_node->machine->market == MARKET_SPOT;
    return is_spot ? str_from(reasons[REASON_NOTICE].words) : STR("drained externally");
}

struct str node_reason_text(const struct node *node, struct arena *arena)
{
    const struct reason *reason = &node->reason;
    if (!node_reason_is_ending(node)) {
        return STR("");
    }
    if (reason->kind == REASON_TOO_SLOW) {
        return arena_printf(arena, "timed out after %lld s", (long long)(reason->limit / 1000));
    }
    return reason->kind < REASON_KIND_COUNT ? str_from(reasons[reason->kind].words) : STR("");
}
