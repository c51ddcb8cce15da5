/*
 * evictions.c: work on nodes that the cloud is about to interrupt.
 *
 * It is not demand yet: Ray requests a new place only after the work has died. The time until then
 * is needed to start a replacement, so the resources in use on such a node are treated as one
 * request from the notice on; if the work ends earlier, so does the request. Work that requests its
 * new place itself is left out: it would get two.
 */
#include "base/require.h"
#include "core/live/node_facts.h"

#include <string.h>

static bool is_displacing(const struct node *node)
{
    return node->state == NODE_DRAINING && node->reason.kind == REASON_NOTICE &&
           node->idle_since == NOT_IDLE && node->capacity_count > 0;
}

static int64_t most_of(const struct plan_type *type, uint32_t name)
{
    for (size_t i = 0; i < type->capacity_count; i++) {
        if (type->capacities[i].name == name) {
            return type->capacities[i].total;
        }
    }
    return 0;
}

/* The used resources that a new node of its type could provide; others, such as "node:10.0.0.7",
 * are specific to this node. */
static struct request evictions_request_of(const struct core *core, const struct node *node,
                                           struct arena *scratch)
{
    const struct plan_type *type = &core->types[node_type(core, node)];
    struct amount *amounts = ARENA_ARRAY(scratch, node->capacity_count, struct amount);
    size_t count = 0;
    for (size_t i = 0; i < node->capacity_count; i++) {
        const struct capacity *capacity = &node->capacities[i];
        int64_t most = most_of(type, capacity->name);
        int64_t free = capacity->free == CAPACITY_ABSENT ? 0 : capacity->free;
        int64_t used = capacity->total - free;
        if (used > 0 && most > 0) {
            amounts[count++] = (struct amount){capacity->name, used < most ? used : most};
        }
    }
    amounts_sort(core->settings->names, amounts, count);
    require(count <= node->capacity_count, "at most one amount for each capacity");
    return (struct request){.amounts = amounts, .amount_count = count};
}

/* Takes the amounts of `part` from the request; false if it does not contain them. */
static bool take_part(struct request *request, struct amount *amounts, const struct request *part)
{
    for (size_t i = 0; i < part->amount_count; i++) {
        size_t at = 0;
        while (at < request->amount_count && amounts[at].name != part->amounts[i].name) {
            at++;
        }
        if (at == request->amount_count || amounts[at].amount < part->amounts[i].amount) {
            return false;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < request->amount_count; i++) {
        struct amount one = amounts[i];
        for (size_t j = 0; j < part->amount_count; j++) {
            one.amount -= part->amounts[j].name == one.name ? part->amounts[j].amount : 0;
        }
        if (one.amount > 0) {
            amounts[kept++] = one;
        }
    }
    request->amount_count = kept;
    return true;
}

/* Leaves out work that moves by itself. `left`: how much of it is not found yet. */
static void leave_out_moving(const struct core *core, struct request *request, int64_t *left,
                             struct arena *scratch)
{
    struct amount *amounts = ARENA_ARRAY(scratch, request->amount_count, struct amount);
    if (request->amount_count > 0) {
        memcpy(amounts, request->amounts, request->amount_count * sizeof(*amounts));
    }
    request->amounts = amounts;
    for (size_t i = 0; i < core->load.moving_count; i++) {
        const struct request *part = &core->load.moving[i].request;
        while (left[i] > 0 && part->amount_count > 0 && request->amount_count > 0 &&
               take_part(request, amounts, part)) {
            left[i]--;
        }
    }
}

void evictions_gather(const struct core *core, struct arena *scratch, struct displaced *ret_all)
{
    size_t waiting = core->load.demand_count;
    size_t most = 0;
    *ret_all = (struct displaced){.demands = core->load.demands, .count = waiting};
    for (uint32_t i = 0; i < core->node_end; i++) {
        most += is_displacing(&core->nodes[i]);
    }
    if (most == 0) {
        return;
    }
    struct demand *demands = ARENA_ARRAY(scratch, waiting + most, struct demand);
    if (waiting > 0) {
        memcpy(demands, core->load.demands, waiting * sizeof(*demands));
    }
    ret_all->demands = demands;
    int64_t *left = ARENA_ARRAY(scratch, core->load.moving_count, int64_t);
    for (size_t i = 0; i < core->load.moving_count; i++) {
        left[i] = core->load.moving[i].count;
    }
    for (uint32_t i = 0; i < core->node_end; i++) {
        if (!is_displacing(&core->nodes[i])) {
            continue;
        }
        struct request request = evictions_request_of(core, &core->nodes[i], scratch);
        leave_out_moving(core, &request, left, scratch);
        if (request.amount_count > 0) {
            demands[ret_all->count++] = (struct demand){request, 1};
            require(ret_all->count <= waiting + most, "the displaced work fits");
            ret_all->is_any = true;
        }
    }
}

static void count_demand(const struct plan *plan, int64_t sign, int64_t *counts)
{
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct plan_launch *launch = &plan->launches[i];
        require(launch->count_by_cause[LAUNCH_DEMAND] <= launch->count,
                "the causes do not exceed the launch");
        counts[launch->type] += sign * launch->count_by_cause[LAUNCH_DEMAND];
    }
}

int64_t *evictions_launches(const struct core *core, const struct plan_input *input,
                            const struct plan *plan, struct arena *scratch)
{
    int64_t *counts = ARENA_ARRAY(scratch, input->type_count, int64_t);
    count_demand(plan, 1, counts);
    if (core->load.demand_count == 0) {
        return counts;
    }
    struct plan_input others = *input;
    struct plan without = {0};
    others.demands = core->load.demands;
    others.demand_count = core->load.demand_count;
    plan_decide(&others, scratch, &without);
    count_demand(&without, -1, counts);
    return counts;
}

/* Prefers nodes of this type that have no replacement yet, then such nodes of any type, then
 * all. */
struct departing evictions_departing(const struct core *core, uint32_t type)
{
    enum { LIKE_IT, NEW, ALL, CIRCLES };
    struct departing circles[CIRCLES] = {0};
    for (uint32_t i = 0; i < core->node_end; i++) {
        const struct node *node = &core->nodes[i];
        if (!is_displacing(node)) {
            continue;
        }
        size_t innermost = node->is_replaced ? ALL : node_type(core, node) == type ? LIKE_IT : NEW;
        for (size_t circle = innermost; circle < CIRCLES; circle++) {
            struct departing *departing = &circles[circle];
            departing->first = departing->count == 0 ? node->instance : departing->first;
            departing->count++;
        }
    }
    require(circles[LIKE_IT].count <= circles[NEW].count,
            "nodes of this type are among the new ones");
    require(circles[NEW].count <= circles[ALL].count, "new nodes are among all nodes");
    size_t chosen = LIKE_IT;
    while (chosen < ALL && circles[chosen].count == 0) {
        chosen++;
    }
    return circles[chosen];
}

void evictions_mark_replaced(struct core *core)
{
    for (uint32_t i = 0; i < core->node_end; i++) {
        core->nodes[i].is_replaced |= is_displacing(&core->nodes[i]);
    }
}
