/* test_columns.c: cutting by columns, ages, money. */
#include "cli/columns.h"

#include "unit.h"

static void check_cut(const char *text, size_t width, const char *expected, size_t used)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    assert_int_equal(columns_add(&out, str_from(text), width), used);
    assert_str(buf_str(&out), expected);
}

static void what_fits_stays(void **state)
{
    (void)state;
    check_cut("abc", 3, "abc", 3);
    check_cut("abc", 10, "abc", 3);
    check_cut("", 3, "", 0);
    check_cut("\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97", 4);
}

static void what_does_not_ends_with_an_ellipsis(void **state)
{
    (void)state;
    check_cut("abcd", 3, "ab\xe2\x80\xa6", 3);
    check_cut("abcd", 1, "\xe2\x80\xa6", 1);
    check_cut("abcd", 0, "", 0);
    /* Half a wide character is left out. */
    check_cut("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2\xe2\x80\xa6", 3);
    check_cut("\xe6\xbc\xa2\xe5\xad\x97", 2, "\xe2\x80\xa6", 1);
}

static void only_the_first_line_and_no_tricks(void **state)
{
    (void)state;
    check_cut("one\ntwo", 10, "one", 3);
    check_cut("a\033[31mb", 10, "a?[31mb", 7);
    check_cut("\xff\xfe", 10, "??", 2);
}

static void padding_fills_the_column(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 1000);
    columns_add_padded(&out, STR("ab"), 4);
    columns_add_padded(&out, STR("abcdef"), 4);
    assert_str(buf_str(&out), "ab  abc\xe2\x80\xa6");
}

static void check_fold(const char *text, size_t width, const char *expected)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    columns_fold(&out, str_from(text), width);
    assert_str(buf_str(&out), expected);
}

static void long_lines_are_folded_between_words(void **state)
{
    (void)state;
    check_fold("one two three\n", 0, "one two three\n");
    check_fold("one two three\n", 13, "one two three\n");
    check_fold("one two three\n", 12, "one two\nthree\n");
    check_fold("one two three", 3, "one\ntwo\nthree");
    check_fold("a\n\nbc de\n", 3, "a\n\nbc\nde\n");
    check_fold("one  two", 4, "one\ntwo");
    check_fold("", 5, "");
    /* Text that must be copied exactly is not cut. */
    check_fold("see /a/very/long/path now", 8, "see\n/a/very/long/path\nnow");
    /* A prompt keeps its blank. */
    check_fold("Continue? [y/N]: ", 12, "Continue?\n[y/N]: ");
    check_fold("\xe6\xbc\xa2 \xe5\xad\x97", 4, "\xe6\xbc\xa2\n\xe5\xad\x97");
    check_fold("\033[1;31mred\033[0m one two", 7, "\033[1;31mred\033[0m one\ntwo");
}

static void folded_lines_hang_below_their_text(void **state)
{
    (void)state;
    check_fold("  aa bb cc", 8, "  aa bb\n  cc");
    check_fold("  why       one two three four five", 26,
               "  why       one two three\n            four five");
    check_fold("  -> raise max_workers of it", 20, "  -> raise\n     max_workers of\n     it");
    check_fold("shoal: error: one two three", 20, "shoal: error: one\n  two three");
    /* No room for that: then at the left. */
    check_fold("  why       one two three", 16, "  why       one\ntwo three");
}

static void ages(void **state)
{
    static const struct {
        int64_t ms;
        const char *words;
    } rows[] = {{-5, "0s"},       {0, "0s"},          {999, "0s"},
                {119999, "119s"}, {120000, "2m"},     {7199999, "119m"},
                {7200000, "2h"},  {172799999, "47h"}, {172800000, "2d"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 1000);
        columns_add_age(&out, rows[i].ms);
        assert_str(buf_str(&out), rows[i].words);
    }
}

static void money(void **state)
{
    static const struct {
        int64_t price;
        bool is_whole;
        const char *words;
    } rows[] = {{0, true, "$0.00/h"},      {0, false, "$?/h"},
                {580000, true, "$0.58/h"}, {580000, false, "$0.58+/h"},
                {9999, true, "<$0.01/h"},  {1234567890, true, "$1234.57/h"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 1000);
        columns_add_hourly(&out, rows[i].price, rows[i].is_whole);
        assert_str(buf_str(&out), rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays),
        cmocka_unit_test(what_does_not_ends_with_an_ellipsis),
        cmocka_unit_test(only_the_first_line_and_no_tricks),
        cmocka_unit_test(padding_fills_the_column),
        cmocka_unit_test(long_lines_are_folded_between_words),
        cmocka_unit_test(folded_lines_hang_below_their_text),
        cmocka_unit_test(ages),
        cmocka_unit_test(money),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
