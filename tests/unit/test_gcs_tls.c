/* test_gcs_tls.c: Ray's variables for TLS. */
#include "ray/gcs_tls.h"

#include "unit.h"

static const struct gcs_tls whole = {"1", "/tls/cert", "/tls/key", "/tls/ca"};

static void test_off_unless_it_is_said(void **state)
{
    (void)state;
    const char *const words[] = {NULL, "", "0", "false", "yes", "2"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct gcs_setup setup = {.ca_file = "/old"};
        struct gcs_tls tls = whole;
        struct err err;
        tls.use_tls = words[i];
        assert_false(gcs_tls_is_on(&tls));
        assert_string_equal(gcs_tls_scheme(&tls), "http");
        assert_true(gcs_tls_apply(&tls, &setup, &err));
        assert_null(setup.ca_file);
    }
}

static void test_on_with_three_files(void **state)
{
    (void)state;
    const char *const words[] = {"1", "true", "True", "TRUE"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct gcs_setup setup = {0};
        struct gcs_tls tls = whole;
        struct err err;
        tls.use_tls = words[i];
        assert_string_equal(gcs_tls_scheme(&tls), "https");
        assert_true(gcs_tls_apply(&tls, &setup, &err));
        assert_string_equal(setup.ca_file, "/tls/ca");
        assert_string_equal(setup.cert_file, "/tls/cert");
        assert_string_equal(setup.key_file, "/tls/key");
    }
}

static void test_a_missing_file_is_named(void **state)
{
    (void)state;
    struct gcs_setup setup = {0};
    struct gcs_tls tls = whole;
    struct err err;
    tls.server_key = "";
    assert_false(gcs_tls_apply(&tls, &setup, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_string_equal(err.text, "RAY_USE_TLS is on, but RAY_TLS_SERVER_KEY names no file");
    tls.server_cert = NULL;
    assert_false(gcs_tls_apply(&tls, &setup, &err));
    assert_string_equal(err.text, "RAY_USE_TLS is on, but RAY_TLS_SERVER_CERT names no file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_unless_it_is_said),
        cmocka_unit_test(test_on_with_three_files),
        cmocka_unit_test(test_a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
