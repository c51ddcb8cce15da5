/* pack.c: places one batch, from gathering to commit. */
#include "core/plan/pack.h"

#include "base/require.h"
#include "core/plan/index_sort.h"
#include "core/plan/pack_internal.h"
#include "core/plan/price_log.h"

#include <string.h>

static int compare_doubles(double a, double b)
{
    return a > b ? -1 : a < b;
}

int score_compare(const struct score *a, uint32_t rank_a, const struct score *b, uint32_t rank_b)
{
    if (a->matches != b->matches) {
        return a->matches > b->matches ? -1 : 1;
    }
    int order = compare_doubles(a->least_used, b->least_used);
    if (order == 0) {
        order = compare_doubles(a->mean_used, b->mean_used);
    }
    if (order == 0 && rank_a != rank_b) {
        order = rank_a < rank_b ? -1 : 1;
    }
    return order;
}

/* Ray's tie-breakers after the score: recovered types first, then priority, then availability. */
static int compare_types(const void *context, uint32_t a, uint32_t b)
{
    const struct plan_type *types = context;
    int64_t priority_a = types[a].is_gone ? 0 : types[a].priority;
    int64_t priority_b = types[b].is_gone ? 0 : types[b].priority;
    int order = compare_doubles(types[a].recoverable, types[b].recoverable);
    if (order == 0 && priority_a != priority_b) {
        order = priority_a > priority_b ? -1 : 1;
    }
    return order ? order : compare_doubles(types[a].availability, types[b].availability);
}

static void rank_types(struct packer *packer)
{
    const struct plan_input *input = packer->fleet->input;
    struct arena *arena = packer->fleet->arena;
    uint32_t *sorted = ARENA_ARRAY(arena, 2 * input->type_count, uint32_t);
    for (uint32_t i = 0; i < input->type_count; i++) {
        sorted[i] = i;
    }
    index_sort(sorted, sorted + input->type_count, input->type_count, compare_types, input->types);
    packer->type_rank = ARENA_ARRAY(arena, input->type_count, uint32_t);
    uint32_t rank = 0;
    for (size_t i = 0; i < input->type_count; i++) {
        if (i > 0 && compare_types(input->types, sorted[i - 1], sorted[i]) != 0) {
            rank++;
        }
        packer->type_rank[sorted[i]] = rank;
    }
}

void packer_init(struct packer *packer, struct fleet *fleet)
{
    const struct plan_input *input = fleet->input;
    *packer = (struct packer){.fleet = fleet};
    batch_init(&packer->batch, input->names, fleet->arena);
    trial_init(&packer->trial, fleet);
    rank_types(packer);
    packer->offers = ARENA_ARRAY(fleet->arena, input->type_count, struct offer);
    packer->templates = ARENA_ARRAY(fleet->arena, input->type_count, struct fleet_node);
    for (uint32_t i = 0; i < input->type_count; i++) {
        fleet_describe_new(fleet, &packer->templates[i], i);
        fleet_open_demand(fleet, &packer->templates[i]);
        packer->templates[i].constraint = &packer->templates[i].demand;
    }
}

uint32_t log_placed(struct packer *packer, const struct placed *placed, size_t count)
{
    uint32_t first = (uint32_t)packer->win_placed_count;
    for (size_t i = 0; i < count; i++) {
        ARENA_PUSH(packer->fleet->arena, packer->win_placed, packer->win_placed_count,
                   packer->win_placed_capacity) = placed[i];
    }
    return first;
}

void log_win(struct packer *packer, struct win win)
{
    ARENA_PUSH(packer->fleet->arena, packer->wins, packer->win_count, packer->win_capacity) = win;
}

/* Ray's list afterwards: winners in the order of winning, the others, then exhausted ones. */
static void reorder(struct packer *packer)
{
    struct fleet *fleet = packer->fleet;
    size_t at = 0;
    for (size_t i = 0; i < packer->winner_count; i++) {
        fleet->spare[at++] = fleet->order[packer->winners[i]];
    }
    for (int fate = FATE_STAYS; fate <= FATE_EXHAUSTED; fate++) {
        for (size_t i = 0; i < fleet->order_count; i++) {
            if ((packer->fates[i] & FATE_MASK) == fate) {
                fleet->spare[at++] = fleet->order[i];
            }
        }
    }
    require(at == fleet->order_count, "reordering keeps every node");
    uint32_t *swap = fleet->order;
    fleet->order = fleet->spare;
    fleet->spare = swap;
}

static void commit_win(struct packer *packer, const struct win *win, uint32_t node)
{
    require(node < packer->fleet->node_count, "the winning node exists");
    require(win->placed_first + win->placed_count <= packer->win_placed_count,
            "the placements of a win were recorded");
    trial_commit(&packer->trial, packer->fleet, &packer->fleet->nodes[node],
                 packer->win_placed + win->placed_first, win->placed_count);
}

static void commit(struct packer *packer, enum launch_cause cause)
{
    struct fleet *fleet = packer->fleet;
    for (size_t i = 0; i < packer->win_count; i++) {
        if (packer->wins[i].position != NOWHERE) {
            commit_win(packer, &packer->wins[i], fleet->order[packer->wins[i].position]);
        }
    }
    reorder(packer);
    for (size_t i = 0; i < packer->win_count; i++) {
        const struct win *win = &packer->wins[i];
        if (win->position == NOWHERE) {
            uint32_t first = fleet_launch(fleet, win->type, win->count, cause);
            require((size_t)first + (size_t)win->count == fleet->node_count,
                    "the launched nodes are the last ones");
            for (uint32_t j = 0; j < win->count; j++) {
                commit_win(packer, win, first + j);
            }
        }
    }
}

/* After the last batch it only matters whether a node is needed. */
static void commit_last(struct packer *packer)
{
    struct fleet *fleet = packer->fleet;
    for (size_t i = 0; i < packer->winner_count; i++) {
        fleet->nodes[fleet->order[packer->winners[i]]].demand.has_requests = true;
    }
    reorder(packer);
    for (size_t i = 0; i < packer->win_count; i++) {
        const struct win *win = &packer->wins[i];
        if (win->position == NOWHERE) {
            fleet_count_launch(fleet, win->type, win->count, LAUNCH_DEMAND);
        }
    }
}

bool pack_batch(struct packer *packer, struct batch_source requests, enum launch_cause cause,
                bool is_atomic)
{
    packer->source = cause == LAUNCH_CONSTRAINT ? SOURCE_CONSTRAINT : SOURCE_DEMAND;
    packer->is_last = cause == LAUNCH_DEMAND;
    packer->winner_count = 0;
    packer->win_count = 0;
    packer->win_placed_count = 0;
    packer->launched = 0;
    batch_fill(&packer->batch, requests);
    if (packer->batch.left == 0) {
        return true; /* no requests: Ray does not even reorder */
    }
    require(packer->batch.left > 0, "there are requests");
    trial_begin(&packer->trial, &packer->batch, packer->source);
    pack_existing(packer);
    pack_new(packer);
    require(packer->batch.left >= 0, "no request is placed twice");
    require(packer->winner_count <= packer->fleet->order_count, "each node wins at most once");
    if (is_atomic && packer->batch.left > 0) {
        return false;
    }
    if (packer->log) {
        price_log_batch(packer->log, packer, cause);
    }
    if (packer->is_last) {
        commit_last(packer);
    } else {
        commit(packer, cause);
    }
    return packer->batch.left == 0;
}
