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
