/*
 * service_reasons.c: what each launch was for, kept at hand.
 *
 * It stands in the events; a view of thousands of nodes must not read thousands of them for each.
 */
#include "app/head/service_parts.h"
#include "base/table.h"
#include "io/heap.h"
#include "provider/launch_token.h"

enum { REASONS_MAX = 10000 }; /* then it begins anew, with the events that are left */

struct launch_reason {
    uint64_t launch;
    struct str text;
};

struct reasons {
    struct arena memory;
    struct launch_reason *items;
    size_t count, capacity;
    struct table table;
    int64_t number; /* of the last event that was looked at */
};

void service_open_reasons(struct service *service)
{
    service->reasons = HEAP_NEW(struct reasons);
    arena_init(&service->reasons->memory);
}

void service_close_reasons(struct service *service)
{
    if (service->reasons) {
        arena_clear(&service->reasons->memory);
        free(service->reasons);
        service->reasons = NULL;
    }
}

struct search {
    const struct reasons *reasons;
    uint64_t launch;
};

static bool is_same(const void *context, size_t position)
{
    const struct search *search = context;
    return search->reasons->items[position].launch == search->launch;
}

static size_t find(const struct reasons *reasons, uint64_t launch)
{
    struct search search = {reasons, launch};
    return table_find(&reasons->table, launch * 0x9e3779b97f4a7c15, is_same, &search);
}

/* "launch 7.3: 2 x gpu (g5.xlarge, spot) in us-west-2a": the first with a number counts, the others
 * are repetitions of the same call. */
static void take_event(void *context, const struct insight_event *event)
{
    struct reasons *reasons = context;
    struct str rest = event->text;
    struct str number = str_cut(&rest, ':');
    uint64_t launch;
    reasons->number = event->number;
    if (event->kind != EVENT_WORD_LAUNCH || !str_starts(number, "launch ") ||
        !launch_number_parse(str_sub(number, sizeof("launch ") - 1, number.len), &launch) ||
        find(reasons, launch) != TABLE_NONE) {
        return;
    }
    arena_grow(&reasons->memory, (void **)&reasons->items, reasons->count, &reasons->capacity,
               sizeof(*reasons->items));
    table_add(&reasons->table, &reasons->memory, launch * 0x9e3779b97f4a7c15, reasons->count);
    reasons->items[reasons->count++] = (struct launch_reason){
        launch, arena_str(&reasons->memory, event->reason)};
}

static void catch_up(const struct service *service, struct reasons *reasons)
{
    if (reasons->count > REASONS_MAX) {
        arena_clear(&reasons->memory);
        *reasons = (struct reasons){.memory = reasons->memory};
    }
    if (events_last(service->events) > reasons->number) {
        events_each(service->events, reasons->number, take_event, reasons);
    }
}

struct str service_why_launched(const struct service *service, uint64_t launch)
{
    struct reasons *reasons = service->reasons;
    if (!reasons || !service->events) {
        return STR("");
    }
    catch_up(service, reasons);
    size_t at = find(reasons, launch);
    return at == TABLE_NONE ? STR("") : reasons->items[at].text;
}
