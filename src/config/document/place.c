/* place.c: finds a line of a file. */
#include "config/document/place.h"

#include <string.h>

enum { SHORT_LINE = 128 };

/* The length of the line end at `at`, 0 if there is none: YAML 1.1 has six. */
static size_t line_end(struct str text, size_t at)
{
    const unsigned char *p = (const unsigned char *)text.ptr + at;
    size_t left = text.len - at;
    if (p[0] == '\n') {
        return 1;
    }
    if (p[0] == '\r') {
        return left > 1 && p[1] == '\n' ? 2 : 1;
    }
    if (p[0] == 0xC2) {
        return left > 1 && p[1] == 0x85 ? 2 : 0;
    }
    bool is_separator = p[0] == 0xE2 && left > 2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9);
    return is_separator ? 3 : 0;
}

/* The offset of the first line end in text[from, to) that starts with `first`, or `to`. */
static size_t place_find_end(struct str text, size_t from, size_t to, char first)
{
    while (from < to) {
        const char *found = memchr(text.ptr + from, first, to - from);
        if (!found) {
            return to;
        }
        from = (size_t)(found - text.ptr);
        if (line_end(text, from) > 0) {
            return from;
        }
        from++;
    }
    return to;
}

/* The end of the line that starts at `from`: byte by byte at first, then one search per kind of
 * line end. */
static size_t end_of_line(struct str text, size_t from)
{
    size_t near = text.len - from < SHORT_LINE ? text.len : from + SHORT_LINE;
    while (from < near && line_end(text, from) == 0) {
        from++;
    }
    if (from < near || from == text.len) {
        return from;
    }
    size_t end = place_find_end(text, from, text.len, '\n');
    end = place_find_end(text, from, end, '\r');
    end = place_find_end(text, from, end, '\xC2');
    return place_find_end(text, from, end, '\xE2');
}

struct str source_line(const struct source *source, uint32_t line)
{
    struct str text = source->text;
    size_t from = str_starts(text, "\xEF\xBB\xBF") ? 3 : 0; /* a byte order mark has no column */
    for (; line > 0 && from < text.len; line--) {
        size_t end = end_of_line(text, from);
        if (line == 1) {
            return str_sub(text, from, end);
        }
        from = end < text.len ? end + line_end(text, end) : end;
    }
    return STR("");
}

bool place_is_users(struct place place)
{
    return place.source && place.line > 0 && !place.source->is_built_in;
}
