/* json_record.h: records and answers of the AWS probes, which are JSON, one object each. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "records.h"

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

/* Answers every record on standard input; what an answer needs lives in `arena` until it is out. */
static inline void answer_records(json_t *(*answer)(const json_t *record, struct arena *arena),
                                  size_t record_bytes_max)
{
    AUTO_BUF struct buf bytes;
    buf_init(&bytes, record_bytes_max);
    while (record_next(&bytes)) {
        struct arena arena;
        json_t *record = json_loadb(bytes.ptr, bytes.len, JSON_ALLOW_NUL, NULL);
        arena_init(&arena);
        answer_print(answer(record, &arena));
        arena_clear(&arena);
        json_decref(record);
    }
}
