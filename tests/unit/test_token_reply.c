/* test_token_reply.c: replies of token services, and the JSON web tokens that are sent to them. */
#include "provider/gcp/credentials/token_reply.h"

#include "base/buf.h"
#include "base/encode.h"
#include "provider/gcp/credentials/jwt.h"
#include "unit.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

enum { NOW = 1700000000 };

static void test_replies(void **state)
{
    static const struct {
        const char *json;
        enum token_form form;
        int64_t expires_at; /* 0: refused */
    } rows[] = {
        {"{\"access_token\": \"t\", \"expires_in\": 60}", TOKEN_OAUTH, NOW + 60},
        {"{\"access_token\": \"t\", \"expires_in\": 60.9}", TOKEN_OAUTH, NOW + 60},
        {"{\"access_token\": \"t\", \"expires_in\": \"60\"}", TOKEN_STS, NOW + 60},
        {"{\"access_token\": \"t\", \"expires_in\": \"60\"}", TOKEN_METADATA, 0},
        {"{\"access_token\": \"t\"}", TOKEN_OAUTH, INT64_MAX},
        {"{\"access_token\": \"t\"}", TOKEN_STS, 0},
        {"{\"access_token\": \"t\", \"expires_in\": null}", TOKEN_METADATA, 0},
        {"{\"access_token\": \"t\", \"expires_in\": -1}", TOKEN_OAUTH, 0},
        {"{\"access_token\": \"t\", \"expires_in\": 9223372036854775807}", TOKEN_OAUTH, 0},
        {"{\"access_token\": \"t\", \"expires_in\": 1e300}", TOKEN_OAUTH, 0},
        {"{\"access_token\": \"t\", \"expires_in\": true}", TOKEN_OAUTH, 0},
        {"{\"access_token\": \"\", \"expires_in\": 60}", TOKEN_OAUTH, 0},
        {"{\"access_token\": \"a b\", \"expires_in\": 60}", TOKEN_OAUTH, 0},
        {"{\"access_token\": \"a\\r\\nX: y\", \"expires_in\": 60}", TOKEN_OAUTH, 0},
        {"{\"access_token\": 7, \"expires_in\": 60}", TOKEN_OAUTH, 0},
        {"[]", TOKEN_OAUTH, 0},
        {"", TOKEN_OAUTH, 0},
        {"{\"accessToken\": \"t\", \"expireTime\": \"2023-11-14T22:14:20Z\"}", TOKEN_IAM, NOW + 60},
        {"{\"accessToken\": \"t\", \"expireTime\": \"2023-11-14T22:14:20.5Z\"}", TOKEN_IAM, 0},
        {"{\"accessToken\": \"t\", \"expireTime\": \"2023-11-14 22:14:20Z\"}", TOKEN_IAM, 0},
        {"{\"accessToken\": \"t\"}", TOKEN_IAM, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct token_reply reply = {0};
        struct err err = {0};
        struct arena arena;
        arena_init(&arena);
        bool ok = token_reply_read(str_from(rows[i].json), rows[i].form, NOW, &arena, &reply, &err);
        if (ok != (rows[i].expires_at != 0) || (ok && reply.expires_at != rows[i].expires_at)) {
            fail_msg("%s: %d %lld", rows[i].json, ok, (long long)reply.expires_at);
        }
        assert_int_equal(err.kind, ok ? ERR_NONE : ERR_PROTOCOL);
        arena_clear(&arena);
    }
}

static void test_refusals(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct token_refusal refusal = token_refusal_read(
        STR("{\"error\": \"invalid_grant\", \"error_subtype\": \"rapt_required\"}"), &arena);
    assert_str(refusal.code, "invalid_grant");
    assert_true(refusal.needs_login);
    assert_false(refusal.is_temporary);
    refusal = token_refusal_read(STR("{\"error\": \"server_error\"}"), &arena);
    assert_true(refusal.is_temporary);
    refusal = token_refusal_read(STR("{\"error\": \"a secret of the user\"}"), &arena);
    assert_str(refusal.code, "");
    refusal = token_refusal_read(STR("{\"error\": {\"status\": \"PERMISSION_DENIED\"}}"), &arena);
    assert_str(refusal.code, "PERMISSION_DENIED");
    assert_str(token_refusal_read(STR("<html>"), &arena).code, "");
    arena_clear(&arena);
}

#define JWT_TYPE "\"token_type\": \"urn:ietf:params:oauth:token-type:jwt\""

static void test_programs(void **state)
{
    static const struct {
        const char *json;
        bool is_kept;
        int outcome; /* 0: refused, 1: cannot be used any more, 2: good */
    } rows[] = {
        {"{\"version\": 1, \"success\": true, \"id_token\": \"t\", " JWT_TYPE "}", false, 2},
        {"{\"version\": 1, \"success\": true, \"id_token\": \"t\", " JWT_TYPE "}", true, 1},
        {"{\"version\": 1, \"success\": true, \"id_token\": \"t\", " JWT_TYPE
         ", \"expiration_time\": 1}",
         false, 1},
        {"{\"version\": 1, \"success\": true, \"id_token\": \"t\", " JWT_TYPE
         ", \"expiration_time\": 1800000000}",
         true, 2},
        {"{\"version\": 1, \"success\": true, \"id_token\": \"\", " JWT_TYPE "}", false, 0},
        {"{\"version\": 1, \"success\": true, \"id_token\": \"t\"}", false, 0},
        {"{\"version\": 1, \"success\": false, \"code\": \"7\"}", false, 0},
        {"{\"version\": 1}", false, 0},
        {"{\"success\": true}", false, 0},
        {"{\"version\": 2, \"success\": true}", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena arena;
        struct str token = STR("");
        struct err err = {0};
        bool is_usable = false;
        arena_init(&arena);
        bool ok = token_program_read(str_from(rows[i].json), NOW, rows[i].is_kept, &arena, &token,
                                     &is_usable, &err);
        assert_int_equal(ok ? 1 + is_usable : 0, rows[i].outcome);
        arena_clear(&arena);
    }
}

/* ---- JSON web tokens ---- */

static struct str pem_of(struct arena *arena, EVP_PKEY *key, const char *password)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    assert_int_equal(PEM_write_bio_PrivateKey(bio, key, password ? EVP_aes_128_cbc() : NULL,
                                              (const unsigned char *)password,
                                              password ? (int)strlen(password) : 0, NULL, NULL),
                     1);
    long len = BIO_get_mem_data(bio, &text);
    struct str pem = arena_str(arena, (struct str){text, (size_t)len});
    BIO_free(bio);
    return pem;
}

/* The part as text. */
static struct str decoded(struct arena *arena, struct str part)
{
    AUTO_BUF struct buf plain;
    AUTO_BUF struct buf out;
    buf_init(&plain, 4096);
    buf_init(&out, 4096);
    for (size_t i = 0; i < part.len; i++) {
        char c = part.ptr[i];
        buf_add_char(&plain, (char)(c == '-' ? '+' : c == '_' ? '/' : c));
    }
    decode_base64(&out, buf_str(&plain));
    return arena_str(arena, buf_str(&out));
}

static void check_signature(EVP_PKEY *key, struct str text, struct str signature)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestVerify(context, (const uint8_t *)signature.ptr, signature.len,
                                      (const uint8_t *)text.ptr, text.len),
                     1);
    EVP_MD_CTX_free(context);
}

static void test_jwt(void **state)
{
    struct arena arena;
    struct err err = {0};
    struct str jwt;
    EVP_PKEY *key = EVP_RSA_gen(2048);
    (void)state;
    arena_init(&arena);
    struct jwt_request request = {.pem = pem_of(&arena, key, NULL),
                                  .key_id = STR("k"),
                                  .has_key_id = true,
                                  .email = STR("a@b"),
                                  .scope = STR("s1 s2"),
                                  .now = NOW};
    assert_true(jwt_assertion(&request, &arena, &jwt, &err));
    struct str rest = jwt;
    struct str head = str_cut(&rest, '.');
    struct str claims = str_cut(&rest, '.');
    assert_str(decoded(&arena, head), "{\"typ\": \"JWT\", \"alg\": \"RS256\", \"kid\": \"k\"}");
    assert_str(decoded(&arena, claims),
               "{\"iat\": 1700000000, \"exp\": 1700003600, \"iss\": \"a@b\", \"aud\": "
               "\"https://oauth2.googleapis.com/token\", \"scope\": \"s1 s2\"}");
    check_signature(key, str_sub(jwt, 0, head.len + 1 + claims.len), decoded(&arena, rest));
    assert_int_equal(str_find_char(jwt, '='), SIZE_MAX);
    request.has_key_id = false;
    assert_true(jwt_self_signed(&request, &arena, &jwt, &err));
    rest = jwt;
    assert_str(decoded(&arena, str_cut(&rest, '.')), "{\"typ\": \"JWT\", \"alg\": \"RS256\"}");
    assert_str(decoded(&arena, str_cut(&rest, '.')),
               "{\"iss\": \"a@b\", \"sub\": \"a@b\", \"iat\": 1700000000, \"exp\": 1700003600, "
               "\"scope\": \"s1 s2\"}");
    EVP_PKEY_free(key);
    arena_clear(&arena);
}

static void test_unusable_keys(void **state)
{
    struct arena arena;
    struct err err = {0};
    EVP_PKEY *elliptic = EVP_EC_gen("P-256");
    EVP_PKEY *locked = EVP_RSA_gen(2048);
    (void)state;
    arena_init(&arena);
    assert_false(jwt_check_key(pem_of(&arena, elliptic, NULL), &err));
    assert_false(jwt_check_key(pem_of(&arena, locked, "password"), &err));
    assert_false(jwt_check_key(STR(""), &err));
    assert_false(jwt_check_key(STR("-----BEGIN PRIVATE KEY-----\nAAAA\n"), &err));
    assert_int_equal(err.kind, ERR_AUTH);
    assert_true(jwt_check_key(pem_of(&arena, locked, NULL), &err));
    EVP_PKEY_free(elliptic);
    EVP_PKEY_free(locked);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),       cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_programs),      cmocka_unit_test(test_jwt),
        cmocka_unit_test(test_unusable_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
