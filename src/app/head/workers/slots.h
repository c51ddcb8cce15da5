/*
 * slots.h: is what was asked for there, or known not to come?
 *
 * A worker that fails is replaced, and the replacement may fail as well, for ever. Whoever waits
 * for a cluster wants an answer all the same: it has settled when every wanted worker is ready or
 * has failed at least once. A worker that comes after a failure takes that failure's slot, so that
 * one that fails twice does not count for two.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slot_state { SLOT_PENDING, SLOT_READY, SLOT_FAILED, SLOT_GONE };

struct slot {
    uint64_t instance;
    enum slot_state state;
    bool is_replacement;
};

struct slots {
    struct slot *items; /* on the heap */
    size_t count, capacity;
    size_t open; /* failures that nobody has replaced yet */
};

void slots_clear(struct slots *slots);

/* Of one worker, as often as one likes. FAILED stays, whatever is heard later. */
void slots_hear(struct slots *slots, uint64_t instance, enum slot_state state);

size_t slots_count(const struct slots *slots, enum slot_state state);
bool slots_are_settled(const struct slots *slots, size_t wanted);
