/* str.c: string views and strict number parsing. */
#include "base/str.h"

#include "base/require.h"

#include <string.h>

struct str str_from(const char *text)
{
    return (struct str){text ? text : "", text ? strlen(text) : 0};
}

bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool str_is(struct str a, const char *b)
{
    return str_eq(a, str_from(b));
}

int str_cmp(struct str a, struct str b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared ? memcmp(a.ptr, b.ptr, shared) : 0;
    if (order != 0) {
        return order;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

bool str_starts(struct str text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.ptr, prefix, len) == 0;
}

bool str_ends(struct str text, const char *suffix)
{
    size_t len = strlen(suffix);
    return text.len >= len && memcmp(text.ptr + text.len - len, suffix, len) == 0;
}

size_t str_find(struct str text, const char *needle)
{
    size_t len = strlen(needle);
    for (size_t i = 0; len <= text.len && i <= text.len - len; i++) {
        if (memcmp(text.ptr + i, needle, len) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t str_find_char(struct str text, char c)
{
    const char *found = text.len ? memchr(text.ptr, c, text.len) : NULL;
    return found ? (size_t)(found - text.ptr) : SIZE_MAX;
}

struct str str_sub(struct str text, size_t from, size_t to)
{
    to = to > text.len ? text.len : to;
    from = from > to ? to : from;
    require(from <= to && to <= text.len, "the part is within the text");
    const char *ptr = from > 0 ? text.ptr + from : text.ptr; /* text.ptr may be NULL */
    return (struct str){ptr, to - from};
}

static bool str_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct str str_trim(struct str text)
{
    while (text.len > 0 && str_is_blank(text.ptr[0])) {
        text = str_sub(text, 1, text.len);
    }
    while (text.len > 0 && str_is_blank(text.ptr[text.len - 1])) {
        text.len--;
    }
    return text;
}

struct str str_cut(struct str *rest, char separator)
{
    size_t at = str_find_char(*rest, separator);
    if (at == SIZE_MAX) {
        struct str all = *rest;
        *rest = str_sub(*rest, rest->len, rest->len);
        return all;
    }
    struct str head = str_sub(*rest, 0, at);
    *rest = str_sub(*rest, at + 1, rest->len);
    return head;
}

bool str_to_i64(struct str text, int64_t *ret_value)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t value = 0;
    if (negative) {
        text = str_sub(text, 1, text.len);
    }
    if (text.len == 0) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(text.ptr[i] - '0');
        if (value > (limit - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool str_to_u32(struct str text, uint32_t *ret_value)
{
    int64_t value;
    if (str_starts(text, "-") || !str_to_i64(text, &value) || value > UINT32_MAX) {
        return false;
    }
    *ret_value = (uint32_t)value;
    return true;
}

uint64_t str_hash_from(uint64_t start, struct str text)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ start;
    for (size_t i = 0; i < text.len; i++) {
        hash = (hash ^ (unsigned char)text.ptr[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

uint64_t str_hash(struct str text)
{
    return str_hash_from(0, text);
}
