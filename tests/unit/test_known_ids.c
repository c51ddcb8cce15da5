/* test_known_ids.c: the known instances, and how a listing changes them. */
#include "provider/aws/known_ids.h"

#include "unit.h"

static void a_listing_replaces_what_is_older(void **state)
{
    struct known_ids known = {0};
    (void)state;
    assert_false(known_ids_has(&known, STR("i-1")));
    known_ids_add(&known, STR("i-1"), 0);   /* from a listing */
    known_ids_add(&known, STR("i-2"), 100); /* launched before the next one was requested */
    known_ids_add(&known, STR("i-3"), 200); /* and after: it may be missing there */
    known_ids_add(&known, STR("i-3"), 300);
    assert_int_equal(known.count, 3);
    known_ids_renew(&known, 150);
    assert_false(known_ids_has(&known, STR("i-1")));
    assert_false(known_ids_has(&known, STR("i-2")));
    assert_true(known_ids_has(&known, STR("i-3")));
    known_ids_renew(&known, INT64_MAX);
    assert_int_equal(known.count, 0);
    arena_clear(&known.arena);
}

static void many_are_found(void **state)
{
    struct known_ids known = {0};
    char id[32];
    (void)state;
    for (int i = 0; i < 5000; i++) {
        snprintf(id, sizeof(id), "i-%017x", (unsigned)i);
        known_ids_add(&known, str_from(id), 0);
    }
    assert_int_equal(known.count, 5000);
    assert_true(known_ids_has(&known, STR("i-00000000000001387")));
    assert_false(known_ids_has(&known, STR("i-00000000000001388")));
    arena_clear(&known.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listing_replaces_what_is_older),
        cmocka_unit_test(many_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
