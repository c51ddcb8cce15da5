/* events.c: a queue in memory for half a second, the journal for good. */
#include "app/head/events.h"

#include "io/heap.h"

#include <string.h>

enum {
    WRITE_MS = 500,
    KEEP = 5000,
    TRIM_AFTER = 500,
    WAITING_MAX = 5000, /* the disk is full, say: the rest is only logged */
};

struct waiting {
    struct waiting *next;
    struct insight_event event; /* its texts in `memory` */
    struct arena memory;
};

struct events {
    struct loop *loop;
    struct journal *journal;
    const struct log *log;
    struct loop_timer *timer;
    struct waiting *first, *last; /* not written yet */
    size_t waiting;
    size_t written; /* since the last trim */
    int64_t number; /* of the last one */
    bool is_timed;
    bool is_failing; /* told once */
    event_fn *added;
    void *added_context;
};

static const char *const words[EVENT_WORD_COUNT] = {
    [EVENT_WORD_LAUNCH] = "launch",   [EVENT_WORD_JOIN] = "join",
    [EVENT_WORD_DRAIN] = "drain",     [EVENT_WORD_END] = "end",
    [EVENT_WORD_NOTICE] = "notice",   [EVENT_WORD_FAILURE] = "failure",
    [EVENT_WORD_REFUSAL] = "refusal", [EVENT_WORD_INFEASIBLE] = "infeasible",
    [EVENT_WORD_SERVICE] = "service",
};

const char *event_word(enum insight_event_kind kind)
{
    return kind < EVENT_WORD_COUNT ? words[kind] : "?";
}

/* A word of a later version is a word of the service's. */
static enum insight_event_kind kind_of(struct str word)
{
    for (unsigned kind = 0; kind < EVENT_WORD_COUNT; kind++) {
        if (str_is(word, words[kind])) {
            return (enum insight_event_kind)kind;
        }
    }
    return EVENT_WORD_SERVICE;
}

/* ---- writing ---- */

static void drop_waiting(struct events *events)
{
    while (events->first) {
        struct waiting *one = events->first;
        events->first = one->next;
        arena_clear(&one->memory);
        free(one);
    }
    events->last = NULL;
    events->waiting = 0;
}

static bool write_all(struct events *events, struct err *err)
{
    for (const struct waiting *one = events->first; one; one = one->next) {
        const struct insight_event *event = &one->event;
        struct journal_happened happened = {.number = event->number,
                                            .wall_ms = event->wall_ms,
                                            .kind = str_from(event_word(event->kind)),
                                            .node = event->node,
                                            .text = event->text,
                                            .reason = event->reason};
        if (!journal_happen(events->journal, &happened, err)) {
            return false;
        }
    }
    events->written += events->waiting;
    if (events->written >= TRIM_AFTER) {
        events->written = 0;
        return journal_trim_happened(events->journal, KEEP, err);
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
    ok = ok && journal_end(events->journal, write_all(events, &err), &err);
    if (ok) {
        drop_waiting(events);
    } else if (!events->is_failing) {
        log_write(events->log, LOG_LEVEL_WARNING, "events are not written down: %s", err.text);
    }
    events->is_failing = !ok;
}

static void on_timer(void *context)
{
    struct events *events = context;
    events->is_timed = false;
    write_waiting(events);
}

/* ---- opening and closing ---- */

static void take_number(void *context, const struct journal_happened *happened)
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
    events->timer = loop_timer_new(loop, on_timer, events);
    if (!journal_all_happened(journal, 0, take_number, events, &err)) {
        log_write(log, LOG_LEVEL_WARNING, "earlier events cannot be read: %s", err.text);
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

/* ---- adding ---- */

static void keep(struct events *events, const struct insight_event *event)
{
    if (events->waiting >= WAITING_MAX) {
        return;
    }
    struct waiting *one = HEAP_NEW(struct waiting);
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

void events_add(struct events *events, enum insight_event_kind kind, struct str node,
                struct str text, struct str reason)
{
    struct insight_event event = {.number = ++events->number,
                                  .wall_ms = clock_wall_ms(loop_clock(events->loop)),
                                  .kind = kind,
                                  .node = node,
                                  .text = text,
                                  .reason = reason};
    keep(events, &event);
    log_write(events->log, LOG_LEVEL_INFO, "%s: %.*s%s%.*s%s%.*s", event_word(kind), STR_ARG(node),
              node.len > 0 ? ": " : "", STR_ARG(text), reason.len > 0 ? ": " : "", STR_ARG(reason));
    if (events->added) {
        events->added(events->added_context, &event);
    }
}

/* ---- looking ---- */

struct telling {
    event_fn *take;
    void *context;
};

static void tell(void *context, const struct journal_happened *happened)
{
    const struct telling *telling = context;
    struct insight_event event = {.number = happened->number,
                                  .wall_ms = happened->wall_ms,
                                  .kind = kind_of(happened->kind),
                                  .node = happened->node,
                                  .text = happened->text,
                                  .reason = happened->reason};
    telling->take(telling->context, &event);
}

void events_each(struct events *events, int64_t after, event_fn *take, void *context)
{
    struct telling telling = {take, context};
    struct err err;
    write_waiting(events);
    if (!journal_all_happened(events->journal, after, tell, &telling, &err)) {
        log_write(events->log, LOG_LEVEL_WARNING, "events cannot be read: %s", err.text);
    }
    for (const struct waiting *one = events->first; one; one = one->next) {
        if (one->event.number > after) { /* they could not be written */
            take(context, &one->event);
        }
    }
}

int64_t events_last(const struct events *events)
{
    return events->number;
}
