/* quantity.c: parses numbers with units. */
#include "config/workload/quantity.h"

#include "base/number.h"

#include <math.h>

struct unit {
    const char *name;
    double size;
};

/* Consumes the number at the start of `*rest`; false if there is none. */
static bool quantity_cut_number(struct str *rest, double *ret_number)
{
    size_t len = 0;
    while (len < rest->len &&
           ((rest->ptr[len] >= '0' && rest->ptr[len] <= '9') || rest->ptr[len] == '.')) {
        len++;
    }
    struct str digits = str_sub(*rest, 0, len);
    *rest = str_sub(*rest, len, rest->len);
    return number_parse(digits, ret_number);
}

/* Consumes the letters at the start of `*rest`. */
static struct str cut_letters(struct str *rest)
{
    size_t len = 0;
    while (len < rest->len && ((rest->ptr[len] >= 'a' && rest->ptr[len] <= 'z') ||
                               (rest->ptr[len] >= 'A' && rest->ptr[len] <= 'Z'))) {
        len++;
    }
    struct str letters = str_sub(*rest, 0, len);
    *rest = str_sub(*rest, len, rest->len);
    return letters;
}

static const struct unit *find_unit(const struct unit *units, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(name, units[i].name)) {
            return &units[i];
        }
    }
    return NULL;
}

bool quantity_seconds(double seconds, int64_t *ret_ms)
{
    double ms = round(seconds * 1000);
    if (!(ms >= 0 && ms <= (double)QUANTITY_MS_MAX)) {
        return false;
    }
    *ret_ms = (int64_t)ms;
    return true;
}

bool quantity_duration(struct str text, int64_t *ret_ms)
{
    static const struct unit units[] = {
        {"ms", 0.001},   {"s", 1},        {"sec", 1},     {"min", 60},    {"m", 60},
        {"h", 3600},     {"hours", 3600}, {"hour", 3600}, {"d", 86400},   {"day", 86400},
        {"days", 86400}, {"minutes", 60}, {"minute", 60}, {"seconds", 1}, {"second", 1}};
    struct str rest = str_trim(text);
    double seconds;
    double number;
    if (number_parse(rest, &seconds)) {
        return quantity_seconds(seconds, ret_ms);
    }
    seconds = 0;
    if (rest.len == 0) {
        return false;
    }
    while (rest.len > 0) {
        if (!quantity_cut_number(&rest, &number)) {
            return false;
        }
        rest = str_trim(rest);
        const struct unit *unit = find_unit(units, ARRAY_LEN(units), cut_letters(&rest));
        if (!unit) {
            return false;
        }
        seconds += number * unit->size;
        rest = str_trim(rest);
    }
    return quantity_seconds(seconds, ret_ms);
}

bool quantity_bytes(struct str text, double *ret_bytes)
{
    static const double kilo = 1e3;
    static const double kibi = 1024;
    static const struct {
        const char *letter;
        int power;
    } steps[] = {{"K", 1}, {"k", 1}, {"M", 2}, {"G", 3}, {"T", 4}, {"P", 5}};
    struct str rest = str_trim(text);
    double number;
    if (number_parse(rest, &number)) {
        *ret_bytes = number;
        return number >= 0;
    }
    if (!quantity_cut_number(&rest, &number)) {
        return false;
    }
    rest = str_trim(rest);
    if (str_is(rest, "B")) {
        *ret_bytes = number;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (!str_starts(rest, steps[i].letter)) {
            continue;
        }
        struct str tail = str_sub(rest, 1, rest.len);
        bool is_binary = str_is(tail, "i") || str_is(tail, "iB");
        if (!is_binary && tail.len > 0 && !str_is(tail, "B")) {
            return false;
        }
        *ret_bytes = number * pow(is_binary ? kibi : kilo, steps[i].power);
        return true;
    }
    return false;
}

bool quantity_fraction(double fraction, int64_t *ret_permille)
{
    if (!(fraction >= 0 && fraction <= 1)) {
        return false;
    }
    *ret_permille = (int64_t)round(fraction * 1000);
    return true;
}

bool quantity_share(struct str text, int64_t *ret_permille)
{
    struct str rest = str_trim(text);
    double number;
    bool is_percent = str_ends(rest, "%");
    if (is_percent) {
        rest = str_trim(str_sub(rest, 0, rest.len - 1));
    }
    return number_parse(rest, &number) &&
           quantity_fraction(is_percent ? number / 100 : number, ret_permille);
}
