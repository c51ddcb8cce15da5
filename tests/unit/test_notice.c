/* test_notice.c: how answers of metadata services are interpreted. */
#include "app/node/notice.h"

#include "unit.h"

#define NOW ((int64_t)1794297600000) /* 2026-11-10T08:00:00Z */

static const struct metadata_api *aws(void)
{
    return metadata_api(STR("aws"));
}

static struct notice read_fine(notice_read_fn *read, int status, struct str body)
{
    struct notice notice;
    struct err err = {0};
    assert_true(read(status, body, NOW, &notice, &err));
    return notice;
}

static void refused(notice_read_fn *read, int status, struct str body)
{
    struct notice notice;
    struct err err = {0};
    assert_false(read(status, body, NOW, &notice, &err));
    assert_int_equal(err.kind, ERR_PROTOCOL);
    assert_int_equal(notice.kind, NOTICE_NONE);
}

static void test_no_notice_is_the_usual_answer(void **state)
{
    (void)state;
    assert_int_equal(read_fine(aws()->final.read, 404, STR("Not Found")).kind, NOTICE_NONE);
    assert_int_equal(read_fine(aws()->advice.read, 404, STR("<html>")).kind, NOTICE_NONE);
}

static void test_a_notice_says_when(void **state)
{
    (void)state;
    static const char *const actions[] = {"terminate", "stop", "hibernate"};
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        char text[100];
        snprintf(text, sizeof(text), "{\"action\": \"%s\", \"time\": \"2026-11-10T08:02:00Z\"}",
                 actions[i]);
        struct notice notice = read_fine(aws()->final.read, 200, str_from(text));
        assert_int_equal(notice.kind, NOTICE_FINAL);
        assert_int_equal(notice.until_ms, NOW + 120 * 1000);
    }
}

/* An on-demand instance with GPUs learns an hour before that its host needs maintenance. */
static void test_maintenance_of_a_host_is_a_notice(void **state)
{
    const struct metadata_api *gcp = metadata_api(STR("gcp"));
    (void)state;
    struct notice notice = read_fine(gcp->advice.read, 200, STR("TERMINATE_ON_HOST_MAINTENANCE\n"));
    assert_int_equal(notice.kind, NOTICE_FINAL);
    assert_int_equal(notice.until_ms, NOW + 50 * 60 * 1000);
    assert_int_equal(read_fine(gcp->advice.read, 200, STR("NONE")).kind, NOTICE_NONE);
    assert_int_equal(read_fine(gcp->advice.read, 200, STR("MIGRATE_ON_HOST_MAINTENANCE")).kind,
                     NOTICE_NONE);
    refused(gcp->advice.read, 503, STR(""));
}

/* A drain with an estimated time is better than none. */
static void test_a_notice_with_a_strange_time_is_a_notice(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"action\": \"terminate\"}",
        "{\"action\": \"terminate\", \"time\": 7}",
        "{\"action\": \"terminate\", \"time\": \"soon\"}",
        "{\"action\": \"terminate\", \"time\": \"1970-01-01T00:00:00Z\"}",
        "{\"action\": \"terminate\", \"time\": \"9999-01-01T00:00:00Z\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct notice notice = read_fine(aws()->final.read, 200, str_from(bodies[i]));
        assert_int_equal(notice.kind, NOTICE_FINAL);
        assert_int_equal(notice.until_ms, NOW + 120 * 1000);
    }
}

/* A captive portal, a proxy, a failing service: no node is drained for that. */
static void test_what_is_no_answer_says_nothing(void **state)
{
    (void)state;
    static const char *const bodies[] = {"",
                                         "<html>sign in</html>",
                                         "[]",
                                         "{}",
                                         "null",
                                         "{\"action\": \"greet\"}",
                                         "{\"action\": [1]}"};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        refused(aws()->final.read, 200, str_from(bodies[i]));
        refused(aws()->advice.read, 200, str_from(bodies[i]));
        refused(metadata_api(STR("gcp"))->final.read, 200, str_from(bodies[i]));
    }
    refused(aws()->final.read, 500, STR("{\"action\": \"terminate\"}"));
    refused(aws()->final.read, 401, STR(""));
    refused(metadata_api(STR("gcp"))->final.read, 404, STR("TRUE"));
}

static void test_advice_gives_work_time_to_end(void **state)
{
    (void)state;
    struct notice notice = read_fine(aws()->advice.read, 200,
                                     STR("{\"noticeTime\": \"2026-11-10T07:59:00Z\"}"));
    assert_int_equal(notice.kind, NOTICE_ADVICE);
    assert_int_equal(notice.until_ms, NOW + 5 * 60 * 1000);
}

static void test_gce_says_it_in_a_word(void **state)
{
    (void)state;
    const struct metadata_api *gcp = metadata_api(STR("gcp"));
    assert_int_equal(read_fine(gcp->final.read, 200, STR("FALSE\n")).kind, NOTICE_NONE);
    struct notice notice = read_fine(gcp->final.read, 200, STR("TRUE\n"));
    assert_int_equal(notice.kind, NOTICE_FINAL);
    assert_int_equal(notice.until_ms, NOW + 30 * 1000);
    assert_null(metadata_api(STR("local")));
}

static void test_endpoints(void **state)
{
    (void)state;
    static const struct {
        const char *provider, *variable, *expected;
    } cases[] = {
        {"aws", NULL, "http://169.254.169.254"},
        {"aws", " ", "http://169.254.169.254"},
        {"aws", "http://198.18.0.1:80/", "http://198.18.0.1:80"},
        {"aws", "http://[fd00:ec2::254]", "http://[fd00:ec2::254]"},
        {"gcp", NULL, "http://metadata.google.internal"},
        {"gcp", "127.0.0.1:8080", "http://127.0.0.1:8080"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char endpoint[512];
        notice_endpoint(metadata_api(str_from(cases[i].provider)), cases[i].variable, endpoint,
                        sizeof(endpoint));
        assert_string_equal(endpoint, cases[i].expected);
    }
}

static void test_tokens_fit_into_a_header(void **state)
{
    (void)state;
    assert_true(notice_is_token(STR("AQAEAO-_==")));
    assert_false(notice_is_token(STR("")));
    assert_false(notice_is_token(STR("a b")));
    assert_false(notice_is_token(STR("a\r\nHost: b")));
}

static void test_each_is_told_once_and_a_notice_after_advice(void **state)
{
    (void)state;
    const struct notice none = {NOTICE_NONE, 0}, advice = {NOTICE_ADVICE, 5},
                        final = {NOTICE_FINAL, 9};
    assert_false(notice_is_news(&none, &none));
    assert_true(notice_is_news(&advice, &none));
    assert_true(notice_is_news(&final, &none));
    assert_true(notice_is_news(&final, &advice));
    assert_false(notice_is_news(&final, &final));
    assert_false(notice_is_news(&advice, &final));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_notice_is_the_usual_answer),
        cmocka_unit_test(test_a_notice_says_when),
        cmocka_unit_test(test_maintenance_of_a_host_is_a_notice),
        cmocka_unit_test(test_a_notice_with_a_strange_time_is_a_notice),
        cmocka_unit_test(test_what_is_no_answer_says_nothing),
        cmocka_unit_test(test_advice_gives_work_time_to_end),
        cmocka_unit_test(test_gce_says_it_in_a_word),
        cmocka_unit_test(test_endpoints),
        cmocka_unit_test(test_tokens_fit_into_a_header),
        cmocka_unit_test(test_each_is_told_once_and_a_notice_after_advice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
