/* test_cloud_provider.c: which credentials are used. */
#include "app/cloud_provider.h"

#include "fixture.h"

static void check_profile(const char *provider, const char *asked, const char *expected)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_read_c(f, provider);
    assert_str(cloud_provider_profile(tree, str_from(asked)), expected);
}

static void the_strongest_profile_counts(void **state)
{
    (void)state;
    check_profile("{type: aws}", "", "");
    check_profile("{type: aws, aws_profile: file}", "", "file");
    check_profile("{type: aws, aws_profile: file}", "asked", "asked");
    check_profile("{aws_credentials: {profile_name: ray}}", "", "ray");
    check_profile("{aws_profile: file, aws_credentials: {aws_access_key_id: AK}}", "", "");
    check_profile("{aws_profile: file, aws_credentials: {aws_access_key_id: AK}}", "asked",
                  "asked");
}

/* The variables in their order, separated by blanks. */
static void check_environ(const char *provider, const char *expected)
{
    static const char *const env[] = {"HOME=/h", "AWS_ACCESS_KEY_ID=OLD", "AWS_SESSION_TOKEN=OLD",
                                      "AWS_ENDPOINT_URL=old", NULL};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf out;
    buf_init(&out, 4096);
    const struct value *tree = fixture_read_c(f, provider);
    aws_environ mine = cloud_provider_environ(env, tree, &f->arena);
    for (size_t i = 0; mine[i]; i++) {
        buf_addf(&out, "%s%s", i > 0 ? " " : "", mine[i]);
    }
    assert_str(buf_str(&out), expected);
}

static void keys_of_the_file_replace_all_others(void **state)
{
    (void)state;
    check_environ("{type: aws}",
                  "HOME=/h AWS_ACCESS_KEY_ID=OLD AWS_SESSION_TOKEN=OLD AWS_ENDPOINT_URL=old");
    check_environ("{aws_credentials: {aws_access_key_id: AK, aws_secret_access_key: SK}}",
                  "HOME=/h AWS_ENDPOINT_URL=old AWS_ACCESS_KEY_ID=AK AWS_SECRET_ACCESS_KEY=SK");
    check_environ("{aws_credentials: {endpoint_url: 'http://new'}}",
                  "HOME=/h AWS_ACCESS_KEY_ID=OLD AWS_SESSION_TOKEN=OLD "
                  "AWS_ENDPOINT_URL=http://new");
}

static void check_supported(const char *provider, const char *refusal)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct err err = {0};
    const struct value *tree = fixture_read_c(f, provider);
    const struct config config = {.provider = tree,
                                  .provider_type = value_text(value_get_c(tree, "type"))};
    assert_int_equal(cloud_provider_supports(&config, &err), *refusal == '\0');
    assert_non_null(strstr(err.text, refusal));
}

static void supported_providers(void **state)
{
    (void)state;
    check_supported("{type: aws}", "");
    check_supported("{type: local}", "");
    check_supported("{type: external, command: [./a]}", "");
    check_supported("{type: gcp}", "");
    check_supported("{type: aws, command: [./a]}", "");
    check_supported("{type: gcp, command: [./a]}", "");
    check_supported("{type: external, module: a.B}", "");
    check_supported("{type: azure}", "");
    check_supported("{type: vsphere}", "");
    check_supported("{type: spark}", "provider spark is not supported yet");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strongest_profile_counts),
        cmocka_unit_test(keys_of_the_file_replace_all_others),
        cmocka_unit_test(supported_providers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
