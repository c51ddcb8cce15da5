/* test_expiry.c: when a stopped machine may be terminated. */
#include "provider/expiry.h"

#include "unit.h"

static void a_tag_is_read_as_it_was_written(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct str tag = expiry_text(1790000000, 14 * 86400, &arena);
    assert_true(str_is(tag, "1790000000 1209600"));
    assert_int_equal(expiry_at(tag, 1780000000), 1790000000 + 14 * 86400);
    assert_int_equal(expiry_at(tag, 1790000000), 1790000000 + 14 * 86400);
    arena_clear(&arena);
}

/* A machine that was started again and then stopped by other means. */
static void a_tag_from_before_the_start_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(expiry_at(STR("1790000000 60"), 1790000001), EXPIRY_NEVER);
}

static void anything_else_never_expires(void **state)
{
    static const char *const tags[] = {
        "",     "1790000000",     "1790000000 ",  "1790000000 0",          "1790000000 -5",
        "x 60", "1790000000 60x", "1790000000 x", "9223372036854775800 60"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
        assert_int_equal(expiry_at(str_from(tags[i]), 0), EXPIRY_NEVER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_is_read_as_it_was_written),
        cmocka_unit_test(a_tag_from_before_the_start_does_not_count),
        cmocka_unit_test(anything_else_never_expires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
