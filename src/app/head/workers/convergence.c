/* convergence.c: tracks workers and their replacements. */
#include "app/head/workers/convergence.h"

#include "base/require.h"

bool convergence_apply(struct worker_records *workers, uint64_t instance, enum slot_state state)
{
    struct worker_record *worker = state == CONVERGE_GONE ? worker_records_find(workers, instance)
                                                          : worker_records_get(workers, instance);
    if (!worker || worker->state == state || worker->state == CONVERGE_FAILED) {
        return false; /* a failed one stays known, so that it is not treated as a new worker */
    }
    bool is_new = worker->state == CONVERGE_GONE;
    require(worker->instance == instance, "the record of this worker");
    require(!is_new || state != CONVERGE_GONE, "a worker that is gone is not new");
    if (is_new) {
        worker->is_replacement = workers->open > 0;
        workers->open -= worker->is_replacement;
    }
    if (state == CONVERGE_GONE) {
        workers->open += worker->is_replacement; /* another worker may take its slot */
    }
    workers->open += state == CONVERGE_FAILED;
    worker->state = state;
    return is_new;
}

size_t convergence_count(const struct worker_records *workers, enum slot_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < workers->count; i++) {
        count += workers->items[i]->state == state;
    }
    return count;
}

bool convergence_is_reached(const struct worker_records *workers, size_t wanted)
{
    size_t known = workers->open;
    for (size_t i = 0; i < workers->count; i++) {
        const struct worker_record *worker = workers->items[i];
        if (worker->state == CONVERGE_PENDING && !worker->is_replacement) {
            return false;
        }
        known += worker->state == CONVERGE_READY || worker->state == CONVERGE_PENDING;
    }
    return known >= wanted;
}
