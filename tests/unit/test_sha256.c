/* test_sha256.c: published values of SHA-256 (FIPS 180-2) and HMAC (RFC 4231). */
#include "io/sha256.h"

#include "base/encode.h"
#include "unit.h"

static void check(const uint8_t digest[SHA256_BYTES], const char *expected)
{
    char hex[2 * SHA256_BYTES + 1];
    encode_hex_to(hex, digest, SHA256_BYTES);
    assert_string_equal(hex, expected);
}

static void test_digests(void **state)
{
    (void)state;
    uint8_t digest[SHA256_BYTES];
    sha256(STR("abc"), digest);
    check(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256(STR(""), digest);
    check(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void test_pieces(void **state)
{
    (void)state;
    uint8_t digest[SHA256_BYTES];
    struct sha256_state *pieces = sha256_begin();
    sha256_add(pieces, STR("a"));
    sha256_add(pieces, STR(""));
    sha256_add(pieces, STR("bc"));
    sha256_end(pieces, digest);
    check(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_end(sha256_begin(), NULL);
}

static void test_macs(void **state)
{
    (void)state;
    uint8_t mac[SHA256_BYTES];
    uint8_t other[SHA256_BYTES];
    sha256_mac(STR("Jefe"), STR("what do ya want for nothing?"), mac);
    check(mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    sha256_mac(STR("Jefe"), STR("what do ya want for nothing"), other);
    assert_true(sha256_equal(mac, mac));
    assert_false(sha256_equal(mac, other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_macs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
