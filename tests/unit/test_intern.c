/* test_intern.c: equal texts get the same number; numbers are in order of arrival. */
#include "core/intern.h"

#include "unit.h"

static void equal_texts_share_a_number(void **state)
{
    (void)state;
    struct arena arena;
    struct names names;
    arena_init(&arena);
    intern_init(&names, &arena);
    assert_int_equal(intern_find(&names, STR("CPU")), NAME_NONE);
    assert_int_equal(intern_add(&names, STR("CPU")), 0);
    assert_int_equal(intern_add(&names, STR("")), 1);
    assert_int_equal(intern_add(&names, STR("CPU")), 0);
    assert_int_equal(intern_find(&names, STR("")), 1);
    assert_str(intern_text(&names, 0), "CPU");
    assert_str(intern_text(&names, 1), "");
    assert_str(intern_text(&names, NAME_NONE), "");
    arena_clear(&arena);
}

static void many_names_stay_apart(void **state)
{
    (void)state;
    struct arena arena;
    struct names names;
    arena_init(&arena);
    intern_init(&names, &arena);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            struct str text = arena_printf(&arena, "node:10.0.%u.%u", i / 256, i % 256);
            assert_int_equal(intern_add(&names, text), i);
        }
    }
    assert_int_equal(names.count, 5000);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_share_a_number),
        cmocka_unit_test(many_names_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
