/* autofill_tpu.c: Ray's fillout_available_node_types_resources for gcp. */
#include "config/prepare/autofill_tpu.h"

static bool autofill_tpu_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool autofill_tpu_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t skip(struct str text, size_t at, bool (*is)(char))
{
    while (at < text.len && is(text.ptr[at])) {
        at++;
    }
    return at;
}

/* True for a generation that Ray knows. */
static bool autofill_tpu_is_known(struct str type)
{
    static const char *const known[] = {"v2", "v3", "v4", "v5p", "v5litepod", "v6e", "v7x"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_starts(type, known[i])) {
            return true;
        }
    }
    return false;
}

/* Chips of these generations have one core, others two. */
static bool autofill_tpu_is_single_core(struct str type)
{
    return str_starts(type, "v5litepod") || str_starts(type, "v6e");
}

/* Python's $ matches at the end, and also before a final newline. */
static bool is_end(struct str text, size_t at)
{
    return at == text.len || (at + 1 == text.len && text.ptr[at] == '\n');
}

/* (v|tpu)<digits><letters>-<digits> */
static bool is_type(struct str text)
{
    size_t from = str_starts(text, "v") ? 1 : str_starts(text, "tpu") ? 3 : text.len;
    size_t digits = skip(text, from, autofill_tpu_is_digit);
    size_t letters = skip(text, digits, autofill_tpu_is_letter);
    if (digits == from || letters == text.len || text.ptr[letters] != '-') {
        return false;
    }
    size_t end = skip(text, letters + 1, autofill_tpu_is_digit);
    return end > letters + 1 && is_end(text, end) && autofill_tpu_is_known(text);
}

/* The number of chips in "2x2x4"; false if it is not AxB or AxBxC. */
static bool count_chips(struct str topology, uint64_t *ret_chips)
{
    size_t parts = 0;
    *ret_chips = 1;
    topology.len -= str_ends(topology, "\n") ? 1 : 0;
    for (; topology.len > 0 && parts < 4; parts++) {
        uint32_t number;
        struct str part = str_cut(&topology, 'x');
        if (part.len > 6 || !str_to_u32(part, &number)) {
            return false;
        }
        *ret_chips *= number;
    }
    return parts == 2 || parts == 3;
}

/* V<digits><letters>, except the two oldest. */
static bool is_generation(struct str text)
{
    size_t digits = skip(text, 1, autofill_tpu_is_digit);
    return str_starts(text, "V") && digits > 1 &&
           is_end(text, skip(text, digits, autofill_tpu_is_letter)) && !str_is(text, "V2") &&
           !str_is(text, "V3");
}

bool autofill_tpu_is_pod(struct str type)
{
    enum { CHIPS_PER_HOST = 4, LITE_CHIPS_PER_HOST = 8 };
    bool is_lite = autofill_tpu_is_single_core(type);
    struct str size = type;
    int64_t cores;
    str_cut(&size, '-');
    /* A count too large for a number is a pod too. */
    return !str_to_i64(str_trim(size), &cores) ||
           cores > (is_lite ? LITE_CHIPS_PER_HOST : 2 * CHIPS_PER_HOST);
}

/* Converts "V4" and "2x2x2" to "v4-16": cores, not chips. Empty where Ray would raise. */
static struct str autofill_tpu_type_of(struct arena *arena, const struct value *accelerator)
{
    struct str generation = value_text(value_get_c(accelerator, "type"));
    struct str topology = value_text(value_get_c(accelerator, "topology"));
    bool is_lite = str_is(generation, "V5LITE_POD");
    uint64_t chips;
    if (!(is_lite || is_generation(generation)) || !count_chips(topology, &chips)) {
        return STR("");
    }
    char *lower = arena_alloc(arena, generation.len + 1);
    for (size_t i = 0; i < generation.len; i++) {
        char c = generation.ptr[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    struct str name = is_lite ? STR("v5litepod") : (struct str){lower, generation.len};
    struct str type = arena_printf(
        arena, "%.*s-%llu", STR_ARG(name),
        (unsigned long long)(autofill_tpu_is_single_core(name) ? chips : 2 * chips));
    return autofill_tpu_is_known(type) ? type : STR("");
}

bool autofill_tpu_find(struct arena *arena, const struct value *node, struct str *ret_type)
{
    const struct value *type = value_get_c(node, "acceleratorType");
    const struct value *accelerator = value_get_c(node, "acceleratorConfig");
    *ret_type = STR("");
    if (!value_is(node, VALUE_MAP)) {
        return false;
    }
    if (value_get_c(node, "machineType")) {
        return true;
    }
    if ((type && accelerator) || (!type && !accelerator)) {
        return false;
    }
    *ret_type = type ? value_text(type) : autofill_tpu_type_of(arena, accelerator);
    return type ? is_type(*ret_type) : ret_type->len > 0;
}

void autofill_tpus(struct arena *arena, const struct value *types)
{
    struct place nowhere = {0};
    struct str *found = ARENA_ARRAY(arena, types->map.count, struct str);
    for (size_t i = 0; i < types->map.count; i++) {
        const struct value *type = types->map.entries[i].value;
        bool ok = autofill_tpu_find(arena, value_get_c(type, "node_config"), &found[i]);
        if (!ok || (found[i].len > 0 && !value_is(value_get_c(type, "resources"), VALUE_MAP))) {
            return;
        }
    }
    for (size_t i = 0; i < types->map.count; i++) {
        struct value *resources = value_get_c(types->map.entries[i].value, "resources");
        if (found[i].len > 0) {
            struct str name = arena_printf(arena, "TPU-%.*s-head", STR_ARG(found[i]));
            value_map_set(arena, resources, value_string(arena, name, nowhere),
                          value_int(arena, 1, nowhere));
        }
    }
}
