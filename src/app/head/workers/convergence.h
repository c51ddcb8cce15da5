/*
 * convergence.h: have all required workers joined or failed?
 *
 * A failed worker is replaced, and the replacement may fail too, forever. `up` must return anyway:
 * the cluster has converged when every required worker is ready or has failed once. A worker that
 * appears after a failure takes the slot of that failure, so repeated failures count once.
 */
#pragma once

#include "app/head/workers/worker_records.h"

/* Sets the state of a worker; may be called repeatedly. CONVERGE_FAILED is final. True if the
 * worker is new. */
bool convergence_apply(struct worker_records *workers, uint64_t instance, enum slot_state state);

size_t convergence_count(const struct worker_records *workers, enum slot_state state);
bool convergence_is_reached(const struct worker_records *workers, size_t wanted);
