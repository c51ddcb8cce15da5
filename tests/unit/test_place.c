/* test_place.c: finds a line of a source again, and whose mistake a place can be. */
#include "config/document/place.h"

#include "unit.h"

static void lines_are_found_without_their_ends(void **state)
{
    static const struct source source = {{"f", 1}, {"one\ntwo\r\n\nfour", 14}, false};
    static const struct source mixed = {{"f", 1},
                                        {"\xEF\xBB\xBF\xC2\xA0"
                                         "a\rb\xC2\x85"
                                         "c",
                                         11},
                                        false};
    static const struct source empty = {{"f", 1}, {"", 0}, false};
    (void)state;
    assert_str(source_line(&source, 1), "one");
    assert_str(source_line(&source, 2), "two");
    assert_str(source_line(&source, 3), "");
    assert_str(source_line(&source, 4), "four");
    assert_str(source_line(&source, 5), "");
    assert_str(source_line(&source, 0), "");
    assert_str(source_line(&empty, 1), "");
    assert_str(source_line(&mixed, 1), "\xC2\xA0"
                                       "a");
    assert_str(source_line(&mixed, 2), "b");
    assert_str(source_line(&mixed, 3), "c");
}

static void only_the_users_own_file_is_blamed(void **state)
{
    static const struct source own = {{"f", 1}, {"x", 1}, false};
    static const struct source built_in = {{"(aws defaults)", 14}, {"x", 1}, true};
    (void)state;
    assert_true(place_is_users((struct place){&own, 1, 1, 1}));
    assert_false(place_is_users((struct place){&own, 0, 0, 0}));
    assert_false(place_is_users((struct place){&built_in, 1, 1, 1}));
    assert_false(place_is_users((struct place){NULL, 1, 1, 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found_without_their_ends),
        cmocka_unit_test(only_the_users_own_file_is_blamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
