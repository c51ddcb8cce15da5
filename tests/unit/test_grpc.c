/* test_grpc.c: HTTP replies are parsed as gRPC replies. Calls over a network are tested with a
 * real GCS (tests/ray). */
#include "io/grpc.h"

#include "unit.h"

#include <string.h>

#define METHOD "/ray.rpc.X/Y"

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_clear(&arena);
    return 0;
}

static struct grpc_reply read_words(const struct http_header *trailers, size_t count,
                                    struct str body)
{
    struct http_reply reply = {.outcome = HTTP_REPLIED,
                               .may_have_acted = true,
                               .status = 200,
                               .trailers = trailers,
                               .trailer_count = count,
                               .body = body};
    return grpc_read_reply(&reply, METHOD, &arena);
}

static void test_a_message_and_its_status(void **state)
{
    (void)state;
    struct http_header trailers[] = {{STR("grpc-status"), STR("0")}};
    struct grpc_reply reply = read_words(trailers, 1, STR("\0\0\0\0\3abc"));
    assert_int_equal(reply.status, GRPC_OK);
    assert_str(reply.body, "abc");
    reply = read_words(trailers, 1, STR("\0\0\0\0\0"));
    assert_int_equal(reply.status, GRPC_OK);
    assert_int_equal(reply.body.len, 0);
}

static void test_a_body_that_is_not_one_message(void **state)
{
    (void)state;
    struct http_header trailers[] = {{STR("grpc-status"), STR("0")}};
    const struct str bodies[] = {
        STR(""),
        STR("\0\0\0\0"),
        STR("\0\0\0\0\4abc"),          /* too short */
        STR("\0\0\0\0\2abc"),          /* too long */
        STR("\1\0\0\0\3abc"),          /* compressed */
        STR("\0\0\0\0\1a\0\0\0\0\1b"), /* two */
        STR("\0\377\377\377\377abc"),  /* 4 GB */
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct grpc_reply reply = read_words(trailers, 1, bodies[i]);
        assert_int_equal(reply.status, GRPC_INTERNAL);
        assert_int_equal(reply.err.kind, ERR_PROTOCOL);
        assert_int_equal(reply.body.len, 0);
    }
}

static void test_the_servers_words_are_decoded(void **state)
{
    (void)state;
    struct http_header trailers[] = {
        {STR("grpc-status"), STR("10")},
        {STR("grpc-message"), STR("Inval%69d%20%zz%")},
        {STR("grpc-status-details-bin"), STR("RHJhaW5pbmcgZGVhZGxpbmU=")},
    };
    struct grpc_reply reply = read_words(trailers, 3, STR(""));
    assert_int_equal(reply.status, GRPC_ABORTED);
    assert_str(reply.message, "Invalid %zz%");
    assert_str(reply.details, "Draining deadline");
    assert_string_equal(reply.err.text, METHOD ": Draining deadline (status 10)");
    reply = read_words(trailers, 2, STR(""));
    assert_string_equal(reply.err.text, METHOD ": Invalid %zz% (status 10)");
}

/* An error may come as headers alone. */
static void test_a_status_in_the_headers(void **state)
{
    (void)state;
    struct http_header headers[] = {{STR("grpc-status"), STR("16")},
                                    {STR("grpc-message"), STR("WrongClusterID")}};
    struct http_reply http = {
        .outcome = HTTP_REPLIED, .status = 200, .headers = headers, .header_count = 2};
    struct grpc_reply reply = grpc_read_reply(&http, METHOD, &arena);
    assert_int_equal(reply.status, GRPC_UNAUTHENTICATED);
    assert_int_equal(reply.err.kind, ERR_AUTH);
}

static void test_no_status_at_all(void **state)
{
    (void)state;
    struct http_reply http = {.outcome = HTTP_REPLIED, .status = 503, .body = STR("<html>")};
    assert_int_equal(grpc_read_reply(&http, METHOD, &arena).status, GRPC_UNAVAILABLE);
    http.status = 200;
    struct grpc_reply reply = grpc_read_reply(&http, METHOD, &arena);
    assert_int_equal(reply.status, GRPC_UNKNOWN);
    assert_non_null(strstr(reply.err.text, "does not speak gRPC"));
}

static void test_no_reply(void **state)
{
    (void)state;
    struct http_reply http = {.outcome = HTTP_TIMEOUT_SENT, .may_have_acted = true};
    err_set(&http.err, ERR_TIMEOUT, "POST http://127.0.0.1:6379: no answer in 2 s");
    struct grpc_reply reply = grpc_read_reply(&http, METHOD, &arena);
    assert_int_equal(reply.status, GRPC_DEADLINE_EXCEEDED);
    assert_true(reply.may_have_acted);
    http.outcome = HTTP_NOT_CONNECTED;
    http.may_have_acted = false;
    reply = grpc_read_reply(&http, METHOD, &arena);
    assert_int_equal(reply.status, GRPC_UNAVAILABLE);
    assert_false(reply.may_have_acted);
    assert_string_equal(reply.err.text, METHOD ": POST http://127.0.0.1:6379: no answer in 2 s");
}

/* As when a method is not known. */
static void test_a_verdict_before_the_stream_broke(void **state)
{
    (void)state;
    struct http_header headers[] = {{STR("grpc-status"), STR("12")}};
    struct http_reply http = {
        .outcome = HTTP_RESET, .status = 200, .headers = headers, .header_count = 1};
    assert_int_equal(grpc_read_reply(&http, METHOD, &arena).status, GRPC_UNIMPLEMENTED);
    headers[0].value = STR("0");
    assert_int_equal(grpc_read_reply(&http, METHOD, &arena).status, GRPC_UNAVAILABLE);
    http.header_count = 0;
    assert_int_equal(grpc_read_reply(&http, METHOD, &arena).status, GRPC_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_and_its_status),
        cmocka_unit_test(test_a_body_that_is_not_one_message),
        cmocka_unit_test(test_the_servers_words_are_decoded),
        cmocka_unit_test(test_a_status_in_the_headers),
        cmocka_unit_test(test_no_status_at_all),
        cmocka_unit_test(test_no_reply),
        cmocka_unit_test(test_a_verdict_before_the_stream_broke),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
