/* test_json_write.c: JSON as Python's json.dumps writes it, sorted or not, and for people. */
#include "config/document/json_write.h"

#include "fixture.h"

static struct str json(struct fixture *f, const char *yaml, enum json_style style)
{
    AUTO_BUF struct buf out;
    struct err err;
    buf_init(&out, 100000);
    const struct value *value = fixture_read_c(f, yaml);
    assert_non_null(value);
    if (!json_write(&out, value, style, &err)) {
        assert_int_equal(err.kind, ERR_CONFIG);
        return arena_printf(&f->arena, "!%s", err.text);
    }
    return arena_str(&f->arena, buf_str(&out));
}

/* The right-hand side is what json.dumps printed for the same value. */
static void compact_is_json_dumps(void **state)
{
    static const char *const rows[][2] = {
        {"null", "null"},
        {"[true, false, 0, -7, 1.0, 1.0e-7, 1.0e+16]", "[true, false, 0, -7, 1.0, 1e-07, 1e+16]"},
        {"[.inf, -.inf, .nan]", "[Infinity, -Infinity, NaN]"},
        {"[340282366920938463463374607431768211456]", "[340282366920938463463374607431768211456]"},
        {"{b: 1, a: {c: []}, d: {}}", "{\"b\": 1, \"a\": {\"c\": []}, \"d\": {}}"},
        {"{1: a, 1.5: b, true : c, null: d}", "{\"1\": \"c\", \"1.5\": \"b\", \"null\": \"d\"}"},
        {"\"quote \\\" back \\\\ slash / tab \\t cr \\r nl \\n bs \\b ff \\f\"",
         "\"quote \\\" back \\\\ slash / tab \\t cr \\r nl \\n bs \\b ff \\f\""},
        {"\"\\x00\\x1f\\x7f caf\\xe9 \\u65e5 \\U0001F600\"",
         "\"\\u0000\\u001f\\u007f caf\\u00e9 \\u65e5 \\ud83d\\ude00\""},
        {"!!omap [a: 1, b: 2]", "[[\"a\", 1], [\"b\", 2]]"},
        {"{d: 2026-11-15, t: 2026-11-15T04:05:06}",
         "{\"d\": \"2026-11-15\", \"t\": \"2026-11-15 04:05:06\"}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(json(f, rows[i][0], JSON_COMPACT), rows[i][1]);
    }
}

static void sorted_is_json_dumps_with_sort_keys(void **state)
{
    static const char *const rows[][2] = {
        {"{}", "{}"},
        {"{b: 1, a: 2, B: 3, aa: 4, '': 5}", "{\"\": 5, \"B\": 3, \"a\": 2, \"aa\": 4, \"b\": 1}"},
        {"{z: {y: 1, x: [{w: 1, v: 2}]}}", "{\"z\": {\"x\": [{\"v\": 2, \"w\": 1}], \"y\": 1}}"},
        {"{10: a, 9: b, -1: c, 9.5: d, true: e}",
         "{\"-1\": \"c\", \"true\": \"e\", \"9\": \"b\", \"9.5\": \"d\", \"10\": \"a\"}"},
        {"{\xC3\xA9: 1, z: 2, \xF0\x9F\x98\x80: 3, \xEF\xBF\xBD: 4}",
         "{\"z\": 2, \"\\u00e9\": 1, \"\\ufffd\": 4, \"\\ud83d\\ude00\": 3}"},
        {"{null: 1}", "{\"null\": 1}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(json(f, rows[i][0], JSON_SORTED), rows[i][1]);
    }
}

/* json.dumps raises TypeError for each of these. */
static void sorted_fails_where_python_does(void **state)
{
    static const char *const rows[][2] = {
        {"\n{a: 1, 2: b}", "!*line 2*keys*"},
        {"{a: {null: 1, b: 2}}", "!*line 1*keys*"},
        {"{a: 2026-11-15}", "!*line 1*a date*"},
        {"{a: 2026-11-15 04:05:06}", "!*line 1*a date*"},
        {"[!!binary YQ==]", "!*line 1*binary data*"},
        {"[!!set {a}]", "!*line 1*a set*"},
        {"{2026-11-15: a}", "!*date*key*"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_like(json(f, rows[i][0], JSON_SORTED), rows[i][1]);
        assert_int_not_equal(json(f, rows[i][0], JSON_COMPACT).ptr[0], '!');
        assert_int_not_equal(json(f, rows[i][0], JSON_PRETTY).ptr[0], '!');
    }
}

static void sorting_does_not_change_the_tree(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf out;
    struct err err;
    const struct value *value = fixture_read_c(f, "{b: 1, a: {d: 1, c: 2}}");
    (void)state;
    buf_init(&out, 1000);
    assert_true(json_write(&out, value, JSON_SORTED, &err));
    assert_str(fixture_json(f, value), "{\"b\": 1, \"a\": {\"d\": 1, \"c\": 2}}");
}

static void pretty_is_indented_and_keeps_letters(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    assert_str(
        json(f, "{b: [1, {c: \"caf\xC3\xA9\\n\"}], a: {}, d: [], e: {f: null}}", JSON_PRETTY),
        "{\n"
        "  \"b\": [\n"
        "    1,\n"
        "    {\n"
        "      \"c\": \"caf\xC3\xA9\\n\"\n"
        "    }\n"
        "  ],\n"
        "  \"a\": {},\n"
        "  \"d\": [],\n"
        "  \"e\": {\n"
        "    \"f\": null\n"
        "  }\n"
        "}");
}

static void bytes_that_are_not_utf8_become_escapes(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 100);
    json_add_string(&out, STR("a\xFF\xC3"), false);
    json_add_string(&out, STR("a\xFF"), true);
    assert_str(buf_str(&out), "\"a\\udcff\\udcc3\"\"a\\udcff\"");
}

static void tight(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    assert_str(json(f, "{a: [1, 2], b: {c: 'd, e'}}", JSON_TIGHT),
               "{\"a\":[1,2],\"b\":{\"c\":\"d, e\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tight),
        cmocka_unit_test(compact_is_json_dumps),
        cmocka_unit_test(sorted_is_json_dumps_with_sort_keys),
        cmocka_unit_test(sorted_fails_where_python_does),
        cmocka_unit_test(sorting_does_not_change_the_tree),
        cmocka_unit_test(pretty_is_indented_and_keeps_letters),
        cmocka_unit_test(bytes_that_are_not_utf8_become_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
