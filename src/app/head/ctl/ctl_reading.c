/* ctl_reading.c: typed values of a line; a wrong type makes the whole line invalid. */
#include "app/head/ctl/ctl_internal.h"

struct str ctl_text(struct ctl_reading *reading, const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    ctl_expect(reading, !value || json_is_string(value));
    return json_take_text(json, name, reading->arena);
}

int64_t ctl_number(struct ctl_reading *reading, const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    int64_t number = json_integer_value(value);
    ctl_expect(reading, (!value || json_is_integer(value)) && number >= 0);
    return number;
}

bool ctl_flag(struct ctl_reading *reading, const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    ctl_expect(reading, !value || json_is_boolean(value));
    return json_is_true(value);
}
