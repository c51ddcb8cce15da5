/* yaml_time.c: parses timestamps. Resolving and constructing differ only in the number of digits
 * allowed for month and day of a bare date. */
#include "config/document/yaml_time.h"

#include "base/buf.h"

#include <string.h>

struct stamp {
    unsigned year, month, day;
    unsigned month_digits, day_digits;
    bool has_time;
    unsigned hour, minute, second, micros;
    char zone; /* 0: none; 'Z', '+' or '-' */
    unsigned zone_hour, zone_minute;
};

struct cursor {
    struct str text;
    size_t at;
};

static char yaml_time_peek(const struct cursor *c)
{
    return c->at < c->text.len ? c->text.ptr[c->at] : '\0';
}

static bool yaml_time_take(struct cursor *c, char wanted)
{
    if (yaml_time_peek(c) != wanted || wanted == '\0') {
        return false;
    }
    c->at++;
    return true;
}

/* Consumes between `least` and `most` digits, greedily; returns their number, 0 if too few. */
static unsigned take_digits(struct cursor *c, unsigned least, unsigned most, unsigned *ret_number)
{
    unsigned count = 0;
    *ret_number = 0;
    while (count < most && yaml_time_peek(c) >= '0' && yaml_time_peek(c) <= '9') {
        *ret_number = *ret_number * 10 + (unsigned)(yaml_time_peek(c) - '0');
        c->at++;
        count++;
    }
    return count >= least ? count : 0;
}

static size_t take_blanks(struct cursor *c)
{
    size_t from = c->at;
    while (yaml_time_take(c, ' ') || yaml_time_take(c, '\t')) {
    }
    return c->at - from;
}

/* Six digits: more are cut off, missing ones are zeros. */
static void yaml_time_take_fraction(struct cursor *c, struct stamp *stamp)
{
    unsigned digits = 0;
    while (yaml_time_peek(c) >= '0' && yaml_time_peek(c) <= '9') {
        if (digits++ < 6) {
            stamp->micros = stamp->micros * 10 + (unsigned)(yaml_time_peek(c) - '0');
        }
        c->at++;
    }
    for (; digits < 6; digits++) {
        stamp->micros *= 10;
    }
}

static bool take_zone(struct cursor *c, struct stamp *stamp)
{
    if (c->at == c->text.len) {
        return true;
    }
    take_blanks(c);
    stamp->zone = yaml_time_peek(c);
    if (yaml_time_take(c, 'Z')) {
        return true;
    }
    if (!yaml_time_take(c, '+') && !yaml_time_take(c, '-')) {
        return false;
    }
    if (!take_digits(c, 1, 2, &stamp->zone_hour)) {
        return false;
    }
    return !yaml_time_take(c, ':') || take_digits(c, 2, 2, &stamp->zone_minute);
}

static bool match(struct str text, struct stamp *stamp)
{
    /* Python's `$` also matches before a final newline. */
    text.len -= str_ends(text, "\n") ? 1 : 0;
    struct cursor c = {text, 0};
    memset(stamp, 0, sizeof(*stamp));
    if (!take_digits(&c, 4, 4, &stamp->year) || !yaml_time_take(&c, '-')) {
        return false;
    }
    stamp->month_digits = take_digits(&c, 1, 2, &stamp->month);
    if (!stamp->month_digits || !yaml_time_take(&c, '-')) {
        return false;
    }
    stamp->day_digits = take_digits(&c, 1, 2, &stamp->day);
    if (!stamp->day_digits) {
        return false;
    }
    if (c.at == text.len) {
        return true;
    }
    if (!yaml_time_take(&c, 'T') && !yaml_time_take(&c, 't') && take_blanks(&c) == 0) {
        return false;
    }
    stamp->has_time = true;
    if (!take_digits(&c, 1, 2, &stamp->hour) || !yaml_time_take(&c, ':') ||
        !take_digits(&c, 2, 2, &stamp->minute) || !yaml_time_take(&c, ':') ||
        !take_digits(&c, 2, 2, &stamp->second)) {
        return false;
    }
    if (yaml_time_take(&c, '.')) {
        yaml_time_take_fraction(&c, stamp);
    }
    return take_zone(&c, stamp) && c.at == text.len;
}

bool yaml_is_timestamp(struct str text)
{
    struct stamp stamp;
    return match(text, &stamp) &&
           (stamp.has_time || (stamp.month_digits == 2 && stamp.day_digits == 2));
}

static unsigned days_in(unsigned year, unsigned month)
{
    static const unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static const char *problem_with(const struct stamp *stamp)
{
    if (stamp->year < 1 || stamp->month < 1 || stamp->month > 12 || stamp->day < 1 ||
        stamp->day > days_in(stamp->year, stamp->month)) {
        return "this date does not exist; quote it if it is text";
    }
    if (stamp->hour > 23 || stamp->minute > 59 || stamp->second > 59) {
        return "this time of day does not exist; quote it if it is text";
    }
    if (stamp->zone_hour * 60 + stamp->zone_minute >= 24 * 60) {
        return "this time zone does not exist; quote it if it is text";
    }
    return NULL;
}

static struct str iso_text(struct arena *arena, const struct stamp *stamp)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 64);
    buf_addf(&out, "%04u-%02u-%02u", stamp->year, stamp->month, stamp->day);
    if (stamp->has_time) {
        buf_addf(&out, "T%02u:%02u:%02u", stamp->hour, stamp->minute, stamp->second);
        if (stamp->micros) {
            buf_addf(&out, ".%06u", stamp->micros);
        }
    }
    if (stamp->zone) {
        unsigned minutes = stamp->zone_hour * 60 + stamp->zone_minute;
        buf_addf(&out, "%c%02u:%02u", stamp->zone == '-' && minutes ? '-' : '+', minutes / 60,
                 minutes % 60);
    }
    return arena_str(arena, buf_str(&out));
}

bool yaml_construct_timestamp(struct arena *arena, struct str text, struct value *value,
                              const char **ret_problem)
{
    struct stamp stamp;
    if (!match(text, &stamp)) {
        *ret_problem = "not a date";
        return false;
    }
    *ret_problem = problem_with(&stamp);
    if (*ret_problem) {
        return false;
    }
    value->kind = stamp.has_time ? VALUE_DATE_TIME : VALUE_DATE;
    value->text = iso_text(arena, &stamp);
    return true;
}
