/* test_yaml_scalar.c: the meaning of plain words and tagged texts; the expected column is
 * PyYAML's. */
#include "config/document/yaml_scalar.h"

#include "base/buf.h"
#include "base/number.h"
#include "unit.h"

static struct str show(struct arena *arena, const struct value *value)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 10000);
    switch (value->kind) {
    case VALUE_NULL:
        return STR("null");
    case VALUE_BOOL:
        return value->boolean ? STR("bool true") : STR("bool false");
    case VALUE_INT:
        return arena_printf(arena, "int %lld", (long long)value->integer);
    case VALUE_FLOAT:
        buf_add_c(&out, "float ");
        number_add_double(&out, value->number);
        return arena_str(arena, buf_str(&out));
    case VALUE_BIG_INT:
        return arena_printf(arena, "big %.*s", STR_ARG(value->text));
    case VALUE_STRING:
        return arena_printf(arena, "text %.*s", STR_ARG(value->text));
    case VALUE_BYTES:
        return arena_printf(arena, "bytes %.*s", STR_ARG(value->text));
    case VALUE_DATE:
        return arena_printf(arena, "date %.*s", STR_ARG(value->text));
    case VALUE_DATE_TIME:
        return arena_printf(arena, "time %.*s", STR_ARG(value->text));
    case VALUE_LIST:
    case VALUE_PAIR:
    case VALUE_MAP:
    case VALUE_SET:
        break;
    }
    return STR("no scalar");
}

static struct str construct(struct arena *arena, enum yaml_tag tag, const char *text)
{
    const char *problem = NULL;
    struct value value = {0};
    if (tag == YAML_TAG_MERGE || tag == YAML_TAG_VALUE) {
        return tag == YAML_TAG_MERGE ? STR("merge") : STR("value");
    }
    if (!yaml_construct(arena, tag, str_from(text), &value, &problem)) {
        assert_non_null(problem);
        return STR("error");
    }
    return show(arena, &value);
}

static const struct {
    const char *text, *means;
} plain_words[] = {
    {"", "null"},
    {"~", "null"},
    {"null", "null"},
    {"Null", "null"},
    {"NULL", "null"},
    {"nUll", "text nUll"},
    {"nil", "text nil"},
    {"yes", "bool true"},
    {"Yes", "bool true"},
    {"YES", "bool true"},
    {"yEs", "text yEs"},
    {"no", "bool false"},
    {"on", "bool true"},
    {"On", "bool true"},
    {"off", "bool false"},
    {"OFF", "bool false"},
    {"y", "text y"},
    {"n", "text n"},
    {"true", "bool true"},
    {"True", "bool true"},
    {"TRUE", "bool true"},
    {"tRue", "text tRue"},
    {"false", "bool false"},
    {"0", "int 0"},
    {"-0", "int 0"},
    {"+12", "int 12"},
    {"12", "int 12"},
    {"1_000", "int 1000"},
    {"_1", "text _1"},
    {"010", "int 8"},
    {"-010", "int -8"},
    {"08", "text 08"},
    {"0o10", "text 0o10"},
    {"0b101", "int 5"},
    {"-0b11", "int -3"},
    {"0b102", "text 0b102"},
    {"0x1F", "int 31"},
    {"+0xff", "int 255"},
    {"0xG", "text 0xG"},
    {"0b", "text 0b"},
    {"0x_", "error"},
    {"1:30", "int 90"},
    {"-1:30", "int -90"},
    {"190:20:30", "int 685230"},
    {"1:60", "text 1:60"},
    {"1:5", "int 65"},
    {"01:30", "text 01:30"},
    {"0:30", "text 0:30"},
    {"9223372036854775807", "int 9223372036854775807"},
    {"9223372036854775808", "big 9223372036854775808"},
    {"-9223372036854775808", "int -9223372036854775808"},
    {"-9223372036854775809", "big -9223372036854775809"},
    {"0xFFFFFFFFFFFFFFFF", "big 18446744073709551615"},
    {"1__2", "int 12"},
    {"1.5", "float 1.5"},
    {"-1.5", "float -1.5"},
    {"+1.5", "float 1.5"},
    {".5", "float 0.5"},
    {"-.5", "text -.5"},
    {"1.", "float 1.0"},
    {"1_0.5", "float 10.5"},
    {"1e3", "text 1e3"},
    {"1.e3", "text 1.e3"},
    {"1.0e3", "text 1.0e3"},
    {"1.5e+3", "float 1500.0"},
    {"1.5E-3", "float 0.0015"},
    {"1e+3", "text 1e+3"},
    {".5e+1", "float 5.0"},
    {"1:30.5", "float 90.5"},
    {"-1:30.5", "float -90.5"},
    {"1:30.", "float 90.0"},
    {".inf", "float inf"},
    {"-.inf", "float -inf"},
    {"+.INF", "float inf"},
    {".Inf", "float inf"},
    {".iNf", "text .iNf"},
    {".nan", "float nan"},
    {".NaN", "float nan"},
    {"-.nan", "text -.nan"},
    {".", "text ."},
    {"inf", "text inf"},
    {"nan", "text nan"},
    {"685.230_15e+03", "float 685230.15"},
    {"._1", "text ._1"},
    {"1.2.3", "text 1.2.3"},
    {"2026-11-15", "date 2026-11-15"},
    {"2026-1-5", "text 2026-1-5"},
    {"<<", "merge"},
    {"=", "value"},
    {"a b", "text a b"},
    {"0777", "int 511"},
    {"0.0", "float 0.0"},
    {"-", "text -"},
    {"1 2", "text 1 2"},
    {"12e03", "text 12e03"},
    {"1,000", "text 1,000"},
    {"\xC3\xA9", "text \xC3\xA9"},
    {"0x", "text 0x"},
    {"1:2:3", "int 3723"},
    {"::1", "text ::1"},
    {"12:30:45.6", "float 45045.6"},
    {"1e", "text 1e"},
    {"m5.large", "text m5.large"},
    {"yes ", "text yes "},
};

static void plain_words_mean_what_pyyaml_says(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(plain_words); i++) {
        struct str got = construct(&arena, yaml_resolve(str_from(plain_words[i].text)),
                                   plain_words[i].text);
        if (!str_is(got, plain_words[i].means)) {
            fail_msg("\"%s\" is %s, not %.*s", plain_words[i].text, plain_words[i].means,
                     STR_ARG(got));
        }
    }
    arena_clear(&arena);
}

static void tags_say_how_to_read_a_text(void **state)
{
    static const struct {
        const char *tag, *text, *means;
    } rows[] = {
        {"int", "12", "int 12"},
        {"int", " 12 ", "int 12"},
        {"int", "many", "error"},
        {"int", "", "error"},
        {"int", "1.5", "error"},
        {"int", "0x1f", "int 31"},
        {"int", "1:30", "int 90"},
        {"float", "1", "float 1.0"},
        {"float", "1e3", "float 1000.0"},
        {"float", "inf", "float inf"},
        {"float", "-Infinity", "float -inf"},
        {"float", "nan", "float nan"},
        {"float", "x", "error"},
        {"float", "", "error"},
        {"float", "-.5", "float -0.5"},
        {"bool", "YES", "bool true"},
        {"bool", "tRuE", "bool true"},
        {"bool", "2", "error"},
        {"null", "anything", "null"},
        {"str", "12", "text 12"},
        {"str", "", "text "},
        {"binary", "YWJj", "bytes abc"},
        {"binary", "YQ==", "bytes a"},
        {"binary", "YW\nJj", "bytes abc"},
        {"binary", "", "bytes "},
        {"binary", "YQ", "error"},
        {"timestamp", "2026-1-5", "date 2026-01-05"},
        {"timestamp", "soon", "error"},
        {"seq", "a", "error"},
        {"map", "a", "error"},
        {"set", "a", "error"},
        {"omap", "a", "error"},
        {"pairs", "a", "error"},
        {"python/object", "a", "error"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str name = arena_printf(&arena, "tag:yaml.org,2002:%s", rows[i].tag);
        struct str got = construct(&arena, yaml_tag_from(name), rows[i].text);
        if (!str_is(got, rows[i].means)) {
            fail_msg("!!%s \"%s\" is %s, not %.*s", rows[i].tag, rows[i].text, rows[i].means,
                     STR_ARG(got));
        }
    }
    arena_clear(&arena);
}

static void tags_that_are_not_yamls_are_unknown(void **state)
{
    (void)state;
    assert_int_equal(yaml_tag_from(STR("tag:yaml.org,2002:str")), YAML_TAG_STR);
    assert_int_equal(yaml_tag_from(STR("tag:yaml.org,2002:")), YAML_TAG_UNKNOWN);
    assert_int_equal(yaml_tag_from(STR("tag:yaml.org,2002:int2")), YAML_TAG_UNKNOWN);
    assert_int_equal(yaml_tag_from(STR("!mine")), YAML_TAG_UNKNOWN);
    assert_int_equal(yaml_tag_from(STR("")), YAML_TAG_UNKNOWN);
}

/* << and = are keys of their own kind; as values they are errors. */
static void merge_and_equals_are_no_values(void **state)
{
    const char *problem = NULL;
    struct value value = {0};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_false(yaml_construct(&arena, YAML_TAG_MERGE, STR("<<"), &value, &problem));
    assert_false(yaml_construct(&arena, YAML_TAG_VALUE, STR("="), &value, &problem));
    assert_true(str_ends(str_from(problem), "quote it"));
    arena_clear(&arena);
}

/* Python refuses to print more than 4300 digits, and so do we: no hash could be computed. */
static void integers_have_a_limit(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct str digits = arena_printf(&arena, "1%04299d", 0);
    assert_int_equal(construct(&arena, YAML_TAG_INT, digits.ptr).len, 4300 + 4);
    digits = arena_printf(&arena, "1%04300d", 0);
    assert_str(construct(&arena, YAML_TAG_INT, digits.ptr), "error");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_words_mean_what_pyyaml_says),
        cmocka_unit_test(tags_say_how_to_read_a_text),
        cmocka_unit_test(tags_that_are_not_yamls_are_unknown),
        cmocka_unit_test(merge_and_equals_are_no_values),
        cmocka_unit_test(integers_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
