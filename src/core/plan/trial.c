/* trial.c: first fit in Ray's order on one node, and Ray's score of the result. */
#include "core/plan/trial.h"

#include "base/require.h"
#include "core/resource.h"

#include <math.h>
#include <string.h>

void trial_init(struct trial *trial, const struct fleet *fleet)
{
    *trial = (struct trial){.fleet = fleet};
    trial->memo = ARENA_ARRAY(fleet->arena, CUBE_MEMO_SIZE, struct cube_memo);
}

void trial_begin(struct trial *trial, const struct batch *batch, enum demand_source source)
{
    struct arena *arena = trial->fleet->arena;
    trial->batch = batch;
    trial->source = source;
    /* At least one column: the batch's tree reads it. */
    if (batch->column_count + 1 > trial->column_capacity) {
        trial->column_capacity = 2 * (batch->column_count + 1);
        trial->amounts = ARENA_ARRAY(arena, trial->column_capacity, int64_t);
        trial->asked = ARENA_ARRAY(arena, trial->column_capacity, uint8_t);
    }
    if (batch->run_count > trial->placed_capacity) {
        trial->placed_capacity = 2 * batch->run_count;
        trial->placed = ARENA_ARRAY(arena, trial->placed_capacity, struct placed);
    }
    require(batch->column_count < trial->column_capacity, "the columns fit, and one more");
    require(batch->run_count <= trial->placed_capacity, "each run is placed once at most");
}

void trial_load(struct trial *trial, const struct fleet_node *node)
{
    const struct batch *batch = trial->batch;
    const struct ledger *ledger = fleet_read(node, trial->source);
    trial->amounts[0] = 0;
    for (size_t i = 0; i < batch->column_count; i++) {
        trial->amounts[i] = batch->column_default[i];
    }
    for (size_t i = 0; i < node->capacity_count; i++) {
        uint32_t column = batch->column_of[node->capacities[i].name];
        if (column != COLUMN_NONE && ledger->free[i] != CAPACITY_ABSENT) {
            trial->amounts[column] = ledger->free[i];
        }
    }
    for (const struct implicit_use *use = ledger->implicit; use; use = use->next) {
        if (batch->column_of[use->name] != COLUMN_NONE) {
            trial->amounts[batch->column_of[use->name]] = use->left;
        }
    }
}

/* ---- labels -------------------------------------------------------------------------------- */

static uint32_t label_now(const struct trial *trial, const struct fleet_node *node, uint32_t key)
{
    for (size_t i = 0; i < trial->label_count; i++) {
        if (trial->labels[i].key == key) {
            return trial->labels[i].value;
        }
    }
    return fleet_label(node, key);
}

/* The rank of the first satisfied selector among its fallbacks; 0 if none is. */
static uint64_t selector_rank(const struct trial *trial, const struct fleet_node *node,
                              const struct request *request)
{
    for (size_t i = 0; i < request->selector_count; i++) {
        const struct label_selector *selector = &request->selectors[i];
        size_t accepted = 0;
        while (accepted < selector->rule_count) {
            const struct label_rule *rule = &selector->rules[accepted];
            if (!label_rule_accepts(rule, label_now(trial, node, rule->key))) {
                break;
            }
            accepted++;
        }
        if (accepted == selector->rule_count) {
            return request->selector_count - i;
        }
    }
    return 0;
}

static bool labels_accept(const struct trial *trial, const struct fleet_node *node,
                          const struct run *run)
{
    const struct request *request = run->request;
    if (request->selector_count > 0 && selector_rank(trial, node, request) == 0) {
        return false;
    }
    for (size_t i = 0; run->has_anti_affinity && i < request->placement_count; i++) {
        /* Any value of the key excludes the node: Ray itself fails on a key with two values. */
        const struct placement *placement = &request->placements[i];
        if (placement->kind == PLACEMENT_ANTI_AFFINITY &&
            label_now(trial, node, placement->label.key) != NAME_NONE) {
            return false;
        }
    }
    return true;
}

static void trial_add_labels(struct trial *trial, const struct request *request)
{
    for (size_t i = 0; i < request->placement_count; i++) {
        if (request->placements[i].kind == PLACEMENT_ANTI_AFFINITY) {
            ARENA_PUSH(trial->fleet->arena, trial->labels, trial->label_count,
                       trial->label_capacity) = request->placements[i].label;
        }
    }
}

/* ---- packing ------------------------------------------------------------------------------- */

static int64_t how_many(const struct trial *trial, const struct run *run)
{
    /* A request with anti-affinity also excludes its own kind: the first one adds the label. */
    int64_t count = run->has_anti_affinity ? 1 : run->left;
    const struct need *needs = trial->batch->needs + run->need_first;
    for (size_t i = 0; count > 1 && i < run->need_count; i++) {
        int64_t room = trial->amounts[needs[i].column] / needs[i].amount;
        count = room < count ? room : count;
    }
    return count;
}

void trial_pack(struct trial *trial, const struct fleet_node *node)
{
    const struct batch *batch = trial->batch;
    trial->placed_count = 0;
    trial->label_count = 0;
    for (size_t i = batch_next_fit(batch, 0, trial->amounts); i != SIZE_MAX;
         i = batch_next_fit(batch, i + 1, trial->amounts)) {
        const struct run *run = &batch->runs[i];
        if (batch->has_labels && !labels_accept(trial, node, run)) {
            continue;
        }
        int64_t count = how_many(trial, run);
        require(count > 0 && count <= run->left, "requests that are left, at least one");
        for (size_t j = 0; j < run->need_count; j++) {
            const struct need *need = &batch->needs[run->need_first + j];
            trial->amounts[need->column] -= count * need->amount;
            require(trial->amounts[need->column] >= 0, "what is placed fits");
        }
        require(trial->placed_count < trial->placed_capacity, "each run is placed once at most");
        trial->placed[trial->placed_count++] = (struct placed){(uint32_t)i, count};
        if (run->has_anti_affinity) {
            trial_add_labels(trial, run->request);
        }
    }
}

/* ---- the score ----------------------------------------------------------------------------- */

/*
 * Ray's floating-point arithmetic, operation by operation, because its choices depend on the last
 * bit: pow() instead of two products, and both amounts are converted to units before subtracting.
 */
static double use_of(const struct trial *trial, int64_t total, int64_t free)
{
    uint64_t hash = ((uint64_t)total * 31 + (uint64_t)free) * 0x9e3779b97f4a7c15u;
    struct cube_memo *memo = &trial->memo[hash >> 54];
    if (memo->total != total || memo->free != free) {
        double units = (double)total / RESOURCE_UNIT;
        double share = (units - (double)free / RESOURCE_UNIT) / units;
        *memo = (struct cube_memo){total, free, units * pow(share, 3.0)};
    }
    return memo->value;
}

static uint64_t label_score(const struct trial *trial, const struct fleet_node *node)
{
    uint64_t rank = 0;
    const struct selector_use *use = fleet_read(node, trial->source)->selectors;
    for (; rank == 0 && use; use = use->next) {
        rank = selector_rank(trial, node, use->request);
    }
    for (size_t i = 0; rank == 0 && trial->batch->has_selectors && i < trial->placed_count; i++) {
        rank = selector_rank(trial, node, trial->batch->runs[trial->placed[i].run].request);
    }
    return rank;
}

static bool asks_gpu(struct trial *trial, const struct fleet_node *node)
{
    const struct batch *batch = trial->batch;
    bool has_gpu_requests = fleet_read(node, trial->source)->has_gpu_requests;
    memset(trial->asked, 0, batch->column_count);
    for (size_t i = 0; i < trial->placed_count; i++) {
        const struct run *run = &batch->runs[trial->placed[i].run];
        has_gpu_requests = has_gpu_requests || run->asks_gpu;
        for (size_t j = 0; j < run->need_count; j++) {
            trial->asked[batch->needs[run->need_first + j].column] = 1;
        }
    }
    return has_gpu_requests;
}

struct score trial_score(struct trial *trial, const struct fleet_node *node)
{
    const struct batch *batch = trial->batch;
    const struct ledger *ledger = fleet_read(node, trial->source);
    bool has_gpu_requests = asks_gpu(trial, node);
    bool keeps_gpus = !trial->fleet->input->conserves_gpus || !node->is_gpu_node ||
                      has_gpu_requests;
    uint64_t resources = 0;
    struct score score = {0, 0.0, 0.0};
    size_t counted = 0;
    for (size_t i = 0; i < node->capacity_count; i++) {
        int64_t total = node->capacities[i].total;
        uint32_t column = batch->column_of[node->capacities[i].name];
        bool is_asked = column != COLUMN_NONE && trial->asked[column];
        int64_t free = is_asked ? trial->amounts[column] : ledger->free[i];
        resources += total != CAPACITY_ABSENT && (ledger->used[i] || is_asked);
        if (total > 0 && free != CAPACITY_ABSENT) {
            double used = use_of(trial, total, free);
            score.least_used = counted == 0 || used < score.least_used ? used : score.least_used;
            score.mean_used += used;
            counted++;
        }
    }
    score.mean_used = counted > 0 ? score.mean_used / (double)counted : 0.0;
    score.matches = label_score(trial, node) << 32 | (uint64_t)keeps_gpus << 31 | resources;
    return score;
}

/* ---- commit -------------------------------------------------------------------------------- */

static void remember_selectors(struct fleet *fleet, struct ledger *ledger,
                               const struct request *request)
{
    struct selector_use **end = &ledger->selectors;
    while (*end) {
        end = &(*end)->next;
    }
    *end = ARENA_NEW(fleet->arena, struct selector_use);
    (*end)->request = request;
}

static void keep_labels(struct fleet *fleet, struct fleet_node *node, const struct request *request)
{
    for (size_t i = 0; i < request->placement_count; i++) {
        const struct placement *placement = &request->placements[i];
        if (placement->kind == PLACEMENT_ANTI_AFFINITY &&
            fleet_label(node, placement->label.key) == NAME_NONE) {
            struct added_label *label = ARENA_NEW(fleet->arena, struct added_label);
            *label = (struct added_label){placement->label, node->added};
            node->added = label;
        }
    }
}

static void take_amount(struct trial *trial, struct fleet *fleet, struct fleet_node *node,
                        struct need taken)
{
    struct ledger *ledger = fleet_ledger(node, trial->source);
    uint32_t name = trial->batch->column_names[taken.column];
    int64_t unlisted = trial->batch->column_default[taken.column];
    for (size_t i = 0; i < node->capacity_count; i++) {
        if (node->capacities[i].name == name) {
            int64_t before = ledger->free[i] == CAPACITY_ABSENT ? unlisted : ledger->free[i];
            ledger->free[i] = before - taken.amount;
            ledger->used[i] = 1;
            return;
        }
    }
    struct implicit_use *use = ledger->implicit;
    while (use && use->name != name) {
        use = use->next;
    }
    if (!use) {
        use = ARENA_NEW(fleet->arena, struct implicit_use);
        *use = (struct implicit_use){name, unlisted, ledger->implicit};
        ledger->implicit = use;
    }
    use->left -= taken.amount;
}

void trial_commit(struct trial *trial, struct fleet *fleet, struct fleet_node *node,
                  const struct placed *placed, size_t placed_count)
{
    struct ledger *ledger = fleet_ledger(node, trial->source);
    for (size_t i = 0; i < placed_count; i++) {
        require(placed[i].run < trial->batch->run_count, "a run of this batch");
        require(placed[i].count > 0, "a placement has requests");
        const struct run *run = &trial->batch->runs[placed[i].run];
        for (size_t j = 0; j < run->need_count; j++) {
            struct need taken = trial->batch->needs[run->need_first + j];
            taken.amount *= placed[i].count;
            take_amount(trial, fleet, node, taken);
        }
        ledger->has_requests = true;
        ledger->has_gpu_requests = ledger->has_gpu_requests || run->asks_gpu;
        if (run->request->selector_count > 0) {
            remember_selectors(fleet, ledger, run->request);
        }
        keep_labels(fleet, node, run->request);
    }
}
