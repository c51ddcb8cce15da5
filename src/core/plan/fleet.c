/* fleet.c: copies nodes from the input, and adds nodes to launch. */
#include "core/plan/fleet.h"

#include "base/require.h"

#include <string.h>

static void fleet_describe(struct fleet *fleet, struct fleet_node *node,
                           const struct capacity *capacities, size_t count)
{
    node->capacities = capacities;
    node->capacity_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        if (capacities[i].name == fleet->gpu && capacities[i].total > 0) {
            node->is_gpu_node = true;
        }
    }
}

void fleet_describe_new(struct fleet *fleet, struct fleet_node *node, uint32_t type)
{
    require(type < fleet->input->type_count, "the node type is in the input");
    const struct plan_type *kind = &fleet->input->types[type];
    node->type = type;
    if (!kind->is_gone) {
        fleet_describe(fleet, node, kind->capacities, kind->capacity_count);
        node->labels = kind->labels;
    }
}

static void fleet_take_over(struct fleet *fleet, uint32_t index)
{
    const struct plan_node source = plan_node_at(fleet->input, index);
    require(source.type < fleet->input->type_count, "the node type is valid");
    const struct plan_type *type = &fleet->input->types[source.type];
    struct fleet_node *node = &fleet->nodes[index];
    node->is_head = source.is_head;
    node->is_running = source.is_running;
    node->type = source.type;
    if (source.is_running) {
        fleet_describe(fleet, node, source.capacities, source.capacity_count);
        node->labels = source.labels;
    } else if (!type->is_gone) {
        fleet_describe_new(fleet, node, source.type);
    } else if (fleet->input->checks_launch_hash) {
        node->end_cause = END_OUTDATED;
        node->is_head = false;
    } else {
        return; /* the node type is unknown: Ray ignores the node */
    }
    require(fleet->order_count <= index, "nodes keep the order of the input");
    require(fleet->order_count < fleet->order_capacity, "the order has room");
    fleet->order[fleet->order_count++] = index;
    fleet->type_nodes[source.type]++;
    fleet->total_nodes++;
}

/* One array for the ledgers of all existing nodes, since they are always visited in this order. */
static void open_demand_ledgers(struct fleet *fleet)
{
    size_t total = 0;
    for (size_t i = 0; i < fleet->node_count; i++) {
        total += fleet->nodes[i].capacity_count;
    }
    int64_t *free = ARENA_ARRAY(fleet->arena, total, int64_t);
    uint8_t *used = ARENA_ARRAY(fleet->arena, total, uint8_t);
    for (size_t i = 0; i < fleet->node_count; i++) {
        struct fleet_node *node = &fleet->nodes[i];
        node->demand.free = free;
        node->demand.used = used;
        for (size_t j = 0; j < node->capacity_count; j++) {
            free[j] = node->is_running ? node->capacities[j].free : node->capacities[j].total;
        }
        free += node->capacity_count;
        used += node->capacity_count;
    }
}

/* Reserves memory for `count` more entries of `order` and `spare`. */
static void fleet_reserve_order(struct fleet *fleet, size_t count)
{
    size_t needed = fleet->order_count + count;
    require(needed >= count, "the sum does not overflow");
    if (fleet->order && needed <= fleet->order_capacity) {
        return;
    }
    size_t capacity = needed > 2 * fleet->order_capacity ? needed : 2 * fleet->order_capacity;
    uint32_t *order = ARENA_ARRAY(fleet->arena, capacity, uint32_t);
    if (fleet->order_count > 0) {
        memcpy(order, fleet->order, fleet->order_count * sizeof(*order));
    }
    fleet->order = order;
    fleet->spare = ARENA_ARRAY(fleet->arena, capacity, uint32_t);
    fleet->order_capacity = capacity;
    require(fleet->order_count <= capacity, "the order fits its array");
}

void fleet_init(struct fleet *fleet, const struct plan_input *input, struct arena *arena)
{
    *fleet = (struct fleet){.input = input, .arena = arena};
    fleet->gpu = intern_find(input->names, STR("GPU"));
    fleet->node_count = input->node_count;
    fleet->node_capacity = input->node_count;
    fleet->nodes = ARENA_ARRAY(arena, input->node_count, struct fleet_node);
    fleet->type_nodes = ARENA_ARRAY(arena, input->type_count, int64_t);
    fleet->type_launches = ARENA_ARRAY(arena, input->type_count * LAUNCH_CAUSE_COUNT, int64_t);
    fleet_reserve_order(fleet, input->node_count);
    for (uint32_t i = 0; i < input->node_count; i++) {
        fleet_take_over(fleet, i);
    }
    for (size_t i = 0; input->full_nodes && i < input->type_count; i++) {
        fleet->type_nodes[i] += input->full_nodes[i];
        fleet->total_nodes += input->full_nodes[i];
    }
    require(fleet->order_count <= fleet->node_count, "each node is in the order at most once");
    require(fleet->total_nodes >= (int64_t)fleet->order_count,
            "every node in the order is counted");
    open_demand_ledgers(fleet);
}

static void open_ledger(struct fleet *fleet, const struct fleet_node *node, struct ledger *ledger)
{
    ledger->free = ARENA_ARRAY(fleet->arena, node->capacity_count, int64_t);
    ledger->used = ARENA_ARRAY(fleet->arena, node->capacity_count, uint8_t);
    for (size_t i = 0; i < node->capacity_count; i++) {
        ledger->free[i] = node->capacities[i].total;
    }
}

void fleet_open_demand(struct fleet *fleet, struct fleet_node *node)
{
    open_ledger(fleet, node, &node->demand);
}

static void open_constraint(struct fleet *fleet, struct fleet_node *node)
{
    node->constraint = ARENA_NEW(fleet->arena, struct ledger);
    open_ledger(fleet, node, node->constraint);
}

void fleet_open_constraint(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->node_count; i++) {
        open_constraint(fleet, &fleet->nodes[i]);
    }
}

uint32_t fleet_launch(struct fleet *fleet, uint32_t type, int64_t count, enum launch_cause cause)
{
    require(type < fleet->input->type_count && cause < LAUNCH_CAUSE_COUNT,
            "a launch has a type and a cause");
    require(count >= 0, "the number of launches is not negative");
    uint32_t first = (uint32_t)fleet->node_count;
    fleet_reserve_order(fleet, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        ARENA_GROW(fleet->arena, fleet->nodes, fleet->node_count, fleet->node_capacity);
        struct fleet_node *node = &fleet->nodes[fleet->node_count];
        *node = (struct fleet_node){.is_to_launch = true, .cause = (uint8_t)cause};
        fleet_describe_new(fleet, node, type);
        fleet_open_demand(fleet, node);
        if (cause == LAUNCH_CONSTRAINT) {
            open_constraint(fleet, node);
        }
        fleet->order[fleet->order_count++] = (uint32_t)fleet->node_count++;
    }
    fleet->type_nodes[type] += count;
    fleet->total_nodes += count;
    require(fleet->node_count == (size_t)first + (size_t)count, "the new nodes are consecutive");
    require(fleet->order_count <= fleet->order_capacity, "the order fits its array");
    return first;
}

void fleet_count_launch(struct fleet *fleet, uint32_t type, int64_t count, enum launch_cause cause)
{
    require(type < fleet->input->type_count && cause < LAUNCH_CAUSE_COUNT,
            "a launch has a type and a cause");
    require(count >= 0, "the number of launches is not negative");
    fleet->type_launches[type * LAUNCH_CAUSE_COUNT + cause] += count;
    fleet->type_nodes[type] += count;
    fleet->total_nodes += count;
}

uint32_t fleet_label(const struct fleet_node *node, uint32_t key)
{
    for (const struct added_label *one = node->added; one; one = one->next) {
        if (one->label.key == key) {
            return one->label.value;
        }
    }
    return label_value(node->labels, key);
}
