/* test_yaml_check.c: bytes and tabs that PyYAML refuses, each at its place, and those it
 * accepts. */
#include "config/document/yaml_check.h"

#include "config/document/yaml_read.h"
#include "fixture.h"

#include <string.h>

static void bytes_that_are_no_text_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"a: \xFF\n", "1:4 error yaml: *UTF-8*0xFF*"},
        {"a: b\nc: x\xC3(\n", "2:5 error yaml: *UTF-8*0xC3*"},
        {"# \xED\xA0\x80\n", "1:3 error yaml: *UTF-8*0xED*"},
        {"a: \x01\n", "1:4 error yaml: *control character U+0001*"},
        {"a: 'x\x1B[31m'\n", "1:6 error yaml: *U+001B*"},
        {"\xC3\xA9: \x7F\n", "1:4 error yaml: *U+007F*"},
        {"a: \xC2\x80\n", "1:4 error yaml: *U+0080*"},
        {"a: \xEF\xBF\xBE\n", "1:4 error yaml: *U+FFFE*"},
        /* Every kind of line end counts; a byte order mark at the start does not. */
        {"a: b\r\nc: \x01\r\n", "2:4 error yaml: *U+0001*"},
        {"a: b\rc: \x01", "2:4 error yaml: *U+0001*"},
        {"\xEF\xBB\xBF'a': \x01\n", "1:6 error yaml: *U+0001*"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_null(fixture_read_c(f, rows[i][0]));
        assert_like(fixture_messages(f), rows[i][1]);
    }
    assert_null(fixture_read(f, STR("a: b\nc\0d: 1\n")));
    assert_like(fixture_messages(f), "2:2 error yaml: *U+0000*");
}

static void text_of_all_languages_is_taken(void **state)
{
    static const char *const rows[] = {
        "a: \xC3\xA9\xC2\xA0\n",        "a: '\xC2\x85'\n",   "a: \xEE\x80\x80\n",
        "a: \xF4\x8F\xBF\xBF\n",        "a: \xED\x9F\xBF\n", "a: \xEF\xBF\xBD\n",
        "\xE6\x97\xA5: \xE6\x9C\xAC\n",
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_non_null(fixture_read_c(f, rows[i]));
    }
}

static void tabs_between_words_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"a:\tb\n", "1:3 error yaml-tab"},           {"a: b\t\n", "1:5 error yaml-tab"},
        {"a: [b,\tc]\n", "1:7 error yaml-tab"},      {"a: b\t# comment\n", "1:5 error yaml-tab"},
        {"\xC3\xA9: 'x'\t\n", "1:7 error yaml-tab"}, {"a: one\ttwo\n", "1:7 error yaml-tab"},
        {"a: |\t\n  text\n", "1:5 error yaml-tab"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_null(fixture_read_c(f, rows[i][0]));
        assert_str(fixture_findings(f), rows[i][1]);
    }
}

/* Here libyaml fails first; what matters is that the place is the tab's. */
static void tabs_that_begin_something_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"a:\n\tb: c\n", "2:1 "},
        {"a:\n\t- b\n", "2:1 "},
        {"\ta: b\n", "1:1 "},
        {"a:\n  b: c\n\td: e\n", "3:1 "},
        {"a: b\nc:\n  - d\n  -\te\n", "4:4 "},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_null(fixture_read_c(f, rows[i][0]));
        assert_int_equal(f->diags.count, 1);
        assert_str(str_sub(fixture_findings(f), 0, 4), rows[i][1]);
    }
}

static void tabs_in_text_and_comments_are_taken(void **state)
{
    static const char *const rows[][2] = {
        {"a: 'b\tc'\n", "{\"a\": \"b\\tc\"}"},
        {"a: \"b\tc\"\n", "{\"a\": \"b\\tc\"}"},
        {"a: |\n  b\tc\n", "{\"a\": \"b\\tc\\n\"}"},
        {"a: >\n  b\tc\n", "{\"a\": \"b\\tc\\n\"}"},
        {"a: b #\tcomment\t\n", "{\"a\": \"b\"}"},
        {"#\tcomment\na: b\n", "{\"a\": \"b\"}"},
        {"a: '#'\nb: c #\td\n", "{\"a\": \"#\", \"b\": \"c\"}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(fixture_json(f, fixture_read_c(f, rows[i][0])), rows[i][1]);
    }
}

static void comment_of_a_block_needs_a_space(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    assert_null(fixture_read_c(f, "a: |#note\n  b\n"));
    assert_like(fixture_messages(f), "1:5 error yaml: *comment*(*space*)");
    assert_non_null(fixture_read_c(f, "a: | #note\n  b#c\n"));
    assert_non_null(fixture_read_c(f, "a: |- # note\n  #b\n"));
}

static void large_files_are_refused(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    char *text = arena_alloc(&f->arena, YAML_BYTES_MAX + 2);
    (void)state;
    memset(text, '#', YAML_BYTES_MAX + 1);
    assert_null(fixture_read(f, (struct str){text, YAML_BYTES_MAX + 1}));
    assert_str(fixture_findings(f), "0:0 error yaml-too-large");
}

static void mark_is_skipped_once(void **state)
{
    (void)state;
    assert_str(yaml_skip_mark(STR("\xEF\xBB\xBF"
                                  "a")),
               "a");
    assert_str(yaml_skip_mark(STR("a")), "a");
    assert_str(yaml_skip_mark(STR("")), "");
    assert_str(yaml_skip_mark(STR("\xEF\xBB\xBF\xEF\xBB\xBF")), "\xEF\xBB\xBF");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(text_of_all_languages_is_taken),
        cmocka_unit_test(tabs_between_words_are_refused),
        cmocka_unit_test(tabs_that_begin_something_are_refused),
        cmocka_unit_test(tabs_in_text_and_comments_are_taken),
        cmocka_unit_test(comment_of_a_block_needs_a_space),
        cmocka_unit_test(large_files_are_refused),
        cmocka_unit_test(mark_is_skipped_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
