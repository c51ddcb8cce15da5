/* pack_new.c: repeatedly launches a node of the best type. */
#include "core/plan/pack_internal.h"

#include "base/require.h"

static bool pack_new_still_true(const struct packer *packer, const struct offer *offer)
{
    for (size_t i = 0; i < offer->placed_count; i++) {
        if (offer->placed[i].count > packer->batch.runs[offer->placed[i].run].left) {
            return false;
        }
    }
    return offer->is_tried;
}

/* A type that takes nothing now leaves the pool: requests only decrease. */
static void try_offer(struct packer *packer, uint32_t type)
{
    require(type < packer->fleet->input->type_count, "the type of an offer");
    struct offer *offer = &packer->offers[type];
    struct trial *trial = &packer->trial;
    const struct fleet_node *node = &packer->templates[type];
    trial_load(trial, node);
    trial_pack(trial, node);
    if (trial->placed_count > offer->placed_capacity) {
        offer->placed_capacity = 2 * trial->placed_count;
        offer->placed = ARENA_ARRAY(packer->fleet->arena, offer->placed_capacity, struct placed);
    }
    require(trial->placed_count <= offer->placed_capacity, "the trial fits into the offer");
    offer->placed_count = trial->placed_count;
    for (size_t i = 0; i < trial->placed_count; i++) {
        offer->placed[i] = trial->placed[i];
    }
    offer->is_tried = true;
    offer->is_open = trial->placed_count > 0;
    if (offer->is_open) {
        offer->score = trial_score(trial, node);
    }
}

static int compare_offers(const struct packer *packer, uint32_t a, uint32_t b)
{
    return score_compare(&packer->offers[a].score, packer->type_rank[a], &packer->offers[b].score,
                         packer->type_rank[b]);
}

/* The best offer, or NOWHERE; `ret_has_rival` is set if another one is equally good. */
static uint32_t best_offer(struct packer *packer, bool *ret_has_rival)
{
    uint32_t best = NOWHERE;
    *ret_has_rival = false;
    for (uint32_t i = 0; i < packer->fleet->input->type_count; i++) {
        struct offer *offer = &packer->offers[i];
        if (offer->is_open && !pack_new_still_true(packer, offer)) {
            try_offer(packer, i);
        }
        if (!offer->is_open) {
            continue;
        }
        int order = best == NOWHERE ? -1 : compare_offers(packer, i, best);
        if (order == 0) {
            *ret_has_rival = true;
            best = offer->turn < packer->offers[best].turn ? i : best;
        } else if (order < 0) {
            *ret_has_rival = false;
            best = i;
        }
    }
    require(best == NOWHERE || packer->offers[best].is_open, "the best offer is still open");
    return best;
}

/* The maximum that any offer uses of a run. */
static int64_t most_counted(const struct packer *packer, uint32_t run)
{
    int64_t most = 0;
    for (size_t i = 0; i < packer->fleet->input->type_count; i++) {
        const struct offer *offer = &packer->offers[i];
        for (size_t j = 0; offer->is_open && j < offer->placed_count; j++) {
            if (offer->placed[j].run == run && offer->placed[j].count > most) {
                most = offer->placed[j].count;
            }
        }
    }
    return most;
}

/* How many consecutive rounds have the same result: until some trial becomes invalid. */
static int64_t rounds_alike(const struct packer *packer, const struct offer *best, int64_t limit)
{
    int64_t rounds = limit < best->available ? limit : best->available;
    for (size_t i = 0; rounds > 1 && i < best->placed_count; i++) {
        const struct run *run = &packer->batch.runs[best->placed[i].run];
        int64_t spare = run->left - most_counted(packer, best->placed[i].run);
        int64_t alike = 1 + spare / best->placed[i].count;
        rounds = alike < rounds ? alike : rounds;
    }
    require(rounds >= 1, "the best offer can be taken at least once");
    return rounds;
}

static void open_pool(struct packer *packer)
{
    const struct plan_input *input = packer->fleet->input;
    for (size_t i = 0; i < input->type_count; i++) {
        struct offer *offer = &packer->offers[i];
        offer->available = input->types[i].max_nodes - packer->fleet->type_nodes[i];
        offer->is_open = !input->types[i].is_gone && offer->available > 0;
        offer->is_tried = false;
        offer->turn = i;
    }
}

void pack_new(struct packer *packer)
{
    const struct plan_input *input = packer->fleet->input;
    uint64_t turn = input->type_count;
    open_pool(packer);
    while (packer->batch.left > 0) {
        int64_t nodes = packer->fleet->total_nodes + packer->launched;
        int64_t limit = input->max_nodes < 0 ? INT64_MAX : input->max_nodes - nodes;
        bool has_rival;
        uint32_t type = limit > 0 ? best_offer(packer, &has_rival) : NOWHERE;
        if (type == NOWHERE) {
            return;
        }
        struct offer *best = &packer->offers[type];
        /* Ray alternates between equal offers, so these rounds run one by one. */
        int64_t rounds = has_rival ? 1 : rounds_alike(packer, best, limit);
        log_win(packer,
                (struct win){.position = NOWHERE,
                             .type = type,
                             .count = rounds,
                             .placed_first = log_placed(packer, best->placed, best->placed_count),
                             .placed_count = (uint32_t)best->placed_count});
        for (size_t i = 0; i < best->placed_count; i++) {
            batch_take(&packer->batch, best->placed[i].run, rounds * best->placed[i].count);
        }
        require(rounds <= limit, "not more nodes are launched than allowed");
        packer->launched += rounds;
        best->available -= rounds;
        require(best->available >= 0, "not more nodes of a type are launched than allowed");
        best->is_open = best->available > 0;
        best->turn = turn++;
    }
}
