/* nodes.c: the table of nodes, its index by instance, and state transitions. */
#include "base/require.h"
#include "core/live/node_facts.h"

static size_t slot_of(const struct core *core, uint64_t instance)
{
    return (size_t)((instance * 0x9e3779b97f4a7c15u) >> 32) & core->slot_mask;
}

struct node *nodes_find(const struct core *core, uint64_t instance)
{
    for (size_t slot = slot_of(core, instance); core->slots[slot] != 0;
         slot = (slot + 1) & core->slot_mask) {
        struct node *node = &core->nodes[core->slots[slot] - 1];
        if (node->instance == instance) {
            return node;
        }
    }
    return NULL;
}

void nodes_name(struct core *core, struct node *node, uint64_t instance)
{
    require(node->instance == INSTANCE_NONE, "a node gets its instance only once");
    require(core->used_nodes <= core->slot_mask, "the index has a free slot");
    require(nodes_position(core, node) < core->node_end, "the node is in the table");
    size_t slot = slot_of(core, instance);
    while (core->slots[slot] != 0) {
        slot = (slot + 1) & core->slot_mask;
    }
    node->instance = instance;
    core->slots[slot] = nodes_position(core, node) + 1;
}

/* Removes a node from the index and closes the gap in its probe chain. */
static void forget_name(struct core *core, const struct node *node)
{
    size_t slot = slot_of(core, node->instance);
    while (core->slots[slot] != nodes_position(core, node) + 1) {
        slot = (slot + 1) & core->slot_mask;
    }
    size_t gap = slot;
    for (;;) {
        core->slots[gap] = 0;
        size_t home;
        do {
            slot = (slot + 1) & core->slot_mask;
            if (core->slots[slot] == 0) {
                return;
            }
            home = slot_of(core, core->nodes[core->slots[slot] - 1].instance);
        } while (gap <= slot ? gap < home && home <= slot : gap < home || home <= slot);
        core->slots[gap] = core->slots[slot];
        gap = slot;
    }
}

struct node *nodes_add(struct core *core, uint64_t instance)
{
    uint32_t position = core->free_nodes;
    if (position != NO_NODE) {
        core->free_nodes = core->nodes[position].next;
    } else if (core->node_end < core->settings->node_capacity) {
        position = core->node_end++;
    } else {
        return NULL;
    }
    require(position < core->node_end, "a free record was used before, or is the next one");
    require(core->nodes[position].state == NODE_GONE, "a free record has no node");
    require(core->nodes[position].instance == INSTANCE_NONE, "a free record has no instance");
    struct node *node = &core->nodes[position];
    *node = (struct node){.state = NODE_GONE,
                          .since = core->now,
                          .created_at = core->now,
                          .idle_since = NOT_IDLE,
                          .next = NO_NODE};
    core->used_nodes++;
    require(core->used_nodes <= core->node_end, "the used records are among those ever used");
    if (instance != INSTANCE_NONE) {
        nodes_name(core, node, instance);
    }
    return node;
}

static void nodes_free(struct core *core, struct node *node)
{
    require(core->used_nodes > 0, "the record of a node is in use");
    require(!node->is_head, "the head's record is never freed");
    require(node->next == NO_NODE || node->instance == INSTANCE_NONE,
            "a node in the list of its launch has no instance");
    if (node->instance != INSTANCE_NONE) {
        forget_name(core, node);
    }
    node->instance = INSTANCE_NONE;
    node->state = NODE_GONE;
    node->next = core->free_nodes;
    core->free_nodes = nodes_position(core, node);
    core->used_nodes--;
    node_touch(core, node);
}

static void nodes_report(struct core *core, const struct node *node, enum node_state state)
{
    if (core->change_count < CHANGE_CAPACITY) {
        core->changes[core->change_count++] = (struct change){node->instance, node->launch,
                                                              node->state, (uint8_t)state};
    }
}

void node_move(struct core *core, struct node *node, enum node_state state)
{
    require(state < NODE_STATE_COUNT, "the node state is valid");
    require(nodes_position(core, node) < core->node_end, "the node is in the table");
    require(state != NODE_GONE || !node->is_head, "the head's record is never freed");
    nodes_report(core, node, state);
    node_enter(node, state, core->now);
    node_touch(core, node);
    /* Ready and idle nodes need no action. */
    core->is_stirred |= !node_state_table[state].is_running;
    if (state == NODE_GONE) {
        nodes_free(core, node);
    }
}

void node_end(struct core *core, struct node *node, enum node_state state, struct reason reason)
{
    require(state == NODE_DRAINING || state == NODE_FAILED || state == NODE_TERMINATING,
            "the new state leads to termination");
    require(reason.kind < REASON_KIND_COUNT, "the reason of the termination is valid");
    require(!node->is_head, "the core never terminates the head");
    require(node->instance != INSTANCE_NONE, "a terminated node has an instance");
    node_move(core, node, state);
    node->reason = reason;
    node->until = 0;
    node->is_replaced = false;
}

static void strike(struct core *core, struct breaker *breaker)
{
    const struct core_times *times = &core->settings->times;
    if (breaker->refusals + 1 < STRIKES) {
        breaker->refusals++;
        breaker->cool_until = core->now; /* the time of the failure */
    } else {
        breaker_refuse(breaker, core->now, times->cool_first / STRIKES, times->cool_most,
                       &core->rng);
    }
}

void node_strike(struct core *core, const struct node *node)
{
    require(node_type(core, node) <= core->settings->type_count, "the node type is valid");
    if (node->is_outdated) {
        return; /* such a node says nothing about the current file */
    }
    struct breaker *setups = &core->type_breakers[node_type(core, node)];
    int64_t paused_until = setups->cool_until;
    strike(core, setups);
    if (paused_until > core->now && setups->cool_until < paused_until) {
        setups->cool_until = paused_until; /* node_pause_type() */
    }
}

void node_pause_type(struct core *core, const struct node *node)
{
    struct breaker *setups = &core->type_breakers[node_type(core, node)];
    int64_t until = core->now + core->settings->times.cool_most;
    if (!node->is_outdated && setups->cool_until < until) {
        setups->cool_until = until;
    }
}

/* Counted separately from failed setups, because deaths never disable a type. */
void node_strike_death(struct core *core, const struct node *node)
{
    require(node_type(core, node) <= core->settings->type_count, "the node type is valid");
    if (node->is_outdated) {
        return;
    }
    struct breaker *deaths = &core->type_deaths[node_type(core, node)];
    if (core->now > deaths->cool_until + core->settings->times.cool_most) {
        breaker_succeed(deaths); /* the last death was long ago */
    }
    deaths->cool_until = deaths->cool_until > core->now ? deaths->cool_until : core->now;
    require(deaths->cool_until >= core->now, "the pause after deaths ends in the future");
    strike(core, deaths);
}
