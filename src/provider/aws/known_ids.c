/* known_ids.c: a set of ids. */
#include "provider/aws/known_ids.h"

#include "base/require.h"

struct known_ids_question {
    const struct known_ids *known;
    struct str id;
};

static bool known_ids_is_same(const void *context, size_t position)
{
    const struct known_ids_question *question = context;
    return str_eq(question->known->items[position].id, question->id);
}

static size_t known_ids_find(const struct known_ids *known, struct str id)
{
    struct known_ids_question question = {known, id};
    return table_find(&known->table, str_hash(id), known_ids_is_same, &question);
}

bool known_ids_has(const struct known_ids *known, struct str id)
{
    return known_ids_find(known, id) != TABLE_NONE;
}

void known_ids_add(struct known_ids *known, struct str id, int64_t since)
{
    if (known_ids_has(known, id)) {
        return;
    }
    if (!known->arena.grab) {
        arena_init(&known->arena);
    }
    ARENA_GROW(&known->arena, known->items, known->count, known->capacity);
    known->items[known->count] = (struct known_id){arena_str(&known->arena, id), since};
    table_add(&known->table, &known->arena, str_hash(id), known->count);
    known->count++;
    require(known->table.used == known->count, "every id is in the index");
}

void known_ids_renew(struct known_ids *known, int64_t from)
{
    struct known_ids old = *known;
    *known = (struct known_ids){0};
    for (size_t i = 0; i < old.count; i++) {
        if (old.items[i].since > 0 && old.items[i].since >= from) {
            known_ids_add(known, old.items[i].id, old.items[i].since);
        }
    }
    require(known->count <= old.count, "a renewal adds no ids");
    arena_clear(&old.arena);
}
