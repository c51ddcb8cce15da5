/* test_aws_time.c: times are formatted and parsed, at the ends of months, centuries and the
 * calendar. */
#include "provider/aws_time.h"

#include "unit.h"

static void moments_are_written(void **state)
{
    static const struct {
        int64_t moment;
        const char *text;
    } rows[] = {
        {0, "19700101T000000Z"},
        {951782400, "20000229T000000Z"},
        {4107542399, "21000228T235959Z"},
        {-1, "19691231T235959Z"},
        {253402300799, "99991231T235959Z"},
        {INT64_MAX, "99991231T235959Z"},
        {INT64_MIN, "00010101T000000Z"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[AWS_TIME_SIZE];
        aws_time_basic(rows[i].moment, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void moments_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t moment;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2000-02-29T00:00:00Z", 951782400},
        {"2020-06-17T10:11:12.345Z", 1592388672},
        {"2020-06-17 10:11:12", 1592388672},
        {"2020-06-17T10:11:12UTC", 1592388672},
        {"2020-06-17T12:11:12+02:00", 1592388672},
        {"2020-06-17T08:41:12-0130", 1592388672},
        {"0001-01-01T00:00:00Z", -62135596800},
    };
    static const char *const bad[] = {
        "",
        "2020-06-17",
        "2020-06-17T10:11:12Zx",
        "2021-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2020-13-01T00:00:00Z",
        "2020-00-01T00:00:00Z",
        "2020-01-01T24:00:00Z",
        "2020-01-01T00:00:60Z",
        "2020-01-01T00:00:00.Z",
        "2020-01-01T00:00:00+2400",
        "0000-01-01T00:00:00Z",
        " 2020-01-01T00:00:00Z",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t moment = 1;
        assert_true(aws_time_parse(str_from(rows[i].text), &moment));
        assert_int_equal(moment, rows[i].moment);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t moment = 7;
        assert_false(aws_time_parse(str_from(bad[i]), &moment));
        assert_int_equal(moment, 7);
    }
}

static void dates_of_http_are_read(void **state)
{
    static const char *const bad[] = {
        "",
        "Sun, 06 Nov 1994 08:49:37",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "06 Nov 1994 08:49:37 GMT",
        ",",
    };
    int64_t moment = 1;
    char text[AWS_TIME_ISO_SIZE];
    (void)state;
    assert_true(aws_time_parse_http(STR("Sun, 06 Nov 1994 08:49:37 GMT"), &moment));
    assert_int_equal(moment, 784111777);
    aws_time_iso(moment, text);
    assert_string_equal(text, "1994-11-06T08:49:37Z");
    assert_false(aws_time_parse_http((struct str){0}, &moment));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(aws_time_parse_http(str_from(bad[i]), &moment));
    }
    assert_int_equal(moment, 784111777);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_written),
        cmocka_unit_test(moments_are_read),
        cmocka_unit_test(dates_of_http_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
