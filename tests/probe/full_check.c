/* full_check.c: the same question with fewer nodes, and the two answers side by side. */
#include "full_check.h"

#include "base/panic.h"
#include "core/plan/shapes.h"

/* Everything within its limits, also when min_nodes are filled up; nothing outdated. */
static bool applies(const struct plan_input *input, struct arena *arena)
{
    int64_t *counts = ARENA_ARRAY(arena, input->type_count, int64_t);
    int64_t all = 0;
    if (input->constraint_count > 0 || input->checks_launch_hash) {
        return false;
    }
    for (size_t i = 0; i < input->node_count; i++) {
        counts[input->nodes[i].type]++;
    }
    for (size_t i = 0; i < input->type_count; i++) {
        const struct plan_type *type = &input->types[i];
        int64_t most = counts[i] > type->min_nodes ? counts[i] : type->min_nodes;
        if (type->is_gone || most > type->max_nodes) {
            return false;
        }
        all += most;
    }
    return input->max_nodes == PLAN_NO_LIMIT || all <= input->max_nodes;
}

static bool is_full(const struct plan_input *input, const struct shapes *shapes,
                    const struct plan_node *node)
{
    return node->is_running && !node->is_head && node->idle_ms == 0 &&
           shapes_fit_none(shapes, input->names, node->capacities, node->capacity_count);
}

static void compare(const struct plan *a, const struct plan *b, const uint32_t *positions)
{
    bool is_same = a->launch_count == b->launch_count && a->end_count == b->end_count &&
                   a->unmet_count == b->unmet_count && a->unmet_gang_count == b->unmet_gang_count;
    for (size_t i = 0; is_same && i < a->launch_count; i++) {
        is_same = a->launches[i].type == b->launches[i].type &&
                  a->launches[i].count == b->launches[i].count;
    }
    for (size_t i = 0; is_same && i < a->end_count; i++) {
        is_same = a->ends[i].node == positions[b->ends[i].node] &&
                  a->ends[i].cause == b->ends[i].cause;
    }
    for (size_t i = 0; is_same && i < a->unmet_count; i++) {
        is_same = a->unmet[i].demand == b->unmet[i].demand &&
                  a->unmet[i].count == b->unmet[i].count;
    }
    if (!is_same) {
        panic("the plan changes when full nodes are left out");
    }
}

void full_check(const struct plan_input *input, const struct plan *plan, struct arena *arena)
{
    static struct shapes shapes;
    struct plan_input fewer = *input;
    struct plan other;
    if (!applies(input, arena)) {
        return;
    }
    shapes_gather(&shapes, input->demands, input->demand_count, input->gangs, input->gang_count);
    struct plan_node *nodes = ARENA_ARRAY(arena, input->node_count, struct plan_node);
    uint32_t *positions = ARENA_ARRAY(arena, input->node_count, uint32_t);
    int64_t *full = ARENA_ARRAY(arena, input->type_count, int64_t);
    fewer.node_count = 0;
    for (uint32_t i = 0; i < input->node_count; i++) {
        if (is_full(input, &shapes, &input->nodes[i])) {
            full[input->nodes[i].type]++;
        } else {
            positions[fewer.node_count] = i;
            nodes[fewer.node_count++] = input->nodes[i];
        }
    }
    fewer.nodes = nodes;
    fewer.full_nodes = full;
    plan_decide(&fewer, arena, &other);
    compare(plan, &other, positions);
}
