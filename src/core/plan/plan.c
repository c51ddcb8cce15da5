/* plan.c: runs the steps of a decision in Ray's order, and collects the plan from the fleet. */
#include "core/plan.h"
#include "base/require.h"

#include "core/plan/gang.h"
#include "core/plan/pack.h"
#include "core/plan/price.h"
#include "core/plan/refusal.h"
#include "core/plan/terminate.h"

#include <string.h>

static void launch_min_nodes(struct fleet *fleet)
{
    const struct plan_input *input = fleet->input;
    size_t before = fleet->order_count;
    int64_t *staying = ARENA_ARRAY(fleet->arena, input->type_count, int64_t);
    for (size_t i = 0; i < before; i++) {
        const struct fleet_node *node = &fleet->nodes[fleet->order[i]];
        staying[node->type] += node->end_cause == END_NONE;
    }
    for (uint32_t i = 0; i < input->type_count; i++) {
        int64_t full = input->full_nodes ? input->full_nodes[i] : 0;
        int64_t missing = input->types[i].min_nodes - staying[i] - full;
        if (!input->types[i].is_gone && missing > 0) {
            fleet_launch(fleet, i, missing, LAUNCH_MIN_NODES);
        }
    }
    /* Ray puts new nodes first. */
    size_t added = fleet->order_count - before;
    require(fleet->order_count >= before, "launches only add nodes");
    require(fleet->order_count <= fleet->order_capacity, "the order fits");
    memcpy(fleet->spare, fleet->order + before, added * sizeof(uint32_t));
    memmove(fleet->order + added, fleet->order, before * sizeof(uint32_t));
    memcpy(fleet->order, fleet->spare, added * sizeof(uint32_t));
}

static void hold_constraint(struct packer *packer, struct plan *plan)
{
    const struct plan_input *input = packer->fleet->input;
    struct batch_source source = {.demands = input->constraint, .count = input->constraint_count};
    if (input->constraint_count == 0) {
        return;
    }
    fleet_open_constraint(packer->fleet);
    if (pack_batch(packer, source, LAUNCH_CONSTRAINT, true)) {
        return;
    }
    plan->is_constraint_unmet = true;
    for (size_t i = 0; i < packer->batch.run_count; i++) {
        if (packer->batch.runs[i].left > 0) {
            plan->constraint_refusal = refusal_explain(packer->fleet, packer->batch.runs[i].request,
                                                       true);
            return;
        }
    }
}

static void place_gangs(struct packer *packer, struct plan *plan)
{
    struct fleet *fleet = packer->fleet;
    const struct plan_input *input = fleet->input;
    uint32_t *order = gangs_in_order(input->gangs, input->gang_count, fleet->arena);
    plan->unmet_gangs = ARENA_ARRAY(fleet->arena, input->gang_count, struct plan_unmet_gang);
    for (size_t i = 0; i < input->gang_count; i++) {
        const struct gang *gang = &input->gangs[order[i]];
        struct gang whole = gang_combine(input->names, gang, fleet->arena);
        struct batch_source source = {.requests = whole.requests, .count = whole.request_count};
        if (!pack_batch(packer, source, LAUNCH_GANGS, true)) {
            plan->unmet_gangs[plan->unmet_gang_count++] = (struct plan_unmet_gang){
                order[i], refusal_explain_all(fleet, whole.requests, whole.request_count)};
        }
    }
}

static void place_demand(struct packer *packer, struct plan *plan)
{
    struct fleet *fleet = packer->fleet;
    const struct plan_input *input = fleet->input;
    struct batch_source source = {.demands = input->demands, .count = input->demand_count};
    if (pack_batch(packer, source, LAUNCH_DEMAND, false)) {
        return;
    }
    plan->unmet = ARENA_ARRAY(fleet->arena, packer->batch.run_count, struct plan_unmet);
    for (size_t i = 0; i < packer->batch.run_count; i++) {
        const struct run *run = &packer->batch.runs[i];
        if (run->left > 0) {
            plan->unmet[plan->unmet_count++] = (struct plan_unmet){
                run->source, run->left, refusal_explain(fleet, run->request, false)};
        }
    }
}

static void collect_launches(const struct fleet *fleet, struct plan *plan)
{
    require(fleet->node_count >= fleet->input->node_count, "the given nodes come first");
    size_t type_count = fleet->input->type_count;
    int64_t *counts = fleet->type_launches;
    for (size_t i = fleet->input->node_count; i < fleet->node_count; i++) {
        const struct fleet_node *node = &fleet->nodes[i];
        if (node->end_cause == END_NONE) {
            counts[node->type * LAUNCH_CAUSE_COUNT + node->cause]++;
        }
    }
    plan->launches = ARENA_ARRAY(fleet->arena, type_count, struct plan_launch);
    for (uint32_t i = 0; i < type_count; i++) {
        struct plan_launch launch = {.type = i};
        for (size_t j = 0; j < LAUNCH_CAUSE_COUNT; j++) {
            launch.count_by_cause[j] = counts[i * LAUNCH_CAUSE_COUNT + j];
            launch.count += launch.count_by_cause[j];
        }
        require(launch.count >= 0, "the number of launches is not negative");
        require(launch.count == 0 || !fleet->input->types[i].is_gone,
                "a removed type is not launched");
        int64_t price = fleet->input->types[i].price;
        launch.price = price < 0 ? PRICE_UNKNOWN : price * launch.count;
        launch.saving = plan->saving;
        if (launch.count > 0) {
            plan->launches[plan->launch_count++] = launch;
        }
    }
}

static void collect_ends(const struct fleet *fleet, struct plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < fleet->input->node_count; i++) {
        count += fleet->nodes[i].end_cause != END_NONE;
    }
    plan->ends = ARENA_ARRAY(fleet->arena, count, struct plan_end);
    for (uint32_t i = 0; i < fleet->input->node_count; i++) {
        if (fleet->nodes[i].end_cause != END_NONE) {
            plan->ends[plan->end_count++] = ending_of(fleet, i);
            require(plan->end_count <= count, "the number of terminations matches the count");
            require(!fleet->nodes[i].is_head, "the head is not terminated");
        }
    }
}

static void plan_do_decide(const struct plan_input *input, struct arena *scratch, struct plan *plan)
{
    struct fleet fleet;
    struct packer packer;
    struct price price;
    fleet_init(&fleet, input, scratch);
    end_outdated(&fleet);
    launch_min_nodes(&fleet);
    end_beyond_type_limits(&fleet);
    end_beyond_cluster_limit(&fleet);
    packer_init(&packer, &fleet);
    if (input->strategy == PLAN_PRICE) {
        price_begin(&price, &packer);
    }
    hold_constraint(&packer, plan);
    place_gangs(&packer, plan);
    place_demand(&packer, plan);
    if (input->strategy == PLAN_PRICE) {
        price_improve(&price, &fleet, plan);
    }
    end_idle(&fleet);
    collect_launches(&fleet, plan);
    collect_ends(&fleet, plan);
}

void plan_decide(const struct plan_input *input, struct arena *scratch, struct plan *ret_plan)
{
    *ret_plan = (struct plan){0};
    plan_do_decide(input, scratch, ret_plan);
    require(ret_plan->launch_count <= input->type_count,
            "there is at most one launch per node type");
    require(ret_plan->end_count <= input->node_count, "each node is terminated at most once");
    require(ret_plan->unmet_gang_count <= input->gang_count, "each gang is unmet at most once");
    require(ret_plan->unmet_count <= input->demand_count, "each demand is unmet at most once");
}
