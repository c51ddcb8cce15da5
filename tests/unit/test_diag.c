/* test_diag.c: findings in order, and printed with the caret under the right character. */
#include "config/document/diag.h"

#include "fixture.h"

#include <string.h>

static const struct diag_style plain = {"", "", "", ""};

static struct str printed(struct fixture *f, struct diag diag)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 100000);
    diag_print(&out, &diag, &plain);
    return arena_str(&f->arena, buf_str(&out));
}

/* One finding in a file that is `text`. */
static struct str printed_at(struct fixture *f, const char *text, uint32_t line, uint32_t column,
                             uint32_t width)
{
    struct source *source = ARENA_NEW(&f->arena, struct source);
    *source = (struct source){STR("f.yaml"), str_from(text), false};
    struct place place = {source, line, column, width};
    return printed(f, (struct diag){.level = DIAG_ERROR,
                                    .code = "code",
                                    .place = place,
                                    .text = STR("wrong"),
                                    .hint = STR("hint")});
}

static void caret_is_under_the_right_letter(void **state)
{
    static const struct {
        const char *text;
        uint32_t line, column, width;
        const char *excerpt;
    } rows[] = {
        {"a: b\n", 1, 1, 1, "    1 | a: b\n      | ^ hint\n"},
        {"a: bcd\n", 1, 4, 3, "    1 | a: bcd\n      |    ^~~ hint\n"},
        {"x\ny\nkey: v", 3, 6, 1, "    3 | key: v\n      |      ^ hint\n"},
        {"a: b\r\nc: d\r\n", 2, 4, 1, "    2 | c: d\n      |    ^ hint\n"},
        /* A tab is printed as one blank, so it takes one column. */
        {"\t\ta: b\n", 1, 6, 1, "    1 |   a: b\n      |      ^ hint\n"},
        /* Accented letters take one column, East Asian letters and emoji two, combining marks
         * none. */
        {"\xC3\xA9: b\n", 1, 4, 1, "    1 | \xC3\xA9: b\n      |    ^ hint\n"},
        {"\xE6\x97\xA5\xE6\x9C\xAC: b\n", 1, 5, 1,
         "    1 | \xE6\x97\xA5\xE6\x9C\xAC: b\n      |       ^ hint\n"},
        {"\xF0\x9F\x98\x80\tx\n", 1, 3, 1, "    1 | \xF0\x9F\x98\x80 x\n      |    ^ hint\n"},
        {"e\xCC\x81: b\n", 1, 5, 1, "    1 | e\xCC\x81: b\n      |    ^ hint\n"},
        /* After the end of the line, and in a line that does not exist. */
        {"a:\n", 1, 3, 1, "    1 | a:\n      |   ^ hint\n"},
        {"a:\n", 9, 1, 1, "    9 | \n      | ^ hint\n"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str got = printed_at(f, rows[i].text, rows[i].line, rows[i].column, rows[i].width);
        struct str expected = arena_printf(&f->arena, "f.yaml:%u:%u: error: wrong\n%s",
                                           rows[i].line, rows[i].column, rows[i].excerpt);
        assert_str(got, expected.ptr);
    }
}

/* The letter above the caret, and how wide the excerpt is. */
static char letter_at_caret(struct str text, size_t *ret_width)
{
    enum { GUTTER = 8 };
    str_cut(&text, '\n');
    struct str line = str_cut(&text, '\n');
    size_t caret = str_find_char(text, '^');
    *ret_width = line.len - GUTTER;
    assert_true(caret < line.len);
    return line.ptr[caret];
}

static void long_lines_are_shown_around_the_caret(void **state)
{
    static const uint32_t columns[] = {1, 40, 49, 50, 97, 150, 500, 999, 1000};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        char *text = arena_alloc(&f->arena, 1002);
        memset(text, '.', 1000);
        text[1000] = '\n';
        text[columns[i] - 1] = 'X';
        size_t width = 0;
        assert_int_equal(letter_at_caret(printed_at(f, text, 1, columns[i], 1), &width), 'X');
        assert_true(width > 0 && width <= 96 + 2 * 3); /* with dots on both sides */
    }
}

static void wide_places_end_with_the_excerpt(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct str text = printed_at(f, "short", 1, 1, 4000000);
    (void)state;
    assert_true(text.len < 300);
}

static void control_characters_are_made_visible(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct source source = {STR("f\x1B.yaml"), STR("a: \x1B[31mred\x07\xC2\x9B\xFF\n"), false};
    struct diag diag = {.level = DIAG_WARNING,
                        .place = {&source, 1, 1, 1},
                        .text = STR("b\x08"),
                        .hint = STR("c\nd\x7F")};
    (void)state;
    assert_str(printed(f, diag), "f?.yaml:1:1: warning: b?\n"
                                 "    1 | a: ?[31mred???\n"
                                 "      | ^ c?d?\n");
}

static void secrets_are_not_shown(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    assert_str(printed_at(f, "  api_token: s3cret x # y\n", 1, 3, 9),
               "f.yaml:1:3: error: wrong\n    1 |   api_token: ****** * * *\n"
               "      |   ^~~~~~~~~ hint\n");
    assert_str(printed_at(f, "- pip install -i https://me:s3cret@index/\n", 1, 3, 3),
               "f.yaml:1:3: error: wrong\n    1 | - pip install -i https:******************\n"
               "      |   ^~~ hint\n");
    assert_str(printed_at(f, "- curl --password s3cret h\n", 1, 3, 4),
               "f.yaml:1:3: error: wrong\n    1 | * **** ********** ****** *\n"
               "      |   ^~~~ hint\n");
}

static void findings_without_a_line_have_no_excerpt(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct source source = {STR("f.yaml"), STR("a"), false};
    (void)state;
    struct diag whole_file = {
        .place = {.source = &source}, .text = STR("too big"), .hint = STR("cut")};
    assert_str(printed(f, whole_file), "f.yaml: error: too big\n        cut\n");
    struct diag nowhere = {.text = STR("too big")};
    assert_str(printed(f, nowhere), " error: too big\n");
}

static void colours_are_around_the_words(void **state)
{
    static const struct diag_style style = {"<e>", "<w>", "<d>", "</>"};
    AUTO_BUF struct buf out;
    struct source source = {STR("f"), STR("a"), false};
    struct diag diag = {.level = DIAG_WARNING, .place = {&source, 1, 1, 1}, .text = STR("t")};
    (void)state;
    buf_init(&out, 1000);
    diag_print(&out, &diag, &style);
    assert_str(buf_str(&out), "f:1:1: <w>warning:</> t\n<d>    1 |</> a\n<d>      |</> <w>^</>\n");
}

static void findings_are_sorted_and_stay_stable(void **state)
{
    static const struct {
        uint32_t line, column;
        const char *code;
    } rows[] = {{3, 1, "f"}, {1, 5, "c"}, {1, 2, "a"}, {1, 5, "d"}, {2, 1, "e"}, {1, 2, "b"}};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct place place = {NULL, rows[i].line, rows[i].column, 1};
        diag_warn(&f->diags, rows[i].code, place, "x");
    }
    diag_sort(&f->diags);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(f->diags.items[i].code[0], 'a' + (int)i);
    }
    assert_true(diag_has(&f->diags, "c", (struct place){NULL, 1, 5, 9}));
    assert_false(diag_has(&f->diags, "c", (struct place){NULL, 1, 6, 1}));
    assert_false(diag_has(&f->diags, "x", (struct place){NULL, 1, 5, 1}));
    assert_true(diag_has(&f->diags, NULL, (struct place){NULL, 1, 5, 1}));
}

static void add_word(struct fixture *f, enum diag_level level, const char *word, bool is_missing)
{
    struct diag *diag = diag_add(&f->diags, level, "x", (struct place){NULL, 1, 1, 1}, "x");
    diag->word = str_from(word);
    diag->is_missing = is_missing;
}

/* "region is missing" and "unknown key regoin, did you mean region?" are one mistake. */
static void typo_and_missing_key_are_one_mistake(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    add_word(f, DIAG_ERROR, "region", true);
    add_word(f, DIAG_ERROR, "", true);
    add_word(f, DIAG_WARNING, "region", false);
    add_word(f, DIAG_ERROR, "type", true);
    diag_merge_typos(&f->diags);
    assert_int_equal(f->diags.count, 3);
    assert_int_equal(f->diags.error_count, 3);
    assert_int_equal(f->diags.warning_count, 0);
    assert_str(f->diags.items[1].word, "region");
    assert_false(f->diags.items[1].is_missing);
    assert_int_equal(f->diags.items[1].level, DIAG_ERROR);
    assert_true(f->diags.items[2].is_missing);
}

static void summary_counts_in_words(void **state)
{
    static const struct {
        size_t errors, warnings;
        const char *text;
    } rows[] = {
        {0, 0, ""},
        {1, 0, "1 error"},
        {2, 0, "2 errors"},
        {0, 1, "1 warning"},
        {1, 1, "1 error, 1 warning"},
        {3, 2, "3 errors, 2 warnings"},
        {250, 0, "250 errors (showing the first 200)"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        struct diag_list list;
        buf_init(&out, 1000);
        diag_list_init(&list, &f->arena);
        for (size_t j = 0; j < rows[i].errors + rows[i].warnings; j++) {
            struct diag *diag = diag_add(&list, j < rows[i].errors ? DIAG_ERROR : DIAG_WARNING, "x",
                                         (struct place){0}, "%zu", j);
            diag_hint(&list, diag, "also when it is not kept");
        }
        assert_true(list.count <= 2 * (size_t)DIAG_MAX);
        diag_print_summary(&out, &list);
        assert_str(buf_str(&out), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caret_is_under_the_right_letter),
        cmocka_unit_test(long_lines_are_shown_around_the_caret),
        cmocka_unit_test(wide_places_end_with_the_excerpt),
        cmocka_unit_test(control_characters_are_made_visible),
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(findings_without_a_line_have_no_excerpt),
        cmocka_unit_test(colours_are_around_the_words),
        cmocka_unit_test(findings_are_sorted_and_stay_stable),
        cmocka_unit_test(typo_and_missing_key_are_one_mistake),
        cmocka_unit_test(summary_counts_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
