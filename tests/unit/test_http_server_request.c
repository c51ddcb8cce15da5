/* test_http_server_request.c: heads of requests, complete, in pieces, and invalid. */
#include "io/http_server_request.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

static void check_status(const char *text, int expected)
{
    struct http_server_request request = {0};
    int status = http_request_read(str_from(text), 0, &request);
    if (status != expected) {
        print_error("%d instead of %d for:\n%s\n", status, expected, text);
    }
    assert_int_equal(status, expected);
}

static void a_request_is_read(void **state)
{
    struct http_server_request request;
    (void)state;
    struct str text = STR("GET /metrics?x=1 HTTP/1.1\r\nHost: a:1\r\nAccept: */*\r\n\r\nrest");
    assert_int_equal(http_request_read(text, 0, &request), 200);
    assert_str(request.path, "/metrics");
    assert_false(request.is_head);
    assert_int_equal(http_request_read(STR("HEAD / HTTP/1.0\n\n"), 0, &request), 200);
    assert_str(request.path, "/");
    assert_true(request.is_head);
}

static void every_beginning_of_it_is_incomplete(void **state)
{
    struct str text = STR("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    struct http_server_request request;
    (void)state;
    for (size_t i = 0; i < text.len; i++) {
        assert_int_equal(http_request_read(str_sub(text, 0, i), 0, &request),
                         HTTP_REQUEST_INCOMPLETE);
    }
    assert_int_equal(http_request_read(text, 0, &request), 200);
}

static void what_is_not_served_is_refused(void **state)
{
    (void)state;
    check_status("POST /metrics HTTP/1.1\r\n\r\n", 405);
    check_status("get /metrics HTTP/1.1\r\n\r\n", 405);
    check_status("GET /metrics HTTP/2.0\r\n\r\n", 505);
    check_status("GET /metrics HTTP/1.1 \r\n\r\n", 505);
    check_status("GET /metrics\r\n\r\n", 400);
    check_status("GET  /metrics HTTP/1.1\r\n\r\n", 400);
    check_status("GET http://elsewhere/ HTTP/1.1\r\n\r\n", 400);
    check_status("GET * HTTP/1.1\r\n\r\n", 400);
    check_status("GET /\x01 HTTP/1.1\r\n\r\n", 400);
    check_status("GET /\xc3\xa4 HTTP/1.1\r\n\r\n", 400);
    check_status("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400);
    check_status("GET / HTTP/1.1\r\n: no name\r\n\r\n", 400);
    check_status("GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400);
    check_status("\r\n\r\n", 400);
    check_status("\x16\x03\x01 tls\r\n\r\n", 400);
}

static void too_much_is_refused(void **state)
{
    char text[HTTP_REQUEST_BYTES_MAX + 100];
    (void)state;
    memset(text, 'a', sizeof(text));
    struct http_server_request request;
    struct str most = {text, HTTP_REQUEST_BYTES_MAX};
    assert_int_equal(http_request_read(str_sub(most, 0, most.len - 1), 0, &request),
                     HTTP_REQUEST_INCOMPLETE);
    assert_int_equal(http_request_read(most, 0, &request), 431);
    memcpy(text + sizeof(text) - 4, "\r\n\r\n", 4);
    assert_int_equal(http_request_read((struct str){text, sizeof(text)}, 0, &request), 431);
}

static int read_put(const char *text, struct http_server_request *request)
{
    return http_request_read(str_from(text), 10, request);
}

static void a_body_has_a_given_length(void **state)
{
    struct http_server_request request = {0};
    (void)state;
    assert_int_equal(read_put("PUT /a HTTP/1.1\r\ncontent-LENGTH: 3\r\n\r\nabcd", &request), 200);
    assert_true(request.is_put);
    assert_str(request.path, "/a");
    assert_str(request.body, "abc");
    assert_int_equal(read_put("PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", &request),
                     HTTP_REQUEST_INCOMPLETE);
    assert_int_equal(read_put("PUT /a HTTP/1.1\r\nContent-Length:10\r\n\r\n0123456789", &request),
                     200);
    check_status("PUT /a HTTP/1.1\r\nContent-Length: 1\r\n\r\na", 405); /* not accepted */
}

static void a_body_of_unclear_length_is_refused(void **state)
{
    static const struct {
        int status;
        const char *headers;
    } rows[] = {
        {411, ""},
        {413, "Content-Length: 11\r\n"},
        {400, "Content-Length: 99999999999999999999\r\n"},
        {400, "Content-Length: -1\r\n"},
        {400, "Content-Length: 1a\r\n"},
        {400, "Content-Length: \r\n"},
        {400, "Content-Length: 1\r\nContent-Length: 2\r\n"},
        {400, "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_server_request request;
        char text[200];
        snprintf(text, sizeof(text), "PUT /a HTTP/1.1\r\n%s\r\nabc", rows[i].headers);
        assert_int_equal(read_put(text, &request), rows[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read),
        cmocka_unit_test(every_beginning_of_it_is_incomplete),
        cmocka_unit_test(what_is_not_served_is_refused),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(a_body_has_a_given_length),
        cmocka_unit_test(a_body_of_unclear_length_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
