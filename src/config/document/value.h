/*
 * value.h: the tree of a YAML file.
 *
 * It has Python's types and Python's equality, because Ray defines a cluster file by what its
 * Python code does with the result of yaml.safe_load. Nodes are allocated in an arena and are
 * shared, not copied, by aliases: changing one changes all of its aliases, as in Ray.
 *
 * Maps keep the order of the file. Keys are nodes too, so that a message can point at them.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/table.h"
#include "config/document/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_BIG_INT, /* an integer beyond 64 bits; `text` is its decimal form */
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_BYTES,
    VALUE_DATE,      /* `text` is the ISO form */
    VALUE_DATE_TIME, /* `text` is the ISO form with 'T' */
    VALUE_LIST,
    VALUE_PAIR, /* a tuple of two, as !!omap and !!pairs make them; a list of 2 in `items` */
    VALUE_MAP,
    VALUE_SET, /* a map whose values are ignored */
};

struct value_entry {
    struct value *key;
    struct value *value;
};

struct value {
    enum value_kind kind;
    uint32_t weight; /* nodes of this subtree, aliases expanded; text adds one per 64 bytes */
    uint32_t depth;  /* nesting depth of this subtree, aliases expanded */
    struct place place;
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct str text;
        struct {
            struct value **items;
            size_t count;
            size_t capacity;
        } list;
        struct {
            struct value_entry *entries;
            size_t count;
            size_t capacity;
            struct table *index; /* NULL while the map is small */
        } map;
    };
};

struct value *value_new(struct arena *arena, enum value_kind kind, struct place place);
struct value *value_string(struct arena *arena, struct str text, struct place place);
struct value *value_int(struct arena *arena, int64_t integer, struct place place);

/* Python's == for map keys: 1, 1.0 and true are equal. */
bool value_equal_keys(const struct value *a, const struct value *b);

/* Python's ==, for any two values (maps regardless of order). */
bool value_equal(const struct value *a, const struct value *b);

/* Python's truth value: null, false, 0, "", [], {} are false. */
bool value_is_true(const struct value *value);

/* The numeric value of an int, a float or a bool; false for anything else. */
bool value_number(const struct value *value, double *ret_number) MUST_USE;

void value_list_add(struct arena *arena, struct value *list, struct value *item);

/*
 * Like `map[key] = value`: an equal key keeps its position and first spelling. Returns the existing
 * key, or NULL.
 */
const struct value *value_map_set(struct arena *arena, struct value *map, struct value *key,
                                  struct value *value);
void value_map_set_c(struct arena *arena, struct value *map, const char *key, struct value *value);

/* Like `map.update(more)`. */
void value_map_update(struct arena *arena, struct value *map, const struct value *more);

/* NULL if there is no such key, or if `map` is NULL or not a map: lookups can be chained. */
struct value *value_get(const struct value *map, struct str key);
struct value *value_get_c(const struct value *map, const char *key);
struct value_entry *value_entry_c(const struct value *map, const char *key);

/* The node at the path "a.b.c", or NULL. */
struct value *value_path(const struct value *map, const char *path);

/* Like `map.pop(key, None)`: returns the removed value. */
struct value *value_map_remove(struct value *map, const char *key);

/* Copies only the top level; children are shared (Python's dict(map), list + list). */
struct value *value_copy_shallow(struct arena *arena, const struct value *value);

static inline bool value_is(const struct value *value, enum value_kind kind)
{
    return value && value->kind == kind;
}

/* The text of a string node; otherwise empty. */
struct str value_text(const struct value *value);

/* "a string", "a list", "nothing (null)": for messages. */
const char *value_kind_text(const struct value *value);
