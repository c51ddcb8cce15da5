/* test_yaml_write.c: written text is read back as the same tree, and is easy to read. */
#include "config/document/yaml_write.h"

#include "base/number.h"
#include "fixture.h"

#include <math.h>

static struct str written(struct fixture *f, const struct value *value)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1000000);
    yaml_write(&out, value);
    assert_false(out.is_full);
    return arena_str(&f->arena, buf_str(&out));
}

static void check_round_trip(struct fixture *f, const struct value *value)
{
    struct str text = written(f, value);
    const struct value *back = fixture_read(f, text);
    if (!back || !value_equal(value, back)) {
        fail_msg("%.*s was written as\n%sand read back as %.*s", STR_ARG(fixture_json(f, value)),
                 text.ptr, STR_ARG(fixture_json(f, back)));
    }
}

/* As a value, an item, a key, a key in an item, and alone. */
static void check_everywhere(struct fixture *f, struct value *value)
{
    struct place nowhere = {0};
    struct value *list = value_new(&f->arena, VALUE_LIST, nowhere);
    struct value *map = value_new(&f->arena, VALUE_MAP, nowhere);
    value_list_add(&f->arena, list, value);
    value_map_set(&f->arena, map, value, value);
    value_list_add(&f->arena, list, map);
    value_list_add(&f->arena, list, value);
    check_round_trip(f, list);
    check_round_trip(f, map);
    check_round_trip(f, value);
}

/* Everything that a bare word could be mistaken for. */
static const char *const strings[] = {
    "plain",
    "two words",
    "",
    "a: b",
    "a:",
    ":a",
    "a:b",
    "a #b",
    "a#b",
    "#a",
    "- a",
    "-a",
    "-",
    "--- a",
    "? a",
    "?",
    "!tag",
    "&anchor",
    "*alias",
    "%percent",
    "@at",
    "`tick",
    "{a: b}",
    "[a]",
    "a, b",
    "a]",
    "it's",
    "say \"hi\"",
    "'q'",
    "\"q\"",
    "back\\slash",
    "trailing ",
    "tab\tin",
    "\ttab",
    "line\nbreak",
    "end\n",
    "\nstart",
    "a\n\n b\n",
    "\r",
    "a\r\nb",
    "true",
    "Yes",
    "off",
    "null",
    "~",
    "~user",
    "~/path",
    "1",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "1.5e+3",
    ".5",
    "0x1F",
    "010",
    "0b1",
    "1_000",
    "1:30",
    "1:30.5",
    ".inf",
    ".nan",
    "2026-11-15",
    "<<",
    "=",
    "=x",
    "<x",
    ">x",
    "|x",
    "a|b>c",
    "$HOME",
    "%h:%p",
    "x: y: z",
    "http://a/b?c=d&e#f",
    "--flag=1",
    "a  b",
    "caf\xC3\xA9",
    "\xE6\x97\xA5\xE6\x9C\xAC",
    "\xF0\x9F\x98\x80",
    "nbsp\xC2\xA0here",
    "\xC2\x85nel",
    "\xE2\x80\xA8ls",
    "\xEF\xBB\xBF mark",
    "\x01\x1B\x7F",
    "\xEF\xBF\xBE",
    "null\n",
    "12\n",
    "a'b: c",
    "ray start --head; echo \"done: ok\"",
};

static void strings_come_back_as_they_were(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
        check_everywhere(f, value_string(&f->arena, str_from(strings[i]), (struct place){0}));
    }
    check_everywhere(f, value_string(&f->arena, STR("zero\0inside"), (struct place){0}));
}

static void floats_come_back_as_they_were(void **state)
{
    static const double rows[] = {0.0,  1.0,  -1.5,   0.1,    1e-7, 1.5e-7,
                                  1e16, 1e22, -1e300, 5e-324, 1e15, 123.456};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct value *value = value_new(&f->arena, VALUE_FLOAT, (struct place){0});
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        value->number = rows[i];
        check_everywhere(f, value);
        assert_true(value_is(fixture_read(f, written(f, value)), VALUE_FLOAT));
    }
    value->number = (double)NAN;
    assert_str(written(f, value), ".nan\n");
    value->number = -(double)INFINITY;
    check_everywhere(f, value);
    value->number = -0.0;
    assert_str(written(f, value), "-0.0\n");
}

static void trees_come_back_as_they_were(void **state)
{
    static const char *const rows[] = {
        "null",
        "{}",
        "[]",
        "[[]]",
        "[{}]",
        "[[[]], [{}, []], {}]",
        "{a: {}, b: [], c: {d: {}}, e: [[]]}",
        "[[1, 2], [3, [4, [5]]]]",
        "[{a: 1, b: 2}, {c: {d: 3}, e: [4]}, 5]",
        "[{a: [{b: [{c: 1}]}]}]",
        "{a: [1, {b: 2}], c: {d: [3, {e: 4}]}}",
        "[[{a: 1}], [[{b: 2, c: 3}]]]",
        "{1: one, 1.5: float, true: bool, null: nothing, '1x': text, '': empty}",
        "{2026-11-15: date, x: 2026-11-15 04:05:06.7 +2, y: 2026-11-15T00:00:00}",
        "{a: !!binary YWJjZA==, b: !!binary '', c: !!binary /+8=}",
        "{a: !!set {x, y}, b: !!set {}, c: [!!set {z}]}",
        "{i: -9223372036854775808, j: 9223372036854775807, k: 340282366920938463463374607431768}",
        "{a: &x {k: [1]}, b: *x, c: [*x]}",
        "{a: null, b: [null, null], c: {d: null}}",
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct value *value = fixture_read_c(f, rows[i]);
        assert_non_null(value);
        check_round_trip(f, value);
    }
}

static void output_is_block_style_with_few_quotes(void **state)
{
    static const char *const rows[][2] = {
        {"{a: 1, b: {c: [x, y], d: {}}, e: []}",
         "a: 1\nb:\n  c:\n    - x\n    - y\n  d: {}\ne: []\n"},
        {"[{a: 1, b: 2}, [c]]", "- a: 1\n  b: 2\n-\n  - c\n"},
        {"{k: 'yes', l: yes, m: '1.0', n: 1.0, o: ~}",
         "k: \"yes\"\nl: true\nm: \"1.0\"\nn: 1.0\no: null\n"},
        {"{a: 'pip install -U ray', b: 'x: y', c: ~/.ssh/key.pem, d: \"l1\\nl2\\n\"}",
         "a: pip install -U ray\nb: \"x: y\"\nc: ~/.ssh/key.pem\nd: \"l1\\nl2\\n\"\n"},
        {"{f: 1.0e-7, g: 'caf\xC3\xA9'}", "f: 1.0e-07\ng: \"caf\xC3\xA9\"\n"},
        {"text", "text\n"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(written(f, fixture_read_c(f, rows[i][0])), rows[i][1]);
    }
}

static void full_buffer_is_noticed(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *value = fixture_read_c(f, "[{a: 1, b: [{c: 2}]}, {d: 3}]");
    (void)state;
    for (size_t cap = 0; cap < written(f, value).len; cap++) {
        AUTO_BUF struct buf out;
        buf_init(&out, cap);
        yaml_write(&out, value);
        assert_true(out.is_full);
        assert_true(out.len <= cap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_come_back_as_they_were),
        cmocka_unit_test(floats_come_back_as_they_were),
        cmocka_unit_test(trees_come_back_as_they_were),
        cmocka_unit_test(output_is_block_style_with_few_quotes),
        cmocka_unit_test(full_buffer_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
