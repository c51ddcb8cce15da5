/* test_value.c: Python's equality and truth, maps that keep their order, copies that share. */
#include "config/document/value.h"

#include "fixture.h"

static void scalars_are_equal_as_in_python(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        {"1", "1.0", true},
        {"1", "true", true},
        {"0", "false", true},
        {"0.0", "-0.0", true},
        {"1.0", "yes", true},
        {"2", "true", false},
        {"1", "'1'", false},
        {"1.5", "1", false},
        {"9007199254740993", "9007199254740992.0", false}, /* no rounding */
        {"9007199254740992", "9007199254740992.0", true},
        {".nan", ".nan", true},
        {".inf", "-.inf", false},
        {"null", "~", true},
        {"null", "false", false},
        {"null", "''", false},
        {"a", "'a'", true},
        {"a", "A", false},
        {"2026-11-15", "2026-11-15", true},
        {"2026-11-15", "'2026-11-15'", false},
        {"!!binary YQ==", "a", false},
        {"!!binary YQ==", "!!binary YQ==", true},
        {"18446744073709551616", "18446744073709551616", true},
        {"18446744073709551616", "18446744073709551617", false},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct value *a = fixture_read_c(f, rows[i].a);
        const struct value *b = fixture_read_c(f, rows[i].b);
        if (value_equal_keys(a, b) != rows[i].equal || value_equal_keys(b, a) != rows[i].equal ||
            value_equal(a, b) != rows[i].equal) {
            fail_msg("%s == %s must be %d", rows[i].a, rows[i].b, rows[i].equal);
        }
    }
}

static void collections_are_equal_as_in_python(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        {"{a: 1, b: 2}", "{b: 2.0, a: yes}", true},
        {"{a: 1}", "{a: 1, b: 2}", false},
        {"{a: 1, b: 2}", "{a: 1, c: 2}", false},
        {"[1, 2]", "[1, 2]", true},
        {"[1, 2]", "[2, 1]", false},
        {"[1]", "[1, 1]", false},
        {"[]", "{}", false},
        {"[]", "[]", true},
        {"{a: {b: [1, {c: null}]}}", "{a: {b: [1, {c: ~}]}}", true},
        {"{a: {b: [1, {c: null}]}}", "{a: {b: [1, {c: 0}]}}", false},
        {"!!set {a, b}", "!!set {b, a}", true},
        {"!!set {a}", "{a: null}", false},
        {"!!pairs [a: 1]", "[[a, 1]]", false},
        {"!!pairs [a: 1]", "!!omap [a: 1]", true},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct value *a = fixture_read_c(f, rows[i].a);
        const struct value *b = fixture_read_c(f, rows[i].b);
        if (value_equal(a, b) != rows[i].equal || value_equal(b, a) != rows[i].equal) {
            fail_msg("%s == %s must be %d", rows[i].a, rows[i].b, rows[i].equal);
        }
    }
}

static void last_duplicate_wins_at_the_first_position(void **state)
{
    static const char *const rows[][2] = {
        {"{a: 1, b: 2, a: 3}", "{\"a\": 3, \"b\": 2}"},
        {"{1: x, b: 2, 1.0: y, true: z}", "{\"1\": \"z\", \"b\": 2}"},
        {"{a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1, m: 1, b: 2}",
         "{\"a\": 1, \"b\": 2, \"c\": 1, \"d\": 1, \"e\": 1, \"f\": 1, \"g\": 1, \"h\": 1, "
         "\"i\": 1, \"j\": 1, \"k\": 1, \"l\": 1, \"m\": 1}"},
        {"{a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, 1: 1, h: 1, i: 1, j: 1, k: 1, l: 1, m: 1, yes: 2}",
         "{\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1, \"e\": 1, \"f\": 1, \"1\": 2, \"h\": 1, "
         "\"i\": 1, \"j\": 1, \"k\": 1, \"l\": 1, \"m\": 1}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(fixture_json(f, fixture_read_c(f, rows[i][0])), rows[i][1]);
    }
    /* Messages should point at the line whose value is used. */
    const struct value *map = fixture_read_c(f, "a: 1\nb: 2\na: 3\n");
    assert_int_equal(value_entry_c(map, "a")->key->place.line, 3);
}

static struct value *numbered_map(struct fixture *f, int64_t count)
{
    struct value *map = value_new(&f->arena, VALUE_MAP, (struct place){0});
    for (int64_t i = 0; i < count; i++) {
        struct str name = arena_printf(&f->arena, "key%lld", (long long)i);
        value_map_set_c(&f->arena, map, name.ptr, value_int(&f->arena, i, (struct place){0}));
    }
    return map;
}

/* Small maps are searched, large ones indexed; removal must work in both. */
static void removal_leaves_the_others_in_order(void **state)
{
    static const int64_t counts[] = {3, 11, 12, 13, 40, 200};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct value *map = numbered_map(f, counts[i]);
        assert_null(value_map_remove(map, "key"));
        assert_int_equal(value_map_remove(map, "key1")->integer, 1);
        assert_null(value_map_remove(map, "key1"));
        assert_null(value_get_c(map, "key1"));
        assert_int_equal(map->map.count, counts[i] - 1);
        value_map_set_c(&f->arena, map, "key1", value_int(&f->arena, 77, (struct place){0}));
        assert_int_equal(map->map.count, counts[i]);
        for (int64_t j = 0; j < counts[i]; j++) {
            struct str name = arena_printf(&f->arena, "key%lld", (long long)j);
            assert_int_equal(value_get(map, name)->integer, j == 1 ? 77 : j);
        }
        assert_str(map->map.entries[1].key->text, "key2");
        assert_str(map->map.entries[counts[i] - 1].key->text, "key1");
    }
}

static void copies_share_children_and_not_the_top(void **state)
{
    static const size_t counts[] = {2, 30};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct value *map = numbered_map(f, (int64_t)counts[i]);
        value_map_set_c(&f->arena, map, "child", fixture_read_c(f, "{a: 1}"));
        struct value *copy = value_copy_shallow(&f->arena, map);
        assert_true(value_equal(map, copy));
        value_map_set_c(&f->arena, copy, "new", value_int(&f->arena, 1, (struct place){0}));
        value_map_remove(copy, "key0");
        assert_null(value_get_c(map, "new"));
        assert_non_null(value_get_c(map, "key0"));
        assert_ptr_equal(value_get_c(map, "child"), value_get_c(copy, "child"));
    }
    struct value *list = fixture_read_c(f, "[1, [2]]");
    struct value *copy = value_copy_shallow(&f->arena, list);
    value_list_add(&f->arena, copy, list);
    assert_int_equal(list->list.count, 2);
    assert_ptr_equal(copy->list.items[1], list->list.items[1]);
    struct value *empty = value_copy_shallow(&f->arena, fixture_read_c(f, "{}"));
    value_map_set_c(&f->arena, empty, "a", list);
    assert_str(fixture_json(f, empty), "{\"a\": [1, [2]]}");
}

static void truth_is_pythons(void **state)
{
    static const char *const true_texts[] = {
        "true", "1",     "-1",   "0.5",        "' '",       "'0'",
        "[0]",  "{a: }", ".nan", "2026-11-15", "!!set {a}", "18446744073709551616"};
    static const char *const false_texts[] = {"null", "false", "0",  "0.0",      "-0.0",
                                              "''",   "[]",    "{}", "!!set {}", "!!binary ''"};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(true_texts); i++) {
        assert_true(value_is_true(fixture_read_c(f, true_texts[i])));
    }
    for (size_t i = 0; i < ARRAY_LEN(false_texts); i++) {
        assert_false(value_is_true(fixture_read_c(f, false_texts[i])));
    }
    assert_false(value_is_true(NULL));
}

static void lookups_can_be_chained(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *map = fixture_read_c(f, "{a: {b: {c: deep}}, 1: one, list: [x]}");
    (void)state;
    assert_str(value_text(value_path(map, "a.b.c")), "deep");
    assert_str(value_text(value_get_c(value_get_c(value_get_c(map, "a"), "b"), "c")), "deep");
    assert_null(value_path(map, "a.x.c"));
    assert_null(value_path(map, "a.b.c.d"));
    assert_null(value_path(map, "list.x"));
    assert_null(value_path(NULL, "a"));
    assert_null(value_get_c(map, "1")); /* the key is a number, not text */
    assert_null(value_get_c(NULL, "a"));
    assert_null(value_entry_c(map, "z"));
    assert_str(value_text(map), "");
    assert_str(value_text(NULL), "");
}

static void set_tells_what_it_replaced(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct value *map = fixture_read_c(f, "{a: 1, b: 2}");
    struct value *more = fixture_read_c(f, "{b: 3, c: 4}");
    struct value *key = value_string(&f->arena, STR("z"), (struct place){0});
    (void)state;
    assert_null(value_map_set(&f->arena, map, key, more));
    assert_ptr_equal(value_map_set(&f->arena, map, key, key), key);
    value_map_remove(map, "z");
    value_map_update(&f->arena, map, more);
    assert_str(fixture_json(f, map), "{\"a\": 1, \"b\": 3, \"c\": 4}");
    assert_str(fixture_json(f, more), "{\"b\": 3, \"c\": 4}");
}

static void weight_counts_what_aliases_stand_for(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    assert_int_equal(fixture_read_c(f, "x")->weight, 1);
    assert_int_equal(fixture_read_c(f, "[a, b, [c]]")->weight, 5);
    assert_int_equal(fixture_read_c(f, "[&x [a, b], *x, *x]")->weight, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_equal_as_in_python),
        cmocka_unit_test(collections_are_equal_as_in_python),
        cmocka_unit_test(last_duplicate_wins_at_the_first_position),
        cmocka_unit_test(removal_leaves_the_others_in_order),
        cmocka_unit_test(copies_share_children_and_not_the_top),
        cmocka_unit_test(truth_is_pythons),
        cmocka_unit_test(lookups_can_be_chained),
        cmocka_unit_test(set_tells_what_it_replaced),
        cmocka_unit_test(weight_counts_what_aliases_stand_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
