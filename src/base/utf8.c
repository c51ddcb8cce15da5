/* utf8.c: strict UTF-8. */
#include "base/utf8.h"

uint32_t utf8_decode(struct str text, size_t *ret_len)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text.ptr[0];
    size_t len = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    *ret_len = 1;
    if (len == 1) {
        return first;
    }
    if (first < 0xC2 || first > 0xF4 || text.len < len) {
        return UTF8_BAD;
    }
    uint32_t point = first & (0x7FU >> len);
    for (size_t i = 1; i < len; i++) {
        unsigned char next = (unsigned char)text.ptr[i];
        if ((next & 0xC0) != 0x80) {
            return UTF8_BAD;
        }
        point = (point << 6) | (next & 0x3F);
    }
    if (point < smallest[len] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        return UTF8_BAD;
    }
    *ret_len = len;
    return point;
}

void utf8_add(struct buf *buf, uint32_t point)
{
    if (point < 0x80) {
        buf_add_char(buf, (char)point);
    } else if (point < 0x800) {
        buf_add_char(buf, (char)(0xC0 | (point >> 6)));
        buf_add_char(buf, (char)(0x80 | (point & 0x3F)));
    } else if (point < 0x10000) {
        buf_add_char(buf, (char)(0xE0 | (point >> 12)));
        buf_add_char(buf, (char)(0x80 | ((point >> 6) & 0x3F)));
        buf_add_char(buf, (char)(0x80 | (point & 0x3F)));
    } else {
        buf_add_char(buf, (char)(0xF0 | (point >> 18)));
        buf_add_char(buf, (char)(0x80 | ((point >> 12) & 0x3F)));
        buf_add_char(buf, (char)(0x80 | ((point >> 6) & 0x3F)));
        buf_add_char(buf, (char)(0x80 | (point & 0x3F)));
    }
}

bool utf8_is_valid(struct str text)
{
    for (size_t i = 0, len; i < text.len; i += len) {
        if (utf8_decode(str_sub(text, i, text.len), &len) == UTF8_BAD) {
            return false;
        }
    }
    return true;
}

size_t utf8_count(struct str text)
{
    size_t count = 0;
    for (size_t i = 0, len; i < text.len; i += len) {
        utf8_decode(str_sub(text, i, text.len), &len);
        count++;
    }
    return count;
}

/* Common blocks only: enough to place a caret under the right character. */
static size_t point_width(uint32_t point)
{
    if (point < 0x20 || (point >= 0x300 && point <= 0x36F) || point == 0x200B || point == 0xFEFF) {
        return 0;
    }
    if ((point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
        (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
        (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
        (point >= 0x1F300 && point <= 0x1FAFF)) {
        return 2;
    }
    return 1;
}

size_t utf8_width(struct str text)
{
    size_t width = 0;
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        width += point == UTF8_BAD ? 1 : point_width(point);
    }
    return width;
}

/* Bidirectional marks: a terminal would show text in a different order. */
static bool turns_text(uint32_t point)
{
    return point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
           (point >= 0x2066 && point <= 0x2069);
}

/* The length in bytes of the escape sequence at the start of the text: "ESC [ 31 m", "ESC ] 0;title
 * BEL", or ESC and one more. */
static size_t sequence_size(struct str text)
{
    size_t at = 2;
    if (text.len < 2) {
        return text.len;
    }
    if (text.ptr[1] == '[') {
        while (at < text.len && text.ptr[at] >= 0x20 && text.ptr[at] < 0x40) {
            at++;
        }
        return at < text.len && text.ptr[at] >= 0x40 && text.ptr[at] < 0x7F ? at + 1 : at;
    }
    if (text.ptr[1] == ']') {
        while (at < text.len && text.ptr[at] != '\a' && text.ptr[at] != '\033' &&
               text.ptr[at] != '\n') {
            at++;
        }
        return at < text.len && text.ptr[at] == '\a' ? at + 1 : at;
    }
    return text.ptr[1] >= 0x20 && text.ptr[1] < 0x7F ? 2 : 1;
}

void utf8_add_unstyled(struct buf *buf, struct str text)
{
    while (text.len > 0) {
        size_t escape = str_find_char(text, '\033');
        size_t plain = escape == SIZE_MAX ? text.len : escape;
        buf_add(buf, str_sub(text, 0, plain));
        text = str_sub(text, plain, text.len);
        text = str_sub(text, sequence_size(text), text.len);
    }
}

void utf8_add_visible(struct buf *buf, struct str text, bool keep_lines)
{
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        if (point == '\t') {
            buf_add_char(buf, ' ');
        } else if (point == '\n' && keep_lines) {
            buf_add_char(buf, '\n');
        } else if (point == UTF8_BAD || point < 0x20 || (point >= 0x7F && point < 0xA0) ||
                   turns_text(point)) {
            buf_add_char(buf, '?');
        } else {
            buf_add(buf, str_sub(text, i, i + len));
        }
    }
}
