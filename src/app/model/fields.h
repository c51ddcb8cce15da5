/*
 * model/fields.h: the fields of a message, as a table.
 *
 * A struct that travels between the laptop and the head has one table of fields. The table writes
 * the struct as JSON, reads it, copies its texts, and prints it for `-o json`, so that a field has
 * one name everywhere and cannot be forgotten in one of these places.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t; /* type of jansson.h, whose macros clash with config/document/json_write.h */

enum field_kind {
    FIELD_TEXT,     /* struct str */
    FIELD_FLAG,     /* bool */
    FIELD_SIZE,     /* size_t */
    FIELD_NUMBER,   /* int64_t, not negative */
    FIELD_OPTIONAL, /* int64_t; -1 is null */
    FIELD_DOLLARS,  /* int64_t in micro-dollars, dollars in JSON; -1 is null */
    FIELD_CHOICE,   /* an enum, by name; a name that a newer version added reads as the default */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    const char *const *choices; /* FIELD_CHOICE: the names, indexed by value */
    unsigned choice_count, default_choice;
};

#define FIELD(type, member, key, field_kind)                              \
    {                                                                     \
        .name = key, .kind = field_kind, .offset = offsetof(type, member) \
    }

/* `names` are indexed by the enum; `otherwise` replaces a name of a newer version. */
#define FIELD_OF_CHOICE(type, member, key, names, otherwise)                                   \
    {                                                                                          \
        .name = key, .kind = FIELD_CHOICE, .offset = offsetof(type, member), .choices = names, \
        .choice_count = ARRAY_LEN(names), .default_choice = otherwise                          \
    }

struct field_table {
    const struct field *fields;
    size_t count;
};
#define FIELD_TABLE(array)        \
    {                             \
        (array), ARRAY_LEN(array) \
    }

/* Adds the fields of `record` to a JSON object. Leaves out what is empty, zero or null. */
void fields_write(const struct field_table *table, const void *record, struct json_t *json);

/* Fills `record` from a JSON object; missing fields are empty, zero or null. Texts live in `arena`.
 * False: a field has the wrong type. */
bool fields_read(const struct field_table *table, const struct json_t *json, struct arena *arena,
                 void *record) MUST_USE;

/* Replaces the texts of `record` by copies in `arena`. */
void fields_copy(const struct field_table *table, struct arena *arena, void *record);
