/* agenda.c: a binary heap over (time, order of adding). */
#include "sim/agenda.h"

void agenda_init(struct agenda *agenda, struct arena *arena)
{
    *agenda = (struct agenda){.arena = arena};
}

static bool is_sooner(const struct agenda_entry *a, const struct agenda_entry *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void agenda_add(struct agenda *agenda, int64_t at, enum agenda_kind kind, uint32_t who,
                uint64_t what, uint64_t extra)
{
    void *entries = agenda->entries;
    arena_grow(agenda->arena, &entries, agenda->count, &agenda->capacity, sizeof(*agenda->entries));
    agenda->entries = entries;
    struct agenda_entry entry = {.at = at < agenda->now ? agenda->now : at,
                                 .order = agenda->added++,
                                 .kind = (uint32_t)kind,
                                 .who = who,
                                 .what = what,
                                 .extra = extra};
    size_t at_position = agenda->count++;
    while (at_position > 0 && is_sooner(&entry, &agenda->entries[(at_position - 1) / 2])) {
        agenda->entries[at_position] = agenda->entries[(at_position - 1) / 2];
        at_position = (at_position - 1) / 2;
    }
    agenda->entries[at_position] = entry;
}

bool agenda_next(struct agenda *agenda, struct agenda_entry *ret_entry)
{
    if (agenda->count == 0) {
        return false;
    }
    *ret_entry = agenda->entries[0];
    agenda->now = ret_entry->at;
    struct agenda_entry last = agenda->entries[--agenda->count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child >= agenda->count) {
            break;
        }
        if (child + 1 < agenda->count &&
            is_sooner(&agenda->entries[child + 1], &agenda->entries[child])) {
            child++;
        }
        if (!is_sooner(&agenda->entries[child], &last)) {
            break;
        }
        agenda->entries[hole] = agenda->entries[child];
        hole = child;
    }
    agenda->entries[hole] = last;
    return true;
}
