/* test_secret_text.c: which names are those of secrets, and what is masked in a command. */
#include "base/secret_text.h"

#include "unit.h"

static void names_of_secrets_are_known(void **state)
{
    static const char *const secrets[] = {"password",
                                          "DB_PASSWORD",
                                          "db-passwd",
                                          "MY_PASS",
                                          "passphrase",
                                          "secret",
                                          "client_secret",
                                          "TOKEN",
                                          "HF_TOKEN",
                                          "authToken",
                                          "api_key",
                                          "ApiKey",
                                          "apikey",
                                          "WANDB_API_KEY",
                                          "--api-key",
                                          "access_key",
                                          "credentials",
                                          "account_key",
                                          "AWS_SECRET_ACCESS_KEY",
                                          "GITHUB_PAT",
                                          "MYSQL_PWD",
                                          "aws_access_key_id"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
        if (!secret_is_name(str_from(secrets[i]))) {
            fail_msg("%s names a secret", secrets[i]);
        }
    }
}

static void other_names_are_not(void **state)
{
    static const char *const names[] = {"",
                                        "InstanceType",
                                        "KeyName",
                                        "ssh_private_key",
                                        "ssh_public_key",
                                        "max_tokens",
                                        "TOKENIZERS_PARALLELISM",
                                        "token_file",
                                        "secret_path",
                                        "secret_name",
                                        "password_type",
                                        "token-ttl",
                                        "key",
                                        "keys",
                                        "path",
                                        "author",
                                        "compass",
                                        "region",
                                        "HttpTokens"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (secret_is_name(str_from(names[i]))) {
            fail_msg("%s does not name a secret", names[i]);
        }
    }
}

struct row {
    const char *text, *masked;
};

static void check_rows(const struct row *rows, size_t count)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < count; i++) {
        assert_str(secret_mask_text(&arena, str_from(rows[i].text)), rows[i].masked);
    }
    arena_clear(&arena);
}

static void assignments_are_masked_to_the_end_of_the_word(void **state)
{
    static const struct row rows[] = {
        {"TOKEN=abc", "TOKEN=********"},
        {"export A=1 DB_PASSWORD=x y; echo z", "export A=1 DB_PASSWORD=******** y; echo z"},
        {"TOKEN=abc&&run", "TOKEN=********&&run"},
        {"(TOKEN=abc)", "(TOKEN=********)"},
        {"-e HF_TOKEN=a -e B=c -e MY_SECRET=d",
         "-e HF_TOKEN=******** -e B=c -e MY_SECRET=********"},
        {"curl https://x/?token=abc&page=2", "curl https://x/?token=********&page=2"},
        {"TOKEN= run", "TOKEN= run"},
        {"A=b ray start --port=6379", "A=b ray start --port=6379"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void quotes_are_those_of_the_shell(void **state)
{
    static const struct row rows[] = {
        {"TOKEN='a b; c' run", "TOKEN=******** run"},
        {"TOKEN=\"a b\" run", "TOKEN=******** run"},
        {"TOKEN=a'b c'd run", "TOKEN=******** run"},
        {"TOKEN=\"a\\\" b\" run", "TOKEN=******** run"},
        {"TOKEN=a\\ b run", "TOKEN=******** run"},
        /* The quotes may be around the name too. */
        {"docker run -e \"TOKEN=a b\" image 'c d'", "docker run -e \"TOKEN=********\" image 'c d'"},
        {"-e 'TOKEN=abc' b", "-e 'TOKEN=********' b"},
        {"TOKEN=$(cat a b) run", "TOKEN=******** run"},
        {"TOKEN=`cat a b` run", "TOKEN=******** run"},
        {"TOKEN='never closed", "TOKEN=********"},
        {"TOKEN=abc\\", "TOKEN=********"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void options_and_headers_are_masked(void **state)
{
    static const struct row rows[] = {
        {"mysql --password hunter2 db", "mysql --password ******** db"},
        {"docker login -u me -p hunter2 host", "docker login -u me -p ******** host"},
        {"run --password=hunter2 x", "run --password=******** x"},
        {"mkdir -p /data", "mkdir -p /data"},
        {"run --token --verbose", "run --token --verbose"},
        {"curl -H 'Authorization: Bearer abc' u", "curl -H 'Authorization: Bearer ********' u"},
        {"git clone https://me:abc@host/r.git", "git clone https://me:********@host/r.git"},
        {"curl http://host:8080/a@b", "curl http://host:8080/a@b"},
        {"scp me@host:/file .", "scp me@host:/file ."},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

/* A secret inside the value of another is masked with it, and masking twice changes nothing. */
static void nothing_is_masked_twice(void **state)
{
    static const struct row rows[] = {
        {"SECRET=a=PASSWORD=b", "SECRET=********"},
        {"TOKEN=********", "TOKEN=********"},
        {"--password ******** x", "--password ******** x"},
        {"https://me:********@host", "https://me:********@host"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void harmless_text_is_not_copied(void **state)
{
    struct arena arena;
    struct str text = STR("pip install -U ray");
    (void)state;
    arena_init(&arena);
    assert_ptr_equal(secret_mask_text(&arena, text).ptr, text.ptr);
    assert_str(secret_mask_text(&arena, STR("")), "");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_secrets_are_known),
        cmocka_unit_test(other_names_are_not),
        cmocka_unit_test(assignments_are_masked_to_the_end_of_the_word),
        cmocka_unit_test(quotes_are_those_of_the_shell),
        cmocka_unit_test(options_and_headers_are_masked),
        cmocka_unit_test(nothing_is_masked_twice),
        cmocka_unit_test(harmless_text_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
