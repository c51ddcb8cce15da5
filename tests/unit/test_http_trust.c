/* test_http_trust.c: the user's certificates come first, then those that libcurl was built with,
 * then the place where the system keeps its certificates. */
#include "io/http_trust.h"

#include "io/file.h"
#include "scratch.h"
#include "unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];
static struct arena arena;

static int set_up(void **state)
{
    static const char *const names[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
                                        "SSL_CERT_DIR"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        unsetenv(names[i]);
    }
    arena_init(&arena);
    memcpy(scratch, "/tmp/shoal-trust-XXXXXX", 24);
    return mkdtemp(scratch) ? 0 : -1;
}

static int clean_up(void **state)
{
    (void)state;
    arena_clear(&arena);
    return scratch_remove(scratch);
}

/* A system that keeps its certificates in this file. */
static struct str put(const char *folder, const char *name)
{
    struct str path = arena_printf(&arena, "%s%s", scratch, folder);
    struct err err = {0};
    assert_true(file_make_private_folder(path.ptr, &err));
    path = arena_printf(&arena, "%.*s/%s", STR_ARG(path), name);
    assert_true(file_write(path.ptr, STR("certificates"), 0644, &err));
    return path;
}

static void check_file(const char *built_in, const char *expected)
{
    struct http_trust trust;
    http_trust_find(&trust, built_in, scratch);
    assert_str(str_from(trust.file), expected);
    http_trust_clear(&trust);
    assert_null(trust.file);
}

static void systems_keep_them_in_different_places(void **state)
{
    (void)state;
    check_file(NULL, "");
    struct str rhel = put("/etc/pki/tls/certs", "ca-bundle.crt");
    check_file(NULL, rhel.ptr);
    struct str debian = put("/etc/ssl/certs", "ca-certificates.crt");
    check_file(NULL, debian.ptr);
}

static void a_place_that_was_built_in_must_be_there(void **state)
{
    struct str fedora = put("/etc/pki/ca-trust/extracted/pem", "tls-ca-bundle.pem");
    (void)state;
    check_file("/no/such/file", fedora.ptr);
    check_file(fedora.ptr, ""); /* libcurl already has it */
}

static void the_user_comes_first(void **state)
{
    struct http_trust trust;
    (void)state;
    put("/etc/ssl/certs", "ca-certificates.crt");
    setenv("REQUESTS_CA_BUNDLE", "/my/bundle", 1);
    check_file("/", "/my/bundle");
    setenv("SSL_CERT_FILE", "/my/file", 1);
    check_file("/", "/my/file");
    unsetenv("SSL_CERT_FILE");
    unsetenv("REQUESTS_CA_BUNDLE");
    setenv("SSL_CERT_DIR", "/my/folder", 1);
    http_trust_find(&trust, NULL, scratch);
    assert_null(trust.file); /* only the folder */
    assert_string_equal(trust.folder, "/my/folder");
    http_trust_clear(&trust);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(systems_keep_them_in_different_places, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_place_that_was_built_in_must_be_there, set_up, clean_up),
        cmocka_unit_test_setup_teardown(the_user_comes_first, set_up, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
