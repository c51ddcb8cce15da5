/* test_utf8.c: valid and invalid UTF-8, at every limit; and the width of text. */
#include "base/utf8.h"

#include "unit.h"

static void good_bytes_are_decoded(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        uint32_t point;
    } rows[] = {
        {"A", 1, 'A'},
        {"\x7F", 1, 0x7F},
        {"\xC2\x80", 2, 0x80},
        {"\xDF\xBF", 2, 0x7FF},
        {"\xE0\xA0\x80", 3, 0x800},
        {"\xED\x9F\xBF", 3, 0xD7FF},
        {"\xEE\x80\x80", 3, 0xE000},
        {"\xEF\xBF\xBF", 3, 0xFFFF},
        {"\xF0\x90\x80\x80", 4, 0x10000},
        {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF},
        {"\xC3\xA9rest", 2, 0xE9},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        size_t len = 0;
        buf_init(&out, 8);
        assert_int_equal(utf8_decode(str_from(rows[i].bytes), &len), rows[i].point);
        assert_int_equal(len, rows[i].len);
        assert_true(utf8_is_valid(str_from(rows[i].bytes)));
        utf8_add(&out, rows[i].point);
        assert_int_equal(out.len, len);
        assert_memory_equal(out.ptr, rows[i].bytes, len);
    }
    size_t len;
    assert_int_equal(utf8_decode(STR("\0"), &len), 0);
    assert_int_equal(len, 1);
}

static void bad_bytes_are_one_byte_long(void **state)
{
    static const char *const rows[] = {
        "\x80", /* a continuation alone */
        "\xBF",
        "\xC0\x80",         /* overlong zero */
        "\xC1\xBF",         /* overlong 7F */
        "\xE0\x9F\xBF",     /* overlong 7FF */
        "\xF0\x8F\xBF\xBF", /* overlong FFFF */
        "\xED\xA0\x80",     /* the first surrogate */
        "\xED\xBF\xBF",     /* the last */
        "\xF4\x90\x80\x80", /* beyond 10FFFF */
        "\xF5\x80\x80\x80",
        "\xFE",
        "\xFF",
        "\xC3", /* cut short */
        "\xE2\x82",
        "\xF0\x9F\x98",
        "\xC3(", /* no continuation */
        "\xE2\x28\xA1",
        "\xE2\x82\x28",
        "\xF0\x9F\x98(",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t len = 0;
        assert_true(utf8_decode(str_from(rows[i]), &len) == UTF8_BAD);
        assert_int_equal(len, 1);
        assert_false(utf8_is_valid(str_from(rows[i])));
    }
    assert_true(utf8_is_valid(STR("")));
    assert_false(utf8_is_valid(STR("good\xFF")));
}

static void characters_are_counted(void **state)
{
    (void)state;
    assert_int_equal(utf8_count(STR("")), 0);
    assert_int_equal(utf8_count(STR("abc")), 3);
    assert_int_equal(utf8_count(STR("h\xC3\xA9llo")), 5);
    assert_int_equal(utf8_count(STR("\xF0\x9F\x98\x80")), 1);
    assert_int_equal(utf8_count(STR("a\xFF\xFE")), 3);
    assert_int_equal(utf8_count(STR("\xE2\x82")), 2);
}

static void width_is_in_terminal_columns(void **state)
{
    static const struct {
        const char *text;
        size_t width;
    } rows[] = {
        {"", 0},
        {"abc", 3},
        {"\xC3\xA9", 1},
        {"e\xCC\x81", 1},        /* e and a combining accent */
        {"\xE6\x97\xA5", 2},     /* CJK */
        {"\xEA\xB0\x80", 2},     /* Hangul */
        {"\xEF\xBC\xA1", 2},     /* full-width A */
        {"\xF0\x9F\x98\x80", 2}, /* emoji */
        {"\xEF\xBB\xBF"
         "a",
         1},                  /* byte order mark */
        {"a\xE2\x80\x8B", 1}, /* zero-width blank */
        {"a\tb", 2},          /* the printing code decides the width of a tab */
        {"\xFF", 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(utf8_width(str_from(rows[i].text)), rows[i].width);
    }
}

static void tricks_with_the_terminal_are_made_visible(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 100);
    utf8_add_visible(&out, STR("a\tb\nc\x1B[0m\x7F\xC2\x9B\xFF\xC3\xA9\xE2\x80\xAE"), false);
    assert_str(buf_str(&out), "a b?c?[0m???\xC3\xA9?");
    buf_clear(&out);
    utf8_add_visible(&out, STR("a\nb\r\n"), true);
    assert_str(buf_str(&out), "a\nb?\n");
}

static void colours_are_dropped(void **state)
{
    static const char *const rows[][2] = {
        {"plain", "plain"},
        {"", ""},
        {"\033[37mLocal node IP\033[39m: 10.0.0.4", "Local node IP: 10.0.0.4"},
        {"a\033[1;31;40mb\033[0m", "ab"},
        {"a\033]0;title\ab", "ab"},
        {"a\033]0;title\nb", "a\nb"},
        {"a\033(Bb", "aBb"},
        {"cut\033", "cut"},
        {"cut\033[", "cut"},
        {"cut\033[1;3", "cut"},
        {"cut\033]0;x", "cut"},
        {"a\033[1\nb", "a\nb"}, /* a line end is not part of a sequence */
        {"a\033\xC3\xA9", "a\xC3\xA9"},
        {"\033\033[0mx", "x"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 100);
        utf8_add_unstyled(&out, str_from(rows[i][0]));
        assert_str(buf_str(&out), rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_bytes_are_decoded),
        cmocka_unit_test(bad_bytes_are_one_byte_long),
        cmocka_unit_test(characters_are_counted),
        cmocka_unit_test(tricks_with_the_terminal_are_made_visible),
        cmocka_unit_test(width_is_in_terminal_columns),
        cmocka_unit_test(colours_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
