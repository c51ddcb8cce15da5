/* test_redact.c: secrets in every encoding, and texts that are not secrets. */
#include "io/redact.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct redact *redact, const char *text, const char *expected)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 100000);
    redact_clean(redact, str_from(text), &out);
    assert_str(buf_str(&out), expected);
}

#define KEY "wJalrXUt/nFEMI+K7 \"x\"\\y"

static void registered_values_are_found_in_any_dress(void **state)
{
    struct redact *redact = redact_new();
    (void)state;
    redact_add(redact, STR(KEY));
    check(redact, "before " KEY " after", "before ******** after");
    check(redact, KEY KEY, "****************");
    check(redact, "q=wJalrXUt%2FnFEMI%2BK7%20%22x%22%5Cy&r", "q=********&r");
    check(redact, "q=wJalrXUt%2fnFEMI%2bK7+%22x%22%5cy&r", "q=********&r");
    check(redact, "q=wJalrXUt/nFEMI%2BK7+%22x%22%5Cy&r", "q=********&r");
    check(redact, "{\"v\": \"wJalrXUt\\/nFEMI+K7 \\\"x\\\"\\\\y\"}", "{\"v\": \"********\"}");
    check(redact, "\\u0077JalrXUt/nFEMI\\u002bK7 \\u0022x\\x22\\\\y.", "********.");
    check(redact, "%77JalrXUt/nFEMI+K7 \"x\"\\y", "********");
    check(redact, "wJalrXUt/nFEMI+K7 \"x\"", "wJalrXUt/nFEMI+K7 \"x\""); /* not all of it */
    check(redact, "", "");
    redact_free(redact);
    redact_free(NULL);
}

static void base64_is_found_at_every_offset(void **state)
{
    /* printf 'sesame-open-now' with nothing, "u:" and "me:" before it, by base64(1). */
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"c2VzYW1lLW9wZW4tbm93", "********"},
        {"x dTpzZXNhbWUtb3Blbi1ub3c= y", "x dTp******** y"},
        {"bWU6c2VzYW1lLW9wZW4tbm93Og==", "bWU6********Og=="},
        {"eDpzZXNhbWUtb3Blbi1ub3c6eA==", "eDp********eA=="},
    };
    struct redact *redact = redact_new();
    (void)state;
    redact_add(redact, STR("sesame-open-now"));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 1000);
        redact_clean(redact, str_from(rows[i].text), &out);
        assert_true(str_find(buf_str(&out), "********") != SIZE_MAX);
        assert_true(str_find(buf_str(&out), "bWUtb3Bl") == SIZE_MAX);
        assert_true(str_find(buf_str(&out), "YW1lLW9w") == SIZE_MAX);
    }
    redact_add(redact, STR("\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7"));
    check(redact, "a //79/Pv6+fj3 b", "a ******** b");
    check(redact, "a __79_Pv6-fj3 b", "a ******** b");
    check(redact, "a %2F%2f79%2FPv6%2Bfj3 b", "a ******** b");
    redact_free(redact);
}

static void values_may_overlap_and_contain_each_other(void **state)
{
    struct redact *redact = redact_new();
    (void)state;
    redact_add(redact, STR("abcdef"));
    redact_add(redact, STR("abcdefghi"));
    redact_add(redact, STR("efghXYZ"));
    redact_add(redact, STR("abc")); /* too short to be a secret */
    check(redact, "abc abcdef abcdefghi", "abc ******** ********");
    check(redact, "1abcdefghXYZ2", "1********2");
    redact_add(redact, STR("tail/of-it"));
    check(redact, "ghp_0123456789012345678901234567tail/of-it", "****************");
    redact_free(redact);
}

static void long_secrets_are_found_line_by_line(void **state)
{
    struct redact *redact = redact_new();
    (void)state;
    redact_add(redact, STR("first line of the secret\r\nsecond line of the secret\nend\n"));
    check(redact, "a second line of the secret b", "a ******** b");
    check(redact, "first line of the secret", "********");
    check(redact, "end", "end");
    check(redact, "first line of the secret\\r\\nsecond line of the secret\\nend\\n!", "********!");
    redact_free(redact);
}

/* Keys are renewed every hour for months: the old ones must not stay forever. */
static void values_can_be_dropped(void **state)
{
    struct redact *redact = redact_new();
    struct redact *empty = redact_new();
    (void)state;
    redact_add(redact, STR("correct horse"));
    redact_add(redact, STR("correct horse"));
    redact_add(redact, STR("battery staple"));
    redact_drop(redact, STR("correct horse"));
    redact_drop(redact, STR("never added"));
    check(redact, "a correct horse, Y29ycmVjdCBob3JzZQ==", "a ********, ********Q==");
    redact_drop(redact, STR("correct horse"));
    check(redact, "a correct horse, Y29ycmVjdCBob3JzZQ==", "a correct horse, Y29ycmVjdCBob3JzZQ==");
    check(redact, "battery staple", "********");
    redact_drop(redact, STR("battery staple"));
    redact_drop(redact, STR("battery staple"));
    assert_memory_equal(redact, empty, 256 * sizeof(void *)); /* nothing of any form is left */
    redact_free(redact);
    redact_free(empty);
}

static void well_known_looks_are_hidden(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"id AKIAIOSFODNN7EXAMPLE.", "id ********."},
        {"(ASIAIOSFODNN7EXAMPLE)", "(********)"},
        {"AKIAIOSFODNN7", "AKIAIOSFODNN7"},
        {"XAKIAIOSFODNN7EXAMPLE", "XAKIAIOSFODNN7EXAMPLE"},
        {"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "********"},
        {"hf_abcdefghijklmnopqrstuvwxyz", "********"},
        {"hf_hub_download", "hf_hub_download"},
        {"x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-_d y", "x ******** y"},
        {"X-Amz-Signature=0123456789abcdef0123456789abcdef01&x", "X-Amz-********&x"},
        {"k -----BEGIN RSA PRIVATE KEY-----\nMIIE\nx\n-----END RSA PRIVATE KEY----- z",
         "k ******** z"},
        {"k -----BEGIN OPENSSH PRIVATE KEY-----\\nb3Blbn", "k ********"},
        {"-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE"},
        {"Authorization: AWS4-HMAC-SHA256 x, y\nnext", "Authorization: ********\nnext"},
        {"x-amz-security-token: IQoJ+/=", "x-amz-security-token: ********"},
        {"{\"password\": \"a\\\"b\", \"n\": \"x\"}", "{\"password\": \"********\", \"n\": \"x\"}"},
        {"{\"SecretAccessKey\":\"abc\"}", "{\"SecretAccessKey\":\"********\"}"},
        {"{\"max_tokens\":\"abc\"}", "{\"max_tokens\":\"abc\"}"},
        {"run --password hunter2 now", "run --password ******** now"},
        {"https://me:hunter2@host/x", "https://me:********@host/x"},
        {"node launch failed type=gpu id=i-0123456789abcdef0 retry_ms=30000",
         "node launch failed type=gpu id=i-0123456789abcdef0 retry_ms=30000"},
    };
    struct redact *redact = redact_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(redact, rows[i].text, rows[i].shown);
    }
    redact_free(redact);
}

static void it_stays_fast(void **state)
{
    enum { SIZE = 400000 };
    static const char *const units[] = {
        "a",   "%", "\\",     "-----BEGIN ", "\": \"",          "sk-",
        "eyJ", "=", "token=", "--password ", "Authorization: ", "://a:"};
    struct redact *redact = redact_new();
    char *text = malloc(SIZE);
    (void)state;
    assert_non_null(text);
    redact_add(redact, STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        AUTO_BUF struct buf out;
        size_t len = strlen(units[i]);
        buf_init(&out, (size_t)SIZE * 20);
        for (size_t at = 0; at < SIZE; at++) {
            text[at] = units[i][at % len];
        }
        redact_clean(redact, (struct str){text, SIZE}, &out); /* the test's time limit decides */
        assert_false(out.is_full);
    }
    free(text);
    redact_free(redact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registered_values_are_found_in_any_dress),
        cmocka_unit_test(base64_is_found_at_every_offset),
        cmocka_unit_test(values_may_overlap_and_contain_each_other),
        cmocka_unit_test(long_secrets_are_found_line_by_line),
        cmocka_unit_test(values_can_be_dropped),
        cmocka_unit_test(well_known_looks_are_hidden),
        cmocka_unit_test(it_stays_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
