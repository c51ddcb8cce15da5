/* event_queue.c: a binary heap ordered by time, then by insertion. */
#include "sim/event_queue.h"

void event_queue_init(struct event_queue *event_queue, struct arena *arena)
{
    *event_queue = (struct event_queue){.arena = arena};
}

static bool is_sooner(const struct event_queue_entry *a, const struct event_queue_entry *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void event_queue_add(struct event_queue *event_queue, int64_t at, enum event_queue_kind kind,
                     uint32_t who, uint64_t what, uint64_t extra)
{
    ARENA_GROW(event_queue->arena, event_queue->entries, event_queue->count, event_queue->capacity);
    struct event_queue_entry entry = {.at = at < event_queue->now ? event_queue->now : at,
                                      .order = event_queue->added++,
                                      .kind = (uint32_t)kind,
                                      .who = who,
                                      .what = what,
                                      .extra = extra};
    size_t at_position = event_queue->count++;
    while (at_position > 0 && is_sooner(&entry, &event_queue->entries[(at_position - 1) / 2])) {
        event_queue->entries[at_position] = event_queue->entries[(at_position - 1) / 2];
        at_position = (at_position - 1) / 2;
    }
    event_queue->entries[at_position] = entry;
}

bool event_queue_next(struct event_queue *event_queue, struct event_queue_entry *ret_entry)
{
    if (event_queue->count == 0) {
        return false;
    }
    *ret_entry = event_queue->entries[0];
    event_queue->now = ret_entry->at;
    struct event_queue_entry last = event_queue->entries[--event_queue->count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child >= event_queue->count) {
            break;
        }
        if (child + 1 < event_queue->count &&
            is_sooner(&event_queue->entries[child + 1], &event_queue->entries[child])) {
            child++;
        }
        if (!is_sooner(&event_queue->entries[child], &last)) {
            break;
        }
        event_queue->entries[hole] = event_queue->entries[child];
        hole = child;
    }
    event_queue->entries[hole] = last;
    return true;
}
