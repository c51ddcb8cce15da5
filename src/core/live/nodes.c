/* nodes.c: the table of nodes, its index by instance, and state transitions. */
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
    struct node *node = &core->nodes[position];
    *node = (struct node){.state = NODE_GONE,
                          .since = core->now,
                          .created_at = core->now,
                          .idle_since = NOT_IDLE,
                          .next = NO_NODE};
    core->used_nodes++;
    if (instance != INSTANCE_NONE) {
        nodes_name(core, node, instance);
    }
    return node;
}

static void nodes_free(struct core *core, struct node *node)
{
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
    } else {
        breaker_refuse(breaker, core->now, times->cool_first / STRIKES, times->cool_most,
                       &core->rng);
    }
}

void node_strike(struct core *core, const struct node *node)
{
    if (node->is_outdated) {
        return; /* it says nothing about the current file */
    }
    strike(core, &core->type_breakers[node_type(core, node)]);
}

/* Counted separately from failed setups, because deaths never disable a type. */
void node_strike_death(struct core *core, const struct node *node)
{
    if (node->is_outdated) {
        return;
    }
    struct breaker *deaths = &core->type_deaths[node_type(core, node)];
    if (core->now > deaths->cool_until + core->settings->times.cool_most) {
        breaker_succeed(deaths); /* the last death was long ago */
    }
    deaths->cool_until = deaths->cool_until > core->now ? deaths->cool_until : core->now;
    strike(core, deaths);
}
