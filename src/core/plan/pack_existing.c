/* pack_existing.c: repeatedly takes the best of the existing nodes. */
#include "core/plan/pack_internal.h"

#include "base/require.h"

#include <string.h>

/* ---- the heap of groups, best first -------------------------------------------------------- */

static bool pack_existing_is_better(const struct heap_entry *a, const struct heap_entry *b)
{
    int order = score_compare(&a->score, a->type_rank, &b->score, b->type_rank);
    return order != 0 ? order < 0 : a->first < b->first;
}

static void heap_put(struct packer *packer, size_t at, const struct heap_entry *entry)
{
    require(at < packer->heap_count, "a position of the heap");
    require(entry->group < packer->group_count, "a group of this batch");
    packer->heap[at] = *entry;
    packer->groups[entry->group].heap_at = (uint32_t)at;
}

static void heap_up(struct packer *packer, size_t at)
{
    struct heap_entry entry = packer->heap[at];
    while (at > 0 && pack_existing_is_better(&entry, &packer->heap[(at - 1) / 2])) {
        heap_put(packer, at, &packer->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(packer, at, &entry);
}

static void heap_down(struct packer *packer, size_t at)
{
    struct heap_entry entry = packer->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < packer->heap_count &&
            pack_existing_is_better(&packer->heap[child + 1], &packer->heap[child])) {
            child++;
        }
        if (child >= packer->heap_count || !pack_existing_is_better(&packer->heap[child], &entry)) {
            break;
        }
        heap_put(packer, at, &packer->heap[child]);
        at = child;
    }
    heap_put(packer, at, &entry);
}

static void heap_remove(struct packer *packer, uint32_t group)
{
    size_t at = packer->groups[group].heap_at;
    require(at < packer->heap_count, "the group is in the heap");
    require(packer->heap[at].group == group, "the group knows its position in the heap");
    struct heap_entry last = packer->heap[--packer->heap_count];
    packer->groups[group].heap_at = NOWHERE;
    if (last.group != group) {
        heap_put(packer, at, &last);
        heap_up(packer, at);
        heap_down(packer, packer->groups[last.group].heap_at);
    }
}

/* ---- which trials use which run ------------------------------------------------------------ */

static void unlink_uses(struct packer *packer, struct group *group)
{
    require(group->use_first + group->use_count <= packer->use_count, "the uses of a group");
    for (uint32_t i = 0; i < group->use_count; i++) {
        struct use *use = &packer->uses[group->use_first + i];
        if (use->previous != NOWHERE) {
            packer->uses[use->previous].next = use->next;
        } else {
            packer->batch.runs[use->run].user_list = use->next;
        }
        if (use->next != NOWHERE) {
            packer->uses[use->next].previous = use->previous;
        }
    }
    group->use_count = 0;
}

static void reserve_uses(struct packer *packer, struct group *group, size_t count)
{
    if (count <= group->use_capacity) {
        return;
    }
    while (packer->use_count + count > packer->use_capacity) {
        size_t capacity = packer->use_capacity + packer->use_capacity / 2 + 64;
        struct use *larger = ARENA_ARRAY(packer->fleet->arena, capacity, struct use);
        if (packer->use_count > 0) {
            memcpy(larger, packer->uses, packer->use_count * sizeof(*larger));
        }
        packer->uses = larger;
        packer->use_capacity = capacity;
    }
    group->use_first = (uint32_t)packer->use_count;
    group->use_capacity = (uint32_t)count;
    packer->use_count += count;
    require(packer->use_count <= packer->use_capacity, "the uses fit into their array");
}

static void link_uses(struct packer *packer, uint32_t index)
{
    struct group *group = &packer->groups[index];
    const struct trial *trial = &packer->trial;
    reserve_uses(packer, group, trial->placed_count);
    require(trial->placed_count <= group->use_capacity, "the group has room for its uses");
    group->use_count = (uint32_t)trial->placed_count;
    for (uint32_t i = 0; i < group->use_count; i++) {
        uint32_t at = group->use_first + i;
        struct run *run = &packer->batch.runs[trial->placed[i].run];
        packer->uses[at] = (struct use){.run = trial->placed[i].run,
                                        .group = index,
                                        .previous = NOWHERE,
                                        .next = run->user_list,
                                        .count = trial->placed[i].count};
        if (run->user_list != NOWHERE) {
            packer->uses[run->user_list].previous = at;
        }
        run->user_list = at;
        if (trial->placed[i].count > run->most_used) {
            run->most_used = trial->placed[i].count;
        }
    }
}

/* ---- trials -------------------------------------------------------------------------------- */

/* Tries the first node of a group; false if it takes nothing. */
static bool try_first(struct packer *packer, uint32_t index, struct heap_entry *ret_entry)
{
    struct group *group = &packer->groups[index];
    const struct fleet_node *node = node_at(packer, group->first);
    unlink_uses(packer, group);
    group->logged = NOWHERE;
    group->is_stale = false;
    trial_load(&packer->trial, node);
    trial_pack(&packer->trial, node);
    if (packer->trial.placed_count == 0) {
        return false;
    }
    link_uses(packer, index);
    *ret_entry = (struct heap_entry){trial_score(&packer->trial, node),
                                     packer->type_rank[node->type], group->first, index};
    return true;
}

static void fill_heap(struct packer *packer)
{
    for (uint32_t i = 0; i < packer->group_count; i++) {
        struct heap_entry entry;
        if (try_first(packer, i, &entry)) {
            heap_put(packer, packer->heap_count++, &entry);
        }
    }
    for (size_t i = packer->heap_count / 2; i-- > 0;) {
        heap_down(packer, i);
    }
}

/* A group whose first node takes nothing now never will: requests only decrease. */
static void pack_existing_try_again(struct packer *packer, uint32_t index)
{
    struct heap_entry entry;
    if (!try_first(packer, index, &entry)) {
        heap_remove(packer, index);
        return;
    }
    size_t at = packer->groups[index].heap_at;
    require(at < packer->heap_count, "a group that is tried again is in the heap");
    packer->heap[at] = entry;
    heap_up(packer, at);
    heap_down(packer, packer->groups[index].heap_at);
}

static void mark_stale(struct packer *packer, uint32_t group)
{
    if (!packer->groups[group].is_stale) {
        require(packer->stale_count < packer->group_count, "a group is stale once");
        packer->groups[group].is_stale = true;
        packer->stale[packer->stale_count++] = group;
    }
}

/* After requests of a run were placed: marks the trials that use more than are left. */
static void find_stale(struct packer *packer, struct run *run)
{
    if (run->left >= run->most_used) {
        return;
    }
    run->most_used = 0;
    for (uint32_t i = run->user_list; i != NOWHERE; i = packer->uses[i].next) {
        const struct use *use = &packer->uses[i];
        if (use->count > run->left) {
            mark_stale(packer, use->group);
        } else if (use->count > run->most_used) {
            run->most_used = use->count;
        }
    }
}

/* ---- rounds -------------------------------------------------------------------------------- */

/* Equivalent nodes that win in a row take the same requests, which are stored once. */
static void log_group(struct packer *packer, struct group *group)
{
    if (packer->is_last && !packer->log) {
        return;
    }
    if (group->logged == NOWHERE) {
        group->logged = (uint32_t)packer->win_placed_count;
        for (uint32_t i = 0; i < group->use_count; i++) {
            const struct use *use = &packer->uses[group->use_first + i];
            struct placed placed = {use->run, use->count};
            log_placed(packer, &placed, 1);
        }
    }
    log_win(packer, (struct win){.position = group->first,
                                 .count = 1,
                                 .placed_first = group->logged,
                                 .placed_count = group->use_count});
}

static void win_round(struct packer *packer, uint32_t index)
{
    struct group *group = &packer->groups[index];
    log_group(packer, group);
    require(packer->winner_count < packer->fleet->order_count, "a node wins once");
    require((packer->fates[group->first] & FATE_MASK) == FATE_STAYS, "the winner had no requests");
    packer->winners[packer->winner_count++] = group->first;
    packer->fates[group->first] = FATE_WON;
    for (uint32_t i = 0; i < group->use_count; i++) {
        const struct use *use = &packer->uses[group->use_first + i];
        batch_take(&packer->batch, use->run, use->count);
    }
    for (uint32_t i = 0; i < group->use_count; i++) {
        find_stale(packer, &packer->batch.runs[packer->uses[group->use_first + i].run]);
    }
    group->first = packer->next_in_group[group->first];
    if (group->first == NOWHERE) {
        group->is_stale = true; /* prevents further trials */
        unlink_uses(packer, group);
        heap_remove(packer, index);
    } else if (group->is_mixed) {
        mark_stale(packer, index);
    } else {
        packer->heap[group->heap_at].first = group->first;
        heap_down(packer, group->heap_at);
    }
    for (size_t i = 0; i < packer->stale_count; i++) {
        if (packer->groups[packer->stale[i]].first != NOWHERE) {
            pack_existing_try_again(packer, packer->stale[i]);
        }
    }
    packer->stale_count = 0;
}

void pack_existing(struct packer *packer)
{
    for (size_t i = 0; i < packer->batch.run_count; i++) {
        packer->batch.runs[i].user_list = NOWHERE;
        packer->batch.runs[i].most_used = 0;
    }
    packer->heap_count = 0;
    packer->stale_count = 0;
    packer->use_count = 0;
    gather_groups(packer);
    if (packer->group_count * 2 > packer->use_capacity) {
        packer->use_capacity = packer->group_count * 2;
        packer->uses = ARENA_ARRAY(packer->fleet->arena, packer->use_capacity, struct use);
    }
    fill_heap(packer);
    while (packer->batch.left > 0 && packer->heap_count > 0) {
        win_round(packer, packer->heap[0].group);
    }
}
