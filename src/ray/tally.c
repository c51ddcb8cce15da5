/* tally.c: things counted by name. */
#include "ray/tally.h"

struct search {
    const struct tally *tally;
    struct str name;
};

static bool is_same(const void *context, size_t position)
{
    const struct search *search = context;
    return str_eq(search->tally->items[position].name, search->name);
}

struct tally_item *tally_find(const struct tally *tally, struct str name)
{
    struct search search = {tally, name};
    size_t at = table_find(&tally->table, str_hash(name), is_same, &search);
    return at == TABLE_NONE ? NULL : &tally->items[at];
}

struct tally_item *tally_of(struct tally *tally, struct arena *arena, struct str name)
{
    struct tally_item *found = tally_find(tally, name);
    if (found) {
        return found;
    }
    arena_grow(arena, (void **)&tally->items, tally->count, &tally->capacity,
               sizeof(*tally->items));
    table_add(&tally->table, arena, str_hash(name), tally->count);
    struct tally_item *item = &tally->items[tally->count++];
    *item = (struct tally_item){.name = arena_str(arena, name)};
    return item;
}
