/*
 * worker_records.h: one record for each worker that this service knows.
 *
 * A record exists from the first news of a worker until retention removes it, long after its
 * machine is gone. Each part has its own rules: setup_record.h, convergence.h, service_events.h.
 */
#pragma once

#include "app/head/workers/setup_record.h"

enum slot_state { CONVERGE_GONE, CONVERGE_PENDING, CONVERGE_READY, CONVERGE_FAILED };

struct worker_record {
    uint64_t instance;
    bool has_setup; /* `setup` is known */
    struct setup_record setup;
    uint64_t mounts;         /* what was copied to it last (mount_sync.c); 0 if unknown */
    int64_t mounts_retry_ms; /* after a failed copy, on the loop's clock */
    enum slot_state state;
    bool is_replacement; /* the worker replaces a failed one */
    /* Events that were written. */
    bool is_failure_logged, is_end_logged, is_notice_logged;
    bool is_gone; /* its end was logged, or needs no event */
};

struct worker_records {
    struct worker_record **items; /* heap; ascending by instance */
    size_t count, capacity;
    size_t open; /* failures without a replacement yet */
};

void worker_records_clear(struct worker_records *records);
/* NULL if unknown. Valid until it is removed. */
struct worker_record *worker_records_find(const struct worker_records *records, uint64_t instance);
/* Adds an empty record if there is none. */
struct worker_record *worker_records_get(struct worker_records *records, uint64_t instance);
void worker_records_remove(struct worker_records *records, uint64_t instance);

/* NULL if unknown. */
struct setup_record *worker_records_setup(const struct worker_records *records, uint64_t instance);
/* Replaces what is known about its setup. */
struct setup_record *worker_records_new_setup(struct worker_records *records, uint64_t instance,
                                              uint64_t launch);
/* Is it being set up again? Then `ret_keeps_ray` says whether its Ray keeps running. */
bool worker_records_is_updating(const struct worker_records *records, uint64_t instance,
                                bool *ret_keeps_ray);
