/* pack_gather.c: selects the nodes of a batch and groups equivalent ones. */
#include "base/require.h"
#include "core/plan/equivalence.h"
#include "core/plan/pack_internal.h"

#include <string.h>

static void reserve_positions(struct packer *packer)
{
    struct arena *arena = packer->fleet->arena;
    size_t count = packer->fleet->order_count;
    if (count > packer->position_capacity) {
        packer->position_capacity = count + count / 8;
        packer->fates = ARENA_ARRAY(arena, packer->position_capacity, uint8_t);
        packer->next_in_group = ARENA_ARRAY(arena, packer->position_capacity, uint32_t);
        packer->winners = ARENA_ARRAY(arena, packer->position_capacity, uint32_t);
    }
    packer->slot_count = 16;
    while (packer->slot_count / 8 * 7 < count) {
        packer->slot_count *= 2;
    }
    require(packer->slot_count > count, "the table always has a free slot");
    if (packer->slot_count > packer->slot_capacity) {
        packer->slot_capacity = packer->slot_count;
        packer->slots = ARENA_ARRAY(arena, packer->slot_count, struct kin_slot);
    } else {
        memset(packer->slots, 0, packer->slot_count * sizeof(*packer->slots));
    }
}

/* Links a node in front of its equivalents; nodes are added from last to first. */
static void join_kin(struct packer *packer, uint32_t position)
{
    const struct fleet_node *node = node_at(packer, position);
    uint64_t wide = kin_hash(node, packer->source);
    uint32_t hash = (uint32_t)(wide ^ wide >> 32);
    size_t mask = packer->slot_count - 1;
    size_t at = hash & mask;
    packer->fates[position] |= KIN_FIRST;
    packer->next_in_group[position] = NOWHERE;
    for (; packer->slots[at].first != 0; at = (at + 1) & mask) {
        uint32_t first = packer->slots[at].first - 1;
        const struct fleet_node *other = node_at(packer, first);
        if (packer->slots[at].hash == hash &&
            kin_same(&packer->batch, node, other, packer->source, packer->fleet->gpu)) {
            require(first > position, "equivalent nodes are linked in the order of the fleet");
            packer->next_in_group[position] = first;
            if ((packer->fates[first] & KIN_MIXED) ||
                !kin_same_history(node, other, packer->source)) {
                packer->fates[position] |= KIN_MIXED;
            }
            packer->fates[first] &= FATE_MASK;
            break;
        }
    }
    packer->slots[at] = (struct kin_slot){hash, position + 1};
}

static void make_groups(struct packer *packer)
{
    size_t count = 0;
    for (size_t i = 0; i < packer->fleet->order_count; i++) {
        count += (packer->fates[i] & KIN_FIRST) != 0;
    }
    if (count > packer->group_capacity) {
        struct arena *arena = packer->fleet->arena;
        packer->group_capacity = count + count / 8;
        packer->groups = ARENA_ARRAY(arena, packer->group_capacity, struct group);
        packer->heap = ARENA_ARRAY(arena, packer->group_capacity, struct heap_entry);
        packer->stale = ARENA_ARRAY(arena, packer->group_capacity, uint32_t);
    }
    packer->group_count = 0;
    for (uint32_t i = 0; i < packer->fleet->order_count; i++) {
        if (packer->fates[i] & KIN_FIRST) {
            packer->groups[packer->group_count++] = (struct group){
                .first = i,
                .heap_at = NOWHERE,
                .logged = NOWHERE,
                .is_mixed = (packer->fates[i] & KIN_MIXED) != 0};
        }
    }
    require(packer->group_count == count, "one group for each class of equivalent nodes");
}

void gather_groups(struct packer *packer)
{
    reserve_positions(packer);
    for (uint32_t i = (uint32_t)packer->fleet->order_count; i-- > 0;) {
        const struct fleet_node *node = node_at(packer, i);
        trial_load(&packer->trial, node);
        bool has_room = batch_next_fit(&packer->batch, 0, packer->trial.amounts) != SIZE_MAX;
        packer->fates[i] = has_room || !node->is_running ? FATE_STAYS : FATE_EXHAUSTED;
        if (has_room) {
            join_kin(packer, i);
        }
    }
    make_groups(packer);
}
