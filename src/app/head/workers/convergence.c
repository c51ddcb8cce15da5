/* convergence.c: tracks workers and their replacements. */
#include "app/head/workers/convergence.h"

#include "base/panic.h"

#include <stdlib.h>

void convergence_clear(struct slots *slots)
{
    free(slots->items);
    *slots = (struct slots){0};
}

static struct slot *convergence_find(struct slots *slots, uint64_t instance)
{
    for (size_t i = 0; i < slots->count; i++) {
        if (slots->items[i].instance == instance) {
            return &slots->items[i];
        }
    }
    return NULL;
}

static struct slot *convergence_add(struct slots *slots, uint64_t instance)
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

static void convergence_drop(struct slots *slots, struct slot *slot)
{
    *slot = slots->items[--slots->count];
}

void convergence_apply(struct slots *slots, uint64_t instance, enum slot_state state)
{
    struct slot *slot = convergence_find(slots, instance);
    if (!slot && state == CONVERGE_GONE) {
        return;
    }
    if (!slot) {
        slot = convergence_add(slots, instance);
    }
    if (slot->state == CONVERGE_FAILED) {
        return; /* stays known, so that it is not treated as a new worker */
    }
    if (state == CONVERGE_GONE) {
        slots->open += slot->is_replacement; /* another worker may take its slot */
        convergence_drop(slots, slot);
        return;
    }
    slots->open += state == CONVERGE_FAILED;
    slot->state = state;
}

void convergence_forget(struct slots *slots, uint64_t instance)
{
    struct slot *slot = convergence_find(slots, instance);
    if (slot) {
        convergence_drop(slots, slot);
    }
}

size_t convergence_count(const struct slots *slots, enum slot_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < slots->count; i++) {
        count += slots->items[i].state == state;
    }
    return count;
}

bool convergence_is_reached(const struct slots *slots, size_t wanted)
{
    size_t known = slots->open;
    for (size_t i = 0; i < slots->count; i++) {
        const struct slot *slot = &slots->items[i];
        if (slot->state == CONVERGE_PENDING && !slot->is_replacement) {
            return false;
        }
        known += slot->state == CONVERGE_READY || slot->state == CONVERGE_PENDING;
    }
    return known >= wanted;
}
