/* place.c: finding a line again. */
#include "config/document/place.h"

/* How many bytes the line end at `at` takes; 0 when there is none. As in YAML 1.1. */
static size_t line_end(struct str text, size_t at)
{
    unsigned char c = (unsigned char)text.ptr[at];
    if (c != '\n' && c != '\r' && c != 0xC2 && c != 0xE2) {
        return 0;
    }
    struct str rest = str_sub(text, at, text.len);
    static const char *const ends[] = {"\r\n",     "\n",           "\r",
                                       "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (str_starts(rest, ends[i])) {
            return str_from(ends[i]).len;
        }
    }
    return 0;
}

struct str source_line(const struct source *source, uint32_t line)
{
    struct str text = source->text;
    size_t from = str_starts(text, "\xEF\xBB\xBF") ? 3 : 0; /* a byte order mark has no column */
    for (size_t at = from; line > 0 && at < text.len; at++) {
        size_t end = line_end(text, at);
        if (end == 0) {
            continue;
        }
        if (line <= 1) {
            return str_sub(text, from, at);
        }
        line--;
        from = at + end;
        at = from - 1;
    }
    return line == 1 ? str_sub(text, from, text.len) : STR("");
}

bool place_is_users(struct place place)
{
    return place.source && place.line > 0 && !place.source->is_built_in;
}
