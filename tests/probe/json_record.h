/* json_record.h: records and answers of the AWS probes, which are JSON, one object each. */
#pragma once

#include "base/str.h"

#include <jansson.h>

/* The text of a member; empty when it is not there or null. Lives as long as the record. */
static inline struct str record_text(const json_t *record, const char *name)
{
    const json_t *value = json_object_get(record, name);
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : STR("");
}

static inline struct str item_text(const json_t *list, size_t index)
{
    const json_t *value = json_array_get(list, index);
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : STR("");
}

static inline json_t *text_json(struct str text)
{
    json_t *value = json_stringn(text.ptr ? text.ptr : "", text.len);
    return value ? value : json_string("(not UTF-8)");
}

/* Prints the answer on one line and drops it. */
static inline void answer_print(json_t *answer)
{
    json_dumpf(answer, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
    fputc('\n', stdout);
    json_decref(answer);
}
