/* json_write.c: Python-compatible JSON. */
#include "config/document/json_write.h"

#include "base/number.h"
#include "base/panic.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

enum { INDENT_MAX = 40 };

struct json_write_writer {
    struct buf *out;
    enum json_style style;
    size_t depth;
    struct err *err;
};

static bool json_write_value(struct json_write_writer *writer, const struct value *value);

static void json_write_add_escape(struct buf *out, uint32_t point)
{
    if (point >= 0x10000) {
        point -= 0x10000;
        buf_addf(out, "\\u%04x\\u%04x", 0xD800 + (point >> 10), 0xDC00 + (point & 0x3FF));
    } else {
        buf_addf(out, "\\u%04x", point);
    }
}

static bool add_short_escape(struct buf *out, uint32_t point)
{
    static const struct {
        uint32_t point;
        const char *text;
    } escapes[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"},
                   {'\t', "\\t"}, {'\b', "\\b"},  {'\f', "\\f"}};
    for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
        if (escapes[i].point == point) {
            buf_add_c(out, escapes[i].text);
            return true;
        }
    }
    return false;
}

/* Characters from `first_kept` on are not escaped. */
static void json_write_add_string(struct buf *out, struct str text, uint32_t first_kept)
{
    buf_add_char(out, '"');
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        if (point == UTF8_BAD) {
            point = 0xDC00 + (unsigned char)text.ptr[i]; /* Python's surrogateescape */
            json_write_add_escape(out, point);
        } else if (add_short_escape(out, point)) {
            continue;
        } else if (point < 0x20 || (point > 0x7E && point < first_kept)) {
            json_write_add_escape(out, point);
        } else {
            buf_add(out, str_sub(text, i, i + len));
        }
    }
    buf_add_char(out, '"');
}

void json_add_string(struct buf *out, struct str text, bool keep_utf8)
{
    json_write_add_string(out, text, keep_utf8 ? 0 : UINT32_MAX);
}

static void json_write_string(const struct json_write_writer *writer, struct str text)
{
    enum { BEYOND_U_ESCAPES = 0x10000 };
    uint32_t first_kept = writer->style == JSON_PRETTY    ? 0
                          : writer->style == JSON_IN_YAML ? BEYOND_U_ESCAPES
                                                          : UINT32_MAX;
    json_write_add_string(writer->out, text, first_kept);
}

static void json_write_float(struct buf *out, double number)
{
    if (isnan(number)) {
        buf_add_c(out, "NaN");
    } else if (isinf(number)) {
        buf_add_c(out, number < 0 ? "-Infinity" : "Infinity");
    } else {
        number_add_double(out, number);
    }
}

static void new_line(struct json_write_writer *writer)
{
    if (writer->style == JSON_PRETTY) {
        buf_add_char(writer->out, '\n');
        /* Limits the indentation: a hostile file could produce mostly blanks. */
        buf_add_spaces(writer->out, 2 * (writer->depth < INDENT_MAX ? writer->depth : INDENT_MAX));
    }
}

static void separate(struct json_write_writer *writer, size_t index)
{
    if (index > 0) {
        bool is_bare = writer->style == JSON_PRETTY || writer->style == JSON_TIGHT;
        buf_add_c(writer->out, is_bare ? "," : ", ");
    }
    new_line(writer);
}

static bool json_write_list(struct json_write_writer *writer, const struct value *list)
{
    buf_add_char(writer->out, '[');
    writer->depth++;
    for (size_t i = 0; i < list->list.count; i++) {
        separate(writer, i);
        if (!json_write_value(writer, list->list.items[i])) {
            return false;
        }
    }
    writer->depth--;
    if (list->list.count > 0) {
        new_line(writer);
    }
    buf_add_char(writer->out, ']');
    return true;
}

/* Converts keys that are not strings, as json.dumps does. */
static bool write_key(struct json_write_writer *writer, const struct value *key)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 64 * 1024);
    if (key->kind == VALUE_STRING) {
        buf_add(&text, key->text);
    } else if (key->kind == VALUE_FLOAT) {
        json_write_float(&text, key->number);
    } else if (key->kind == VALUE_INT) {
        buf_addf(&text, "%lld", (long long)key->integer);
    } else if (key->kind == VALUE_BOOL) {
        buf_add_c(&text, key->boolean ? "true" : "false");
    } else if (key->kind == VALUE_NULL) {
        buf_add_c(&text, "null");
    } else if (writer->style != JSON_SORTED || key->kind == VALUE_BIG_INT) {
        buf_add(&text, key->text);
    } else {
        return err_set(writer->err, ERR_CONFIG, "a date or bytes cannot be a key");
    }
    struct str name = key->kind == VALUE_STRING ? key->text : buf_str(&text);
    json_write_string(writer, name);
    return true;
}

static bool json_write_is_number(const struct value *value)
{
    return value->kind == VALUE_BOOL || value->kind == VALUE_INT || value->kind == VALUE_FLOAT ||
           value->kind == VALUE_BIG_INT;
}

/* Python sorts keys before writing and cannot compare text with numbers. */
static bool keys_compare(const struct value *map)
{
    for (size_t i = 1; i < map->map.count; i++) {
        const struct value *a = map->map.entries[i - 1].key;
        const struct value *b = map->map.entries[i].key;
        bool both_text = a->kind == VALUE_STRING && b->kind == VALUE_STRING;
        if (!both_text && !(json_write_is_number(a) && json_write_is_number(b))) {
            return false;
        }
    }
    return true;
}

/* Compares decimal texts of any length, with an optional minus sign. */
static int compare_digits(struct str a, struct str b)
{
    bool a_negative = str_starts(a, "-");
    bool b_negative = str_starts(b, "-");
    if (a_negative != b_negative) {
        return a_negative ? -1 : 1;
    }
    int order = a.len != b.len ? (a.len < b.len ? -1 : 1) : str_cmp(a, b);
    return a_negative ? -order : order;
}

static int compare_entries(const void *left, const void *right)
{
    const struct value *a = ((const struct value_entry *)left)->key;
    const struct value *b = ((const struct value_entry *)right)->key;
    if (a->kind == VALUE_STRING) {
        return str_cmp(a->text, b->text);
    }
    if (a->kind == VALUE_INT && b->kind == VALUE_INT) {
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    }
    if (a->kind == VALUE_BIG_INT && b->kind == VALUE_BIG_INT) {
        return compare_digits(a->text, b->text);
    }
    double x = 0;
    double y = 0;
    if (!value_number(a, &x) || !value_number(b, &y)) {
        panic("json: keys that cannot be compared");
    }
    return x < y ? -1 : x > y;
}

static bool write_entries(struct json_write_writer *writer, const struct value_entry *entries,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        separate(writer, i);
        if (!write_key(writer, entries[i].key)) {
            return false;
        }
        buf_add_c(writer->out, writer->style == JSON_TIGHT ? ":" : ": ");
        if (!json_write_value(writer, entries[i].value)) {
            return false;
        }
    }
    return true;
}

static bool write_sorted(struct json_write_writer *writer, const struct value *map)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    if (!keys_compare(map)) {
        return err_set(writer->err, ERR_CONFIG,
                       "line %u: keys of different kinds in one map cannot be sorted",
                       map->place.line);
    }
    struct value *copy = value_copy_shallow(&arena, map);
    if (copy->map.count > 1) {
        qsort(copy->map.entries, copy->map.count, sizeof(struct value_entry), compare_entries);
    }
    return write_entries(writer, copy->map.entries, copy->map.count);
}

static bool json_write_map(struct json_write_writer *writer, const struct value *map)
{
    buf_add_char(writer->out, '{');
    writer->depth++;
    bool ok = writer->style == JSON_SORTED
                  ? write_sorted(writer, map)
                  : write_entries(writer, map->map.entries, map->map.count);
    writer->depth--;
    if (map->map.count > 0) {
        new_line(writer);
    }
    buf_add_char(writer->out, '}');
    return ok;
}

static bool write_set(struct json_write_writer *writer, const struct value *set)
{
    buf_add_char(writer->out, '[');
    writer->depth++;
    for (size_t i = 0; i < set->map.count; i++) {
        separate(writer, i);
        if (!json_write_value(writer, set->map.entries[i].key)) {
            return false;
        }
    }
    writer->depth--;
    if (set->map.count > 0) {
        new_line(writer);
    }
    buf_add_char(writer->out, ']');
    return true;
}

/* Values without a JSON form: an error if the result must match Python, otherwise text. */
static bool write_other(struct json_write_writer *writer, const struct value *value)
{
    if (writer->style == JSON_SORTED) {
        return err_set(writer->err, ERR_CONFIG, "line %u: %s has no JSON form; quote it",
                       value->place.line, value_kind_text(value));
    }
    if (value->kind == VALUE_SET) {
        return write_set(writer, value);
    }
    AUTO_BUF struct buf text;
    buf_init(&text, value->text.len);
    buf_add(&text, value->text);
    if (value->kind == VALUE_DATE_TIME) {
        text.ptr[10] = ' '; /* str() of a datetime, not isoformat() */
    }
    json_write_string(writer, buf_str(&text));
    return true;
}

static bool json_write_value(struct json_write_writer *writer, const struct value *value)
{
    switch (value->kind) {
    case VALUE_NULL:
        buf_add_c(writer->out, "null");
        return true;
    case VALUE_BOOL:
        buf_add_c(writer->out, value->boolean ? "true" : "false");
        return true;
    case VALUE_INT:
        buf_addf(writer->out, "%lld", (long long)value->integer);
        return true;
    case VALUE_BIG_INT:
        buf_add(writer->out, value->text);
        return true;
    case VALUE_FLOAT:
        json_write_float(writer->out, value->number);
        return true;
    case VALUE_STRING:
        json_write_string(writer, value->text);
        return true;
    case VALUE_LIST:
    case VALUE_PAIR:
        return json_write_list(writer, value);
    case VALUE_MAP:
        return json_write_map(writer, value);
    case VALUE_BYTES:
    case VALUE_DATE:
    case VALUE_DATE_TIME:
    case VALUE_SET:
        return write_other(writer, value);
    }
    return true;
}

bool json_write(struct buf *out, const struct value *value, enum json_style style, struct err *err)
{
    struct json_write_writer writer = {out, style, 0, err};
    return json_write_value(&writer, value);
}
