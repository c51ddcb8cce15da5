/* diag.c: collecting and printing findings. */
#include "config/document/diag.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A line longer than this is shown as a window around the caret. */
enum { LINE_WIDTH_MAX = 96, TEXT_MAX = 1024 };

void diag_list_init(struct diag_list *list, struct arena *arena)
{
    *list = (struct diag_list){.arena = arena};
}

struct diag *diag_add(struct diag_list *list, enum diag_level level, const char *code,
                      struct place place, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (level == DIAG_ERROR) {
        list->error_count++;
    } else {
        list->warning_count++;
    }
    if (list->count >= DIAG_MAX) {
        return ARENA_NEW(list->arena, struct diag); /* counted, not kept */
    }
    void *items = list->items;
    arena_grow(list->arena, &items, list->count, &list->capacity, sizeof(struct diag));
    list->items = items;
    struct diag *diag = &list->items[list->count++];
    *diag = (struct diag){level, code, place, arena_str(list->arena, str_from(text)), STR("")};
    return diag;
}

void diag_hint(struct diag_list *list, struct diag *diag, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    diag->hint = arena_str(list->arena, str_from(text));
}

static int compare_places(const struct place *a, const struct place *b)
{
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return a->column < b->column ? -1 : a->column > b->column;
}

bool diag_has(const struct diag_list *list, const char *code, struct place place)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct diag *diag = &list->items[i];
        if (strcmp(diag->code, code) == 0 && compare_places(&diag->place, &place) == 0) {
            return true;
        }
    }
    return false;
}

void diag_sort(struct diag_list *list)
{
    /* Insertion sort: stable, and there are at most DIAG_MAX. */
    for (size_t i = 1; i < list->count; i++) {
        struct diag moving = list->items[i];
        size_t j = i;
        for (; j > 0 && compare_places(&list->items[j - 1].place, &moving.place) > 0; j--) {
            list->items[j] = list->items[j - 1];
        }
        list->items[j] = moving;
    }
}

/* The first `count` characters of the text, in bytes. */
static size_t bytes_of(struct str text, size_t count)
{
    size_t at = 0;
    for (size_t len; count > 0 && at < text.len; count--, at += len) {
        utf8_decode(str_sub(text, at, text.len), &len);
    }
    return at;
}

/* Control characters would play tricks with the terminal. */
static void add_visible(struct buf *out, struct str text)
{
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        if (point == '\t') {
            buf_add_char(out, ' ');
        } else if (point == UTF8_BAD || point < 0x20 || (point >= 0x7F && point < 0xA0)) {
            buf_add_char(out, '?');
        } else {
            buf_add(out, str_sub(text, i, i + len));
        }
    }
}

static void print_excerpt(struct buf *out, const struct diag *diag, const struct diag_style *style)
{
    struct str line = source_line(diag->place.source, diag->place.line);
    size_t before = bytes_of(line, diag->place.column - 1);
    size_t from = 0;
    if (line.len > LINE_WIDTH_MAX && before > LINE_WIDTH_MAX / 2) {
        from = bytes_of(line, utf8_count(str_sub(line, 0, before)) - LINE_WIDTH_MAX / 2);
    }
    size_t to = from + bytes_of(str_sub(line, from, line.len), LINE_WIDTH_MAX);
    size_t caret = utf8_width(str_sub(line, from, before));
    for (size_t i = from; i < before && i < line.len; i++) {
        caret += line.ptr[i] == '\t'; /* printed as one blank */
    }
    buf_addf(out, "%s%5u |%s ", style->dim, diag->place.line, style->reset);
    add_visible(out, str_sub(line, from, to));
    buf_addf(out, "\n%s      |%s ", style->dim, style->reset);
    buf_add_spaces(out, caret);
    buf_add_c(out, diag->level == DIAG_ERROR ? style->error : style->warning);
    buf_add_char(out, '^');
    for (uint32_t i = 1; i < diag->place.width && caret + i < LINE_WIDTH_MAX; i++) {
        buf_add_char(out, '~');
    }
    buf_add_c(out, style->reset);
    if (diag->hint.len > 0) {
        buf_add_char(out, ' ');
        add_visible(out, diag->hint);
    }
    buf_add_char(out, '\n');
}

void diag_print(struct buf *out, const struct diag *diag, const struct diag_style *style)
{
    bool is_error = diag->level == DIAG_ERROR;
    if (diag->place.source) {
        add_visible(out, diag->place.source->name);
        buf_add_c(out, ":");
    }
    if (diag->place.line > 0) {
        buf_addf(out, "%u:%u:", diag->place.line, diag->place.column);
    }
    buf_addf(out, " %s%s:%s ", is_error ? style->error : style->warning,
             is_error ? "error" : "warning", style->reset);
    add_visible(out, diag->text);
    buf_add_char(out, '\n');
    if (diag->place.source && diag->place.line > 0) {
        print_excerpt(out, diag, style);
    } else if (diag->hint.len > 0) {
        buf_add_c(out, "        ");
        add_visible(out, diag->hint);
        buf_add_char(out, '\n');
    }
}

static void add_count(struct buf *out, size_t count, const char *word)
{
    if (count > 0) {
        buf_addf(out, "%s%zu %s%s", out->len > 0 ? ", " : "", count, word, count == 1 ? "" : "s");
    }
}

void diag_print_summary(struct buf *out, const struct diag_list *list)
{
    AUTO_BUF struct buf line;
    buf_init(&line, 256);
    add_count(&line, list->error_count, "error");
    add_count(&line, list->warning_count, "warning");
    if (list->error_count + list->warning_count > list->count) {
        buf_addf(&line, " (the first %d are shown)", DIAG_MAX);
    }
    buf_add(out, buf_str(&line));
}
