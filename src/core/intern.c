/* intern.c: a hash index of strings. */
#include "core/intern.h"

#include "base/require.h"

struct wanted {
    const struct names *names;
    struct str text;
};

static bool intern_is_wanted(const void *context, size_t position)
{
    const struct wanted *wanted = context;
    return str_eq(wanted->names->items[position], wanted->text);
}

void intern_init(struct names *names, struct arena *arena)
{
    *names = (struct names){.arena = arena};
}

uint32_t intern_find(const struct names *names, struct str text)
{
    struct wanted wanted = {names, text};
    size_t position = table_find(&names->index, str_hash(text), intern_is_wanted, &wanted);
    return position == TABLE_NONE ? NAME_NONE : (uint32_t)position;
}

uint32_t intern_add(struct names *names, struct str text)
{
    uint32_t known = intern_find(names, text);
    if (known != NAME_NONE) {
        return known;
    }
    require(names->count < NAME_NONE, "names have numbers below NAME_NONE");
    ARENA_GROW(names->arena, names->items, names->count, names->capacity);
    names->items[names->count] = arena_str(names->arena, text);
    table_add(&names->index, names->arena, str_hash(text), names->count);
    return (uint32_t)names->count++;
}

struct str intern_text(const struct names *names, uint32_t name)
{
    return name < names->count ? names->items[name] : (struct str){"", 0};
}
