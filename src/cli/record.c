/* record.c: values without a place. */
#include "cli/record.h"

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
