/* value.c: the tree, with Python's equality and a hash index for large maps. */
#include "config/document/value.h"

#include "base/require.h"

#include <math.h>
#include <string.h>

/* Below this many entries a linear search is faster than hashing. */
enum { INDEX_FROM = 12 };

struct value *value_new(struct arena *arena, enum value_kind kind, struct place place)
{
    struct value *value = ARENA_NEW(arena, struct value);
    value->kind = kind;
    value->weight = 1;
    value->depth = 1;
    value->place = place;
    return value;
}

struct value *value_string(struct arena *arena, struct str text, struct place place)
{
    struct value *value = value_new(arena, VALUE_STRING, place);
    value->text = text;
    return value;
}

struct value *value_int(struct arena *arena, int64_t integer, struct place place)
{
    struct value *value = value_new(arena, VALUE_INT, place);
    value->integer = integer;
    return value;
}

bool value_number(const struct value *value, double *ret_number)
{
    if (value_is(value, VALUE_INT)) {
        *ret_number = (double)value->integer;
    } else if (value_is(value, VALUE_FLOAT)) {
        *ret_number = value->number;
    } else if (value_is(value, VALUE_BOOL)) {
        *ret_number = value->boolean ? 1 : 0;
    } else if (value_is(value, VALUE_BIG_INT)) {
        /* Beyond 64 bits only the magnitude matters for our comparisons. */
        *ret_number = value->text.ptr[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    } else {
        return false;
    }
    return true;
}

static bool is_numeric(const struct value *value)
{
    return value->kind == VALUE_BOOL || value->kind == VALUE_INT || value->kind == VALUE_FLOAT;
}

static int64_t whole(const struct value *value)
{
    return value->kind == VALUE_BOOL ? (int64_t)value->boolean : value->integer;
}

/* Exact, as in Python: a large integer is not rounded to a double. */
static bool whole_equals_float(int64_t integer, double number)
{
    const double limit = 9223372036854775808.0;
    return number >= -limit && number < limit && (double)(int64_t)number == number &&
           (int64_t)number == integer;
}

static bool numbers_equal(const struct value *a, const struct value *b)
{
    bool a_is_float = a->kind == VALUE_FLOAT;
    bool b_is_float = b->kind == VALUE_FLOAT;
    if (a_is_float && b_is_float) {
        /* PyYAML has a single nan object, which equals itself. */
        return a->number == b->number || (isnan(a->number) && isnan(b->number));
    }
    if (!a_is_float && !b_is_float) {
        return whole(a) == whole(b);
    }
    return a_is_float ? whole_equals_float(whole(b), a->number)
                      : whole_equals_float(whole(a), b->number);
}

bool value_equal_keys(const struct value *a, const struct value *b)
{
    if (is_numeric(a) && is_numeric(b)) {
        return numbers_equal(a, b);
    }
    if (a->kind != b->kind) {
        return false;
    }
    return a->kind == VALUE_NULL || str_eq(a->text, b->text);
}

static bool lists_equal(const struct value *a, const struct value *b)
{
    if (a->list.count != b->list.count) {
        return false;
    }
    for (size_t i = 0; i < a->list.count; i++) {
        if (!value_equal(a->list.items[i], b->list.items[i])) {
            return false;
        }
    }
    return true;
}

static struct value_entry *find_entry(const struct value *map, const struct value *key);

static bool maps_equal(const struct value *a, const struct value *b)
{
    if (a->map.count != b->map.count) {
        return false;
    }
    for (size_t i = 0; i < a->map.count; i++) {
        const struct value_entry *entry = &a->map.entries[i];
        const struct value_entry *other = find_entry(b, entry->key);
        if (!other || !value_equal(entry->value, other->value)) {
            return false;
        }
    }
    return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a == b) {
        return true;
    }
    if (a->kind != b->kind || is_numeric(a)) {
        return is_numeric(a) && is_numeric(b) && numbers_equal(a, b);
    }
    if (a->kind == VALUE_LIST || a->kind == VALUE_PAIR) {
        return lists_equal(a, b);
    }
    if (a->kind == VALUE_MAP || a->kind == VALUE_SET) {
        return maps_equal(a, b);
    }
    return value_equal_keys(a, b);
}

bool value_is_true(const struct value *value)
{
    if (!value) {
        return false;
    }
    switch (value->kind) {
    case VALUE_NULL:
        return false;
    case VALUE_BOOL:
        return value->boolean;
    case VALUE_INT:
        return value->integer != 0;
    case VALUE_FLOAT:
        return value->number != 0;
    case VALUE_STRING:
    case VALUE_BYTES:
        return value->text.len > 0;
    case VALUE_LIST:
        return value->list.count > 0;
    case VALUE_MAP:
    case VALUE_SET:
        return value->map.count > 0;
    case VALUE_BIG_INT:
    case VALUE_DATE:
    case VALUE_DATE_TIME:
    case VALUE_PAIR:
        return true;
    }
    return true;
}

static void count_child(struct value *parent, const struct value *child)
{
    require(parent->weight > 0 && child->weight > 0, "the weight of a value is at least 1");
    require(child->depth > 0, "the depth of a value is at least 1");
    uint32_t room = UINT32_MAX - parent->weight;
    parent->weight = child->weight > room ? UINT32_MAX : parent->weight + child->weight;
    parent->depth = child->depth + 1 > parent->depth ? child->depth + 1 : parent->depth;
}

void value_list_add(struct arena *arena, struct value *list, struct value *item)
{
    require(list->kind == VALUE_LIST || list->kind == VALUE_PAIR, "items are added to a list");
    ARENA_PUSH(arena, list->list.items, list->list.count, list->list.capacity) = item;
    count_child(list, item);
}

/*
 * The hash is seeded with the address of the index, so that a file cannot force collisions. The
 * order of entries does not depend on it.
 */
static uint64_t hash_key(const struct table *index, const struct value *key)
{
    uint64_t start = (uint64_t)(uintptr_t)index * UINT64_C(0x9E3779B97F4A7C15);
    double number;
    if (value_number(key, &number) && key->kind != VALUE_BIG_INT) {
        uint64_t bits;
        number = number == 0 ? 0 : number; /* -0.0 equals 0 */
        memcpy(&bits, &number, sizeof(bits));
        return str_hash_from(start, (struct str){(const char *)&bits, sizeof(bits)});
    }
    return key->kind == VALUE_NULL ? start : str_hash_from(start, key->text);
}

struct lookup {
    const struct value *map;
    const struct value *key;
};

static bool same_key(const void *context, size_t position)
{
    const struct lookup *lookup = context;
    return value_equal_keys(lookup->map->map.entries[position].key, lookup->key);
}

static struct value_entry *find_entry(const struct value *map, const struct value *key)
{
    if (map->map.index) {
        struct lookup lookup = {map, key};
        size_t found = table_find(map->map.index, hash_key(map->map.index, key), same_key, &lookup);
        require(found == TABLE_NONE || found < map->map.count,
                "the index has the positions of entries");
        return found == TABLE_NONE ? NULL : &map->map.entries[found];
    }
    for (size_t i = 0; i < map->map.count; i++) {
        if (value_equal_keys(map->map.entries[i].key, key)) {
            return &map->map.entries[i];
        }
    }
    return NULL;
}

static void index_entries(struct arena *arena, struct value *map)
{
    if (map->map.count < INDEX_FROM) {
        return;
    }
    size_t from = map->map.count - 1;
    if (!map->map.index) {
        map->map.index = ARENA_NEW(arena, struct table);
        from = 0;
    }
    for (size_t i = from; i < map->map.count; i++) {
        table_add(map->map.index, arena, hash_key(map->map.index, map->map.entries[i].key), i);
    }
}

const struct value *value_map_set(struct arena *arena, struct value *map, struct value *key,
                                  struct value *value)
{
    require(map->kind == VALUE_MAP || map->kind == VALUE_SET, "entries are added to a map");
    struct value_entry *entry = find_entry(map, key);
    count_child(map, value);
    if (entry) {
        const struct value *first = entry->key;
        /* Makes messages point at the line whose value is used. */
        if (first->kind == VALUE_STRING && key->kind == VALUE_STRING && key->place.line > 0) {
            entry->key = key;
        }
        entry->value = value;
        return first;
    }
    ARENA_PUSH(arena, map->map.entries, map->map.count,
               map->map.capacity) = (struct value_entry){key, value};
    index_entries(arena, map);
    return NULL;
}

void value_map_update(struct arena *arena, struct value *map, const struct value *more)
{
    require(more->kind == VALUE_MAP || more->kind == VALUE_SET, "entries come from a map");
    for (size_t i = 0; i < more->map.count; i++) {
        value_map_set(arena, map, more->map.entries[i].key, more->map.entries[i].value);
    }
}

void value_map_set_c(struct arena *arena, struct value *map, const char *key, struct value *value)
{
    value_map_set(arena, map, value_string(arena, str_from(key), (struct place){0}), value);
}

static struct value_entry *get_entry(const struct value *map, struct str key)
{
    if (!value_is(map, VALUE_MAP)) {
        return NULL;
    }
    struct value wanted = {.kind = VALUE_STRING, .text = key};
    return find_entry(map, &wanted);
}

struct value *value_get(const struct value *map, struct str key)
{
    const struct value_entry *entry = get_entry(map, key);
    return entry ? entry->value : NULL;
}

struct value *value_get_c(const struct value *map, const char *key)
{
    return value_get(map, str_from(key));
}

struct value_entry *value_entry_c(const struct value *map, const char *key)
{
    return get_entry(map, str_from(key));
}

struct value *value_path(const struct value *map, const char *path)
{
    struct str rest = str_from(path);
    const struct value *node = map;
    while (node && rest.len > 0) {
        node = value_get(node, str_cut(&rest, '.'));
    }
    return (struct value *)(uintptr_t)node;
}

struct value *value_map_remove(struct value *map, const char *key)
{
    struct value_entry *entry = get_entry(map, str_from(key));
    if (!entry) {
        return NULL;
    }
    struct value *removed = entry->value;
    size_t at = (size_t)(entry - map->map.entries);
    require(at < map->map.count, "the entry is in this map");
    memmove(entry, entry + 1, (map->map.count - at - 1) * sizeof(*entry));
    map->map.count--;
    /* Positions have shifted. Removal is rare and such maps are small, so the index is dropped. */
    map->map.index = NULL;
    return removed;
}

struct value *value_copy_shallow(struct arena *arena, const struct value *value)
{
    struct value *copy = value_new(arena, value->kind, value->place);
    *copy = *value;
    if (value->kind == VALUE_MAP) {
        copy->map.entries = ARENA_ARRAY(arena, value->map.count, struct value_entry);
        copy->map.capacity = value->map.count;
        copy->map.index = NULL;
        if (value->map.count > 0) {
            memcpy(copy->map.entries, value->map.entries,
                   value->map.count * sizeof(struct value_entry));
        }
    } else if (value->kind == VALUE_LIST) {
        copy->list.items = ARENA_ARRAY(arena, value->list.count, struct value *);
        copy->list.capacity = value->list.count;
        if (value->list.count > 0) {
            memcpy(copy->list.items, value->list.items, value->list.count * sizeof(struct value *));
        }
    }
    return copy;
}

struct str value_text(const struct value *value)
{
    return value_is(value, VALUE_STRING) ? value->text : STR("");
}

const char *value_kind_text(const struct value *value)
{
    static const char *const words[] = {
        [VALUE_NULL] = "nothing (null)",
        [VALUE_BOOL] = "true or false",
        [VALUE_INT] = "a whole number",
        [VALUE_BIG_INT] = "a whole number",
        [VALUE_FLOAT] = "a fractional number",
        [VALUE_STRING] = "text",
        [VALUE_BYTES] = "binary data",
        [VALUE_DATE] = "a date",
        [VALUE_DATE_TIME] = "a date",
        [VALUE_LIST] = "a list",
        [VALUE_PAIR] = "a pair",
        [VALUE_MAP] = "a map",
        [VALUE_SET] = "a set",
    };
    return words[value->kind];
}
