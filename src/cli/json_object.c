/* json_object.c: builds JSON values without source positions. */
#include "cli/json_object.h"

enum { MICRO = 1000000 };

static const struct place nowhere = {0};

struct value *record_new(struct arena *arena)
{
    return value_new(arena, VALUE_MAP, nowhere);
}

struct value *record_list(struct arena *arena)
{
    return value_new(arena, VALUE_LIST, nowhere);
}

void record_text(struct arena *arena, struct value *record, const char *key, struct str text)
{
    value_map_set_c(arena, record, key, value_string(arena, text, nowhere));
}

void record_int(struct arena *arena, struct value *record, const char *key, int64_t number)
{
    value_map_set_c(arena, record, key, value_int(arena, number, nowhere));
}

void record_number(struct arena *arena, struct value *record, const char *key, double number)
{
    struct value *value = value_new(arena, VALUE_FLOAT, nowhere);
    value->number = number;
    value_map_set_c(arena, record, key, value);
}

void record_flag(struct arena *arena, struct value *record, const char *key, bool flag)
{
    struct value *value = value_new(arena, VALUE_BOOL, nowhere);
    value->boolean = flag;
    value_map_set_c(arena, record, key, value);
}

void record_null(struct arena *arena, struct value *record, const char *key)
{
    value_map_set_c(arena, record, key, value_new(arena, VALUE_NULL, nowhere));
}

static void record_optional(struct arena *arena, struct value *record, const struct field *field,
                            int64_t number)
{
    if (number < 0) {
        record_null(arena, record, field->name);
    } else if (field->kind == FIELD_DOLLARS) {
        record_number(arena, record, field->name, (double)number / MICRO);
    } else {
        record_int(arena, record, field->name, number);
    }
}

static void record_field(struct arena *arena, struct value *record, const struct field *field,
                         const void *member)
{
    switch (field->kind) {
    case FIELD_TEXT:
        record_text(arena, record, field->name, *(const struct str *)member);
        break;
    case FIELD_FLAG:
        record_flag(arena, record, field->name, *(const bool *)member);
        break;
    case FIELD_SIZE:
        record_int(arena, record, field->name, (int64_t) * (const size_t *)member);
        break;
    case FIELD_NUMBER:
        record_int(arena, record, field->name, *(const int64_t *)member);
        break;
    case FIELD_OPTIONAL:
    case FIELD_DOLLARS:
        record_optional(arena, record, field, *(const int64_t *)member);
        break;
    case FIELD_CHOICE:
        record_text(arena, record, field->name,
                    str_from(field->choices[*(const unsigned *)member]));
        break;
    }
}

void record_fields(struct arena *arena, struct value *record, const struct field_table *table,
                   const void *from)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct field *field = &table->fields[i];
        record_field(arena, record, field, (const char *)from + field->offset);
    }
}
