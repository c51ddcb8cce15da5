/* test_yaml_time.c: which texts are timestamps, and which of those are valid; as in PyYAML. */
#include "config/document/yaml_time.h"

#include "unit.h"

static struct str show(struct arena *arena, const char *text)
{
    const char *problem = NULL;
    struct value value = {0};
    if (!yaml_is_timestamp(str_from(text))) {
        return STR("text");
    }
    if (!yaml_construct_timestamp(arena, str_from(text), &value, &problem)) {
        assert_non_null(problem);
        return STR("error");
    }
    return arena_printf(arena, "%s %.*s", value.kind == VALUE_DATE ? "date" : "time",
                        STR_ARG(value.text));
}

static void timestamps_become_iso_text(void **state)
{
    static const struct {
        const char *text, *means;
    } rows[] = {
        {"2026-11-15", "date 2026-11-15"},
        {"2026-02-29", "error"},
        {"2024-02-29", "date 2024-02-29"},
        {"1900-02-29", "error"},
        {"2000-02-29", "date 2000-02-29"},
        {"2026-13-01", "error"},
        {"2026-00-10", "error"},
        {"2026-04-31", "error"},
        {"0000-01-01", "error"},
        {"0001-01-01", "date 0001-01-01"},
        {"9999-12-31", "date 9999-12-31"},
        {"2026-1-5", "text"},
        {"2026-11-1", "text"},
        {"26-11-15", "text"},
        {"2026-11-15 ", "text"},
        {"2026-11-15 04:05:06", "time 2026-11-15T04:05:06"},
        {"2026-11-15T04:05:06", "time 2026-11-15T04:05:06"},
        {"2026-11-15t04:05:06", "time 2026-11-15T04:05:06"},
        {"2026-11-15 4:05:06", "time 2026-11-15T04:05:06"},
        {"2026-1-5 4:05:06", "time 2026-01-05T04:05:06"},
        {"2026-11-15  04:05:06", "time 2026-11-15T04:05:06"},
        {"2026-11-15 04:05", "text"},
        {"2026-11-15 04:5:06", "text"},
        {"2026-11-15 24:00:00", "error"},
        {"2026-11-15 23:60:00", "error"},
        {"2026-11-15 23:59:60", "error"},
        {"2026-11-15 04:05:06.7", "time 2026-11-15T04:05:06.700000"},
        {"2026-11-15 04:05:06.", "time 2026-11-15T04:05:06"},
        {"2026-11-15 04:05:06.123456789", "time 2026-11-15T04:05:06.123456"},
        {"2026-11-15 04:05:06.000000", "time 2026-11-15T04:05:06"},
        {"2026-11-15T04:05:06Z", "time 2026-11-15T04:05:06+00:00"},
        {"2026-11-15 04:05:06 Z", "time 2026-11-15T04:05:06+00:00"},
        {"2026-11-15T04:05:06+2", "time 2026-11-15T04:05:06+02:00"},
        {"2026-11-15T04:05:06-05:30", "time 2026-11-15T04:05:06-05:30"},
        {"2026-11-15 04:05:06 +02:00", "time 2026-11-15T04:05:06+02:00"},
        {"2026-11-15 04:05:06 -00:00", "time 2026-11-15T04:05:06+00:00"},
        {"2026-11-15T04:05:06+24", "error"},
        {"2026-11-15T04:05:06-23:59", "time 2026-11-15T04:05:06-23:59"},
        {"2026-11-15T04:05:06+02:5", "text"},
        {"2026-11-15T04:05:06+0230", "text"},
        {"2026-11-15T04:05:06z", "text"},
        {"2026-11-15TT04:05:06", "text"},
        {"now", "text"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str got = show(&arena, rows[i].text);
        if (!str_is(got, rows[i].means)) {
            fail_msg("\"%s\" is %s, not %.*s", rows[i].text, rows[i].means, STR_ARG(got));
        }
    }
    arena_clear(&arena);
}

/* A date with one-digit parts is text, but a date if its tag says so. */
static void tagged_dates_may_be_short(void **state)
{
    const char *problem = NULL;
    struct value value = {0};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_false(yaml_is_timestamp(STR("2026-1-5")));
    assert_true(yaml_construct_timestamp(&arena, STR("2026-1-5"), &value, &problem));
    assert_int_equal(value.kind, VALUE_DATE);
    assert_str(value.text, "2026-01-05");
    arena_clear(&arena);
}

static void problems_say_which_part_is_wrong(void **state)
{
    static const char *const rows[][2] = {
        {"2026-13-01", "this date"},
        {"2026-11-15 25:00:00", "time of day"},
        {"2026-11-15 05:00:00+99", "time zone"},
        {"tomorrow", "not a date"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *problem = "";
        struct value value = {0};
        assert_false(yaml_construct_timestamp(&arena, str_from(rows[i][0]), &value, &problem));
        assert_true(str_find(str_from(problem), rows[i][1]) != SIZE_MAX);
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timestamps_become_iso_text),
        cmocka_unit_test(tagged_dates_may_be_short),
        cmocka_unit_test(problems_say_which_part_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
