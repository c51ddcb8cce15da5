/* aws_query_probe.c: writes each record, a call with its parameters in JSON, as a form body;
 * compared with botocore's serializers. */
#include "provider/aws/wire/query.h"

#include "json_record.h"
#include "records.h"

#include <stdio.h>

enum { RECORD_BYTES_MAX = 16 * 1024 * 1024, BODY_BYTES_MAX = 1024 * 1024 };

static void add_value(struct param *parent, const char *name, json_t *value, struct arena *arena)
{
    const char *key;
    json_t *child;
    size_t index;
    if (json_is_object(value)) {
        struct param *map = param_add_map(parent, name, arena);
        json_object_foreach(value, key, child)
        {
            add_value(map, key, child, arena);
        }
    } else if (json_is_array(value)) {
        struct param *list = param_add_list(parent, name, arena);
        json_array_foreach(value, index, child)
        {
            add_value(list, "", child, arena);
        }
    } else if (json_is_boolean(value)) {
        param_add_bool(parent, name, json_is_true(value), arena);
    } else if (json_is_integer(value)) {
        param_add_number(parent, name, json_integer_value(value), arena);
    } else {
        struct str text = {json_string_value(value), json_string_length(value)};
        param_add_text(parent, name, text, arena);
    }
}

static json_t *answer(const json_t *record)
{
    struct arena arena;
    struct err err;
    AUTO_BUF struct buf body;
    struct str service = record_text(record, "service");
    enum query_service kind = str_is(service, "ec2")   ? QUERY_EC2
                              : str_is(service, "iam") ? QUERY_IAM
                                                       : QUERY_STS;
    buf_init(&body, BODY_BYTES_MAX);
    arena_init(&arena);
    struct param *top = param_new_map(&arena);
    add_value(top, "input", json_object_get(record, "input"), &arena);
    bool ok = query_write(kind, record_text(record, "action").ptr, param_find(top, "input"), &body,
                          &err);
    json_t *out = ok ? text_json(buf_str(&body)) : json_pack("[s]", err.text);
    arena_clear(&arena);
    return out;
}

int main(void)
{
    AUTO_BUF struct buf bytes;
    buf_init(&bytes, RECORD_BYTES_MAX);
    while (record_next(&bytes)) {
        json_t *record = json_loadb(bytes.ptr, bytes.len, JSON_ALLOW_NUL, NULL);
        answer_print(answer(record));
        json_decref(record);
    }
    return 0;
}
