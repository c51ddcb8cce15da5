/* events.c: queues events for half a second, then writes them to the journal. */
#include "app/head/events.h"

#include "app/retention.h"
#include "io/xalloc.h"

#include <string.h>

enum {
    WRITE_MS = 500,
    WAITING_MAX = 5000, /* if the disk is full, more events are only logged */
};

struct events_waiting {
    struct events_waiting *next;
    struct cluster_event event; /* texts are in `memory` */
    struct arena memory;
};

struct events {
    struct loop *loop;
    struct journal *journal;
    const struct log *log;
    struct loop_timer *timer;
    struct events_waiting *first, *last; /* events that are not written yet */
    size_t waiting;
    size_t written; /* since the last trim */
    int64_t keep;
    int64_t number; /* number of the last event */
    bool is_timed;
    bool is_failing; /* already logged */
    event_fn *added;
    void *added_context;
};

/* ---- writing ---- */

static void drop_waiting(struct events *events)
{
    while (events->first) {
        struct events_waiting *one = events->first;
        events->first = one->next;
        arena_clear(&one->memory);
        free(one);
    }
    events->last = NULL;
    events->waiting = 0;
}

static bool events_write_all(struct events *events, struct err *err)
{
    for (const struct events_waiting *one = events->first; one; one = one->next) {
        const struct cluster_event *event = &one->event;
        struct journal_event_read happened = {
            .number = event->number,
            .wall_ms = event->wall_ms,
            .kind = str_from(cluster_event_kind_name(event->kind)),
            .node = event->node,
            .text = event->text,
            .reason = event->reason,
            .launch = event->launch};
        if (!journal_event_add(events->journal, &happened, err)) {
            return false;
        }
    }
    events->written += events->waiting;
    if ((int64_t)events->written >= retention_trim_after(events->keep)) {
        events->written = 0;
        return journal_event_trim(events->journal, events->keep, err);
    }
    return true;
}

static void write_waiting(struct events *events)
{
    struct err err = {0};
    if (!events->first) {
        return;
    }
    bool ok = journal_begin(events->journal, &err);
    ok = ok && journal_end(events->journal, events_write_all(events, &err), &err);
    if (ok) {
        drop_waiting(events);
    } else if (!events->is_failing) {
        log_write(events->log, LOG_LEVEL_WARNING, "cannot store events: %s", err.text);
    }
    events->is_failing = !ok;
}

static void events_on_timer(void *context)
{
    struct events *events = context;
    events->is_timed = false;
    write_waiting(events);
}

/* ---- opening and closing ---- */

static void events_take_number(void *context, const struct journal_event_read *happened)
{
    struct events *events = context;
    events->number = happened->number;
}

struct events *events_open(struct loop *loop, struct journal *journal, const struct log *log)
{
    struct events *events = HEAP_NEW(struct events);
    struct err err;
    events->loop = loop;
    events->journal = journal;
    events->log = log;
    events->keep = retention_make().event_count;
    events->timer = loop_timer_new(loop, events_on_timer, events);
    if (!journal_events_all(journal, 0, events_take_number, events, &err)) {
        log_write(log, LOG_LEVEL_WARNING, "cannot read earlier events: %s", err.text);
    }
    return events;
}

void events_close(struct events *events)
{
    if (events) {
        write_waiting(events);
        drop_waiting(events);
        loop_timer_free(events->timer);
        free(events);
    }
}

void events_listen(struct events *events, event_fn *added, void *context)
{
    events->added = added;
    events->added_context = context;
}

/* ---- new events ---- */

static void events_save(struct events *events, const struct cluster_event *event)
{
    if (events->waiting >= WAITING_MAX) {
        return;
    }
    struct events_waiting *one = HEAP_NEW(struct events_waiting);
    arena_init(&one->memory);
    one->event = *event;
    one->event.node = arena_str(&one->memory, event->node);
    one->event.text = arena_str(&one->memory, event->text);
    one->event.reason = arena_str(&one->memory, event->reason);
    if (events->last) {
        events->last->next = one;
    } else {
        events->first = one;
    }
    events->last = one;
    events->waiting++;
    if (!events->is_timed) {
        events->is_timed = true;
        loop_timer_start(events->timer, WRITE_MS);
    }
}

static void events_number(struct events *events, struct cluster_event event)
{
    event.number = ++events->number;
    event.wall_ms = clock_wall_ms(loop_clock(events->loop));
    events_save(events, &event);
    log_write(events->log, LOG_LEVEL_INFO, "%s: %.*s%s%.*s%s%.*s",
              cluster_event_kind_name(event.kind), STR_ARG(event.node),
              event.node.len > 0 ? ": " : "", STR_ARG(event.text), event.reason.len > 0 ? ": " : "",
              STR_ARG(event.reason));
    if (events->added) {
        events->added(events->added_context, &event);
    }
}

void events_add(struct events *events, enum cluster_event_kind kind, struct str node,
                struct str text, struct str reason)
{
    events_number(
        events, (struct cluster_event){.kind = kind, .node = node, .text = text, .reason = reason});
}

void events_add_launch(struct events *events, enum cluster_event_kind kind, uint64_t launch,
                       struct str text, struct str reason)
{
    events_number(events, (struct cluster_event){
                              .kind = kind, .text = text, .reason = reason, .launch = launch});
}

/* ---- reading ---- */

struct events_telling {
    event_fn *take;
    void *context;
};

static void events_report(void *context, const struct journal_event_read *happened)
{
    const struct events_telling *telling = context;
    struct cluster_event event = {.number = happened->number,
                                  .wall_ms = happened->wall_ms,
                                  .kind = cluster_event_kind_of(happened->kind),
                                  .node = happened->node,
                                  .text = happened->text,
                                  .reason = happened->reason,
                                  .launch = happened->launch};
    telling->take(telling->context, &event);
}

void events_each(struct events *events, int64_t after, event_fn *take, void *context)
{
    struct events_telling telling = {take, context};
    struct err err;
    write_waiting(events);
    if (!journal_events_all(events->journal, after, events_report, &telling, &err)) {
        log_write(events->log, LOG_LEVEL_WARNING, "cannot read events: %s", err.text);
    }
    for (const struct events_waiting *one = events->first; one; one = one->next) {
        if (one->event.number > after) { /* the event could not be written */
            take(context, &one->event);
        }
    }
}

int64_t events_last(const struct events *events)
{
    return events->number;
}
