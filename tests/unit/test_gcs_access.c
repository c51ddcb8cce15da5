/* test_gcs_access.c: Ray's variables for TLS and tokens. */
#include "ray/gcs_access.h"

#include "io/file.h"
#include "unit.h"

#include <stdlib.h>
#include <unistd.h>

enum { TEXT_MAX = 400 };

static struct arena arena;

/* Words separated by zero bytes, as in /proc; "|" is written for a zero byte. */
static struct str divided(const char *text, char *out)
{
    size_t len = strlen(text);
    assert_true(len < TEXT_MAX);
    for (size_t i = 0; i < len; i++) {
        out[i] = text[i] == '|' ? '\0' : text[i];
    }
    return (struct str){out, len};
}

static const struct gcs_access whole = {
    .use_tls = "1",
    .server_cert = "/tls/cert",
    .server_key = "/tls/key",
    .ca_cert = "/tls/ca",
};

static void test_off_unless_it_is_said(void **state)
{
    (void)state;
    const char *const words[] = {NULL, "", "0", "false", "yes", "2"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct gcs_setup setup = {.ca_file = "/old"};
        struct gcs_access access = whole;
        struct err err;
        access.use_tls = words[i];
        assert_true(gcs_access_apply(&access, "10.0.0.4:6379", &arena, &setup, &err));
        assert_string_equal(setup.server, "http://10.0.0.4:6379");
        assert_null(setup.ca_file);
    }
}

static void test_on_with_three_files(void **state)
{
    (void)state;
    const char *const words[] = {"1", "true", "True", "TRUE"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct gcs_setup setup = {0};
        struct gcs_access access = whole;
        struct err err;
        access.use_tls = words[i];
        assert_true(gcs_access_apply(&access, "10.0.0.4:6379", &arena, &setup, &err));
        assert_string_equal(setup.server, "https://10.0.0.4:6379");
        assert_string_equal(setup.ca_file, "/tls/ca");
        assert_string_equal(setup.cert_file, "/tls/cert");
        assert_string_equal(setup.key_file, "/tls/key");
    }
}

static void test_a_missing_file_is_named(void **state)
{
    (void)state;
    struct gcs_setup setup = {0};
    struct gcs_access access = whole;
    struct err err;
    access.server_key = "";
    assert_false(gcs_access_apply(&access, "h:1", &arena, &setup, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_string_equal(err.text,
                        "RAY_USE_TLS is set, but RAY_TLS_SERVER_KEY does not name a file");
    access.server_cert = NULL;
    assert_false(gcs_access_apply(&access, "h:1", &arena, &setup, &err));
    assert_string_equal(err.text, "RAY_USE_TLS is set, but RAY_TLS_SERVER_CERT does not name a "
                                  "file");
}

static struct str token_with(struct gcs_access access, struct str given)
{
    struct gcs_setup setup = {.token = given};
    struct err err;
    assert_true(gcs_access_apply(&access, "h:1", &arena, &setup, &err));
    return setup.token;
}

static void test_a_token_in_the_order_of_ray(void **state)
{
    (void)state;
    struct gcs_access access = {.auth_mode = "Token", .token = " t0k\n", .token_path = "/nowhere"};
    assert_true(str_is(token_with(access, STR("")), "t0k"));
    assert_true(str_is(token_with(access, STR("given")), "given"));
    access.auth_mode = "disabled";
    assert_int_equal(token_with(access, STR("")).len, 0);
    access.auth_mode = NULL;
    assert_int_equal(token_with(access, STR("")).len, 0);
}

static void test_a_token_in_a_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_gcs_access.XXXXXX";
    char path[64];
    struct gcs_access access = {.auth_mode = "token", .token_path = path};
    struct gcs_setup setup = {0};
    struct err err;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/token", folder);
    assert_false(gcs_access_apply(&access, "h:1", &arena, &setup, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_true(file_write(path, STR("from a file\n"), 0600, &err));
    assert_true(str_is(token_with(access, STR("")), "from a file"));
    unlink(path);
    rmdir(folder);
}

static void test_ray_on_this_machine_by_its_port(void **state)
{
    (void)state;
    static const struct {
        const char *words, *address;
        bool is_it;
    } cases[] = {
        {"/x/gcs_server|--log_dir=/l|--gcs_server_port=6379|--n=1|", "10.0.0.4:6379", true},
        {"/x/gcs_server|--gcs_server_port=63790|", "10.0.0.4:6379", false},
        {"/x/gcs_server|--gcs_server_port=6379|", "10.0.0.4:379", false},
        {"/x/raylet|--head|--gcs-address=10.0.0.4:6379|", "127.0.0.1:6379", true},
        {"/x/raylet|--gcs-address=10.0.0.4:16379|", "10.0.0.4:6379", false},
        {"/x/raylet|--w=--gcs-address=10.0.0.4:6379|", "10.0.0.4:6379", false},
        {"/x/raylet|--gcs-address=10.0.0.4:6379", "no port", false},
        {"", "10.0.0.4:6379", false},
    };
    char text[TEXT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str words = divided(cases[i].words, text);
        assert_int_equal(gcs_access_is_process_of(words, cases[i].address), cases[i].is_it);
    }
}

static void test_what_ray_was_started_with(void **state)
{
    (void)state;
    char text[TEXT_MAX];
    struct gcs_access access = gcs_access_of(
        divided("HOME=/h|RAY_USE_TLS=1|RAY_TLS_SERVER_CERT=/a=b|"
                "RAY_TLS_SERVER_KEY=/k|RAY_TLS_CA_CERT=/ca|"
                "RAY_AUTH_MODE=token|RAY_AUTH_TOKEN=t|"
                "RAY_USE_TLS=0|XRAY_USE_TLS=0|",
                text),
        &arena);
    assert_string_equal(access.use_tls, "1");
    assert_string_equal(access.server_cert, "/a=b");
    assert_string_equal(access.server_key, "/k");
    assert_string_equal(access.ca_cert, "/ca");
    assert_string_equal(access.auth_mode, "token");
    assert_string_equal(access.token, "t");
    access = gcs_access_of(divided("HOME=/h|RAY_USE_TLS|", text), &arena);
    assert_string_equal(access.use_tls, "");
    assert_null(access.ca_cert);
}

int main(void)
{
    arena_init(&arena);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_unless_it_is_said),
        cmocka_unit_test(test_on_with_three_files),
        cmocka_unit_test(test_a_missing_file_is_named),
        cmocka_unit_test(test_a_token_in_the_order_of_ray),
        cmocka_unit_test(test_a_token_in_a_file),
        cmocka_unit_test(test_ray_on_this_machine_by_its_port),
        cmocka_unit_test(test_what_ray_was_started_with),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_clear(&arena);
    return failed;
}
