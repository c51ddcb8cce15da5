/* test_sigv4.c: AWS's published example of version 4, and what a result must not contain. The
 * comparison with botocore covers the rest. */
#include "provider/sigv4.h"

#include "unit.h"

/* The keys and the time of AWS's published examples. */
static const struct sigv4_signer signer = {
    .access_key = {"AKIDEXAMPLE", 11},
    .secret_key = {"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", 40},
    .region = {"us-east-1", 9},
    .service = {"iam", 3},
    .time = 1440938160,
};

static void the_published_example_is_met(void **state)
{
    static const struct sigv4_header header = {
        {"Content-Type", 12}, {"application/x-www-form-urlencoded; charset=utf-8", 48}};
    struct sigv4_request request = {.method = STR("GET"),
                                    .host = STR("iam.amazonaws.com"),
                                    .path = STR("/"),
                                    .query = STR("Version=2010-05-08&Action=ListUsers"),
                                    .headers = &header,
                                    .header_count = 1};
    struct sigv4_result result;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    sigv4_sign(&request, &signer, &arena, &result);
    assert_str(result.signature,
               "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
    assert_int_equal(result.header_count, 2);
    assert_str(result.headers[0].value, "20150830T123600Z");
    assert_like(result.headers[1].value,
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1"
                "/iam/aws4_request, SignedHeaders=content-type;host;"
                "x-amz-date, Signature=5d672d79*");
    arena_clear(&arena);
}

static void headers_of_ours_are_not_taken_from_the_caller(void **state)
{
    static const struct sigv4_header headers[] = {{{"AUTHORIZATION", 13}, {"old", 3}},
                                                  {{"x-amz-date", 10}, {"old", 3}},
                                                  {{"Host", 4}, {"other", 5}}};
    struct sigv4_request request = {.method = STR("get"),
                                    .host = STR("h"),
                                    .path = STR("/a/../b//./c/"),
                                    .headers = headers,
                                    .header_count = ARRAY_LEN(headers)};
    struct sigv4_result result;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    sigv4_sign(&request, &signer, &arena, &result);
    assert_like(result.canonical, "GET\n/b/c/\n\nhost:h\nx-amz-date:20150830T123600Z\n\nhost;"
                                  "x-amz-date\ne3b0c442*");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_example_is_met),
        cmocka_unit_test(headers_of_ours_are_not_taken_from_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
