/* test_yaml_read.c: places in every style, anchors and merges, and the limits for hostile files. */
#include "config/document/yaml_read.h"

#include "fixture.h"

#include <string.h>

/* ---- places ---- */

static void add_place(struct buf *out, struct place place)
{
    buf_addf(out, "@%u:%u+%u", place.line, place.column, place.width);
}

/* {@1:1+1 key@1:1+3=value@1:6+5}, [@...], and scalars by their kind's first text. */
static void add_places(struct buf *out, const struct value *value)
{
    if (value->kind == VALUE_MAP) {
        buf_add_char(out, '{');
        add_place(out, value->place);
        for (size_t i = 0; i < value->map.count; i++) {
            buf_add_char(out, ' ');
            add_places(out, value->map.entries[i].key);
            buf_add_char(out, '=');
            add_places(out, value->map.entries[i].value);
        }
        buf_add_char(out, '}');
        return;
    }
    if (value->kind == VALUE_LIST) {
        buf_add_char(out, '[');
        add_place(out, value->place);
        for (size_t i = 0; i < value->list.count; i++) {
            buf_add_char(out, ' ');
            add_places(out, value->list.items[i]);
        }
        buf_add_char(out, ']');
        return;
    }
    buf_add(out, value_text(value));
    add_place(out, value->place);
}

static void every_node_knows_its_place(void **state)
{
    static const char *const rows[][2] = {
        {"a: b\n", "{@1:1+1 a@1:1+1=b@1:4+1}"},
        {"# comment\n\nkey: value\nlist:\n  - x\n  -   yy\n",
         "{@3:1+1 key@3:1+3=value@3:6+5 list@4:1+4=[@5:3+1 x@5:5+1 yy@6:7+2]}"},
        {"a:\n  b:\n    c: d\n", "{@1:1+1 a@1:1+1={@2:3+1 b@2:3+1={@3:5+1 c@3:5+1=d@3:8+1}}}"},
        {"{a: [b, cc], d: {e: f}}",
         "{@1:1+1 a@1:2+1=[@1:5+1 b@1:6+1 cc@1:9+2] d@1:14+1={@1:17+1 e@1:18+1=f@1:21+1}}"},
        {"- a: b\n  c: d\n", "[@1:1+1 {@1:3+1 a@1:3+1=b@1:6+1 c@2:3+1=d@2:6+1}]"},
        {"'q u': \"v\"\n", "{@1:1+1 q u@1:1+5=v@1:8+3}"},
        /* Several lines: the width is that of one character. */
        {"a: |\n  text\n  more\n", "{@1:1+1 a@1:1+1=text\nmore\n@1:4+1}"},
        {"a: one\n  two\n", "{@1:1+1 a@1:1+1=one two@1:4+1}"},
        /* An empty value has a place too: where it would be. */
        {"a:\nb: x\n", "{@1:1+1 a@1:1+1=@1:3+1 b@2:1+1=x@2:4+1}"},
        /* Columns are characters, not bytes. */
        {"\xC3\xA9\xE6\x97\xA5: \xF0\x9F\x98\x80 x\n- ", NULL},
        {"{\xC3\xA9\xE6\x97\xA5: \xF0\x9F\x98\x80, b: c}",
         "{@1:1+1 \xC3\xA9\xE6\x97\xA5@1:2+2=\xF0\x9F\x98\x80@1:6+1 b@1:9+1=c@1:12+1}"},
        /* A byte order mark is not a character of the first line. */
        {"\xEF\xBB\xBF"
         "a: b\nc: d\n",
         "{@1:1+1 a@1:1+1=b@1:4+1 c@2:1+1=d@2:4+1}"},
        {"a: b\r\n\r\nlist:\r\n- c\r\n", "{@1:1+1 a@1:1+1=b@1:4+1 list@3:1+4=[@4:1+1 c@4:3+1]}"},
        {"%YAML 1.1\n---\na: b\n...\n", "{@3:1+1 a@3:1+1=b@3:4+1}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 10000);
        const struct value *value = fixture_read_c(f, rows[i][0]);
        if (!rows[i][1]) {
            assert_null(value);
            continue;
        }
        assert_non_null(value);
        add_places(&out, value);
        assert_str(buf_str(&out), rows[i][1]);
    }
}

static void empty_files_are_null(void **state)
{
    static const char *const rows[] = {"",      "\n\n",   "# only a comment\n", "\xEF\xBB\xBF",
                                       "---\n", "--- ~\n"};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(value_is(fixture_read_c(f, rows[i]), VALUE_NULL));
        assert_int_equal(f->diags.count, 0);
    }
}

/* ---- anchors and merges ---- */

static void anchors_and_merges_mean_what_pyyaml_says(void **state)
{
    static const char *const rows[][2] = {
        {"{a: &x [1, 2], b: *x}", "{\"a\": [1, 2], \"b\": [1, 2]}"},
        {"{&k a: 1, b: *k}", "{\"a\": 1, \"b\": \"a\"}"},
        {"{a: &x 1, *x : 2}", "{\"a\": 1, \"1\": 2}"},
        /* Merged values come first, in any order; the map's own values win. */
        {"{d: &d {x: 1, y: 2}, m: {z: 3, <<: *d, y: 4}}",
         "{\"d\": {\"x\": 1, \"y\": 2}, \"m\": {\"x\": 1, \"y\": 4, \"z\": 3}}"},
        {"{m: {y: 4, <<: {x: 1, y: 2}}}", "{\"m\": {\"x\": 1, \"y\": 4}}"},
        /* In a list of maps the first wins. */
        {"{m: {<<: [{a: 1, b: 1}, {b: 2, c: 2}, {c: 3, d: 3}]}}",
         "{\"m\": {\"c\": 2, \"d\": 3, \"b\": 1, \"a\": 1}}"},
        {"{m: {<<: {a: 1}, <<: {a: 2, b: 2}}}", "{\"m\": {\"a\": 2, \"b\": 2}}"},
        {"{m: {<<: []}}", "{\"m\": {}}"},
        {"{m: {'<<': {a: 1}}}", "{\"m\": {\"<<\": {\"a\": 1}}}"},
        /* Merges of merges. */
        {"{a: &a {x: 1}, b: &b {<<: *a, y: 2}, c: {<<: *b, z: 3}}",
         "{\"a\": {\"x\": 1}, \"b\": {\"x\": 1, \"y\": 2}, "
         "\"c\": {\"x\": 1, \"y\": 2, \"z\": 3}}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(fixture_json(f, fixture_read_c(f, rows[i][0])), rows[i][1]);
    }
}

static void aliases_share_one_node(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *map = fixture_read_c(f, "{a: &x {k: 1}, b: *x, c: {<<: *x}}");
    (void)state;
    assert_ptr_equal(value_get_c(map, "a"), value_get_c(map, "b"));
    assert_ptr_not_equal(value_get_c(map, "a"), value_get_c(map, "c"));
}

static void documents_that_cannot_be_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"a: &x 1\nb: &x 2\n", "2:4 error yaml: *anchor &x*line 1*"},
        {"a: 1\nb: *nope\n", "2:4 error yaml: *alias **nope*"},
        {"a: *x\nb: &x 1\n", "1:4 error yaml: *alias **x*"},
        {"a: &x [1, *x]\n", "1:11 error yaml: *refers to itself*"},
        {"a: &x {b: *x}\n", "1:11 error yaml: *refers to itself*"},
        {"&x a: *x\n", NULL}, /* the key is read before the value */
        {"a: {<<: 1}\n", "1:9 error yaml: *<<*"},
        {"a: {<<: [{b: 1}, 2]}\n", "1:18 error yaml: *<<*"},
        {"? [a]\n: b\n", "1:3 error yaml: *key*"},
        {"{{a: 1}: b}\n", "1:2 error yaml: *key*"},
        {"a: 1\n---\nb: 2\n", "2:1 error yaml: *second document*"},
        {"a: =\n", "1:4 error yaml: \"=\"*quote it*"},
        {"a: 2026-02-30\n", "1:4 error yaml: \"2026-02-30\"*this date does not exist*"},
        {"a: !mine b\n", "1:4 error yaml: *!mine*"},
        {"!!map [a]\n", "1:1 error yaml: *tag*"},
        {"!!seq {a: b}\n", "1:1 error yaml: *tag*"},
        {"!!omap [a]\n", "1:9 error yaml: *one entry*"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct value *value = fixture_read_c(f, rows[i][0]);
        if (!rows[i][1]) {
            assert_non_null(value);
            continue;
        }
        assert_null(value);
        assert_like(fixture_messages(f), rows[i][1]);
    }
}

static void mistakes_of_syntax_have_a_place_and_a_hint(void **state)
{
    static const struct {
        const char *yaml, *place, *hint;
    } rows[] = {
        {"a: b: c\n", "1:5 ", "must be quoted"},
        {"a: 1\n  b: 2\n", "2:4 ", "must be quoted"},
        {"a:\n  b: 1\n c: 2\n", "3:2 ", "compare the indentation"},
        {"- a\nb: 1\n", "2:1 ", "check the indentation"},
        {"a: [1, 2\nb: 3\n", "2:2 ", "is not closed"},
        {"a: 'open\n", "2:1 ", "never closed"},
        {"a: @x\n", "1:4 ", "quote text that starts"},
        {"a\nb: 1\n", "2:2 ", NULL},
        {"a: !x!y z\n", "1:4 ", "starts with !"},
        {"a: - b\n", "1:4 ", "its own line"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_null(fixture_read_c(f, rows[i].yaml));
        struct str message = fixture_messages(f);
        assert_int_equal(f->diags.count, 1);
        if (!str_starts(message, rows[i].place) ||
            (rows[i].hint && str_find(message, rows[i].hint) == SIZE_MAX)) {
            fail_msg("%s gave %s", rows[i].yaml, message.ptr);
        }
    }
}

/* ---- limits ---- */

static void add_many(struct buf *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_add_c(out, text);
    }
}

static void depth_has_a_limit(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf yaml;
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        buf_init(&yaml, 10000);
        add_many(&yaml, "[", YAML_DEPTH_MAX + more);
        add_many(&yaml, "]", YAML_DEPTH_MAX + more);
        const struct value *value = fixture_read(f, buf_str(&yaml));
        assert_int_equal(value != NULL, more == 0);
        assert_str(fixture_findings(f), more == 0 ? "" : "1:101 error yaml-too-deep");
        buf_clear(&yaml);
    }
}

/* Each level is an alias of the one before: the tree is deep although no line is. */
static void aliases_do_not_get_around_the_depth(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf yaml;
    (void)state;
    buf_init(&yaml, 100000);
    buf_add_c(&yaml, "- &a0 x\n");
    for (int i = 1; i <= 1000; i++) {
        buf_addf(&yaml, "- &a%d [[[[[[[[[[*a%d]]]]]]]]]]\n", i, i - 1);
    }
    assert_null(fixture_read(f, buf_str(&yaml)));
    assert_true(str_ends(fixture_findings(f), " error yaml-too-deep"));
}

static void billion_laughs_are_refused_at_little_cost(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf yaml;
    (void)state;
    buf_init(&yaml, 10000);
    buf_add_c(&yaml, "l0: &l0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n");
    for (int i = 1; i < 10; i++) {
        buf_addf(&yaml, "l%d: &l%d [", i, i);
        for (int j = 0; j < 10; j++) {
            buf_addf(&yaml, "%s*l%d", j > 0 ? ", " : "", i - 1);
        }
        buf_add_c(&yaml, "]\n");
    }
    assert_null(fixture_read(f, buf_str(&yaml)));
    assert_str(fixture_findings(f), "5:10 error yaml-too-large");
    assert_true(f->arena.used_bytes < 100 * 1000); /* less than a second on any machine */
}

/* A list of 999 words weighs 1000; aliases may add 20000. */
static void aliases_just_under_the_cap_are_read(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf yaml;
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        buf_init(&yaml, 100000);
        buf_add_c(&yaml, "- &a [x");
        add_many(&yaml, ", x", 998);
        buf_add_c(&yaml, "]\n");
        add_many(&yaml, "- *a\n", YAML_EXPANSION_MAX / 1000 + more);
        const struct value *value = fixture_read(f, buf_str(&yaml));
        assert_int_equal(value != NULL, more == 0);
        assert_str(fixture_findings(f), more == 0 ? "" : "22:3 error yaml-too-large");
        buf_clear(&yaml);
    }
}

/* Merges copy entries, so they count even where no alias is. */
static void merges_count_as_expansion(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf yaml;
    (void)state;
    buf_init(&yaml, 1000000);
    buf_add_c(&yaml, "- &a {k0: 0");
    for (int i = 1; i < 1000; i++) {
        buf_addf(&yaml, ", k%d: %d", i, i);
    }
    buf_add_c(&yaml, "}\n");
    add_many(&yaml, "- {<<: *a}\n", 300);
    assert_null(fixture_read(f, buf_str(&yaml)));
    assert_true(str_ends(fixture_findings(f), " error yaml-too-large"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_knows_its_place),
        cmocka_unit_test(empty_files_are_null),
        cmocka_unit_test(anchors_and_merges_mean_what_pyyaml_says),
        cmocka_unit_test(aliases_share_one_node),
        cmocka_unit_test(documents_that_cannot_be_are_refused),
        cmocka_unit_test(mistakes_of_syntax_have_a_place_and_a_hint),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(aliases_do_not_get_around_the_depth),
        cmocka_unit_test(billion_laughs_are_refused_at_little_cost),
        cmocka_unit_test(aliases_just_under_the_cap_are_read),
        cmocka_unit_test(merges_count_as_expansion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
