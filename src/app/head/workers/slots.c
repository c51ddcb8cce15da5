/* slots.c: workers that come, and those that failed before. */
#include "app/head/workers/slots.h"

#include "base/panic.h"

#include <stdlib.h>

void slots_clear(struct slots *slots)
{
    free(slots->items);
    *slots = (struct slots){0};
}

static struct slot *find(struct slots *slots, uint64_t instance)
{
    for (size_t i = 0; i < slots->count; i++) {
        if (slots->items[i].instance == instance) {
            return &slots->items[i];
        }
    }
    return NULL;
}

static struct slot *add(struct slots *slots, uint64_t instance)
{
    if (slots->count == slots->capacity) {
        slots->capacity = slots->capacity > 0 ? 2 * slots->capacity : 16;
        slots->items = realloc(slots->items, slots->capacity * sizeof(*slots->items));
        if (!slots->items) {
            panic("out of memory (%zu workers)", slots->capacity);
        }
    }
    struct slot *slot = &slots->items[slots->count++];
    *slot = (struct slot){.instance = instance, .is_replacement = slots->open > 0};
    slots->open -= slot->is_replacement;
    return slot;
}

static void drop(struct slots *slots, struct slot *slot)
{
    *slot = slots->items[--slots->count];
}

void slots_hear(struct slots *slots, uint64_t instance, enum slot_state state)
{
    struct slot *slot = find(slots, instance);
    if (!slot && state == SLOT_GONE) {
        return;
    }
    if (!slot) {
        slot = add(slots, instance);
    }
    if (slot->state == SLOT_FAILED) {
        return; /* it stays known, so that it is not taken for another one */
    }
    if (state == SLOT_GONE) {
        slots->open += slot->is_replacement; /* its slot is free again */
        drop(slots, slot);
        return;
    }
    slots->open += state == SLOT_FAILED;
    slot->state = state;
}

size_t slots_count(const struct slots *slots, enum slot_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < slots->count; i++) {
        count += slots->items[i].state == state;
    }
    return count;
}

bool slots_are_settled(const struct slots *slots, size_t wanted)
{
    size_t known = slots->open;
    for (size_t i = 0; i < slots->count; i++) {
        const struct slot *slot = &slots->items[i];
        if (slot->state == SLOT_PENDING && !slot->is_replacement) {
            return false;
        }
        known += slot->state == SLOT_READY || slot->state == SLOT_PENDING;
    }
    return known >= wanted;
}
