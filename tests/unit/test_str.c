/* test_str.c: text views, and the strictness of number parsing. */
#include "base/str.h"

#include "unit.h"

static void views_compare_by_content(void **state)
{
    (void)state;
    assert_true(str_eq(STR("ab"), STR("ab")));
    assert_false(str_eq(STR("ab"), STR("abc")));
    assert_true(str_eq(STR(""), (struct str){NULL, 0}));
    assert_true(str_is(str_from(NULL), ""));
    assert_false(str_eq(STR("a\0b"), STR("a\0c")));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("a"), STR("ab")) < 0);
    assert_true(str_cmp(STR("b"), STR("ab")) > 0);
    assert_int_equal(str_cmp(STR("ab"), STR("ab")), 0);
    assert_true(str_cmp(STR("z"), STR("\xC3\xA9")) < 0); /* code point order */
}

static void prefixes_and_suffixes(void **state)
{
    (void)state;
    assert_true(str_starts(STR("abc"), "ab"));
    assert_true(str_starts(STR("abc"), ""));
    assert_false(str_starts(STR("a"), "ab"));
    assert_true(str_ends(STR("abc"), "bc"));
    assert_true(str_ends(STR("abc"), "abc"));
    assert_false(str_ends(STR("c"), "bc"));
    assert_false(str_ends(STR(""), "c"));
}

static void find_gives_the_first_place(void **state)
{
    static const struct {
        const char *text, *needle;
        size_t at;
    } rows[] = {{"banana", "an", 1},        {"banana", "ana", 1},    {"banana", "na", 2},
                {"banana", "x", SIZE_MAX},  {"banana", "", 0},       {"", "", 0},
                {"", "a", SIZE_MAX},        {"ba", "ban", SIZE_MAX}, {"banana", "banana", 0},
                {"banana", "a\n", SIZE_MAX}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(str_find(str_from(rows[i].text), rows[i].needle), rows[i].at);
    }
    assert_int_equal(str_find_char(STR("a:b:c"), ':'), 1);
    assert_int_equal(str_find_char(STR("abc"), ':'), SIZE_MAX);
    assert_int_equal(str_find_char(STR(""), 'a'), SIZE_MAX);
    assert_int_equal(str_find_char(STR("a\0b"), 'b'), 2);
}

static void sub_is_clamped(void **state)
{
    (void)state;
    assert_str(str_sub(STR("abcdef"), 1, 3), "bc");
    assert_str(str_sub(STR("abcdef"), 4, 99), "ef");
    assert_str(str_sub(STR("abcdef"), 99, 100), "");
    assert_int_equal(str_sub((struct str){0}, 0, 3).len, 0);
    assert_str(str_sub(STR("abcdef"), 3, 1), "");
    assert_str(str_sub(STR("abcdef"), 0, SIZE_MAX), "abcdef");
}

static void trim_takes_blanks_from_both_ends(void **state)
{
    static const char *const rows[][2] = {
        {"a", "a"},  {"  a", "a"}, {"a\t\r\n", "a"}, {" \t a b \n", "a b"}, {"\v a \v", "\v a \v"},
        {"   ", ""}, {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(str_trim(str_from(rows[i][0])), rows[i][1]);
    }
}

static void cut_takes_what_is_before_the_separator(void **state)
{
    struct str rest = STR("a::bc:");
    (void)state;
    assert_str(str_cut(&rest, ':'), "a");
    assert_str(str_cut(&rest, ':'), "");
    assert_str(str_cut(&rest, ':'), "bc");
    assert_str(rest, "");
    assert_str(str_cut(&rest, ':'), "");
    rest = STR("whole");
    assert_str(str_cut(&rest, ':'), "whole");
    assert_str(rest, "");
}

static void integers_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"007", true, 7},
        {"-12", true, -12},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999999", false, 0},
        {"0000000000000000000000000000012", true, 12},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {"--1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"0x10", false, 0},
        {"1e3", false, 0},
        {"1_000", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t value = -77;
        bool ok = str_to_i64(str_from(rows[i].text), &value);
        if (ok != rows[i].ok || value != (ok ? rows[i].value : -77)) {
            fail_msg("\"%s\" gave %d %lld", rows[i].text, ok, (long long)value);
        }
    }
    int64_t value;
    assert_false(str_to_i64(STR("1\0"), &value));
}

static void small_integers_are_read_strictly(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        uint32_t value;
    } rows[] = {
        {"0", true, 0},
        {"4294967295", true, UINT32_MAX},
        {"4294967296", false, 0},
        {"-1", false, 0},
        {"", false, 0},
        {"+1", false, 0},
        {"9223372036854775808", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t value = 77;
        bool ok = str_to_u32(str_from(rows[i].text), &value);
        if (ok != rows[i].ok || value != (ok ? rows[i].value : 77)) {
            fail_msg("\"%s\" gave %d %u", rows[i].text, ok, value);
        }
    }
}

/* Test vectors of the FNV authors: tables on disk and in tags depend on them. */
static void hash_is_fnv_1a(void **state)
{
    (void)state;
    assert_true(str_hash(STR("")) == UINT64_C(0xcbf29ce484222325));
    assert_true(str_hash(STR("a")) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(str_hash(STR("foobar")) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_compare_by_content),
        cmocka_unit_test(prefixes_and_suffixes),
        cmocka_unit_test(find_gives_the_first_place),
        cmocka_unit_test(sub_is_clamped),
        cmocka_unit_test(trim_takes_blanks_from_both_ends),
        cmocka_unit_test(cut_takes_what_is_before_the_separator),
        cmocka_unit_test(integers_are_read_strictly),
        cmocka_unit_test(small_integers_are_read_strictly),
        cmocka_unit_test(hash_is_fnv_1a),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
