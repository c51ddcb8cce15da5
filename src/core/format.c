/* format.c: formats numbers and names. */
#include "core/format.h"

#include "core/resource.h"

#include <string.h>

enum { NAME_BYTES_MAX = 120, SHOWN_MAX = 6, PRICE_DIGITS = 6, PRICE_DIGITS_MIN = 2 };

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static const char *format_sign(int64_t value)
{
    return value < 0 ? "-" : "";
}

struct str format_seconds(int64_t ms, struct arena *arena)
{
    unsigned long long size = magnitude(ms);
    return arena_printf(arena, "%s%llu.%03llu", format_sign(ms), size / 1000, size % 1000);
}

struct str format_span(int64_t ms, struct arena *arena)
{
    static const struct {
        uint64_t ms;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}, {1, "ms"}};
    uint64_t size = magnitude(ms);
    size_t unit = 0;
    if (size == 0) {
        return STR("0 s");
    }
    while (size < units[unit].ms) {
        unit++;
    }
    unsigned long long large = size / units[unit].ms;
    unsigned long long small = unit + 1 < ARRAY_LEN(units)
                                   ? size % units[unit].ms / units[unit + 1].ms
                                   : 0;
    if (small == 0) {
        return arena_printf(arena, "%s%llu %s", format_sign(ms), large, units[unit].name);
    }
    return arena_printf(arena, "%s%llu %s %llu %s", format_sign(ms), large, units[unit].name, small,
                        units[unit + 1].name);
}

struct str format_price(int64_t price, struct arena *arena)
{
    enum { CENT = 10000, ROUNDED = 100 }; /* a hundredth of a cent is exact enough */
    unsigned long long size = magnitude(price);
    size = size >= CENT ? (size + ROUNDED / 2) / ROUNDED * ROUNDED : size;
    unsigned long long fraction = size % 1000000;
    int digits = PRICE_DIGITS;
    while (digits > PRICE_DIGITS_MIN && fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    return arena_printf(arena, "%s$%llu.%0*llu/h", format_sign(price), size / 1000000, digits,
                        fraction);
}

struct str format_amount(struct str name, int64_t amount, struct arena *arena)
{
    const uint64_t gib = (uint64_t)1 << 30;
    uint64_t size = magnitude(amount);
    const char *unit = "";
    if (str_ends(name, "memory") && size / RESOURCE_UNIT >= gib) {
        size = (size + gib / 2) / gib;
        unit = " GiB";
    }
    unsigned long long whole = size / RESOURCE_UNIT;
    unsigned fraction = (unsigned)(size % RESOURCE_UNIT);
    if (fraction == 0) {
        return arena_printf(arena, "%s%llu%s", format_sign(amount), whole, unit);
    }
    int digits = 4;
    while (fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    return arena_printf(arena, "%s%llu.%0*u%s", format_sign(amount), whole, digits, fraction, unit);
}

struct str format_amount_of(struct str name, int64_t amount, struct arena *arena)
{
    struct str text = format_amount(name, amount, arena);
    const char *times = str_ends(text, "GiB") ? "" : "x";
    return arena_printf(arena, "%.*s%s %.*s", STR_ARG(text), times, STR_ARG(name));
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

struct str format_plain(struct str text, struct arena *arena)
{
    size_t len = text.len;
    const char *more = "";
    if (len > NAME_BYTES_MAX) {
        len = NAME_BYTES_MAX;
        more = "...";
        /* Do not cut inside a UTF-8 character. */
        while (len > 0 && ((unsigned char)text.ptr[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    char plain[NAME_BYTES_MAX];
    for (size_t i = 0; i < len; i++) {
        plain[i] = is_control(text.ptr[i]) ? '?' : text.ptr[i];
    }
    return arena_printf(arena, "%.*s%s", (int)len, plain, more);
}

struct str format_name(const struct names *names, uint32_t name, struct arena *arena)
{
    if (name >= names->count) {
        return name == NAME_NONE ? STR("(none)") : arena_printf(arena, "(name %u)", name);
    }
    struct str text = intern_text(names, name);
    return text.len > 0 ? format_plain(text, arena) : STR("\"\"");
}

/* Appends an item to `text`, after a separator unless it is the first. */
static struct str joined(struct str text, const char *separator, struct str item,
                         struct arena *arena)
{
    return arena_printf(arena, "%.*s%s%.*s", STR_ARG(text), text.len > 0 ? separator : "",
                        STR_ARG(item));
}

static struct str more_words(struct str text, size_t count, struct arena *arena)
{
    if (count <= SHOWN_MAX) {
        return text;
    }
    return arena_printf(arena, "%.*s, %zu more", STR_ARG(text), count - SHOWN_MAX);
}

static struct str rule_words(const struct names *names, const struct label_rule *rule,
                             struct arena *arena)
{
    static const char *const operators[] = {
        [LABEL_IN] = "in", [LABEL_NOT_IN] = "not in", [LABEL_NEVER] = "never in"};
    struct str values = STR("");
    for (size_t i = 0; i < rule->value_count && i < SHOWN_MAX; i++) {
        values = joined(values, ", ", format_name(names, rule->values[i], arena), arena);
    }
    values = more_words(values, rule->value_count, arena);
    struct str key = format_name(names, rule->key, arena);
    return arena_printf(arena, "%.*s %s (%.*s)", STR_ARG(key), operators[rule->op],
                        STR_ARG(values));
}

static struct str selector_words(const struct names *names, const struct request *request,
                                 struct arena *arena)
{
    struct str text = STR("");
    const struct label_selector *first = &request->selectors[0];
    for (size_t i = 0; i < first->rule_count && i < SHOWN_MAX; i++) {
        text = joined(text, " and ", rule_words(names, &first->rules[i], arena), arena);
    }
    text = more_words(text, first->rule_count, arena);
    if (first->rule_count == 0) {
        text = STR("any labels");
    }
    size_t fallbacks = request->selector_count - 1;
    if (fallbacks == 0) {
        return text;
    }
    return arena_printf(arena, "%.*s or %zu fallback%s", STR_ARG(text), fallbacks,
                        fallbacks > 1 ? "s" : "");
}

static struct str placement_words(const struct names *names, const struct placement *placement,
                                  struct arena *arena)
{
    const char *how = placement->kind == PLACEMENT_AFFINITY ? "together by" : "apart by";
    struct str key = format_name(names, placement->label.key, arena);
    if (intern_text(names, placement->label.value).len == 0) {
        return arena_printf(arena, "%s %.*s", how, STR_ARG(key));
    }
    struct str value = format_name(names, placement->label.value, arena);
    return arena_printf(arena, "%s %.*s=%.*s", how, STR_ARG(key), STR_ARG(value));
}

struct str format_request(const struct names *names, const struct request *request,
                          struct arena *arena)
{
    struct str text = STR("");
    for (size_t i = 0; i < request->amount_count && i < SHOWN_MAX; i++) {
        struct str name = format_name(names, request->amounts[i].name, arena);
        struct str item = format_amount_of(name, request->amounts[i].amount, arena);
        text = joined(text, ", ", item, arena);
    }
    text = more_words(text, request->amount_count, arena);
    if (request->amount_count == 0) {
        text = STR("nothing");
    }
    if (request->selector_count > 0) {
        text = joined(text, " with ", selector_words(names, request, arena), arena);
    }
    for (size_t i = 0; i < request->placement_count && i < SHOWN_MAX; i++) {
        text = joined(text, ", ", placement_words(names, &request->placements[i], arena), arena);
    }
    return more_words(text, request->placement_count, arena);
}
