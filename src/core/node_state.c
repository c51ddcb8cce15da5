/* node_state.c: the allowed transitions and the meaning of each state. */
#include "core/node_state.h"

#include "base/panic.h"
#include "base/require.h"

#define AS(state) (1u << NODE_##state)

/* clang-format off */
const struct node_state_row node_state_table[NODE_STATE_COUNT] = {
    /* name, counts, pending, running, allowed successors */
    [NODE_GONE] = {"gone", false, false, false,
        AS(REQUESTED) | AS(LAUNCHING) | AS(BOOTING) | AS(READY) | AS(UNLISTED)},
    [NODE_REQUESTED] = {"requested", true, true, false,
        AS(LAUNCHING) | AS(GONE)},
    [NODE_LAUNCHING] = {"launching", true, true, false,
        AS(BOOTING) | AS(SETTING_UP) | AS(READY) | AS(IDLE) | AS(DRAINING) | AS(FAILED)
        | AS(TERMINATING) | AS(GONE)},
    [NODE_BOOTING] = {"booting", true, true, false,
        AS(SETTING_UP) | AS(READY) | AS(IDLE) | AS(DRAINING) | AS(FAILED) | AS(TERMINATING)
        | AS(GONE)},
    [NODE_SETTING_UP] = {"setting up", true, true, false,
        AS(READY) | AS(IDLE) | AS(DRAINING) | AS(FAILED) | AS(TERMINATING) | AS(GONE)},
    [NODE_READY] = {"ready", true, false, true,
        AS(IDLE) | AS(SETTING_UP) | AS(DRAINING) | AS(FAILED) | AS(TERMINATING) | AS(GONE)},
    [NODE_IDLE] = {"idle", true, false, true,
        AS(READY) | AS(SETTING_UP) | AS(DRAINING) | AS(FAILED) | AS(TERMINATING) | AS(GONE)},
    [NODE_DRAINING] = {"draining", true, false, false,
        AS(READY) | AS(IDLE) | AS(BOOTING) | AS(SETTING_UP) | AS(FAILED) | AS(TERMINATING)
        | AS(GONE)},
    [NODE_FAILED] = {"failed", true, false, false,
        AS(READY) | AS(IDLE) | AS(BOOTING) | AS(TERMINATING) | AS(GONE)},
    [NODE_TERMINATING] = {"terminating", true, false, false,
        AS(READY) | AS(IDLE) | AS(BOOTING) | AS(FAILED) | AS(GONE)},
    [NODE_UNLISTED] = {"known to Ray only", false, false, false,
        AS(LAUNCHING) | AS(BOOTING) | AS(READY) | AS(IDLE) | AS(GONE)},
};
/* clang-format on */

const char *node_state_name(enum node_state state)
{
    require(state < NODE_STATE_COUNT, "the node state is valid");
    return node_state_table[state].name;
}

void node_enter(struct node *node, enum node_state state, int64_t now)
{
    require(state < NODE_STATE_COUNT && node->state < NODE_STATE_COUNT, "the node state is valid");
    if (!(node_state_table[node->state].next & (1u << state))) {
        panic("invalid node state change from %s to %s", node_state_table[node->state].name,
              node_state_table[state].name);
    }
    node->state = (uint8_t)state;
    node->since = now;
    node->is_asked = false;
}
