/* test_preflight_key.c: public keys of keys made here. tests/bed compares with ssh-keygen. */
#include "provider/aws/preflight/preflight_key.h"

#include "base/encode.h"
#include "unit.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

/* The private key in PEM, encrypted if there is a passphrase. */
static void write_pem(EVP_PKEY *key, const char *passphrase, struct buf *out)
{
    char *text;
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, passphrase ? EVP_aes_128_cbc() : NULL, NULL,
                                              0, NULL, (void *)(uintptr_t)passphrase),
                     1);
    long len = BIO_get_mem_data(bio, &text);
    buf_add(out, (struct str){text, (size_t)len});
    BIO_free(bio);
}

static void check(struct str text, enum preflight_key expected, const char *half)
{
    struct arena arena;
    struct str got = STR("");
    arena_init(&arena);
    assert_int_equal(preflight_key_public(text, &arena, &got), expected);
    assert_like(got, half);
    arena_clear(&arena);
}

static void ed25519_in_pem(void **state)
{
    AUTO_BUF struct buf pem, half, expected;
    unsigned char raw[32];
    size_t len = sizeof(raw);
    (void)state;
    buf_init(&pem, 4096);
    buf_init(&half, 4096);
    buf_init(&expected, 4096);
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    write_pem(key, NULL, &pem);
    assert_int_equal(EVP_PKEY_get_raw_public_key(key, raw, &len), 1);
    buf_add(&half, STR("\0\0\0\x0bssh-ed25519\0\0\0\x20"));
    buf_add(&half, (struct str){(const char *)raw, len});
    encode_base64(&expected, buf_str(&half));
    check(buf_str(&pem), PREFLIGHT_KEY_READ, expected.ptr);
    EVP_PKEY_free(key);
}

static void rsa_in_pem(void **state)
{
    AUTO_BUF struct buf pem, locked;
    (void)state;
    buf_init(&pem, 16384);
    buf_init(&locked, 16384);
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
    write_pem(key, NULL, &pem);
    write_pem(key, "secret", &locked);
    check(buf_str(&pem), PREFLIGHT_KEY_READ, "AAAAB3NzaC1yc2EAAAADAQABAAAAgQ*");
    check(buf_str(&locked), PREFLIGHT_KEY_LOCKED, "");
    EVP_PKEY_free(key);
}

static void other_kinds(void **state)
{
    AUTO_BUF struct buf pem;
    (void)state;
    buf_init(&pem, 4096);
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    write_pem(key, NULL, &pem);
    check(buf_str(&pem), PREFLIGHT_KEY_UNREAD, "");
    check(STR(""), PREFLIGHT_KEY_UNREAD, "");
    check(STR("hello"), PREFLIGHT_KEY_UNREAD, "");
    EVP_PKEY_free(key);
}

/* The form that ssh-keygen writes; the part after the public key does not matter. */
static void check_openssh(struct str bytes, enum preflight_key expected, const char *half)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 4096);
    buf_add_c(&text, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    encode_base64(&text, bytes);
    buf_add_c(&text, "\n-----END OPENSSH PRIVATE KEY-----\n");
    check(buf_str(&text), expected, half);
}

static void openssh_form(void **state)
{
    (void)state;
    check_openssh(STR("openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01\0\0\0\x06"
                      "public\0\0\0\x04rest"),
                  PREFLIGHT_KEY_READ, "cHVibGlj");
    check_openssh(STR("openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01\0\0\x01\x06"
                      "public"),
                  PREFLIGHT_KEY_UNREAD, "");
    check_openssh(STR("openssh-key-v1\0\xff\xff\xff\xff"), PREFLIGHT_KEY_UNREAD, "");
    check_openssh(STR("openssh-key-v2\0\0\0\0\x04none"), PREFLIGHT_KEY_UNREAD, "");
    check(STR("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA"), PREFLIGHT_KEY_UNREAD, "");
    check(STR("-----END OPENSSH PRIVATE KEY----------BEGIN OPENSSH PRIVATE KEY-----"),
          PREFLIGHT_KEY_UNREAD, "");
}

static void halves_fit_public_keys(void **state)
{
    (void)state;
    assert_true(preflight_key_fits(STR("ssh-rsa AAAB me@here"), STR("AAAB")));
    assert_true(preflight_key_fits(STR("ssh-rsa AAAB\n"), STR("AAAB")));
    assert_false(preflight_key_fits(STR("ssh-rsa AAAC"), STR("AAAB")));
    assert_false(preflight_key_fits(STR("ssh-rsa"), STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ed25519_in_pem),
        cmocka_unit_test(rsa_in_pem),
        cmocka_unit_test(other_kinds),
        cmocka_unit_test(openssh_form),
        cmocka_unit_test(halves_fit_public_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
