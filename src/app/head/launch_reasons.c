/*
 * launch_reasons.c: cache of the reasons of launches.
 *
 * They are in the events; a view of thousands of nodes must not search the events for each node.
 */
#include "app/head/launch_reasons.h"

#include "base/require.h"
#include "base/table.h"
#include "io/xalloc.h"

enum { REASONS_MAX = 10000 }; /* beyond this size the cache is rebuilt from the stored events */

struct launch_reason {
    uint64_t launch;
    struct str text;
};

struct launch_reasons {
    struct events *events;
    struct arena memory;
    struct launch_reason *items;
    size_t count, capacity;
    struct table table;
    int64_t number; /* number of the last event that was read */
};

struct launch_reasons *launch_reasons_open(struct events *events)
{
    struct launch_reasons *reasons = HEAP_NEW(struct launch_reasons);
    reasons->events = events;
    arena_init(&reasons->memory);
    return reasons;
}

void launch_reasons_close(struct launch_reasons *reasons)
{
    if (reasons) {
        arena_clear(&reasons->memory);
        free(reasons);
    }
}

struct launch_reasons_search {
    const struct launch_reasons *reasons;
    uint64_t launch;
};

static bool launch_reasons_is_same(const void *context, size_t position)
{
    const struct launch_reasons_search *search = context;
    return search->reasons->items[position].launch == search->launch;
}

static size_t launch_reasons_position(const struct launch_reasons *reasons, uint64_t launch)
{
    struct launch_reasons_search search = {reasons, launch};
    return table_find(&reasons->table, launch * 0x9e3779b97f4a7c15, launch_reasons_is_same,
                      &search);
}

/* Only the first event of a launch is used; later ones are retries. */
static void launch_reasons_take_event(void *context, const struct cluster_event *event)
{
    struct launch_reasons *reasons = context;
    uint64_t launch = event->launch;
    reasons->number = event->number;
    if (event->kind != CLUSTER_EVENT_LAUNCH || launch == 0 ||
        launch_reasons_position(reasons, launch) != TABLE_NONE) {
        return;
    }
    ARENA_GROW(&reasons->memory, reasons->items, reasons->count, reasons->capacity);
    require(reasons->count < reasons->capacity, "there is room for a reason");
    table_add(&reasons->table, &reasons->memory, launch * 0x9e3779b97f4a7c15, reasons->count);
    reasons->items[reasons->count++] = (struct launch_reason){
        launch, arena_str(&reasons->memory, event->reason)};
}

static void launch_reasons_catch_up(struct launch_reasons *reasons)
{
    if (reasons->count > REASONS_MAX) {
        arena_clear(&reasons->memory);
        *reasons = (struct launch_reasons){.events = reasons->events, .memory = reasons->memory};
    }
    if (events_last(reasons->events) > reasons->number) {
        events_each(reasons->events, reasons->number, launch_reasons_take_event, reasons);
    }
}

struct str launch_reasons_find(struct launch_reasons *reasons, uint64_t launch)
{
    launch_reasons_catch_up(reasons);
    size_t at = launch_reasons_position(reasons, launch);
    require(at == TABLE_NONE || at < reasons->count, "the index has positions of the array");
    return at == TABLE_NONE ? STR("") : reasons->items[at].text;
}
