/* test_err.c: errors keep their kind and their cause, and every kind has a name and a status. */
#include "base/err.h"

#include "unit.h"

#include <string.h>

static void set_fills_kind_and_text(void **state)
{
    struct err err;
    (void)state;
    assert_false(err_set(&err, ERR_NOT_FOUND, "no %s in line %d", "key", 3));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_string_equal(err.text, "no key in line 3");
}

static void long_text_is_cut_and_terminated(void **state)
{
    struct err err;
    (void)state;
    err_set(&err, ERR_IO, "%01000d", 7);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void wrap_puts_context_before_the_cause(void **state)
{
    struct err err;
    (void)state;
    err_set(&err, ERR_TIMEOUT, "no answer");
    assert_false(err_wrap(&err, "node %s", "a"));
    assert_false(err_wrap(&err, "cluster %s", "demo"));
    assert_string_equal(err.text, "cluster demo: node a: no answer");
    assert_int_equal(err.kind, ERR_TIMEOUT);
}

static void long_context_does_not_hide_the_cause(void **state)
{
    struct err err;
    (void)state;
    err_set(&err, ERR_AUTH, "the token has expired");
    for (int i = 0; i < 3; i++) {
        err_wrap(&err, "%0600d", i);
    }
    err_wrap(&err, "short");
    assert_int_equal(err.kind, ERR_AUTH);
    assert_non_null(strstr(err.text, "short: 000"));
    assert_true(strlen(err.text) < sizeof(err.text));
    err_set(&err, ERR_AUTH, "the token has expired");
    err_wrap(&err, "%0600d", 1);
    assert_true(str_ends(str_from(err.text), ": the token has expired"));
}

static void every_kind_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_KIND_COUNT; i++) {
        const char *name = err_kind_name((enum err_kind)i);
        assert_non_null(name);
        assert_true(strlen(name) > 0);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(name, err_kind_name((enum err_kind)j));
        }
    }
    assert_string_equal(err_kind_name(ERR_CONFIG), "config");
    assert_string_equal(err_kind_name(ERR_NOT_FOUND), "not-found");
}

static void exit_status_tells_usage_from_the_rest(void **state)
{
    (void)state;
    for (int i = 0; i < ERR_KIND_COUNT; i++) {
        int expected = i == ERR_NONE ? 0 : i == ERR_USAGE ? 2 : 1;
        assert_int_equal(err_exit_status((enum err_kind)i), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_kind_and_text),
        cmocka_unit_test(long_text_is_cut_and_terminated),
        cmocka_unit_test(wrap_puts_context_before_the_cause),
        cmocka_unit_test(long_context_does_not_hide_the_cause),
        cmocka_unit_test(every_kind_has_a_name_of_its_own),
        cmocka_unit_test(exit_status_tells_usage_from_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
