/* yaml_probe.c: prints what our YAML reader makes of each record, in a form in which every kind of
 * value can be told from every other; the differential tests compare it with PyYAML. */
#include "base/number.h"
#include "config/document/json_write.h"
#include "config/document/yaml_read.h"
#include "records.h"

#include <stdio.h>

static void add_value(struct buf *out, const struct value *value);

static void add_items(struct buf *out, const struct value *list)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < list->list.count; i++) {
        buf_add_c(out, i > 0 ? "," : "");
        add_value(out, list->list.items[i]);
    }
    buf_add_char(out, ']');
}

static void add_entries(struct buf *out, const struct value *map)
{
    buf_add_c(out, "{\"m\":[");
    for (size_t i = 0; i < map->map.count; i++) {
        buf_add_c(out, i > 0 ? ",[" : "[");
        add_value(out, map->map.entries[i].key);
        buf_add_char(out, ',');
        add_value(out, map->map.entries[i].value);
        buf_add_char(out, ']');
    }
    buf_add_c(out, "]}");
}

static void add_set(struct buf *out, const struct value *set)
{
    buf_add_c(out, "{\"s\":[");
    for (size_t i = 0; i < set->map.count; i++) {
        buf_add_c(out, i > 0 ? "," : "");
        add_value(out, set->map.entries[i].key);
    }
    buf_add_c(out, "]}");
}

static void add_base64(struct buf *out, struct str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        unsigned group = 0;
        for (size_t j = 0; j < 3; j++) {
            group = group << 8 | (i + j < bytes.len ? (unsigned char)bytes.ptr[i + j] : 0);
        }
        for (size_t j = 0; j < 4; j++) {
            buf_add_char(out, i + j > bytes.len ? '=' : digits[group >> (18 - 6 * j) & 63]);
        }
    }
}

static void add_value(struct buf *out, const struct value *value)
{
    struct err err;
    switch (value->kind) {
    case VALUE_FLOAT:
        buf_add_c(out, "{\"f\":\"");
        number_add_double(out, value->number);
        buf_add_c(out, "\"}");
        return;
    case VALUE_DATE:
    case VALUE_DATE_TIME:
        buf_addf(out, "{\"%c\":\"%.*s\"}", value->kind == VALUE_DATE ? 'd' : 't',
                 STR_ARG(value->text));
        return;
    case VALUE_BYTES:
        buf_add_c(out, "{\"b\":\"");
        add_base64(out, value->text);
        buf_add_c(out, "\"}");
        return;
    case VALUE_LIST:
        add_items(out, value);
        return;
    case VALUE_PAIR:
        buf_add_c(out, "{\"p\":");
        add_items(out, value);
        buf_add_char(out, '}');
        return;
    case VALUE_MAP:
        add_entries(out, value);
        return;
    case VALUE_SET:
        add_set(out, value);
        return;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_BIG_INT:
    case VALUE_STRING:
        if (!json_write(out, value, JSON_COMPACT, &err)) {
            buf_add_c(out, err.text);
        }
        return;
    }
}

/* Warnings may stand before the error that ended it. */
static const struct diag *first_error(const struct diag_list *diags)
{
    size_t i = 0;
    while (i + 1 < diags->count && diags->items[i].level != DIAG_ERROR) {
        i++;
    }
    return &diags->items[i];
}

static void answer(struct str document)
{
    AUTO_BUF struct buf out;
    struct arena arena;
    struct diag_list diags;
    struct source source = {STR("record"), document, false};
    buf_init(&out, (size_t)1 << 30);
    arena_init(&arena);
    diag_list_init(&diags, &arena);
    const struct value *value = yaml_read(&arena, &source, &diags);
    if (value) {
        add_value(&out, value);
    } else {
        const struct diag *error = first_error(&diags);
        buf_addf(&out, "!error %u:%u %.*s", error->place.line, error->place.column,
                 STR_ARG(error->text));
    }
    for (size_t i = 0; i < out.len; i++) {
        putchar(out.ptr[i] == '\n' ? ' ' : out.ptr[i]); /* one line, whatever a message quotes */
    }
    putchar('\n');
    arena_clear(&arena);
}

int main(void)
{
    AUTO_BUF struct buf record;
    buf_init(&record, (size_t)64 * 1024 * 1024);
    while (record_next(&record)) {
        answer(buf_str(&record));
    }
    return 0;
}
