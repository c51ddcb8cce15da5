/* table.c: open addressing with linear probing, at most half full. */
#include "base/table.h"

#include "base/require.h"

/* Uses every bit of the hash: FNV's low bits alone are weak. */
static uint32_t table_fold(uint64_t hash)
{
    hash ^= hash >> 33;
    hash *= UINT64_C(0xFF51AFD7ED558CCD);
    hash ^= hash >> 33;
    return (uint32_t)(hash ^ (hash >> 32));
}

size_t table_find(const struct table *table, uint64_t hash, table_same_fn *same,
                  const void *context)
{
    if (table->slot_count == 0) {
        return TABLE_NONE;
    }
    size_t mask = table->slot_count - 1;
    for (size_t i = table_fold(hash) & mask;; i = (i + 1) & mask) {
        const struct table_slot *slot = &table->slots[i];
        if (slot->position == 0) {
            return TABLE_NONE;
        }
        if (slot->hash == table_fold(hash) && same(context, slot->position - 1)) {
            return slot->position - 1;
        }
    }
}

static void place_slot(struct table *table, struct table_slot slot)
{
    require(table->used < table->slot_count, "there is a free slot");
    require((table->slot_count & (table->slot_count - 1)) == 0,
            "the number of slots is a power of two");
    size_t mask = table->slot_count - 1;
    size_t i = slot.hash & mask;
    while (table->slots[i].position != 0) {
        i = (i + 1) & mask;
    }
    table->slots[i] = slot;
}

void table_add(struct table *table, struct arena *arena, uint64_t hash, size_t position)
{
    require(position < UINT32_MAX, "positions fit into 32 bits");
    if ((table->used + 1) * 2 > table->slot_count) {
        struct table old = *table;
        table->slot_count = old.slot_count ? old.slot_count * 2 : 32;
        table->slots = ARENA_ARRAY(arena, table->slot_count, struct table_slot);
        for (size_t i = 0; i < old.slot_count; i++) {
            if (old.slots[i].position != 0) {
                place_slot(table, old.slots[i]);
            }
        }
    }
    place_slot(table, (struct table_slot){table_fold(hash), (uint32_t)position + 1});
    table->used++;
    require(table->used * 2 <= table->slot_count, "at most half of the slots are used");
}
