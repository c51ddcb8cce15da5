/*
 * displaced.c: what runs on nodes that the cloud takes away.
 *
 * It is no demand: Ray asks for a place once it has died there. The time until then is what a
 * replacement needs to come up, so what such a node has in use counts as one request from the
 * moment of its notice; when the work ends before, so does the request.
 */
#include "core/live/state.h"

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

/* What a new node of its type could take over; the rest, as "node:10.0.0.7", is its own. */
static struct request request_of(const struct core *core, const struct node *node,
                                 struct arena *scratch)
{
    const struct plan_type *type = &core->settings->types[node_type(core, node)];
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
    return (struct request){.amounts = amounts, .amount_count = count};
}

void displaced_gather(const struct core *core, struct arena *scratch, struct displaced *ret_all)
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
    for (uint32_t i = 0; i < core->node_end; i++) {
        if (!is_displacing(&core->nodes[i])) {
            continue;
        }
        struct request request = request_of(core, &core->nodes[i], scratch);
        if (request.amount_count > 0) {
            demands[ret_all->count++] = (struct demand){request, 1};
            ret_all->is_any = true;
        }
    }
}

static void count_demand(const struct plan *plan, int64_t sign, int64_t *counts)
{
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct plan_launch *launch = &plan->launches[i];
        counts[launch->type] += sign * launch->count_by_cause[LAUNCH_DEMAND];
    }
}

int64_t *displaced_launches(const struct core *core, const struct plan_input *input,
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

/* Those of its own type that nobody takes over from yet; else such of any type; else all. */
struct leavers displaced_leavers(const struct core *core, uint32_t type)
{
    enum { LIKE_IT, NEW, ALL, CIRCLES };
    struct leavers circles[CIRCLES] = {0};
    for (uint32_t i = 0; i < core->node_end; i++) {
        const struct node *node = &core->nodes[i];
        if (!is_displacing(node)) {
            continue;
        }
        size_t innermost = node->is_relieved ? ALL : node_type(core, node) == type ? LIKE_IT : NEW;
        for (size_t circle = innermost; circle < CIRCLES; circle++) {
            struct leavers *leavers = &circles[circle];
            leavers->first = leavers->count == 0 ? node->instance : leavers->first;
            leavers->count++;
        }
    }
    size_t chosen = LIKE_IT;
    while (chosen < ALL && circles[chosen].count == 0) {
        chosen++;
    }
    return circles[chosen];
}

void displaced_relieve(struct core *core)
{
    for (uint32_t i = 0; i < core->node_end; i++) {
        core->nodes[i].is_relieved |= is_displacing(&core->nodes[i]);
    }
}
