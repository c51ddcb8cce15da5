/* json_line.c: writes and reads JSON objects. */
#include "io/json_line.h"

#include "base/utf8.h"

void json_put_text(json_t *object, const char *name, struct str value)
{
    json_t *text = value.len > 0 ? json_stringn(value.ptr, value.len) : NULL;
    if (value.len > 0 && !text) {
        AUTO_BUF struct buf visible;
        buf_init(&visible, value.len * 4 + 1);
        utf8_add_visible(&visible, value, true);
        text = json_stringn(visible.ptr, visible.len);
    }
    if (text) {
        json_object_set_new(object, name, text);
    }
}

void json_put_number(json_t *object, const char *name, int64_t value)
{
    if (value != 0) {
        json_object_set_new(object, name, json_integer(value));
    }
}

void json_put_flag(json_t *object, const char *name, bool value)
{
    if (value) {
        json_object_set_new(object, name, json_true());
    }
}

static int json_line_add_piece(const char *bytes, size_t size, void *out)
{
    buf_add(out, (struct str){bytes, size});
    return 0;
}

bool json_add(const json_t *json, struct buf *out)
{
    return json_dump_callback(json, json_line_add_piece, out, JSON_COMPACT | JSON_ENCODE_ANY) ==
               0 &&
           !out->is_full;
}

void json_put_out(json_t *object, bool ends_line, struct buf *out)
{
    bool is_whole = json_add(object, out);
    (void)is_whole; /* the owner of the buffer checks is_full */
    if (ends_line) {
        buf_add_char(out, '\n');
    }
    json_decref(object);
}

bool json_line_read(struct str text, const char *what, json_t **ret_object, struct err *err)
{
    json_t *object = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return err_set(err, ERR_PROTOCOL, "cannot parse %s", what);
    }
    *ret_object = object;
    return true;
}

struct str json_take_text(const json_t *object, const char *name, struct arena *arena)
{
    const json_t *value = json_object_get(object, name);
    return arena_str(arena, (struct str){json_string_value(value), json_string_length(value)});
}

int64_t json_take_number(const json_t *object, const char *name, int64_t least, int64_t most)
{
    int64_t value = json_integer_value(json_object_get(object, name));
    return value < least ? least : value > most ? most : value;
}
