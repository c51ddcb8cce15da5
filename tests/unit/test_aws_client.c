/* test_aws_client.c: calls to a server that refuses, disconnects, sends wrong data or stays
 * silent. */
#include "aws_scene.h"
#include "http_server.h"
#include "provider/aws/client/aws_pages.h"

#include <stdatomic.h>

/* ---- scripts ---- */

static const struct script_answer fine = {.body = "<XResponse><a>1</a></XResponse>"};

/* Answers in turn; the last one is repeated. */
struct script {
    struct script_answer answers[4];
    size_t count;
    char head[4096], body[4096]; /* of the last request */
};

static struct script_answer play(void *context, const struct script_request *request)
{
    struct script *script = context;
    size_t at = (size_t)request->number - 1;
    snprintf(script->head, sizeof(script->head), "%s", request->head);
    snprintf(script->body, sizeof(script->body), "%s", request->body);
    return script->answers[at < script->count ? at : script->count - 1];
}

#define SCRIPT(...)                                                                           \
    {                                                                                         \
        .answers = {__VA_ARGS__},                                                             \
        .count = sizeof((struct script_answer[]){__VA_ARGS__}) / sizeof(struct script_answer) \
    }

static const struct script_answer throttled = {
    .status = 503, .body = SCENE_REFUSAL("RequestLimitExceeded", "slow down")};
static const struct script_answer broken = {.deed = SCRIPT_RESET};
static const struct script_answer half = {.body = "<XResponse><a>1</a></XResponse>",
                                          .deed = SCRIPT_TRUNCATE};

/* ---- retries ---- */

static void a_call_is_signed_and_read(void **state)
{
    struct script script = SCRIPT(fine);
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    scene_ask(&scene, AWS_READ, &heard);
    assert_true(heard.reply.is_ok);
    assert_int_equal(heard.reply.tries, 1);
    assert_string_equal(heard.body, "<XResponse><a>1</a></XResponse>");
    assert_string_equal(script.body, "Action=X&Version=2016-11-15");
    assert_non_null(strstr(script.head, "Authorization: AWS4-HMAC-SHA256 Credential=AKIAFIRST/"));
    assert_non_null(strstr(script.head, "/us-west-2/ec2/aws4_request"));
    assert_non_null(strstr(script.head, "Content-Type: application/x-www-form-urlencoded"));
    assert_str(aws_client_source(scene.client), "environment");
    scene_close(&scene);
}

static void json_services_are_spoken_to(void **state)
{
    struct script script = SCRIPT({.body = "{\"a\": 1}"});
    struct scene scene;
    struct heard heard;
    struct arena arena;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    arena_init(&arena);
    struct param *input = param_new_map(&arena);
    param_add_text(input, "Name", STR("a \"b\"\n\\"), &arena);
    param_add_bool(param_add_list(input, "List", &arena), "", true, &arena);
    param_add_number(param_add_map(input, "Map", &arena), "n", -7, &arena);
    struct aws_request request = scene_request(&heard, AWS_READ);
    request.service = AWS_SSM;
    request.action = "GetParameter";
    request.input = input;
    scene_run(&scene, &request);
    assert_true(heard.reply.is_ok);
    assert_non_null(strstr(script.head, "X-Amz-Target: AmazonSSM.GetParameter\r\n"));
    assert_non_null(strstr(script.head, "Content-Type: application/x-amz-json-1.1\r\n"));
    assert_string_equal(script.body, "{\"Name\":\"a \\\"b\\\"\\u000a\\\\\",\"List\":[true],"
                                     "\"Map\":{\"n\":-7}}");
    param_add_text(input, "Bad", STR("\xff"), &arena);
    scene_run(&scene, (request = scene_request(&heard, AWS_READ), request.service = AWS_SSM,
                       request.input = input, &request));
    assert_string_equal(heard.code, "BadCall");
    assert_int_equal(heard.reply.tries, 0);
    arena_clear(&arena);
    scene_close(&scene);
}

static void throttled_calls_come_again(void **state)
{
    struct script script = SCRIPT(throttled, throttled, fine);
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    scene_ask(&scene, AWS_ONCE, &heard); /* it certainly had no effect */
    assert_true(heard.reply.is_ok);
    assert_int_equal(heard.reply.tries, 3);
    assert_int_equal(aws_client_counts(scene.client).throttled, 2);
    scene_close(&scene);
}

/* What each level of care does after a first try with this result and a second that would
 * succeed. */
static void care_rules_after_silence(void **state)
{
    static const struct {
        const struct script_answer *first;
        enum aws_idempotency care;
        bool is_ok, may_have_acted;
        unsigned tries;
    } rows[] = {
        {&broken, AWS_READ, true, false, 2},       {&half, AWS_READ, true, false, 2},
        {&broken, AWS_REPEATABLE, true, false, 2}, {&half, AWS_REPEATABLE, true, false, 2},
        {&broken, AWS_ONCE, false, true, 1},       {&half, AWS_ONCE, false, true, 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct script script = SCRIPT(*rows[i].first, fine);
        struct scene scene;
        struct heard heard;
        scene_open(&scene, play, &script);
        scene_start_with_keys(&scene);
        scene_ask(&scene, rows[i].care, &heard);
        assert_int_equal(heard.reply.is_ok, rows[i].is_ok);
        assert_int_equal(heard.reply.may_have_acted, rows[i].may_have_acted);
        assert_int_equal(heard.reply.tries, rows[i].tries);
        if (!rows[i].is_ok) {
            assert_int_equal(heard.reply.error.class, AWS_AMBIGUOUS);
            assert_int_equal(heard.reply.error.outcome, OUTCOME_UNKNOWN);
            assert_like(str_from(heard.reply.err.text), "ec2 X in us-west-2: POST http*: *");
        }
        scene_close(&scene);
    }
}

/* A reply with a success status and a wrong body has taken effect all the same. */
static void unreadable_replies(void **state)
{
    static const char *const bodies[] = {"", "<html><body>Login</body></html>", "\x01\x02",
                                         "<XResponse><a>", "<YResponse/>"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct script script = SCRIPT({.body = bodies[i]}, fine);
        struct scene scene;
        struct heard heard;
        scene_open(&scene, play, &script);
        scene_start_with_keys(&scene);
        scene_ask(&scene, AWS_ONCE, &heard);
        assert_false(heard.reply.is_ok);
        assert_true(heard.reply.may_have_acted);
        assert_int_equal(heard.reply.error.outcome, OUTCOME_UNKNOWN);
        assert_int_equal(heard.reply.err.kind, ERR_PROTOCOL);
        scene_ask(&scene, AWS_REPEATABLE, &heard); /* by now it succeeds */
        assert_true(heard.reply.is_ok);
        scene_close(&scene);
    }
}

static void redirects_and_pages_of_proxies_are_refusals(void **state)
{
    struct script script = SCRIPT(
        {.status = 302, .body = "<html>", .headers = "Location: http://127.0.0.1:1/\r\n"},
        {.status = 407, .body = "<html>Proxy</html>"});
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    for (int i = 0; i < 2; i++) {
        scene_ask(&scene, AWS_READ, &heard);
        assert_false(heard.reply.is_ok);
        assert_int_equal(heard.reply.tries, 1);
        assert_int_equal(heard.reply.error.class, AWS_PERMANENT);
        assert_like(str_from(heard.reply.err.text), "ec2 X in us-west-2: HTTP status *");
    }
    scene_close(&scene);
}

/* An earlier try may have taken effect: which later refusals settle that? */
static void doubt_stays_until_it_is_settled(void **state)
{
    static const struct {
        struct script_answer second;
        enum outcome outcome;
        bool may_have_acted;
    } rows[] = {
        {{.status = 403, .body = SCENE_REFUSAL("UnauthorizedOperation", "no")},
         OUTCOME_UNKNOWN,
         true},
        {{.status = 500, .body = SCENE_REFUSAL("InsufficientInstanceCapacity", "none")},
         OUTCOME_CAPACITY,
         false},
        {{.status = 400, .body = SCENE_REFUSAL("IdempotentParameterMismatch", "other")},
         OUTCOME_MISMATCH,
         false},
        {{.status = 400, .body = SCENE_REFUSAL("InvalidInstanceID.NotFound", "gone")},
         OUTCOME_NOT_FOUND,
         true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct script script = SCRIPT(broken, rows[i].second);
        struct scene scene;
        struct heard heard;
        scene_open(&scene, play, &script);
        scene_start_with_keys(&scene);
        scene_ask(&scene, AWS_REPEATABLE, &heard);
        assert_false(heard.reply.is_ok);
        assert_int_equal(heard.reply.tries, 2);
        assert_int_equal(heard.reply.error.outcome, rows[i].outcome);
        assert_int_equal(heard.reply.may_have_acted, rows[i].may_have_acted);
        scene_close(&scene);
    }
}

static void settling_is_asked_for(void **state)
{
    struct script_answer not_yet = {.status = 400,
                                    .body = SCENE_REFUSAL("InvalidGroup.NotFound", "which?")};
    struct script script = SCRIPT(not_yet, not_yet, fine);
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    scene_ask(&scene, AWS_ONCE, &heard);
    assert_false(heard.reply.is_ok);
    assert_int_equal(heard.reply.err.kind, ERR_NOT_FOUND);
    struct aws_request request = scene_request(&heard, AWS_ONCE);
    request.settles = true;
    scene_run(&scene, &request);
    assert_true(heard.reply.is_ok);
    assert_int_equal(heard.reply.tries, 2);
    scene_close(&scene);
}

/* A service that is down gets no more calls from a hundred callers than from a few. */
static void tries_after_the_first_share_a_bucket(void **state)
{
    struct script script = SCRIPT({.status = 503, .body = "down"});
    struct scene scene;
    struct heard heard[30];
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    for (size_t i = 0; i < ARRAY_LEN(heard); i++) {
        struct aws_request request = scene_request(&heard[i], AWS_READ);
        request.deadline_ms = 2000;
        aws_call_start(scene.client, &request);
    }
    loop_run(scene.loop);
    for (size_t i = 0; i < ARRAY_LEN(heard); i++) {
        assert_int_equal(heard[i].calls, 1);
        assert_int_equal(heard[i].reply.error.class, AWS_AMBIGUOUS);
    }
    assert_in_range(script_server_requests(scene.server), 30, 30 + 20 + 3);
    scene_close(&scene);
}

/* ---- deadlines and ends ---- */

static void deadlines_hold(void **state)
{
    struct script script = SCRIPT({.deed = SCRIPT_HANG});
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    struct aws_request request = scene_request(&heard, AWS_REPEATABLE);
    request.deadline_ms = 2000; /* enough to send it, on a busy machine too */
    scene_run(&scene, &request);
    assert_int_equal(heard.reply.err.kind, ERR_TIMEOUT);
    assert_true(heard.reply.may_have_acted);
    assert_in_range(heard.took_ms, 1950, 10000);
    scene_close(&scene);
}

/* No process listens: nothing can have happened, so even AWS_ONCE is retried until the deadline. */
static void unsent_calls_are_safe(void **state)
{
    struct script script = SCRIPT(fine);
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_set(&scene, "AWS_ENDPOINT_URL_EC2", "http://127.0.0.1:9");
    scene_start_with_keys(&scene);
    struct aws_request request = scene_request(&heard, AWS_ONCE);
    request.deadline_ms = 2500;
    scene_run(&scene, &request);
    assert_false(heard.reply.is_ok);
    assert_false(heard.reply.may_have_acted);
    assert_int_equal(heard.reply.error.class, AWS_DEFINITE_NO);
    assert_int_equal(heard.reply.err.kind, ERR_UNAVAILABLE);
    assert_true(heard.reply.tries >= 2);
    scene_close(&scene);
}

static void every_region_has_its_own_pace(void **state)
{
    struct script script = SCRIPT(fine);
    struct scene scene;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    struct aws_lane *lane = aws_lane_of(scene.client, AWS_EC2, STR("us-west-2"), PACE_READ);
    assert_ptr_equal(aws_lane_of(scene.client, AWS_EC2, STR("us-west-2"), PACE_READ), lane);
    assert_ptr_not_equal(aws_lane_of(scene.client, AWS_EC2, STR("us-east-1"), PACE_READ), lane);
    assert_ptr_not_equal(aws_lane_of(scene.client, AWS_EC2, STR("us-west-2"), PACE_CHANGE), lane);
    assert_ptr_not_equal(aws_lane_of(scene.client, AWS_IAM, STR("us-west-2"), PACE_READ), lane);
    scene_close(&scene);
}

static int64_t time_of_six_calls(void)
{
    struct script script = SCRIPT(fine);
    struct scene scene;
    struct heard heard[6];
    struct aws_request request;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    struct aws_lane *lane = aws_lane_of(scene.client, AWS_EC2, scene.client->region, PACE_CHANGE);
    aws_bucket_init(&lane->bucket, 2, 20000, loop_now_ms(scene.loop));
    int64_t start = loop_now_ms(scene.loop);
    for (size_t i = 0; i < ARRAY_LEN(heard); i++) {
        request = scene_request(&heard[i], AWS_REPEATABLE);
        request.deadline_ms = i == 5 ? 60 : 0; /* too soon for its turn */
        aws_call_start(scene.client, &request);
    }
    loop_run(scene.loop);
    int64_t took_ms = loop_now_ms(scene.loop) - start;
    for (size_t i = 0; i < ARRAY_LEN(heard); i++) {
        assert_int_equal(heard[i].calls, 1);
        assert_int_equal(heard[i].reply.is_ok, i < 5);
    }
    assert_string_equal(heard[5].code, "Deadline");
    assert_false(heard[5].reply.may_have_acted);
    scene_close(&scene);
    return took_ms;
}

/* A busy machine needs several tries to be in time. */
static void a_bucket_paces_calls(void **state)
{
    int64_t took_ms = INT64_MAX;
    (void)state;
    for (int i = 0; i < 10 && took_ms > 2000; i++) {
        took_ms = time_of_six_calls();
        assert_true(took_ms >= 150);
    }
    assert_true(took_ms <= 2000);
}

struct canceller {
    struct aws_call *call;
    int begins, bytes;
};

static void cancel_now(void *context)
{
    struct canceller *canceller = context;
    aws_call_cancel(canceller->call);
}

static void cancel_in_begin(void *context)
{
    struct canceller *canceller = context;
    canceller->begins++;
    aws_call_cancel(canceller->call);
}

static void count_bytes(void *context, struct str bytes)
{
    struct canceller *canceller = context;
    canceller->bytes += (int)bytes.len;
}

static void never(void *context, const struct aws_reply *reply)
{
    (void)context;
    (void)reply;
    fail_msg("done was called after a cancel");
}

/* Cancelled at once, during the wait for an answer, during the backoff, and inside `begin`. */
static void cancelled_calls_are_silent(void **state)
{
    static const int64_t delays[] = {-1, 0, 30, 60};
    const struct script_answer answers[] = {{.deed = SCRIPT_HANG}, throttled, fine};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(delays) * ARRAY_LEN(answers); i++) {
        struct script script = SCRIPT(answers[i % ARRAY_LEN(answers)]);
        struct scene scene;
        struct canceller canceller = {0};
        int64_t delay_ms = delays[i / ARRAY_LEN(answers)];
        bool is_fine = i % ARRAY_LEN(answers) == 2;
        scene_open(&scene, play, &script);
        scene_start_with_keys(&scene);
        struct aws_request request = {.service = AWS_EC2,
                                      .action = "X",
                                      .begin = is_fine ? cancel_in_begin : NULL,
                                      .bytes = count_bytes,
                                      .done = never,
                                      .context = &canceller};
        struct loop_timer *timer = loop_timer_new(scene.loop, cancel_now, &canceller);
        canceller.call = aws_call_start(scene.client, &request);
        if (delay_ms < 0) {
            aws_call_cancel(canceller.call);
        } else if (!is_fine) {
            loop_timer_start(timer, delay_ms);
        }
        loop_run(scene.loop);
        assert_int_equal(canceller.bytes, 0);
        loop_timer_free(timer);
        scene_close(&scene);
    }
}

static void stop(void *context)
{
    loop_stop(context);
}

static void closing_ends_calls(void **state)
{
    static const int64_t delays[] = {0, 5, 40};
    const struct script_answer answers[] = {{.deed = SCRIPT_HANG}, throttled};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(delays) * ARRAY_LEN(answers); i++) {
        struct script script = SCRIPT(answers[i % 2]);
        struct scene scene;
        scene_open(&scene, play, &script);
        scene_start_with_keys(&scene);
        struct aws_request request = {.service = AWS_EC2, .action = "X", .done = never};
        for (int calls = 0; calls < 50; calls++) {
            aws_call_start(scene.client, &request);
        }
        struct loop_timer *timer = loop_timer_new(scene.loop, stop, scene.loop);
        loop_timer_start(timer, delays[i / 2]);
        loop_run(scene.loop);
        loop_timer_free(timer);
        scene_close(&scene);
    }
}

/* ---- clocks ---- */

static struct script_answer wrong_clock(void *context, const struct script_request *request)
{
    /* The server's clock is in 2030: a signature of another year is too skewed. */
    (void)context;
    return strstr(request->head, "X-Amz-Date: 20300") || strcasestr(request->head, "date: 20300")
               ? fine
               : (struct script_answer){
                     .status = 403,
                     .headers = "Date: Tue, 01 Jan 2030 00:00:00 GMT\r\n",
                     .body = SCENE_REFUSAL("RequestTimeTooSkewed", "the difference is too large")};
}

static void a_wrong_clock_is_learnt(void **state)
{
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, wrong_clock, NULL);
    scene_start_with_keys(&scene);
    scene_ask(&scene, AWS_ONCE, &heard);
    assert_true(heard.reply.is_ok);
    assert_int_equal(heard.reply.tries, 2);
    assert_int_equal(aws_client_counts(scene.client).resigned, 1);
    assert_in_range(aws_client_now(scene.client), 1893456000, 1893456010);
    scene_ask(&scene, AWS_ONCE, &heard);
    assert_int_equal(heard.reply.tries, 1); /* remembered */
    /* Our clock is corrected: AWS's time is learned again, without a second warning. */
    scene.wall_shift_ms = (int64_t)1893456000 * 1000 - clock_wall_ms(&clock_of_machine);
    scene_ask(&scene, AWS_ONCE, &heard);
    assert_true(heard.reply.is_ok);
    assert_int_equal(scene.warnings, 1);
    scene_close(&scene);
}

/* The clock is right and the call is refused all the same: signed again only if that may help. */
static void a_right_clock_is_not_blamed(void **state)
{
    struct script script = SCRIPT(
        {.status = 403, .body = SCENE_REFUSAL("SignatureDoesNotMatch", "wrong")});
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    scene_ask(&scene, AWS_READ, &heard);
    assert_int_equal(heard.reply.tries, 1);
    assert_int_equal(heard.reply.err.kind, ERR_AUTH);
    assert_int_equal(scene.warnings, 0);
    scene_close(&scene);
}

static void secrets_are_not_repeated(void **state)
{
    struct script script = SCRIPT(
        {.status = 403, .body = SCENE_REFUSAL("SignatureDoesNotMatch", "token was sEcReT0000")});
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    scene_ask(&scene, AWS_READ, &heard);
    assert_null(strstr(heard.reply.err.text, "sEcReT"));
    assert_like(str_from(heard.reply.err.text), "ec2 X in us-west-2: SignatureDoesNotMatch: *");
    scene_close(&scene);
}

/* ---- streaming ---- */

static void apply_begin(void *context)
{
    struct heard *heard = context;
    heard->begins++;
    heard->streamed_len = 0;
}

static void apply_bytes(void *context, struct str bytes)
{
    struct heard *heard = context;
    memcpy(heard->streamed + heard->streamed_len, bytes.ptr, bytes.len);
    heard->streamed_len += bytes.len;
}

static bool apply_check(void *context, struct str body, struct err *err)
{
    struct heard *heard = context;
    assert_int_equal(body.len, 0);
    return heard->streamed_len == strlen(fine.body) ||
           err_set(err, ERR_PROTOCOL, "%zu bytes", heard->streamed_len);
}

static void streams_begin_again(void **state)
{
    struct script script = SCRIPT(half, throttled, {.body = "<html/>"}, fine);
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    struct aws_request request = scene_request(&heard, AWS_READ);
    request.begin = apply_begin;
    request.bytes = apply_bytes;
    request.check = apply_check;
    scene_run(&scene, &request);
    assert_true(heard.reply.is_ok);
    assert_int_equal(heard.reply.tries, 4);
    assert_int_equal(heard.begins, 3); /* the refusal was not for the stream */
    assert_str(((struct str){heard.streamed, heard.streamed_len}), fine.body);
    /* No more bytes are accepted than requested. */
    request = scene_request(&heard, AWS_READ);
    request.begin = apply_begin;
    request.bytes = apply_bytes;
    request.body_max = 10;
    scene_run(&scene, &request);
    assert_int_equal(heard.reply.err.kind, ERR_PROTOCOL);
    assert_int_equal(heard.streamed_len, 0);
    scene_close(&scene);
}

/* ---- pages ---- */

struct pages_received {
    int calls;
    bool is_ok;
    size_t count;
    struct err err;
    char last[100];
};

static void apply_pages(void *context, const struct aws_reply *reply,
                        const struct xml_element *const *roots, size_t count)
{
    struct pages_received *heard = context;
    heard->calls++;
    heard->is_ok = reply->is_ok;
    heard->count = count;
    heard->err = reply->err;
    if (count > 0) {
        snprintf(heard->last, sizeof(heard->last), "%.*s",
                 STR_ARG(xml_child_text(roots[count - 1], "n")));
    }
}

struct page_script {
    int last;      /* number of the last page; 0: no last page */
    int circle;    /* page that repeats the token of the first */
    bool is_named; /* was the token of the page before sent? */
    char page[256];
};

static struct script_answer answer_page(void *context, const struct script_request *request)
{
    struct page_script *script = context;
    char wanted[64];
    int at = request->number;
    snprintf(wanted, sizeof(wanted), "&NextToken=t%d", at);
    script->is_named = at == 1 ? !strstr(request->body, "NextToken")
                               : script->is_named && strstr(request->body, wanted);
    int next = at == script->circle ? 2 : at + 1;
    snprintf(script->page, sizeof(script->page),
             at == script->last ? "<XResponse><n>%d</n></XResponse>"
                                : "<XResponse><n>%d</n><nextToken>t%d</nextToken></XResponse>",
             at, next);
    return (struct script_answer){.body = script->page};
}

static void list(struct page_script *script, struct pages_received *heard, int *ret_requests)
{
    struct scene scene;
    struct arena arena;
    memset(heard, 0, sizeof(*heard));
    scene_open(&scene, answer_page, script);
    scene_start_with_keys(&scene);
    /* A thousand pages at the usual rate would take minutes. */
    struct aws_lane *lane = aws_lane_of(scene.client, AWS_EC2, scene.client->region, PACE_READ);
    aws_bucket_init(&lane->bucket, 2000, 1000000, loop_now_ms(scene.loop));
    arena_init(&arena);
    struct param *input = param_new_map(&arena);
    param_add_number(input, "MaxResults", 5, &arena);
    struct aws_request request = {.service = AWS_EC2, .action = "X", .input = input};
    aws_pages_start(scene.client, &request, apply_pages, heard);
    arena_clear(&arena); /* everything was copied */
    loop_run(scene.loop);
    assert_int_equal(heard->calls, 1);
    *ret_requests = script_server_requests(scene.server);
    scene_close(&scene);
}

static void listings_are_whole_or_failed(void **state)
{
    struct page_script script = {.last = 4};
    struct pages_received heard;
    int requests;
    (void)state;
    list(&script, &heard, &requests);
    assert_true(heard.is_ok);
    assert_int_equal(heard.count, 4);
    assert_string_equal(heard.last, "4");
    assert_true(script.is_named);
    script = (struct page_script){.circle = 3};
    list(&script, &heard, &requests);
    assert_false(heard.is_ok);
    assert_int_equal(heard.count, 0);
    assert_int_equal(requests, 3);
    assert_like(str_from(heard.err.text), "ec2 X: AWS returned the same page token twice");
    script = (struct page_script){.last = 0};
    list(&script, &heard, &requests);
    assert_false(heard.is_ok);
    assert_int_equal(requests, AWS_PAGES_MAX);
}

/* ---- certificates ---- */

/* A server whose certificate is signed only by the test. */
static void certificates_of_the_users_own_win(void **state)
{
    static const char *const names[] = {NULL, "AWS_CA_BUNDLE"};
    struct http_server *server = http_server_start(SERVER_TLS);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct script script = SCRIPT(fine);
        struct scene scene;
        struct heard heard;
        scene_open(&scene, play, &script);
        scene_set(&scene, "AWS_ENDPOINT_URL_EC2", http_server_url(server, "localhost", ""));
        if (names[i]) {
            scene_set(&scene, names[i], http_server_ca_file(server));
        }
        scene_start_with_keys(&scene);
        scene_ask(&scene, AWS_ONCE, &heard);
        assert_int_equal(heard.reply.tries, 1);
        if (names[i]) {
            assert_true(heard.reply.may_have_acted); /* trusted, called, and not an answer of EC2 */
        } else {
            assert_false(heard.reply.may_have_acted);
            assert_int_equal(heard.reply.err.kind, ERR_AUTH);
            assert_like(str_from(heard.reply.err.text), "*the certificate is not trusted*");
        }
        scene_close(&scene);
    }
    http_server_stop(server);
}

/* ---- impossible requests ---- */

static void bad_calls_are_told_later(void **state)
{
    struct script script = SCRIPT(fine);
    struct scene scene;
    struct heard heard;
    (void)state;
    scene_open(&scene, play, &script);
    scene_start_with_keys(&scene);
    struct aws_request request = scene_request(&heard, AWS_READ);
    request.region = STR("us west/2");
    scene_run(&scene, &request);
    assert_string_equal(heard.code, "BadCall");
    assert_int_equal(heard.reply.err.kind, ERR_CONFIG);
    assert_int_equal(script_server_requests(scene.server), 0);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_signed_and_read),
        cmocka_unit_test(json_services_are_spoken_to),
        cmocka_unit_test(throttled_calls_come_again),
        cmocka_unit_test(care_rules_after_silence),
        cmocka_unit_test(unreadable_replies),
        cmocka_unit_test(redirects_and_pages_of_proxies_are_refusals),
        cmocka_unit_test(doubt_stays_until_it_is_settled),
        cmocka_unit_test(settling_is_asked_for),
        cmocka_unit_test(tries_after_the_first_share_a_bucket),
        cmocka_unit_test(deadlines_hold),
        cmocka_unit_test(unsent_calls_are_safe),
        cmocka_unit_test(every_region_has_its_own_pace),
        cmocka_unit_test(a_bucket_paces_calls),
        cmocka_unit_test(cancelled_calls_are_silent),
        cmocka_unit_test(closing_ends_calls),
        cmocka_unit_test(a_wrong_clock_is_learnt),
        cmocka_unit_test(a_right_clock_is_not_blamed),
        cmocka_unit_test(secrets_are_not_repeated),
        cmocka_unit_test(streams_begin_again),
        cmocka_unit_test(listings_are_whole_or_failed),
        cmocka_unit_test(certificates_of_the_users_own_win),
        cmocka_unit_test(bad_calls_are_told_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
