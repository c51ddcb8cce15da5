/* test_credential_json.c: each form of credentials in JSON, and errors, whose messages contain
 * no secret. */
#include "provider/aws/wire/credential_json.h"

#include "unit.h"

#include <inttypes.h>

typedef bool read_fn(struct str json, struct arena *arena, struct aws_credentials *ret_credentials,
                     struct err *err);

static bool read_sso_token(struct str json, struct arena *arena,
                           struct aws_credentials *ret_credentials, struct err *err)
{
    struct sso_token token;
    if (!sso_token_read(json, arena, &token, err)) {
        return false;
    }
    *ret_credentials = (struct aws_credentials){.access_key = token.access_token,
                                                .secret_key = token.refresh_token,
                                                .session_token = token.client_id,
                                                .account_id = token.client_secret,
                                                .expires_at = token.expires_at};
    return true;
}

struct row {
    read_fn *read;
    const char *json;
    const char *expected;
};

#define KEYS "\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"sEcReT\""
#define UNTIL "\"Expiration\":\"2020-06-17T10:11:12Z\""

static const struct row good[] = {
    {credential_from_process, "{\"Version\":1," KEYS "}", "A sEcReT   9223372036854775807"},
    {credential_from_process,
     "{\"Version\":1," KEYS ",\"SessionToken\":null,\"AccountId\":\"12\"," UNTIL "}",
     "A sEcReT  12 1592388672"},
    {credential_from_container, "{" KEYS ",\"Token\":\"T\"," UNTIL "}", "A sEcReT T  1592388672"},
    {credential_from_imds,
     "{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\"," KEYS ",\"Token\":\"T\"," UNTIL "}",
     "A sEcReT T  1592388672"},
    {credential_from_sso,
     "{\"roleCredentials\":{\"accessKeyId\":\"A\",\"secretAccessKey\":\"S\",\"sessionToken\":\"T\","
     "\"expiration\":1592388672999}}",
     "A S T  1592388672"},
    {read_sso_token, "{\"accessToken\":\"A\",\"expiresAt\":\"2020-06-17T10:11:12UTC\"}",
     "A    1592388672"},
    {read_sso_token,
     "{\"accessToken\":\"A\",\"expiresAt\":\"2020-06-17T10:11:12Z\",\"refreshToken\":\"R\","
     "\"clientId\":\"C\",\"clientSecret\":\"D\",\"startUrl\":\"u\"}",
     "A R C D 1592388672"},
};

static const struct row bad[] = {
    {credential_from_process, "", "protocol: invalid JSON at line *"},
    {credential_from_process, "[]", "protocol: the JSON is not an object"},
    {credential_from_process, "{\"Version\":1,\"SecretAccessKey\":\"sEcReT\" sEcReT",
     "protocol: invalid JSON at line 1, column *"},
    {credential_from_process, "{\"Version\":2," KEYS "}",
     "protocol: Version is 2; only 1 is supported"},
    {credential_from_process, "{\"Version\":\"1\"," KEYS "}", "protocol: Version is missing or *"},
    {credential_from_process, "{\"Version\":1," KEYS "," KEYS "}", "protocol: invalid JSON at *"},
    {credential_from_process, "{\"Version\":1,\"AccessKeyId\":\"A\"}",
     "protocol: SecretAccessKey is missing"},
    {credential_from_process, "{\"Version\":1,\"AccessKeyId\":5,\"SecretAccessKey\":\"sEcReT\"}",
     "protocol: AccessKeyId is not a string"},
    {credential_from_process, "{\"Version\":1,\"AccessKeyId\":\"\",\"SecretAccessKey\":\"sEcReT\"}",
     "protocol: AccessKeyId is empty"},
    {credential_from_process,
     "{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"sEcReT\\r\\nX: y\"}",
     "protocol: SecretAccessKey has a control character"},
    {credential_from_process, "{\"Version\":1," KEYS ",\"Expiration\":\"sEcReT\"}",
     "protocol: Expiration is not a time"},
    {credential_from_container, "{" KEYS ",\"Token\":\"T\"}", "protocol: Expiration is missing"},
    {credential_from_container, "{\"code\":\"NoIdInRequest\",\"message\":\"m\"}",
     "auth: refused: NoIdInRequest"},
    {credential_from_imds, "{\"Code\":\"AssumeRoleUnauthorizedAccess\"}",
     "auth: refused: AssumeRoleUnauthorizedAccess"},
    {credential_from_imds, "{\"Code\":\"a sEcReT b\"}", "auth: refused, without an error code"},
    {credential_from_sso, "{\"roleCredentials\":{}}", "protocol: expiration is missing *"},
    {read_sso_token, "{\"accessToken\":\"A\"}", "protocol: expiresAt is missing"},
};

static void credentials_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct arena arena;
        struct aws_credentials got;
        struct err err;
        arena_init(&arena);
        assert_true(good[i].read(str_from(good[i].json), &arena, &got, &err));
        assert_str(arena_printf(&arena, "%.*s %.*s %.*s %.*s %" PRId64, STR_ARG(got.access_key),
                                STR_ARG(got.secret_key), STR_ARG(got.session_token),
                                STR_ARG(got.account_id), got.expires_at),
                   good[i].expected);
        arena_clear(&arena);
    }
}

static void faults_are_told_without_secrets(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena arena;
        struct aws_credentials got;
        struct err err;
        arena_init(&arena);
        assert_false(bad[i].read(str_from(bad[i].json), &arena, &got, &err));
        assert_like(arena_printf(&arena, "%s: %s", err_kind_name(err.kind), err.text),
                    bad[i].expected);
        assert_int_equal(str_find(str_from(err.text), "sEcReT"), SIZE_MAX);
        arena_clear(&arena);
    }
}

static void tokens_are_renewed(void **state)
{
    static const char file[] = "{\"accessToken\":\"A\",\"expiresAt\":\"2020-06-17T10:11:12Z\","
                               "\"startUrl\":\"u\",\"refreshToken\":\"R\",\"other\":[1]}";
    static const char *const answers[] = {
        "",
        "{}",
        "{\"accessToken\":\"B\"}",
        "{\"accessToken\":\"B\",\"expiresIn\":0}",
        "{\"accessToken\":\"B\",\"expiresIn\":1e300}",
        "{\"accessToken\":\"B\",\"expiresIn\":99999999999}",
        "{\"accessToken\":\"B\\n\",\"expiresIn\":60}",
    };
    AUTO_BUF struct buf out;
    struct err err;
    (void)state;
    buf_init(&out, 4096);
    assert_true(sso_token_renew(str_from(file),
                                STR("{\"accessToken\":\"B\",\"expiresIn\":60,"
                                    "\"refreshToken\":\"S\"}"),
                                0, &out, &err));
    assert_str(buf_str(&out), "{\"accessToken\":\"B\",\"expiresAt\":\"1970-01-01T00:01:00Z\","
                              "\"startUrl\":\"u\",\"refreshToken\":\"S\",\"other\":[1]}");
    buf_clear(&out);
    /* A refresh token can be used once: without a new one there is none. */
    assert_true(sso_token_renew(str_from(file), STR("{\"accessToken\":\"B\",\"expiresIn\":60}"), 0,
                                &out, &err));
    assert_int_equal(str_find(buf_str(&out), "refreshToken"), SIZE_MAX);
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        assert_false(sso_token_renew(str_from(file), str_from(answers[i]), 0, &out, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credentials_are_read),
        cmocka_unit_test(faults_are_told_without_secrets),
        cmocka_unit_test(tokens_are_renewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
