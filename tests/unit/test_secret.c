/* test_secret.c: what is masked in a printed configuration, and what is not. */
#include "config/secret.h"

#include "fixture.h"

static struct str masked(struct fixture *f, const char *yaml)
{
    return fixture_json(f, secret_mask(&f->arena, fixture_read_c(f, yaml)));
}

static void values_are_masked_by_the_name_of_their_key(void **state)
{
    static const char *const rows[][2] = {
        {"{password: hunter2}", "{\"password\": \"********\"}"},
        {"{DB_PASSWORD: hunter2}", "{\"DB_PASSWORD\": \"********\"}"},
        {"{aws_access_key_id: AKIA, aws_secret_access_key: abc}",
         "{\"aws_access_key_id\": \"********\", \"aws_secret_access_key\": \"********\"}"},
        {"{api-key: a, ApiKey: b, token: c, sessionToken: d}",
         "{\"api-key\": \"********\", \"ApiKey\": \"********\", \"token\": \"********\", "
         "\"sessionToken\": \"********\"}"},
        {"{pin_secret: 1234, is_secret: true, secret: null}",
         "{\"pin_secret\": \"********\", \"is_secret\": true, \"secret\": null}"},
        /* Everything under such a key, however deep. */
        {"{aws_credentials: {key: [a, {b: c}], n: 1}}",
         "{\"aws_credentials\": {\"key\": [\"********\", {\"b\": \"********\"}], "
         "\"n\": \"********\"}}"},
        {"{gcp_credentials: {type: service_account, credentials: '{}'}}",
         "{\"gcp_credentials\": {\"type\": \"service_account\", \"credentials\": \"********\"}}"},
        {"[{env: {HF_TOKEN: x}}]", "[{\"env\": {\"HF_TOKEN\": \"********\"}}]"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(masked(f, rows[i][0]), rows[i][1]);
    }
}

static void names_that_point_to_a_secret_are_none(void **state)
{
    static const char *const rows[] = {
        "{\"ssh_private_key\": \"~/.ssh/key.pem\"}",
        "{\"ssh_public_key\": \"~/.ssh/key.pub\"}",
        "{\"InstanceType\": \"m5.large\", \"KeyName\": \"team\"}",
        "{\"token_file\": \"/etc/token\", \"secret_path\": \"/x\", \"secret_name\": \"n\"}",
        "{\"MetadataOptions\": {\"HttpTokens\": \"required\"}}",
        "{\"max_workers\": 2, \"auth\": {\"ssh_user\": \"ubuntu\"}}",
        "{\"commands\": [\"ray start --port=6379\", \"A=b\", \"echo '=' == $x\"]}",
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(masked(f, rows[i]), rows[i]);
    }
}

static void texts_anywhere_are_searched(void **state)
{
    static const char *const rows[][2] = {
        {"TOKEN=abc run", "\"TOKEN=******** run\""},
        {"[{a: ['export DB_PASSWORD=x', plain]}]",
         "[{\"a\": [\"export DB_PASSWORD=********\", \"plain\"]}]"},
        {"{run_options: ['-e \"HF_TOKEN=a b\"']}",
         "{\"run_options\": [\"-e \\\"HF_TOKEN=********\\\"\"]}"},
        {"{A=b: TOKEN}", "{\"A=b\": \"TOKEN\"}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(masked(f, rows[i][0]), rows[i][1]);
    }
}

static void masking_twice_changes_nothing_more(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_read_c(
        f, "{a: {password: x, list: ['TOKEN=a b', 'SECRET=\"c d\" e']}, token: [1, 2]}");
    const struct value *once = secret_mask(&f->arena, tree);
    (void)state;
    assert_true(value_equal(once, secret_mask(&f->arena, once)));
    assert_false(value_equal(once, tree));
}

static void the_original_is_left_alone(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_read_c(f, "{password: x, a: [{token: y}, 'SECRET=z']}");
    struct str before = fixture_json(f, tree);
    (void)state;
    secret_mask(&f->arena, tree);
    assert_str(fixture_json(f, tree), before.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_masked_by_the_name_of_their_key),
        cmocka_unit_test(names_that_point_to_a_secret_are_none),
        cmocka_unit_test(texts_anywhere_are_searched),
        cmocka_unit_test(masking_twice_changes_nothing_more),
        cmocka_unit_test(the_original_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
