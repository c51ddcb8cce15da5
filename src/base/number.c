/* number.c: shortest text of doubles, and arbitrary-precision integers. */
#include "base/number.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMB_DIGITS = 9, LIMB_COUNT_MAX = NUMBER_DIGITS_MAX / LIMB_DIGITS + 2 };
static const uint32_t limb_base = 1000000000;

/* Little-endian in base 10^9. One limb more than the largest value kept, so growth never
 * overruns. */
struct big {
    uint32_t limbs[LIMB_COUNT_MAX + 1];
    size_t count;
};

static bool big_multiply_add(struct big *big, uint32_t factor, uint32_t term)
{
    uint64_t carry = term;
    for (size_t i = 0; i < big->count; i++) {
        carry += (uint64_t)big->limbs[i] * factor;
        big->limbs[i] = (uint32_t)(carry % limb_base);
        carry /= limb_base;
    }
    while (carry > 0) {
        if (big->count >= LIMB_COUNT_MAX) {
            return false;
        }
        big->limbs[big->count++] = (uint32_t)(carry % limb_base);
        carry /= limb_base;
    }
    return true;
}

static struct str big_text(struct arena *arena, const struct big *big)
{
    if (big->count == 0) {
        return arena_str(arena, STR("0"));
    }
    char *text = arena_alloc(arena, big->count * LIMB_DIGITS + 1);
    size_t len = (size_t)snprintf(text, LIMB_DIGITS + 1, "%u", big->limbs[big->count - 1]);
    for (size_t i = big->count - 1; i-- > 0;) {
        snprintf(text + len, LIMB_DIGITS + 1, "%09u", big->limbs[i]);
        len += LIMB_DIGITS;
    }
    return len > NUMBER_DIGITS_MAX ? STR("") : (struct str){text, len};
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return (unsigned)(c - '0');
    }
    return (unsigned)((c | 0x20) - 'a') + 10;
}

/* Processes as many digits as fit into one limb at a time: nine decimal ones. */
static bool big_add_digits(struct big *big, struct str digits, unsigned base)
{
    for (size_t i = 0; i < digits.len;) {
        uint32_t factor = 1;
        uint32_t term = 0;
        for (; i < digits.len && factor <= limb_base / base; i++) {
            factor *= base;
            term = term * base + digit_value(digits.ptr[i]);
        }
        if (!big_multiply_add(big, factor, term)) {
            return false;
        }
    }
    return true;
}

struct str number_to_decimal(struct arena *arena, struct str digits, unsigned base)
{
    struct big big = {.count = 0};
    return big_add_digits(&big, digits, base) ? big_text(arena, &big) : STR("");
}

struct str number_from_sixties(struct arena *arena, struct str text)
{
    struct big big = {.count = 0};
    if (!big_add_digits(&big, str_cut(&text, ':'), 10)) {
        return STR("");
    }
    while (text.len > 0) {
        uint32_t digit;
        if (!str_to_u32(str_trim(str_cut(&text, ':')), &digit) ||
            !big_multiply_add(&big, 60, digit)) {
            return STR("");
        }
    }
    return big_text(arena, &big);
}

static bool reads_back(const char *text, double value)
{
    return strtod(text, NULL) == value;
}

/*
 * At a power of two the doubles below are closer than those above, so the nearest decimal of some
 * length may not read back while the next one up does. Writes that one to `text` if so.
 */
static bool next_up_reads_back(char *text, double value)
{
    char *last = strchr(text, 'e') - 1;
    if (*last < '0' || *last > '8') {
        return false; /* a carry would make it shorter, which was tried already */
    }
    ++*last;
    if (reads_back(text, value)) {
        return true;
    }
    --*last;
    return false;
}

/* Writes the value with the lowest precision that reads back exactly. */
static void write_shortest(double value, char *text, size_t size)
{
    int low = 0;
    int high = 16; /* always sufficient */
    while (low < high) {
        int middle = (low + high) / 2;
        snprintf(text, size, "%.*e", middle, value);
        if (reads_back(text, value)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (high == 16) {
        snprintf(text, size, "%.15e", value);
        if (next_up_reads_back(text, value)) {
            return;
        }
    }
    snprintf(text, size, "%.*e", high, value);
}

/* The digits of the shortest "d.ddde+x" that reads back exactly, and its exponent. */
static int shortest(double value, char digits[24], int *ret_exponent)
{
    char text[40];
    write_shortest(value, text, sizeof(text));
    int count = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9') {
            digits[count++] = *p;
        }
    }
    *ret_exponent = *p == 'e' ? (int)strtol(p + 1, NULL, 10) : 0;
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    return count;
}

static void add_fixed(struct buf *buf, const char *digits, int count, int exponent)
{
    if (exponent < 0) {
        buf_add_c(buf, "0.");
        for (int i = -1; i > exponent; i--) {
            buf_add_char(buf, '0');
        }
        buf_add(buf, (struct str){digits, (size_t)count});
        return;
    }
    for (int i = 0; i < count || i <= exponent; i++) {
        buf_add_char(buf, i < count ? digits[i] : '0');
        if (i == exponent) {
            buf_add_char(buf, '.');
        }
    }
    if (count <= exponent + 1) {
        buf_add_char(buf, '0');
    }
}

void number_add_double(struct buf *buf, double value)
{
    if (isnan(value)) {
        buf_add_c(buf, "nan");
        return;
    }
    if (signbit(value)) {
        buf_add_char(buf, '-');
        value = -value;
    }
    if (isinf(value)) {
        buf_add_c(buf, "inf");
        return;
    }
    char digits[24];
    int exponent;
    int count = shortest(value, digits, &exponent);
    if (exponent >= -4 && exponent < 16) {
        add_fixed(buf, digits, count, exponent);
        return;
    }
    buf_add_char(buf, digits[0]);
    if (count > 1) {
        buf_add_char(buf, '.');
        buf_add(buf, (struct str){digits + 1, (size_t)count - 1});
    }
    buf_addf(buf, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

bool number_parse(struct str text, double *ret_value)
{
    /* strtod needs a terminated string and accepts more than we do (blanks, hex, "inf"). */
    enum { LONGEST_SHORT = 128 };
    char small[LONGEST_SHORT + 1];
    char *copy = text.len <= LONGEST_SHORT ? small : malloc(text.len + 1);
    bool ok = copy && text.len > 0;
    for (size_t i = 0; ok && i < text.len; i++) {
        ok = (text.ptr[i] >= '0' && text.ptr[i] <= '9') || memchr("+-.eE", text.ptr[i], 5);
        copy[i] = text.ptr[i];
    }
    if (ok) {
        char *end = NULL;
        copy[text.len] = '\0';
        double value = strtod(copy, &end);
        ok = end == copy + text.len;
        if (ok) {
            *ret_value = value;
        }
    }
    if (copy != small) {
        free(copy);
    }
    return ok;
}
