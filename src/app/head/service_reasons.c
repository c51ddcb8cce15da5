/*
 * service_reasons.c: cache of the reasons of launches.
 *
 * They are in the events; a view of thousands of nodes must not search the events for each node.
 */
#include "app/control/launch_request.h"
#include "app/head/service_internal.h"
#include "base/table.h"
#include "io/xalloc.h"
#include "provider/launch_token.h"

enum { REASONS_MAX = 10000 }; /* then the cache is rebuilt from the stored events */

struct launch_reason {
    uint64_t launch;
    struct str text;
};

struct reasons {
    struct arena memory;
    struct launch_reason *items;
    size_t count, capacity;
    struct table table;
    int64_t number; /* of the last event that was read */
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

struct service_reasons_search {
    const struct reasons *reasons;
    uint64_t launch;
};

static bool service_reasons_is_same(const void *context, size_t position)
{
    const struct service_reasons_search *search = context;
    return search->reasons->items[position].launch == search->launch;
}

static size_t service_reasons_find(const struct reasons *reasons, uint64_t launch)
{
    struct service_reasons_search search = {reasons, launch};
    return table_find(&reasons->table, launch * 0x9e3779b97f4a7c15, service_reasons_is_same,
                      &search);
}

/* "launch 7.3: 2 x gpu (g5.xlarge, spot) in us-west-2a". Only the first event of a launch is used;
 * later ones are retries. */
static void service_reasons_take_event(void *context, const struct cluster_event *event)
{
    struct reasons *reasons = context;
    struct str rest = event->text;
    struct str number = str_cut(&rest, ':');
    uint64_t launch;
    reasons->number = event->number;
    if (event->kind != CLUSTER_EVENT_LAUNCH || !str_starts(number, "launch ") ||
        !launch_number_parse(str_sub(number, sizeof("launch ") - 1, number.len), &launch) ||
        service_reasons_find(reasons, launch) != TABLE_NONE) {
        return;
    }
    arena_grow(&reasons->memory, (void **)&reasons->items, reasons->count, &reasons->capacity,
               sizeof(*reasons->items));
    table_add(&reasons->table, &reasons->memory, launch * 0x9e3779b97f4a7c15, reasons->count);
    reasons->items[reasons->count++] = (struct launch_reason){
        launch, arena_str(&reasons->memory, event->reason)};
}

static void service_reasons_catch_up(const struct service *service, struct reasons *reasons)
{
    if (reasons->count > REASONS_MAX) {
        arena_clear(&reasons->memory);
        *reasons = (struct reasons){.memory = reasons->memory};
    }
    if (events_last(service->events) > reasons->number) {
        events_each(service->events, reasons->number, service_reasons_take_event, reasons);
    }
}

struct str service_why_launched(const struct service *service, uint64_t launch)
{
    struct reasons *reasons = service->reasons;
    if (!reasons || !service->events) {
        return STR("");
    }
    service_reasons_catch_up(service, reasons);
    size_t at = service_reasons_find(reasons, launch);
    return at == TABLE_NONE ? STR("") : reasons->items[at].text;
}

/* ---- refused launches ---- */

bool service_is_refusal(enum outcome outcome)
{
    return outcome == OUTCOME_CAPACITY || outcome == OUTCOME_QUOTA || outcome == OUTCOME_DENIED ||
           outcome == OUTCOME_INVALID;
}

static void service_reasons_take_intent(void *context, const struct journal_intent *intent)
{
    struct service *service = context;
    if (!intent->is_settled || !launch_is_cores(intent->launch)) {
        return;
    }
    if (service_is_refusal(intent->outcome)) {
        snprintf(service->past_refusal, sizeof(service->past_refusal),
                 "the last launch was refused: %s", outcome_text(intent->outcome));
    } else if (intent->outcome == OUTCOME_DONE) {
        service->past_refusal[0] = '\0';
    }
}

void service_note_past_refusal(struct service *service)
{
    struct err err;
    if (!journal_intents(service->journal, service_reasons_take_intent, service, &err)) {
        LOG(service, WARNING, "cannot read refused launches: %s", err.text);
    }
}

const char *service_launch_trouble(const struct service *service)
{
    return service->launch_trouble[0] != '\0' ? service->launch_trouble : service->past_refusal;
}
