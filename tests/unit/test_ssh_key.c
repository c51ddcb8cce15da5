/* test_ssh_key.c: the key pairs of RFC 8032, and keys derived from a cluster's secret.
 * tests/diff checks with ssh-keygen that ssh reads the files. */
#include "remote/ssh_key.h"

#include "unit.h"

#include <string.h>

#define SECRET "0123456789abcdef0123456789abcdef"

/* The first two tests of RFC 8032, 7.1. */
static void a_seed_has_its_public_key(void **state)
{
    static const uint8_t seeds[][SSH_SEED_BYTES] = {
        {0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a,
         0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32,
         0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60},
        {0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3,
         0x46, 0xec, 0x11, 0x4e, 0x0f, 0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab,
         0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb}};
    static const char *const publics[] = {
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea it",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM it"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
        struct ssh_key key;
        struct err err;
        AUTO_BUF struct buf out;
        buf_init(&out, 1000);
        assert_true(ssh_key_from_seed(seeds[i], &key, &err));
        ssh_key_add_public(&out, key.public, STR("it"));
        assert_str(buf_str(&out), publics[i]);
    }
}

static void a_private_key_is_the_same_text_every_time(void **state)
{
    struct ssh_key key;
    struct err err;
    (void)state;
    assert_true(ssh_key_of_launch(STR(SECRET), 1, &key, &err));
    AUTO_BUF struct buf first;
    AUTO_BUF struct buf second;
    buf_init(&first, SSH_KEY_TEXT_BYTES_MAX);
    buf_init(&second, SSH_KEY_TEXT_BYTES_MAX);
    ssh_key_add_private(&first, &key, STR("a"));
    ssh_key_add_private(&second, &key, STR("a"));
    assert_true(str_eq(buf_str(&first), buf_str(&second)));
    assert_true(str_starts(buf_str(&first), "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXkt"
                                            "djEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2"));
    assert_true(str_ends(buf_str(&first), "\n-----END OPENSSH PRIVATE KEY-----\n"));
    assert_false(first.is_full);
}

/* A change to the derivation of keys breaks every launch in progress. */
static void keys_of_launches_stay_what_they_are(void **state)
{
    static const struct {
        uint64_t launch;
        const char *fingerprint;
    } cases[] = {{0, "SHA256:0j6idhf6S770pmjbjSik9We8K2VDhcrj1Upb1cUDakg"},
                 {1, "SHA256:wtbvtUUAGQR9kRYYn6fvJpWRb8pM0ki4Apnkwk4xHho"},
                 {UINT64_MAX, "SHA256:+JxRc1RnpQLG+CtKKfmRJeUIxYePD47bN5h3H34JCCc"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ssh_key key;
        struct err err;
        AUTO_BUF struct buf out;
        buf_init(&out, 100);
        assert_true(ssh_key_of_launch(STR(SECRET), cases[i].launch, &key, &err));
        ssh_key_add_fingerprint(&out, key.public);
        assert_str(buf_str(&out), cases[i].fingerprint);
    }
}

static void another_secret_has_other_keys(void **state)
{
    struct ssh_key one;
    struct ssh_key other;
    struct err err;
    (void)state;
    assert_true(ssh_key_of_launch(STR(SECRET), 7, &one, &err));
    assert_true(ssh_key_of_launch(STR(SECRET "x"), 7, &other, &err));
    assert_memory_not_equal(one.seed, other.seed, sizeof(one.seed));
    assert_memory_not_equal(one.public, other.public, sizeof(one.public));
}

static void a_short_secret_is_refused(void **state)
{
    struct ssh_key key;
    struct err err = {0};
    (void)state;
    assert_false(ssh_key_of_launch(STR("too short"), 1, &key, &err));
    assert_int_equal(err.kind, ERR_INTERNAL);
    assert_null(strstr(err.text, "too short"));
}

static void random_keys_differ_and_are_wiped(void **state)
{
    static const struct ssh_key nothing = {{0}, {0}};
    struct ssh_key one;
    struct ssh_key other;
    struct err err;
    (void)state;
    assert_true(ssh_key_random(&one, &err));
    assert_true(ssh_key_random(&other, &err));
    assert_memory_not_equal(one.seed, other.seed, sizeof(one.seed));
    ssh_key_wipe(&one);
    assert_memory_equal(&one, &nothing, sizeof(one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_has_its_public_key),
        cmocka_unit_test(a_private_key_is_the_same_text_every_time),
        cmocka_unit_test(keys_of_launches_stay_what_they_are),
        cmocka_unit_test(another_secret_has_other_keys),
        cmocka_unit_test(a_short_secret_is_refused),
        cmocka_unit_test(random_keys_differ_and_are_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
