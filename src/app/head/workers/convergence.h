/*
 * convergence.h: have all required workers joined or failed?
 *
 * A failed worker is replaced, and the replacement may fail too, forever. `up` must return anyway:
 * the cluster has converged when every required worker is ready or has failed once. A worker that
 * appears after a failure takes the slot of that failure, so repeated failures count once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slot_state { CONVERGE_PENDING, CONVERGE_READY, CONVERGE_FAILED, CONVERGE_GONE };

struct slot {
    uint64_t instance;
    enum slot_state state;
    bool is_replacement;
};

struct slots {
    struct slot *items; /* heap */
    size_t count, capacity;
    size_t open; /* failures without a replacement yet */
};

void convergence_clear(struct slots *slots);

/* Sets the state of a worker; may be called repeatedly. CONVERGE_FAILED is final. */
void convergence_apply(struct slots *slots, uint64_t instance, enum slot_state state);

/* Forgets a worker that has been gone for a long time. */
void convergence_forget(struct slots *slots, uint64_t instance);

size_t convergence_count(const struct slots *slots, enum slot_state state);
bool convergence_is_reached(const struct slots *slots, size_t wanted);
