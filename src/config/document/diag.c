/* diag.c: collects and prints findings. */
#include "config/document/diag.h"

#include "base/require.h"
#include "base/secret_text.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A longer line is shown as a window around the caret. */
enum {
    LINE_WIDTH_MAX = 96,
    HINT_COLUMN_MAX = 100,
    HINT_COUNT_MAX = 50,
    TEXT_MAX = 1024,
    SECRET_NEAR = 512, /* context bytes read on either side of the window */
};

void diag_list_init(struct diag_list *list, struct arena *arena)
{
    *list = (struct diag_list){.arena = arena};
}

struct diag *diag_add(struct diag_list *list, enum diag_level level, const char *code,
                      struct place place, const char *fmt, ...)
{
    size_t *level_count = level == DIAG_ERROR ? &list->error_count : &list->warning_count;
    if (++*level_count > DIAG_MAX) {
        return ARENA_NEW(list->arena, struct diag); /* counted, but not stored */
    }
    char text[TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    struct diag *diag = &ARENA_PUSH(list->arena, list->items, list->count, list->capacity);
    require(list->count <= list->error_count + list->warning_count, "every finding is counted");
    *diag = (struct diag){.level = level, .code = code, .place = place};
    diag->text = arena_str(list->arena, str_from(text));
    return diag;
}

void diag_hint(struct diag_list *list, struct diag *diag, const char *fmt, ...)
{
    if (!diag->code) {
        return; /* a finding that was counted, but not stored */
    }
    char text[TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    diag->hint = arena_str(list->arena, str_from(text));
}

void diag_mark_missing(struct diag *diag, const void *scope, struct str word)
{
    diag->scope = scope;
    diag->word = word;
    diag->is_missing = true;
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
        bool same_code = !code || strcmp(diag->code, code) == 0;
        if (same_code && compare_places(&diag->place, &place) == 0) {
            return true;
        }
    }
    return false;
}

/* The finding about a key that was probably meant to be `word`; NULL if there is none. */
static struct diag *find_typo(const struct diag_list *list, const void *scope, struct str word)
{
    for (size_t i = 0; i < list->count; i++) {
        struct diag *diag = &list->items[i];
        if (!diag->is_missing && diag->scope == scope && str_eq(diag->word, word)) {
            return diag;
        }
    }
    return NULL;
}

bool diag_is_crowded(const struct diag_list *list, enum diag_level level)
{
    return (level == DIAG_ERROR ? list->error_count : list->warning_count) > HINT_COUNT_MAX;
}

bool diag_suggests(const struct diag_list *list, const void *scope, struct str word)
{
    return find_typo(list, scope, word) != NULL;
}

void diag_merge_typos(struct diag_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct diag *diag = &list->items[i];
        struct diag *typo = diag->is_missing && diag->word.len > 0
                                ? find_typo(list, diag->scope, diag->word)
                                : NULL;
        if (!typo) {
            list->items[kept++] = *diag;
            continue;
        }
        if (typo->level == DIAG_ERROR) {
            list->error_count--;
        } else {
            typo->level = DIAG_ERROR; /* it gets the level of the finding about the missing key */
            list->warning_count--;
        }
    }
    list->count = kept;
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

/* The length in bytes of the first `count` characters. */
static size_t diag_bytes_of(struct str text, size_t count)
{
    size_t at = 0;
    for (size_t len; count > 0 && at < text.len; count--, at += len) {
        utf8_decode(str_sub(text, at, text.len), &len);
    }
    return at;
}

static void add_visible(struct buf *out, struct str text)
{
    utf8_add_visible(out, text, false);
}

/*
 * A part of a line in which secrets, recognized by key or by pattern, are replaced with as many
 * asterisks as they have bytes. Only nearby text is examined: a line may be as long as the file.
 */
static struct str without_secrets(struct str line, size_t from, size_t to, struct arena *arena)
{
    size_t first = from > SECRET_NEAR ? from - SECRET_NEAR : 0;
    size_t last = line.len - to > SECRET_NEAR ? to + SECRET_NEAR : line.len;
    struct str near = str_sub(line, first, last);
    size_t colon = str_find_char(str_sub(line, 0, SECRET_NEAR), ':');
    bool has_secret = (colon != SIZE_MAX && secret_is_name(str_sub(line, 0, colon))) ||
                      !str_eq(secret_mask_text(arena, near), near);
    if (!has_secret) {
        return str_sub(line, from, to);
    }
    char *shown = arena_alloc(arena, to - from);
    for (size_t i = from; i < to; i++) {
        bool is_hidden = (colon == SIZE_MAX || i > colon) && line.ptr[i] != ' ';
        shown[i - from] = is_hidden ? '*' : line.ptr[i];
    }
    return (struct str){shown, to - from};
}

/* The visible part of a line: all of it, or a window around the caret. */
struct window {
    struct str line;
    size_t from, before, to; /* byte offsets: start, first underlined, end */
};

static struct window window_of(const struct diag *diag)
{
    struct window w = {.line = source_line(diag->place.source, diag->place.line)};
    w.before = diag_bytes_of(w.line, diag->place.column - 1);
    size_t characters = utf8_count(str_sub(w.line, 0, w.before));
    if (w.line.len > LINE_WIDTH_MAX && characters > LINE_WIDTH_MAX / 2) {
        w.from = diag_bytes_of(w.line, characters - LINE_WIDTH_MAX / 2);
    }
    w.to = w.from + diag_bytes_of(str_sub(w.line, w.from, w.line.len), LINE_WIDTH_MAX);
    return w;
}

/* The width of a text as printed by add_visible(): a tab is one blank. */
static size_t visible_width(struct str text)
{
    AUTO_BUF struct buf shown;
    buf_init(&shown, text.len * 2 + 1);
    add_visible(&shown, text);
    return utf8_width(buf_str(&shown));
}

static void print_excerpt(struct buf *out, const struct diag *diag, const struct diag_style *style)
{
    struct window w = window_of(diag);
    struct str marked = str_sub(w.line, w.before, w.to);
    marked.len = diag_bytes_of(marked, diag->place.width);
    size_t lead = w.from > 0 ? 3 : 0;
    size_t caret = lead + visible_width(str_sub(w.line, w.from, w.before));
    size_t width = visible_width(marked);
    struct arena arena;
    arena_init_secret(&arena);
    buf_addf(out, "%s%5u |%s %s", style->dim, diag->place.line, style->reset, lead ? "..." : "");
    add_visible(out, without_secrets(w.line, w.from, w.to, &arena));
    arena_clear(&arena);
    buf_addf(out, "%s\n%s      |%s ", w.to < w.line.len ? "..." : "", style->dim, style->reset);
    buf_add_spaces(out, caret);
    buf_addf(out, "%s^", diag->level == DIAG_ERROR ? style->error : style->warning);
    for (size_t i = 1; i < width; i++) {
        buf_add_char(out, '~');
    }
    buf_add_c(out, style->reset);
    if (diag->hint.len > 0) {
        bool fits = 8 + caret + width + 1 + utf8_width(diag->hint) <= HINT_COLUMN_MAX;
        if (!fits) {
            buf_addf(out, "\n%s      |%s", style->dim, style->reset);
        }
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

static void diag_add_count(struct buf *out, size_t count, const char *word)
{
    if (count > 0) {
        buf_addf(out, "%s%zu %s%s", out->len > 0 ? ", " : "", count, word, count == 1 ? "" : "s");
    }
}

void diag_print_summary(struct buf *out, const struct diag_list *list)
{
    AUTO_BUF struct buf line;
    buf_init(&line, 256);
    diag_add_count(&line, list->error_count, "error");
    diag_add_count(&line, list->warning_count, "warning");
    if (list->error_count + list->warning_count > list->count) {
        buf_addf(&line, " (showing the first %d)", DIAG_MAX);
    }
    buf_add(out, buf_str(&line));
}
