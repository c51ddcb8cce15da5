/* worker_records.c: the records, sorted by instance. */
#include "app/head/workers/worker_records.h"

#include "base/require.h"
#include "io/xalloc.h"

#include <string.h>

/* The position of the first record that is not before this instance. */
static size_t worker_records_position(const struct worker_records *records, uint64_t instance)
{
    size_t from = 0;
    size_t to = records->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (records->items[middle]->instance < instance) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    require(from <= records->count, "a position of the list, or its end");
    return from;
}

static bool worker_records_is_at(const struct worker_records *records, size_t at, uint64_t instance)
{
    return at < records->count && records->items[at]->instance == instance;
}

void worker_records_clear(struct worker_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        free(records->items[i]);
    }
    free(records->items);
    *records = (struct worker_records){0};
}

struct worker_record *worker_records_find(const struct worker_records *records, uint64_t instance)
{
    size_t at = worker_records_position(records, instance);
    return worker_records_is_at(records, at, instance) ? records->items[at] : NULL;
}

struct worker_record *worker_records_get(struct worker_records *records, uint64_t instance)
{
    size_t at = worker_records_position(records, instance);
    if (worker_records_is_at(records, at, instance)) {
        return records->items[at];
    }
    HEAP_ROOM(records->items, records->count, records->capacity);
    require(records->count < records->capacity, "there is room for a record");
    require(at == 0 || records->items[at - 1]->instance < instance, "the records are in order");
    require(at == records->count || records->items[at]->instance > instance,
            "an instance has one record");
    struct worker_record **place = &records->items[at];
    memmove(place + 1, place, (records->count - at) * sizeof(struct worker_record *));
    records->count++;
    *place = HEAP_NEW(struct worker_record);
    (*place)->instance = instance;
    return *place;
}

void worker_records_remove(struct worker_records *records, uint64_t instance)
{
    size_t at = worker_records_position(records, instance);
    if (worker_records_is_at(records, at, instance)) {
        struct worker_record **place = &records->items[at];
        free(*place);
        records->count--;
        memmove(place, place + 1, (records->count - at) * sizeof(struct worker_record *));
    }
}

struct setup_record *worker_records_setup(const struct worker_records *records, uint64_t instance)
{
    struct worker_record *record = worker_records_find(records, instance);
    require(!record || record->instance == instance, "the record of this instance");
    require(!record || !record->has_setup || record->setup.instance == instance,
            "a setup is of the instance of its record");
    return record && record->has_setup ? &record->setup : NULL;
}

struct setup_record *worker_records_new_setup(struct worker_records *records, uint64_t instance,
                                              uint64_t launch)
{
    struct worker_record *record = worker_records_get(records, instance);
    record->has_setup = true;
    record->setup = (struct setup_record){.instance = instance, .launch = launch};
    return &record->setup;
}

bool worker_records_is_updating(const struct worker_records *records, uint64_t instance,
                                bool *ret_keeps_ray)
{
    const struct setup_record *setup = worker_records_setup(records, instance);
    *ret_keeps_ray = setup && setup->keeps_ray;
    return setup && setup->is_updating;
}
