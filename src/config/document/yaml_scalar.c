/* yaml_scalar.c: YAML 1.1 scalars as in PyYAML. Each rule has a small hand-written matcher, in the
 * order of PyYAML's resolver. */
#include "config/document/yaml_scalar.h"

#include "base/buf.h"
#include "base/number.h"
#include "config/document/yaml_time.h"

#include <math.h>
#include <string.h>

/* A cursor over the text: each step consumes the matched part. */
struct yaml_scalar_scan {
    struct str text;
    size_t at;
};

static char yaml_scalar_peek(const struct yaml_scalar_scan *scan)
{
    return scan->at < scan->text.len ? scan->text.ptr[scan->at] : '\0';
}

static bool at_end(const struct yaml_scalar_scan *scan)
{
    return scan->at == scan->text.len;
}

static bool accept(struct yaml_scalar_scan *scan, const char *any_of)
{
    if (at_end(scan) || yaml_scalar_peek(scan) == '\0' || !strchr(any_of, yaml_scalar_peek(scan))) {
        return false;
    }
    scan->at++;
    return true;
}

static size_t accept_many(struct yaml_scalar_scan *scan, const char *any_of)
{
    size_t from = scan->at;
    while (accept(scan, any_of)) {
    }
    return scan->at - from;
}

#define DIGITS "0123456789"
#define DIGITS_ "0123456789_"

static bool yaml_scalar_is_word(struct str text, const char *const *words)
{
    for (; *words; words++) {
        if (str_is(text, *words)) {
            return true;
        }
    }
    return false;
}

static bool is_null(struct str text)
{
    static const char *const words[] = {"~", "null", "Null", "NULL", "", NULL};
    return yaml_scalar_is_word(text, words);
}

static const char *const true_words[] = {"yes",  "Yes", "YES", "true", "True",
                                         "TRUE", "on",  "On",  "ON",   NULL};
static const char *const false_words[] = {"no",    "No",  "NO",  "false", "False",
                                          "FALSE", "off", "Off", "OFF",   NULL};

/* (:[0-5]?[0-9])+ : the tail of a base-60 number. */
static bool accept_sexagesimal(struct yaml_scalar_scan *scan)
{
    size_t groups = 0;
    for (struct yaml_scalar_scan ahead = *scan; accept(&ahead, ":"); *scan = ahead, groups++) {
        char first = yaml_scalar_peek(&ahead);
        if (!accept(&ahead, DIGITS)) {
            break;
        }
        if (first <= '5') {
            accept(&ahead, DIGITS);
        }
    }
    return groups > 0;
}

static bool is_int(struct str text)
{
    struct yaml_scalar_scan scan = {text, 0};
    accept(&scan, "+-");
    struct yaml_scalar_scan start = scan;
    if (accept(&scan, "0")) {
        if (at_end(&scan)) {
            return true;
        }
        struct yaml_scalar_scan octal = scan;
        if (accept_many(&octal, "01234567_") > 0 && at_end(&octal)) {
            return true;
        }
        if (accept(&scan, "b")) {
            return accept_many(&scan, "01_") > 0 && at_end(&scan);
        }
        return accept(&scan, "x") && accept_many(&scan, "0123456789abcdefABCDEF_") > 0 &&
               at_end(&scan);
    }
    scan = start;
    if (!accept(&scan, "123456789")) {
        return false;
    }
    accept_many(&scan, DIGITS_);
    return at_end(&scan) || (accept_sexagesimal(&scan) && at_end(&scan));
}

/* ([eE][-+][0-9]+)? at the end: YAML 1.1 requires the sign, so 1e3 is text. */
static bool ends_with_exponent(struct yaml_scalar_scan *scan)
{
    if (at_end(scan)) {
        return true;
    }
    return accept(scan, "eE") && accept(scan, "+-") && accept_many(scan, DIGITS) > 0 &&
           at_end(scan);
}

static bool is_float(struct str text)
{
    static const char *const specials[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    struct yaml_scalar_scan scan = {text, 0};
    bool is_signed = accept(&scan, "+-");
    if (yaml_scalar_is_word(str_sub(text, scan.at, text.len), specials)) {
        return true;
    }
    if (accept(&scan, ".")) {
        if (is_signed) {
            return false; /* PyYAML does not allow a sign before a bare fraction */
        }
        if (accept(&scan, DIGITS)) {
            accept_many(&scan, DIGITS_);
            return ends_with_exponent(&scan);
        }
        return yaml_scalar_is_word(text, nans);
    }
    if (!accept(&scan, DIGITS)) {
        return false;
    }
    accept_many(&scan, DIGITS_);
    struct yaml_scalar_scan sixty = scan;
    if (accept_sexagesimal(&sixty)) {
        return accept(&sixty, ".") && (accept_many(&sixty, DIGITS_), at_end(&sixty));
    }
    return accept(&scan, ".") && (accept_many(&scan, DIGITS_), ends_with_exponent(&scan));
}

enum yaml_tag yaml_resolve(struct str text)
{
    /* Python's `$` also matches before a final newline, which text tagged with a lone ! can
     * have. */
    if (text.len > 1 && text.ptr[text.len - 1] == '\n') {
        text.len--;
    }
    /* The first letter rules out most texts. */
    bool may_be_word = text.len == 0 || memchr("~nNyYtTfFoO", text.ptr[0], 11) != NULL;
    if (may_be_word && is_null(text)) {
        return YAML_TAG_NULL;
    }
    if (may_be_word &&
        (yaml_scalar_is_word(text, true_words) || yaml_scalar_is_word(text, false_words))) {
        return YAML_TAG_BOOL;
    }
    if (is_float(text)) {
        return YAML_TAG_FLOAT;
    }
    if (is_int(text)) {
        return YAML_TAG_INT;
    }
    if (str_is(text, "<<")) {
        return YAML_TAG_MERGE;
    }
    if (yaml_is_timestamp(text)) {
        return YAML_TAG_TIMESTAMP;
    }
    if (str_is(text, "!") || str_is(text, "&") || str_is(text, "*")) {
        return YAML_TAG_UNKNOWN; /* PyYAML reserves these three but cannot construct them */
    }
    return str_is(text, "=") ? YAML_TAG_VALUE : YAML_TAG_STR;
}

enum yaml_tag yaml_tag_from(struct str tag)
{
    static const struct {
        const char *name;
        enum yaml_tag tag;
    } names[] = {
        {"str", YAML_TAG_STR},     {"null", YAML_TAG_NULL},   {"bool", YAML_TAG_BOOL},
        {"int", YAML_TAG_INT},     {"float", YAML_TAG_FLOAT}, {"timestamp", YAML_TAG_TIMESTAMP},
        {"merge", YAML_TAG_MERGE}, {"value", YAML_TAG_VALUE}, {"binary", YAML_TAG_BINARY},
        {"seq", YAML_TAG_SEQ},     {"map", YAML_TAG_MAP},     {"set", YAML_TAG_SET},
        {"omap", YAML_TAG_OMAP},   {"pairs", YAML_TAG_PAIRS},
    };
    const char prefix[] = "tag:yaml.org,2002:";
    if (!str_starts(tag, prefix)) {
        return YAML_TAG_UNKNOWN;
    }
    struct str name = str_sub(tag, sizeof(prefix) - 1, tag.len);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(name, names[i].name)) {
            return names[i].tag;
        }
    }
    return YAML_TAG_UNKNOWN;
}

static struct str without_underscores(struct arena *arena, struct str text)
{
    if (str_find_char(text, '_') == SIZE_MAX) {
        return text;
    }
    char *copy = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '_') {
            copy[len++] = text.ptr[i];
        }
    }
    return (struct str){copy, len};
}

/* Consumes the sign; true if it was a minus. */
static bool take_sign(struct str *text)
{
    bool negative = str_starts(*text, "-");
    if (negative || str_starts(*text, "+")) {
        *text = str_sub(*text, 1, text->len);
    }
    return negative;
}

static bool yaml_scalar_all_of(struct str text, const char *any_of)
{
    struct yaml_scalar_scan scan = {text, 0};
    return accept_many(&scan, any_of) > 0 && at_end(&scan);
}

/* An unsigned integer as in Python's int(): blanks around it and a base prefix are allowed. */
static struct str digits_of(struct arena *arena, struct str text, unsigned base,
                            const char *alphabet)
{
    const char *prefix = base == 2 ? "0b" : base == 8 ? "0o" : base == 16 ? "0x" : "";
    text = str_trim(text);
    text = str_starts(text, prefix) ? str_sub(text, strlen(prefix), text.len) : text;
    return yaml_scalar_all_of(text, alphabet) ? number_to_decimal(arena, text, base) : STR("");
}

/* The decimal text of an unsigned integer in any YAML notation; empty if it is not one. */
static struct str int_digits(struct arena *arena, struct str text)
{
    if (str_starts(text, "0b")) {
        return digits_of(arena, str_sub(text, 2, text.len), 2, "01");
    }
    if (str_starts(text, "0x")) {
        return digits_of(arena, str_sub(text, 2, text.len), 16, "0123456789abcdefABCDEF");
    }
    if (text.len > 1 && text.ptr[0] == '0') {
        return digits_of(arena, text, 8, "01234567");
    }
    struct str parts = text;
    struct str first = str_trim(str_cut(&parts, ':'));
    if (!yaml_scalar_all_of(first, DIGITS) || str_ends(text, ":")) {
        return STR("");
    }
    return parts.len == 0 ? number_to_decimal(arena, first, 10)
                          : number_from_sixties(arena, str_trim(text));
}

static bool construct_int(struct arena *arena, struct str text, struct value *value,
                          const char **ret_problem)
{
    text = without_underscores(arena, text);
    bool negative = take_sign(&text);
    struct str digits = int_digits(arena, text);
    if (digits.len == 0) {
        *ret_problem = "not a whole number";
        return false;
    }
    if (negative && !str_is(digits, "0")) {
        digits = arena_printf(arena, "-%.*s", STR_ARG(digits));
    }
    value->kind = VALUE_INT;
    if (!str_to_i64(digits, &value->integer)) {
        value->kind = VALUE_BIG_INT;
        value->text = digits;
    }
    return true;
}

static bool equals_ignoring_case(struct str text, const char *lower)
{
    if (text.len != strlen(lower)) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != lower[i]) {
            return false;
        }
    }
    return true;
}

/* Like Python's float(): allows blanks around it, and its spellings of infinity and nan. */
static bool python_float(struct str text, double *ret_number)
{
    text = str_trim(text);
    if (equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity")) {
        *ret_number = HUGE_VAL;
        return true;
    }
    if (equals_ignoring_case(text, "nan")) {
        *ret_number = (double)NAN;
        return true;
    }
    return number_parse(text, ret_number);
}

/* 1:30.5 is 90.5; added in PyYAML's order so that rounding agrees. */
static bool sexagesimal_float(struct str text, double *ret_number)
{
    double total = 0;
    double base = 1;
    for (size_t end = text.len; end != SIZE_MAX;) {
        size_t colon = end;
        while (colon > 0 && text.ptr[colon - 1] != ':') {
            colon--;
        }
        double digit;
        if (!python_float(str_sub(text, colon, end), &digit)) {
            return false;
        }
        total += digit * base;
        base *= 60;
        end = colon == 0 ? SIZE_MAX : colon - 1;
    }
    *ret_number = total;
    return true;
}

static bool construct_float(struct arena *arena, struct str text, struct value *value,
                            const char **ret_problem)
{
    text = without_underscores(arena, text);
    bool negative = take_sign(&text);
    double number = 0;
    bool ok = true;
    if (equals_ignoring_case(text, ".inf")) {
        number = HUGE_VAL;
    } else if (equals_ignoring_case(text, ".nan")) {
        number = (double)NAN;
    } else if (str_find_char(text, ':') != SIZE_MAX) {
        ok = sexagesimal_float(text, &number);
    } else {
        ok = python_float(text, &number);
    }
    if (!ok) {
        *ret_problem = "not a number";
        return false;
    }
    value->kind = VALUE_FLOAT;
    value->number = negative ? -number : number;
    return true;
}

static bool construct_bool(struct str text, struct value *value, const char **ret_problem)
{
    static const char *const words[] = {"yes", "true", "on", "no", "false", "off"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (equals_ignoring_case(text, words[i])) {
            value->kind = VALUE_BOOL;
            value->boolean = i < 3;
            return true;
        }
    }
    *ret_problem = "not true or false";
    return false;
}

static int base64_digit(char c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c == '\0' ? NULL : strchr(alphabet, c);
    return found ? (int)(found - alphabet) : -1;
}

static bool is_ascii(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

/* Like Python's binascii: bytes outside the alphabet are skipped, padding ends a group. */
static bool construct_binary(struct arena *arena, struct str text, struct value *value,
                             const char **ret_problem)
{
    unsigned char *bytes = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    unsigned group = 0;
    int have = 0;
    int pads = 0;
    if (!is_ascii(text)) {
        *ret_problem = "not base64: it contains non-ASCII characters";
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.ptr[i]);
        if (text.ptr[i] == '=' && have >= 2 && have + ++pads >= 4) {
            have = 0; /* padding that completes a group ends the data */
            break;
        }
        if (digit < 0) {
            continue;
        }
        pads = 0;
        group = (group << 6 | (unsigned)digit) & 0xFFFFFF;
        have = (have + 1) % 4;
        if (have != 1) {
            bytes[len++] = (unsigned char)(group >> (have == 2 ? 4 : have == 3 ? 2 : 0));
        }
    }
    if (have != 0) {
        *ret_problem = "not base64: it is truncated";
        return false;
    }
    value->kind = VALUE_BYTES;
    value->text = (struct str){(const char *)bytes, len};
    return true;
}

bool yaml_construct(struct arena *arena, enum yaml_tag tag, struct str text, struct value *value,
                    const char **ret_problem)
{
    switch (tag) {
    case YAML_TAG_STR:
        value->kind = VALUE_STRING;
        value->text = text;
        return true;
    case YAML_TAG_NULL:
        value->kind = VALUE_NULL;
        return true;
    case YAML_TAG_BOOL:
        return construct_bool(text, value, ret_problem);
    case YAML_TAG_INT:
        return construct_int(arena, text, value, ret_problem);
    case YAML_TAG_FLOAT:
        return construct_float(arena, text, value, ret_problem);
    case YAML_TAG_TIMESTAMP:
        return yaml_construct_timestamp(arena, text, value, ret_problem);
    case YAML_TAG_BINARY:
        return construct_binary(arena, text, value, ret_problem);
    case YAML_TAG_MERGE:
        *ret_problem = "a merge (<<) can only be used as a key";
        return false;
    case YAML_TAG_VALUE:
        *ret_problem = "a lone = has a special meaning in YAML 1.1: quote it";
        return false;
    case YAML_TAG_SEQ:
    case YAML_TAG_MAP:
    case YAML_TAG_SET:
    case YAML_TAG_OMAP:
    case YAML_TAG_PAIRS:
        *ret_problem = "this tag needs a list or a map";
        return false;
    case YAML_TAG_UNKNOWN:
        break;
    }
    *ret_problem = "this tag is not a standard YAML tag";
    return false;
}
