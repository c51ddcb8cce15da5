/* yaml_check.c: PyYAML's rules for bytes and tabs. */
#include "config/document/yaml_check.h"

#include "base/utf8.h"
#include "config/document/yaml_read.h"

#include <string.h>

struct str yaml_skip_mark(struct str text)
{
    return str_starts(text, "\xEF\xBB\xBF") ? str_sub(text, 3, text.len) : text;
}

void yaml_quoted_note(struct yaml_quoted *quoted, struct arena *arena, const yaml_event_t *event)
{
    yaml_scalar_style_t style = event->data.scalar.style;
    if (style == YAML_PLAIN_SCALAR_STYLE || style == YAML_ANY_SCALAR_STYLE) {
        return;
    }
    ARENA_PUSH(arena, quoted->spans, quoted->count, quoted->capacity) = (struct yaml_span){
        event->start_mark.index, event->end_mark.index,
        style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE};
}

static bool is_printable(uint32_t point)
{
    return point == '\t' || point == '\n' || point == '\r' || (point >= 0x20 && point <= 0x7E) ||
           point == 0x85 || (point >= 0xA0 && point <= 0xD7FF) ||
           (point >= 0xE000 && point <= 0xFFFD) || (point >= 0x10000 && point <= 0x10FFFF);
}

/* YAML 1.1 has six line ends; of "\r\n" the second character ends the line. */
static bool ends_a_line(struct str text, size_t at, uint32_t point)
{
    bool lone_return = point == '\r' && !(at + 1 < text.len && text.ptr[at + 1] == '\n');
    return lone_return || point == '\n' || point == 0x85 || point == 0x2028 || point == 0x2029;
}

bool yaml_check_source(const struct source *source, struct diag_list *diags)
{
    struct str text = yaml_skip_mark(source->text);
    struct place place = {source, 1, 1, 1};
    if (text.len > YAML_BYTES_MAX) {
        diag_error(diags, "yaml-too-large", (struct place){source, 0, 0, 0},
                   "the file has %zu bytes; a cluster file can have at most %d", text.len,
                   YAML_BYTES_MAX);
        return false;
    }
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        if (point == UTF8_BAD) {
            diag_error(diags, "yaml", place, "invalid UTF-8 (byte 0x%02X)",
                       (unsigned char)text.ptr[i]);
            return false;
        }
        if (!is_printable(point)) {
            diag_error(diags, "yaml", place, "the control character U+%04X is not allowed in YAML",
                       point);
            return false;
        }
        place.column++;
        if (ends_a_line(text, i, point)) {
            place.line++;
            place.column = 1;
        }
    }
    return true;
}

/* Scans the text once and tracks whether a character is text, comment or neither. */
struct scan_walk {
    struct place place;
    size_t index;       /* in characters */
    size_t span;        /* the first span that does not end before `index` */
    bool header_passed; /* after the header line of a block scalar (`|-  # note`) */
    bool in_comment;
    uint32_t before;
};

/* True if the current character is text, in which tabs are allowed. */
static bool is_text(const struct yaml_quoted *quoted, struct scan_walk *walk, bool ends_line)
{
    while (walk->span < quoted->count && quoted->spans[walk->span].to <= walk->index) {
        walk->span++;
        walk->header_passed = false;
    }
    if (walk->span == quoted->count || quoted->spans[walk->span].from > walk->index) {
        return false;
    }
    bool is_header = quoted->spans[walk->span].is_block && !walk->header_passed;
    walk->header_passed = walk->header_passed || ends_line;
    return !is_header;
}

static void yaml_check_step(struct scan_walk *walk, uint32_t point, bool ends_line, bool in_text)
{
    bool word_begins = walk->before == ' ' || walk->before == '\t' || walk->before == 0;
    if (point == '#' && word_begins && !in_text) {
        walk->in_comment = true;
    }
    walk->index++;
    walk->place.column++;
    walk->before = point;
    if (ends_line) {
        walk->place.line++;
        walk->place.column = 1;
        walk->in_comment = false;
        walk->before = 0;
    }
}

/* `|#note`: a comment for libyaml, an error for PyYAML. */
static bool is_glued_comment(const struct yaml_quoted *quoted, const struct scan_walk *walk,
                             uint32_t point)
{
    bool in_header = walk->span < quoted->count && quoted->spans[walk->span].is_block &&
                     quoted->spans[walk->span].from < walk->index && !walk->header_passed;
    return in_header && point == '#' && !walk->in_comment && walk->before != 0 &&
           walk->before < 0x80 && strchr("|>+-0123456789", (int)walk->before);
}

static bool report(struct diag_list *diags, struct place place, const char *code, const char *text,
                   const char *hint)
{
    struct diag *diag = diag_error(diags, code, place, "%s", text);
    diag_hint(diags, diag, "%s", hint);
    return false;
}

bool yaml_report_tab(struct diag_list *diags, struct place place)
{
    return report(diags, place, "yaml-tab", "a tab cannot be used here", "use spaces instead");
}

bool yaml_check_scan(const struct source *source, const struct yaml_quoted *quoted,
                     struct diag_list *diags)
{
    struct str text = yaml_skip_mark(source->text);
    struct scan_walk walk = {.place = {source, 1, 1, 1}};
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        bool ends_line = ends_a_line(text, i, point);
        bool in_text = is_text(quoted, &walk, ends_line);
        if (point == '\t' && !in_text && !walk.in_comment) {
            return yaml_report_tab(diags, walk.place);
        }
        if (!in_text && is_glued_comment(quoted, &walk, point)) {
            return report(diags, walk.place, "yaml", "a comment must have a space before it",
                          "put a space before the #");
        }
        yaml_check_step(&walk, point, ends_line, in_text);
    }
    return true;
}
