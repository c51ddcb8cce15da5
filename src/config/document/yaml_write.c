/* yaml_write.c: writes block-style YAML. Aliases are expanded; the reader's limits bound the
 * result. */
#include "config/document/yaml_write.h"

#include "base/number.h"
#include "base/utf8.h"
#include "config/document/json_write.h"
#include "config/document/yaml_scalar.h"

#include <math.h>
#include <string.h>

/* Below YAML's limit of 1024 characters, because quotes and escapes are included. */
enum { SIMPLE_KEY_MAX = 1000, FLOW_FROM_INDENT = 60 };

static void write_node(struct buf *out, const struct value *value, size_t indent);

/* Characters that are harmless inside a plain scalar. */
static bool is_plain_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("_-./~+=$()@;<>|*&^%'\\", c) != NULL);
}

/* True if it can be written unquoted and reads back as the same text. When in doubt, false. */
static bool yaml_write_is_plain(struct str text)
{
    if (text.len == 0 || text.ptr[0] == ' ' || yaml_resolve(text) != YAML_TAG_STR ||
        str_starts(text, "...")) {
        return false;
    }
    if (strchr("-?:,[]{}#&*!|>'\"%@`~=<", text.ptr[0]) && !str_starts(text, "~/")) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool inner_blank = c == ' ' && i + 1 < text.len && text.ptr[i + 1] != '#';
        bool inner_colon = c == ':' && i + 1 < text.len && text.ptr[i + 1] != ' ';
        if (!is_plain_char(c) && !inner_blank && !inner_colon) {
            return false;
        }
    }
    return true;
}

/* Double quotes with YAML's escapes; printable non-ASCII text is kept. */
static void write_quoted(struct buf *out, struct str text)
{
    buf_add_char(out, '"');
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        if (point == '"' || point == '\\') {
            buf_addf(out, "\\%c", (char)point);
        } else if (point == '\n') {
            buf_add_c(out, "\\n");
        } else if (point == '\t') {
            buf_add_c(out, "\\t");
        } else if (point == UTF8_BAD || point < 0x20 || (point >= 0x7F && point < 0xA0)) {
            buf_addf(out, "\\x%02x", point == UTF8_BAD ? (unsigned char)text.ptr[i] : point);
        } else if (point == 0x2028 || point == 0x2029 || point == 0xFEFF ||
                   (point >= 0xFFFE && point <= 0xFFFF)) {
            buf_addf(out, "\\u%04x", point);
        } else {
            buf_add(out, str_sub(text, i, i + len));
        }
    }
    buf_add_char(out, '"');
}

static void yaml_write_string(struct buf *out, struct str text)
{
    if (yaml_write_is_plain(text)) {
        buf_add(out, text);
    } else {
        write_quoted(out, text);
    }
}

static void yaml_write_float(struct buf *out, double number)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 64);
    if (isnan(number) || isinf(number)) {
        buf_add_c(out, isnan(number) ? ".nan" : number < 0 ? "-.inf" : ".inf");
        return;
    }
    number_add_double(&text, number);
    /* YAML 1.1 requires a dot in every float: 1e-07 would be read as text. */
    struct str rest = buf_str(&text);
    if (str_find_char(rest, '.') == SIZE_MAX) {
        struct str mantissa = str_cut(&rest, 'e');
        buf_addf(out, "%.*s.0e%.*s", STR_ARG(mantissa), STR_ARG(rest));
        return;
    }
    buf_add(out, buf_str(&text));
}

static void write_base64(struct buf *out, struct str bytes)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    buf_add_c(out, "!!binary \"");
    for (size_t i = 0; i < bytes.len; i += 3) {
        unsigned group = 0;
        for (size_t j = 0; j < 3; j++) {
            group = group << 8 | (i + j < bytes.len ? (unsigned char)bytes.ptr[i + j] : 0);
        }
        for (size_t j = 0; j < 4; j++) {
            bool pad = i + j > bytes.len;
            buf_add_char(out, pad ? '=' : alphabet[(group >> (18 - 6 * j)) & 0x3F]);
        }
    }
    buf_add_char(out, '"');
}

static bool is_block(const struct value *value)
{
    switch (value->kind) {
    case VALUE_LIST:
    case VALUE_PAIR:
        return value->list.count > 0;
    case VALUE_MAP:
    case VALUE_SET:
        return value->map.count > 0;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_BIG_INT:
    case VALUE_FLOAT:
    case VALUE_STRING:
    case VALUE_BYTES:
    case VALUE_DATE:
    case VALUE_DATE_TIME:
        return false;
    }
    return false;
}

static void write_scalar(struct buf *out, const struct value *value)
{
    switch (value->kind) {
    case VALUE_NULL:
        buf_add_c(out, "null");
        return;
    case VALUE_BOOL:
        buf_add_c(out, value->boolean ? "true" : "false");
        return;
    case VALUE_INT:
        buf_addf(out, "%lld", (long long)value->integer);
        return;
    case VALUE_FLOAT:
        yaml_write_float(out, value->number);
        return;
    case VALUE_BIG_INT:
    case VALUE_DATE:
    case VALUE_DATE_TIME:
        buf_add(out, value->text);
        return;
    case VALUE_STRING:
        yaml_write_string(out, value->text);
        return;
    case VALUE_BYTES:
        write_base64(out, value->text);
        return;
    case VALUE_LIST:
    case VALUE_PAIR:
        buf_add_c(out, "[]");
        return;
    case VALUE_MAP:
        buf_add_c(out, "{}");
        return;
    case VALUE_SET:
        buf_add_c(out, "!!set {}");
        return;
    }
}

/* The tag that a block needs to keep its type; usually none. */
static const char *block_tag(const struct value *value)
{
    if (value->kind == VALUE_SET) {
        return "!!set";
    }
    bool has_pairs = value->kind == VALUE_LIST && value->list.count > 0 &&
                     value->list.items[0]->kind == VALUE_PAIR;
    return has_pairs ? "!!pairs" : "";
}

/* On one line: [a, b], {k: v}. For deeply nested values. */
static void write_flow(struct buf *out, const struct value *value)
{
    bool is_map = value->kind == VALUE_MAP || value->kind == VALUE_SET;
    const char *tag = block_tag(value);
    if (!is_block(value)) {
        write_scalar(out, value);
        return;
    }
    buf_addf(out, "%s%s%c", tag, *tag ? " " : "", is_map ? '{' : '[');
    for (size_t i = 0; i < (is_map ? value->map.count : value->list.count); i++) {
        buf_add_c(out, i > 0 ? ", " : "");
        if (is_map) {
            buf_add_c(out, "? ");
            write_scalar(out, value->map.entries[i].key);
            buf_add_c(out, " : ");
            write_flow(out, value->map.entries[i].value);
        } else if (value->list.items[i]->kind == VALUE_PAIR) {
            buf_add_c(out, "{? ");
            write_flow(out, value->list.items[i]->list.items[0]);
            buf_add_c(out, " : ");
            write_flow(out, value->list.items[i]->list.items[1]);
            buf_add_char(out, '}');
        } else {
            write_flow(out, value->list.items[i]);
        }
    }
    buf_add_char(out, is_map ? '}' : ']');
}

static void write_child(struct buf *out, const struct value *child, size_t indent)
{
    if (!is_block(child) || indent > FLOW_FROM_INDENT) {
        buf_add_char(out, ' ');
        write_flow(out, child);
        buf_add_char(out, '\n');
        return;
    }
    const char *tag = block_tag(child);
    buf_addf(out, "%s%s\n", *tag ? " " : "", tag);
    write_node(out, child, indent);
}

/* A key of more than 1024 characters needs a question mark. */
static void write_long_key(struct buf *out, const struct value *key, size_t from, size_t indent)
{
    out->len = from;
    buf_add_c(out, "? ");
    write_scalar(out, key);
    buf_add_char(out, '\n');
    buf_add_spaces(out, indent);
}

/* The first entry is already indented by `lead` blanks. */
static void yaml_write_map(struct buf *out, const struct value *map, size_t indent, size_t lead)
{
    for (size_t i = 0; i < map->map.count; i++) {
        buf_add_spaces(out, i == 0 ? indent - lead : indent);
        size_t from = out->len;
        write_scalar(out, map->map.entries[i].key);
        if (out->len - from > SIMPLE_KEY_MAX) {
            write_long_key(out, map->map.entries[i].key, from, indent);
        }
        buf_add_char(out, ':');
        write_child(out, map->map.entries[i].value, indent + 2);
    }
}

/* An item of !!pairs: a map with one entry, "- ? key" and ": value". */
static void write_pair(struct buf *out, const struct value *pair, size_t indent)
{
    buf_add_c(out, " ?");
    write_child(out, pair->list.items[0], indent + 2);
    buf_add_spaces(out, indent);
    buf_add_char(out, ':');
    write_child(out, pair->list.items[1], indent + 2);
}

static void yaml_write_list(struct buf *out, const struct value *list, size_t indent)
{
    for (size_t i = 0; i < list->list.count; i++) {
        const struct value *item = list->list.items[i];
        buf_add_spaces(out, indent);
        buf_add_char(out, '-');
        if (item->kind == VALUE_PAIR) {
            write_pair(out, item, indent + 2);
            continue;
        }
        if (item->kind == VALUE_MAP && item->map.count > 0 && indent < FLOW_FROM_INDENT) {
            /* "- key: value": the first entry shares the line of the dash. */
            buf_add_char(out, ' ');
            yaml_write_map(out, item, indent + 2, indent + 2);
            continue;
        }
        write_child(out, item, indent + 2);
    }
}

static void write_node(struct buf *out, const struct value *value, size_t indent)
{
    if (value->kind == VALUE_MAP || value->kind == VALUE_SET) {
        yaml_write_map(out, value, indent, 0);
    } else {
        yaml_write_list(out, value, indent);
    }
}

void yaml_write(struct buf *out, const struct value *value)
{
    if (is_block(value)) {
        const char *tag = block_tag(value);
        buf_addf(out, "%s%s", tag, *tag ? "\n" : "");
        write_node(out, value, 0);
    } else {
        write_scalar(out, value);
        buf_add_char(out, '\n');
    }
}
