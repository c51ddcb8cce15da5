/* test_adc_file.c: files of Google credentials: what each type needs, and files that must be
 * refused. The differential test has the rest. */
#include "provider/gcp/credentials/adc_file.h"
#include "provider/gcp/credentials/adc_search.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define USER                                                                               \
    "\"type\": \"authorized_user\", \"client_id\": \"c\", \"client_secret\": \"s3cret\", " \
    "\"refresh_token\": \"r3fresh\""
#define POOL                                                                                 \
    "\"type\": \"external_account\", \"audience\": \"//iam.googleapis.com/projects/12/x\", " \
    "\"subject_token_type\": \"urn:ietf:params:oauth:token-type:jwt\", \"token_url\": "      \
    "\"https://sts.googleapis.com/v1/token\""
#define ACCOUNT                                                                                  \
    "\"type\": \"service_account\", \"client_email\": \"a@b\", \"private_key\": \"line\\nline\"" \
    ", \"token_uri\": \"https://oauth2.googleapis.com/token\""
#define WHERE "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"

static bool read_text(struct arena *arena, const char *text, struct adc_file *file, struct err *err)
{
    *err = (struct err){0};
    return adc_file_read(str_from(text), arena, file, err);
}

static void test_refusals(void **state)
{
    static const char *const rows[][2] = {
        {"", "invalid JSON at line*"},
        {"[]", "the file is not a JSON object"},
        {"{}", "type is missing"},
        {"{\"type\": 1}", "type is not a string"},
        {"{\"type\": \"\"}", "type is empty"},
        {"{\"type\": \"api_key\"}", "the type \"api_key\" is not supported"},
        {"{\"type\": \"gdch_service_account\"}", "*Google Distributed Cloud*"},
        {"{\"type\": \"authorized_user\"}", "client_id is missing"},
        {"{" USER ", \"scopes\": 1}", "scopes is not a list*"},
        {"{" USER ", \"scopes\": [1]}", "scopes is not a string"},
        {"{" USER ", \"rapt_token\": \"a\\nb\"}", "rapt_token has a control character"},
        {"{" USER ", \"universe_domain\": \"a/b\"}", "universe_domain is not a domain"},
        {"{" USER ", \"token\": \"t\", \"expiry\": \"soon\"}", "expiry is not a time"},
        {"{" ACCOUNT ", \"token_uri\": \"http://example.org/\"}", "token_uri is not an https URL"},
        {"{" ACCOUNT ", \"token_uri\": \"http://127.0.0.1.example.org/\"}", "*not an https URL"},
        {"{" ACCOUNT ", \"token_uri\": \"http://127.0.0.1:1@example.org/\"}", "*not an https URL"},
        {"{" ACCOUNT ", \"private_key\": \"\"}", "private_key is empty"},
        {"{" POOL "}", "credential_source is missing*"},
        {"{" POOL ", \"credential_source\": {}}", "credential_source needs one of*"},
        {"{" POOL ", \"credential_source\": {\"file\": \"f\", \"environment_id\": \"aws1\"}}",
         "credential_source needs one of*"},
        {"{" POOL ", \"credential_source\": {\"certificate\": {}}}", "*is not supported*"},
        {"{" POOL ", \"credential_source\": {\"url\": \"ftp://x\"}}", "*url is not a URL"},
        {"{" POOL ", \"credential_source\": {\"url\": \"http://x\", \"headers\": {\"a\\nb\": "
         "\"c\"}}}",
         "headers has an invalid name"},
        {"{" POOL ", \"credential_source\": {\"executable\": {\"command\": \"\"}}}",
         "command is empty"},
        {"{" POOL ", \"credential_source\": {\"file\": \"f\", \"format\": {\"type\": \"json\"}}}",
         "subject_token_field_name is missing"},
        {"{" POOL ", \"credential_source\": {\"file\": \"f\"}, "
         "\"service_account_impersonation_url\": \"" WHERE "a:generateAccessToken\", "
         "\"service_account_impersonation\": {\"token_lifetime_seconds\": -1}}",
         "token_lifetime_seconds is not a positive number"},
        {"{\"type\": \"impersonated_service_account\", \"service_account_impersonation_url\": "
         "\"" WHERE "a:generateAccessToken\", \"source_credentials\": {" ACCOUNT
         ", \"client_email\": null}}",
         "source_credentials: client_email is missing"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena arena;
        struct adc_file file;
        struct err err;
        arena_init(&arena);
        assert_false(read_text(&arena, rows[i][0], &file, &err));
        assert_int_equal(err.kind, ERR_AUTH);
        assert_like(str_from(err.text), rows[i][1]);
        assert_null(strstr(err.text, "s3cret"));
        arena_clear(&arena);
    }
}

static void test_bounds(void **state)
{
    static char text[ADC_BYTES_MAX + 64];
    struct arena arena;
    struct adc_file file;
    struct err err;
    (void)state;
    arena_init(&arena);
    memset(text, ' ', sizeof(text) - 1);
    memcpy(text, "{" USER "}", strlen("{" USER "}"));
    assert_false(read_text(&arena, text, &file, &err));
    assert_like(str_from(err.text), "the file has more than * bytes");
    text[ADC_BYTES_MAX] = '\0';
    assert_true(read_text(&arena, text, &file, &err));
    arena_clear(&arena);
}

static void test_fields(void **state)
{
    struct arena arena;
    struct adc_file file;
    struct err err;
    (void)state;
    arena_init(&arena);
    assert_true(read_text(&arena, "{" ACCOUNT ", \"universe_domain\": \"u.org\"}", &file, &err));
    assert_true(file.is_self_signed);
    assert_str(file.universe, "u.org");
    assert_str(file.private_key, "line\nline");
    assert_true(read_text(&arena,
                          "{\"type\": \"impersonated_service_account\", "
                          "\"service_account_impersonation_url\": \"" WHERE
                          "b@p:generateAccessToken\", \"source_credentials\": {" USER "}}",
                          &file, &err));
    assert_str(file.principal, "b@p");
    assert_str(file.lifetime, "3600");
    assert_false(file.has_delegates);
    assert_str(file.base->refresh_token, "r3fresh");
    assert_true(
        read_text(&arena, "{" POOL ", \"credential_source\": {\"file\": \"f\"}}", &file, &err));
    assert_str(adc_project_number(&file), "12");
    file.audience = STR("//iam.googleapis.com/projects/a?b/x"); /* becomes part of a URL */
    assert_str(adc_project_number(&file), "");
    arena_clear(&arena);
}

static void test_safe_urls(void **state)
{
    (void)state;
    assert_true(adc_is_safe_url(STR("https://example.org/token")));
    assert_true(adc_is_safe_url(STR("http://127.0.0.1:80/token")));
    assert_true(adc_is_safe_url(STR("http://localhost/token")));
    assert_false(adc_is_safe_url(STR("http://localhost.example.org/token")));
    assert_false(adc_is_safe_url(STR("https://")));
    assert_false(adc_is_safe_url(STR("https://a b/")));
    assert_false(adc_is_safe_url(STR("file:///etc/passwd")));
    assert_false(adc_is_domain(STR("")));
    assert_false(adc_is_domain(STR("a:b")));
}

static void test_search(void **state)
{
    static const char *const env[] = {"HOME=/home/u", "GCE_METADATA_TIMEOUT= 7 ",
                                      "GCE_METADATA_DETECT_RETRIES=0",
                                      "CLOUDSDK_ACTIVE_CONFIG_NAME=../x", NULL};
    struct arena arena;
    struct adc_search search;
    (void)state;
    arena_init(&arena);
    adc_search_plan(env, &arena, &search);
    assert_str(search.gcloud_path, "/home/u/.config/gcloud/application_default_credentials.json");
    assert_str(search.metadata_ip, "169.254.169.254");
    assert_str(search.metadata_host, "metadata.google.internal");
    assert_int_equal(search.metadata_ms, 7000);
    assert_int_equal(search.ping_tries, 3);
    assert_true(search.has_metadata);
    assert_str(adc_gcloud_config_path(env, STR("work\n"), &arena),
               ""); /* not a file of another folder */
    assert_str(adc_gcloud_config_path(env + 4, STR("work\n"), &arena),
               "configurations/config_work");
    assert_str(adc_gcloud_config_path(env + 4, STR(""), &arena), "configurations/config_default");
    assert_str(adc_gcloud_project(STR("project = a\n[core]\nx = y\n project =  p \n")), "p");
    assert_str(adc_gcloud_project(STR("[core]\n[other]\nproject = p")), "");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_fields),   cmocka_unit_test(test_safe_urls),
        cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
