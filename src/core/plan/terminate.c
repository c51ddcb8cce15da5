/* terminate.c: terminates outdated, excess and idle nodes. */
#include "core/plan/terminate.h"

#include "base/require.h"
#include "core/plan/index_sort.h"
#include "core/resource.h"

#include <string.h>

static bool terminate_is_ending(const struct fleet_node *node)
{
    return node->end_cause != END_NONE;
}

static void end_node(struct fleet_node *node, enum end_cause cause)
{
    require(cause != END_NONE && cause <= END_IDLE, "a termination has a cause");
    node->end_cause = (uint8_t)cause;
}

/* ---- outdated ------------------------------------------------------------------------------ */

void end_outdated(struct fleet *fleet)
{
    const struct plan_input *input = fleet->input;
    for (size_t i = 0; input->checks_launch_hash && i < fleet->order_count; i++) {
        uint32_t index = fleet->order[i];
        struct fleet_node *node = &fleet->nodes[index];
        const struct plan_type *type = &input->types[node->type];
        if (terminate_is_ending(node) || node->is_head) {
            continue;
        }
        /*
         * Ray does not keep the hash of a pending node, so it terminates the node whenever its type
         * has one. To avoid that, turn the check off; off is also Ray's default.
         */
        uint32_t hash = node->is_running ? plan_node_at(input, index).launch_hash : NAME_NONE;
        if (type->is_gone || (type->launch_hash != NAME_NONE && type->launch_hash != hash)) {
            end_node(node, END_OUTDATED);
        }
    }
}

/* ---- termination order --------------------------------------------------------------------- */

/* Mean utilization over the node's resources, for the pending demand. */
static double mean_use(const struct fleet_node *node)
{
    double sum = 0.0;
    size_t counted = 0;
    for (size_t i = 0; i < node->capacity_count; i++) {
        if (node->capacities[i].total > 0) {
            int64_t free = node->demand.free[i];
            double units = (double)node->capacities[i].total / RESOURCE_UNIT;
            double left = free == CAPACITY_ABSENT ? 0.0 : (double)free / RESOURCE_UNIT;
            sum += (units - left) / units;
            counted++;
        }
    }
    return counted > 0 ? sum / (double)counted : 0.0;
}

static int64_t idle_of(const struct fleet *fleet, uint32_t node)
{
    return fleet->nodes[node].is_running ? plan_node_at(fleet->input, node).idle_ms : 0;
}

/* Pending nodes first, then the longest idle, then the least used; otherwise in list order. */
static int compare_for_ending(const void *context, uint32_t a, uint32_t b)
{
    const struct fleet *fleet = context;
    const struct fleet_node *one = &fleet->nodes[a];
    const struct fleet_node *other = &fleet->nodes[b];
    if (one->is_running != other->is_running) {
        return one->is_running ? 1 : -1;
    }
    int64_t idle_one = idle_of(fleet, a);
    int64_t idle_other = idle_of(fleet, b);
    if (idle_one != idle_other) {
        return idle_one > idle_other ? -1 : 1;
    }
    double use_one = mean_use(one);
    double use_other = mean_use(other);
    return use_one < use_other ? -1 : use_one > use_other;
}

static void sort_for_ending(const struct fleet *fleet, uint32_t *nodes, size_t count)
{
    uint32_t *spare = ARENA_ARRAY(fleet->arena, count, uint32_t);
    index_sort(nodes, spare, count, compare_for_ending, fleet);
}

/* Moves the head to the end of the list, where it is not terminated. */
static size_t set_head_aside(const struct fleet *fleet, uint32_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fleet->nodes[nodes[i]].is_head) {
            uint32_t head = nodes[i];
            memmove(&nodes[i], &nodes[i + 1], (count - i - 1) * sizeof(*nodes));
            nodes[count - 1] = head;
            return count - 1;
        }
    }
    return count;
}

/*
 * Ray represents the nodes added for min_workers of one type as a single object that is listed
 * several times: terminating one of them terminates all.
 */
static void end_twins(struct fleet *fleet, const struct fleet_node *node)
{
    for (size_t i = fleet->input->node_count; node->is_to_launch && i < fleet->node_count; i++) {
        struct fleet_node *twin = &fleet->nodes[i];
        if (twin->type == node->type && !terminate_is_ending(twin)) {
            end_node(twin, (enum end_cause)node->end_cause);
        }
    }
}

/* Sorts `nodes` and terminates the first `excess` that are not the head; returns their number. */
static size_t end_first(struct fleet *fleet, uint32_t *nodes, size_t count, int64_t excess,
                        enum end_cause cause)
{
    sort_for_ending(fleet, nodes, count);
    size_t workers = set_head_aside(fleet, nodes, count);
    size_t ended = (size_t)excess < workers ? (size_t)excess : workers;
    require(excess > 0 && ended <= count, "no more nodes are terminated than exist");
    for (size_t i = 0; i < ended; i++) {
        struct fleet_node *node = &fleet->nodes[nodes[i]];
        end_node(node, cause);
        end_twins(fleet, node);
    }
    return ended;
}

/* ---- limits -------------------------------------------------------------------------------- */

/* The remaining nodes, grouped by type in the order in which the types first appear. */
struct by_type {
    uint32_t *nodes;
    size_t *begin; /* by order of appearance; one extra entry at the end */
    uint32_t *types;
    size_t type_count;
};

static void gather_by_type(const struct fleet *fleet, struct by_type *by_type)
{
    size_t type_count = fleet->input->type_count;
    size_t *count = ARENA_ARRAY(fleet->arena, type_count, size_t);
    size_t *at = ARENA_ARRAY(fleet->arena, type_count, size_t);
    by_type->nodes = ARENA_ARRAY(fleet->arena, fleet->order_count, uint32_t);
    by_type->begin = ARENA_ARRAY(fleet->arena, type_count + 1, size_t);
    by_type->types = ARENA_ARRAY(fleet->arena, type_count, uint32_t);
    for (size_t i = 0; i < fleet->order_count; i++) {
        const struct fleet_node *node = &fleet->nodes[fleet->order[i]];
        if (!terminate_is_ending(node) && count[node->type]++ == 0) {
            by_type->types[by_type->type_count++] = node->type;
        }
    }
    for (size_t i = 0; i < by_type->type_count; i++) {
        at[by_type->types[i]] = by_type->begin[i];
        by_type->begin[i + 1] = by_type->begin[i] + count[by_type->types[i]];
        require(by_type->begin[i + 1] <= fleet->order_count, "the groups are parts of the order");
    }
    for (size_t i = 0; i < fleet->order_count; i++) {
        const struct fleet_node *node = &fleet->nodes[fleet->order[i]];
        if (!terminate_is_ending(node)) {
            by_type->nodes[at[node->type]++] = fleet->order[i];
        }
    }
}

void end_beyond_type_limits(struct fleet *fleet)
{
    struct by_type by_type = {0};
    size_t ending = 0;
    gather_by_type(fleet, &by_type);
    for (size_t i = 0; i < fleet->order_count; i++) {
        if (terminate_is_ending(&fleet->nodes[fleet->order[i]])) {
            fleet->spare[ending++] = fleet->order[i];
        }
    }
    size_t staying = 0; /* compacted at the front of by_type.nodes */
    for (size_t i = 0; i < by_type.type_count; i++) {
        const struct plan_type *type = &fleet->input->types[by_type.types[i]];
        uint32_t *nodes = by_type.nodes + by_type.begin[i];
        size_t count = by_type.begin[i + 1] - by_type.begin[i];
        /* A removed type has no limit. (Ray's whole update fails while such a node runs.) */
        int64_t excess = type->is_gone ? 0 : (int64_t)count - type->max_nodes;
        size_t ended = 0;
        if (excess > 0) {
            ended = end_first(fleet, nodes, count, excess, END_MAX_OF_TYPE);
            memcpy(fleet->spare + ending, nodes, ended * sizeof(*nodes));
            ending += ended;
        }
        memmove(by_type.nodes + staying, nodes + ended, (count - ended) * sizeof(*nodes));
        staying += count - ended;
    }
    require(ending + staying == fleet->order_count, "every node keeps its place in the order");
    memcpy(fleet->spare + ending, by_type.nodes, staying * sizeof(uint32_t));
    memcpy(fleet->order, fleet->spare, fleet->order_count * sizeof(uint32_t));
}

void end_beyond_cluster_limit(struct fleet *fleet)
{
    /* Here Ray treats a limit of 0 as unlimited, although it prevents launches. */
    int64_t limit = fleet->input->max_nodes;
    if (limit <= 0 || (int64_t)fleet->order_count <= limit) {
        return;
    }
    size_t ending = 0;
    for (size_t i = 0; i < fleet->order_count; i++) {
        ending += terminate_is_ending(&fleet->nodes[fleet->order[i]]);
    }
    size_t staying = fleet->order_count - ending;
    require(ending <= fleet->order_count, "the terminated nodes are in the order");
    if ((int64_t)staying <= limit) {
        return;
    }
    uint32_t *next_ending = fleet->spare;
    uint32_t *next_staying = fleet->spare + ending;
    for (size_t i = 0; i < fleet->order_count; i++) {
        bool ends = terminate_is_ending(&fleet->nodes[fleet->order[i]]);
        *(ends ? next_ending++ : next_staying++) = fleet->order[i];
    }
    require(next_ending == fleet->spare + ending, "the terminated nodes come first");
    require(next_staying == fleet->spare + fleet->order_count, "the remaining nodes follow");
    end_first(fleet, fleet->spare + ending, staying, (int64_t)staying - limit, END_MAX_NODES);
    memcpy(fleet->order, fleet->spare, fleet->order_count * sizeof(uint32_t));
}

/* ---- idle ---------------------------------------------------------------------------------- */

static int64_t idle_timeout_of(const struct plan_input *input, uint32_t type)
{
    const struct plan_type *kind = &input->types[type];
    return !kind->is_gone && kind->idle_timeout_ms >= 0 ? kind->idle_timeout_ms
                                                        : input->idle_timeout_ms;
}

/* A pending node never exceeds its idle timeout. */
static bool terminate_is_idle(const struct fleet *fleet, uint32_t index)
{
    const struct fleet_node *node = &fleet->nodes[index];
    int64_t timeout = idle_timeout_of(fleet->input, node->type);
    return !terminate_is_ending(node) && node->is_running && !node->is_head && timeout >= 0 &&
           idle_of(fleet, index) > timeout && !node->demand.has_requests &&
           !(node->constraint && node->constraint->has_requests);
}

/* By type: how many nodes may be terminated before min_nodes is reached. */
static int64_t *spare_nodes(const struct fleet *fleet)
{
    int64_t *spare = ARENA_ARRAY(fleet->arena, fleet->input->type_count, int64_t);
    for (size_t i = 0; i < fleet->input->type_count; i++) {
        const struct plan_type *type = &fleet->input->types[i];
        spare[i] = fleet->type_nodes[i] - (type->is_gone ? 0 : type->min_nodes);
    }
    for (size_t i = 0; i < fleet->order_count; i++) {
        const struct fleet_node *node = &fleet->nodes[fleet->order[i]];
        spare[node->type] -= terminate_is_ending(node);
    }
    return spare;
}

void end_idle(struct fleet *fleet)
{
    int64_t *spare = spare_nodes(fleet);
    uint32_t *idle = fleet->spare;
    size_t idle_count = 0;
    for (size_t i = 0; i < fleet->order_count; i++) {
        uint32_t index = fleet->order[i];
        if (spare[fleet->nodes[index].type] > 0 && terminate_is_idle(fleet, index)) {
            idle[idle_count++] = index;
        }
    }
    sort_for_ending(fleet, idle, idle_count);
    for (size_t i = 0; i < idle_count; i++) {
        struct fleet_node *node = &fleet->nodes[idle[i]];
        if (spare[node->type] > 0) {
            end_node(node, END_IDLE);
            spare[node->type]--;
            require(spare[node->type] >= 0, "min_workers nodes remain");
        }
    }
}

/* ---- the answer ---------------------------------------------------------------------------- */

static int64_t limit_behind(const struct plan_input *input, const struct fleet_node *node)
{
    switch ((enum end_cause)node->end_cause) {
    case END_NONE:
    case END_OUTDATED:
        break;
    case END_MAX_OF_TYPE:
        return input->types[node->type].max_nodes;
    case END_MAX_NODES:
        return input->max_nodes;
    case END_IDLE:
        return idle_timeout_of(input, node->type);
    }
    return 0;
}

struct plan_end ending_of(const struct fleet *fleet, uint32_t index)
{
    require(index < fleet->input->node_count, "only a node of the input is terminated");
    const struct fleet_node *node = &fleet->nodes[index];
    return (struct plan_end){index, (enum end_cause)node->end_cause,
                             limit_behind(fleet->input, node), idle_of(fleet, index)};
}
