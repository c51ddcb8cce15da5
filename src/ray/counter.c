/* counter.c: counts items by name. */
#include "ray/counter.h"

struct counter_search {
    const struct counter *tally;
    struct str name;
};

static bool counter_is_same(const void *context, size_t position)
{
    const struct counter_search *search = context;
    return str_eq(search->tally->items[position].name, search->name);
}

struct counter_item *counter_find(const struct counter *tally, struct str name)
{
    struct counter_search search = {tally, name};
    size_t at = table_find(&tally->table, str_hash(name), counter_is_same, &search);
    return at == TABLE_NONE ? NULL : &tally->items[at];
}

struct counter_item *counter_of(struct counter *tally, struct arena *arena, struct str name)
{
    struct counter_item *found = counter_find(tally, name);
    if (found) {
        return found;
    }
    ARENA_GROW(arena, tally->items, tally->count, tally->capacity);
    table_add(&tally->table, arena, str_hash(name), tally->count);
    struct counter_item *item = &tally->items[tally->count++];
    *item = (struct counter_item){.name = arena_str(arena, name)};
    return item;
}
