/* model/fields.c: writes, reads and copies messages with the help of their field tables. */
#include "app/model/fields.h"

#include "io/json_line.h"

#include <math.h>

#define MICRO 1e6

/* The member of `record` that a field describes. */
#define MEMBER(type, record, field) ((type *)((char *)(record) + (field)->offset))
#define CONST_MEMBER(type, record, field) \
    (*(const type *)((const char *)(record) + (field)->offset))

static void fields_write_one(const struct field *field, const void *record, json_t *json)
{
    switch (field->kind) {
    case FIELD_TEXT:
        json_put_text(json, field->name, CONST_MEMBER(struct str, record, field));
        break;
    case FIELD_FLAG:
        json_put_flag(json, field->name, CONST_MEMBER(bool, record, field));
        break;
    case FIELD_SIZE:
        json_put_number(json, field->name, (int64_t)CONST_MEMBER(size_t, record, field));
        break;
    case FIELD_NUMBER:
        json_put_number(json, field->name, CONST_MEMBER(int64_t, record, field));
        break;
    case FIELD_OPTIONAL:
        if (CONST_MEMBER(int64_t, record, field) >= 0) {
            json_object_set_new(json, field->name,
                                json_integer(CONST_MEMBER(int64_t, record, field)));
        }
        break;
    case FIELD_DOLLARS:
        if (CONST_MEMBER(int64_t, record, field) >= 0) {
            json_object_set_new(json, field->name,
                                json_real((double)CONST_MEMBER(int64_t, record, field) / MICRO));
        }
        break;
    case FIELD_CHOICE:
        json_put_text(json, field->name,
                      str_from(field->choices[CONST_MEMBER(unsigned, record, field)]));
        break;
    }
}

void fields_write(const struct field_table *table, const void *record, json_t *json)
{
    for (size_t i = 0; i < table->count; i++) {
        fields_write_one(&table->fields[i], record, json);
    }
}

static unsigned fields_choice(const struct field *field, const char *name)
{
    struct str wanted = str_from(name ? name : "");
    for (unsigned i = 0; i < field->choice_count; i++) {
        if (str_is(wanted, field->choices[i])) {
            return i;
        }
    }
    return field->default_choice;
}

/* In micro-dollars; -1 unless it is an amount that fits. */
static int64_t fields_dollars(const json_t *value)
{
    double amount = json_number_value(value) * MICRO;
    return json_is_number(value) && amount >= 0 && amount < 9e18 ? llround(amount) : -1;
}

static bool fields_has_type(const struct field *field, const json_t *value)
{
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_CHOICE:
        return json_is_string(value);
    case FIELD_FLAG:
        return json_is_boolean(value);
    case FIELD_DOLLARS:
        return fields_dollars(value) >= 0;
    case FIELD_SIZE:
    case FIELD_NUMBER:
    case FIELD_OPTIONAL:
        return json_is_integer(value) && json_integer_value(value) >= 0;
    }
    return false;
}

/* `value` is NULL if the field is missing. */
static void fields_read_one(const struct field *field, const json_t *json, const json_t *value,
                            struct arena *arena, void *record)
{
    switch (field->kind) {
    case FIELD_TEXT:
        *MEMBER(struct str, record, field) = json_take_text(json, field->name, arena);
        break;
    case FIELD_FLAG:
        *MEMBER(bool, record, field) = json_is_true(value);
        break;
    case FIELD_SIZE:
        *MEMBER(size_t, record, field) = (size_t)json_integer_value(value);
        break;
    case FIELD_NUMBER:
        *MEMBER(int64_t, record, field) = json_integer_value(value);
        break;
    case FIELD_OPTIONAL:
        *MEMBER(int64_t, record, field) = value ? json_integer_value(value) : -1;
        break;
    case FIELD_DOLLARS:
        *MEMBER(int64_t, record, field) = value ? fields_dollars(value) : -1;
        break;
    case FIELD_CHOICE:
        *MEMBER(unsigned, record, field) = fields_choice(field, json_string_value(value));
        break;
    }
}

bool fields_read(const struct field_table *table, const json_t *json, struct arena *arena,
                 void *record)
{
    if (!json_is_object(json)) {
        return false;
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &table->fields[i];
        const json_t *value = json_object_get(json, field->name);
        if (value && !fields_has_type(field, value)) {
            return false;
        }
        fields_read_one(field, json, value, arena, record);
    }
    return true;
}

void fields_copy(const struct field_table *table, struct arena *arena, void *record)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->fields[i].kind == FIELD_TEXT) {
            struct str *text = MEMBER(struct str, record, &table->fields[i]);
            *text = arena_str(arena, *text);
        }
    }
}
