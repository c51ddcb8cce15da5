/* test_gcp_client.c: calls of Google's API that fail in every way, against a scripted server. */
#include "provider/gcp/client/gcp_client.h"

#include "io/file.h"
#include "scratch.h"
#include "script_server.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWERS_MAX = 8, TEXT_MAX = 256 };

struct stage {
    struct script_answer answers[ANSWERS_MAX]; /* one for each request; the last one again */
    size_t answer_count;
    int requests;
    char targets[ANSWERS_MAX][TEXT_MAX];
    char heads[ANSWERS_MAX][2048];
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct log log;
    struct script_server *server;
    char folder[64], path[128], endpoint[TEXT_MAX], login[TEXT_MAX];
    const char *environ[3];
    struct gcp_setup setup;
    struct gcp_client *client;
    int answered;
    struct gcp_reply reply;
    char name[64];
};

static struct script_answer serve(void *context, const struct script_request *request)
{
    struct stage *stage = context;
    size_t at = (size_t)stage->requests++;
    if (at < ANSWERS_MAX) {
        snprintf(stage->targets[at], TEXT_MAX, "%s %s", request->method, request->target);
        snprintf(stage->heads[at], sizeof(stage->heads[at]), "%s", request->head);
    }
    return stage->answers[at < stage->answer_count ? at : stage->answer_count - 1];
}

static void stage_log(void *context, struct str line)
{
    (void)context;
    (void)line;
}

static void stage_open(struct stage *stage)
{
    static const struct http_limits limits = {0};
    struct err err = {0};
    memset(stage, 0, sizeof(*stage));
    stage->server = script_server_start(serve, stage);
    assert_true(loop_open(&clock_of_machine, &stage->loop, &err));
    assert_true(http_open(stage->loop, &limits, &stage->http, &err));
    stage->children = child_pool_new(stage->loop, 1);
    stage->log = (struct log){&clock_of_machine, NULL, LOG_LEVEL_INFO, stage_log, stage};
    snprintf(stage->folder, sizeof(stage->folder), "/tmp/shoal-gcp-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->path, sizeof(stage->path), "%s/key.json", stage->folder);
    assert_true(file_write(stage->path,
                           STR("{\"type\":\"authorized_user\",\"client_id\":\"i\","
                               "\"client_secret\":\"s\",\"refresh_token\":\"r\","
                               "\"token\":\"the-token\",\"expiry\":\"2099-01-01T00:00:00Z\"}"),
                           0600, &err));
    snprintf(stage->login, TEXT_MAX, "GOOGLE_APPLICATION_CREDENTIALS=%s", stage->path);
    snprintf(stage->endpoint, TEXT_MAX,
             "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=http://127.0.0.1:%d/c/",
             script_server_port(stage->server));
    stage->environ[0] = stage->login;
    stage->environ[1] = stage->endpoint;
    stage->setup = (struct gcp_setup){.loop = stage->loop,
                                      .http = stage->http,
                                      .children = stage->children,
                                      .log = &stage->log,
                                      .environ = stage->environ,
                                      .pause_ms = 1,
                                      .product_path = "/nonexistent"};
    stage->client = gcp_client_new(
        &(struct gcp_client_setup){.base = stage->setup, .project = STR("p"), .seed = 1});
}

static void stage_close(struct stage *stage)
{
    gcp_client_free(stage->client);
    child_pool_free(stage->children);
    http_close(stage->http);
    loop_close(stage->loop);
    script_server_stop(stage->server);
    assert_int_equal(scratch_remove(stage->folder), 0);
}

static void stage_add(struct stage *stage, int status, const char *body, enum script_deed deed)
{
    stage->answers[stage->answer_count++] = (struct script_answer){
        .status = status,
        .body = body,
        .deed = deed,
        .headers = "Date: Sun, 15 Nov 2026 08:15:57 GMT\r\n"};
}

static void on_done(void *context, const struct gcp_reply *reply)
{
    struct stage *stage = context;
    const char *name = json_string_value(json_object_get(reply->body, "name"));
    stage->answered++;
    stage->reply = *reply;
    stage->reply.body = NULL;
    snprintf(stage->name, sizeof(stage->name), "%s", name ? name : "");
    loop_stop(stage->loop);
}

static void stage_run(struct stage *stage, struct gcp_request request)
{
    request.name = request.name ? request.name : "things.do";
    request.path = request.path.len > 0 ? request.path : STR("zones/z/things");
    request.done = on_done;
    request.context = stage;
    request.deadline_ms = request.deadline_ms > 0 ? request.deadline_ms : 5000;
    gcp_call_start(stage->client, &request);
    assert_int_equal(stage->answered, 0);
    while (stage->answered == 0) {
        loop_run(stage->loop);
    }
    assert_int_equal(stage->answered, 1);
}

#define DONE "{\"name\":\"operation-1\",\"status\":\"DONE\"}"
#define RUNNING "{\"name\":\"operation-1\",\"status\":\"RUNNING\"}"
#define REASON(reason) "{\"error\":{\"message\":\"m\",\"errors\":[{\"reason\":\"" reason "\"}]}}"

static void a_read_is_repeated_until_it_succeeds(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage_add(&stage, 503, "busy", SCRIPT_ANSWER);
    stage_add(&stage, 403, REASON("rateLimitExceeded"), SCRIPT_ANSWER);
    stage_add(&stage, 200, "{\"name\":\"half", SCRIPT_ANSWER);
    stage_add(&stage, 0, "", SCRIPT_RESET);
    stage_add(&stage, 200, "{\"name\":\"whole\"}", SCRIPT_ANSWER);
    stage_run(&stage,
              (struct gcp_request){.path = STR("zones/z/things?filter=x"), .deadline_ms = 60000});
    assert_true(stage.reply.is_ok);
    assert_string_equal(stage.name, "whole");
    assert_int_equal(stage.requests, 5);
    assert_string_equal(stage.targets[0], "GET /c/projects/p/zones/z/things?filter=x");
    assert_non_null(strstr(stage.heads[0], "Authorization: Bearer the-token\r\n"));
    assert_int_equal(gcp_client_now_ms(stage.client) / 3600000, 1794730557 / 3600);
    stage_close(&stage);
}

static void a_change_keeps_its_id_and_waits(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage_add(&stage, 0, "", SCRIPT_RESET);
    stage_add(&stage, 200, RUNNING, SCRIPT_ANSWER);
    stage_add(&stage, 200, RUNNING, SCRIPT_ANSWER);
    stage_add(&stage, 500, "", SCRIPT_ANSWER);
    stage_add(&stage, 200, DONE, SCRIPT_ANSWER);
    stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true, .deadline_ms = 60000});
    assert_true(stage.reply.is_ok);
    assert_non_null(strstr(stage.targets[0], "POST /c/projects/p/zones/z/things?requestId="));
    assert_string_equal(stage.targets[0], stage.targets[1]);
    assert_string_equal(stage.targets[2], "POST /c/projects/p/zones/z/operations/operation-1/wait");
    assert_string_equal(stage.targets[4], stage.targets[2]);
    assert_int_equal(stage.requests, 5);
    stage_close(&stage);
}

static void an_error_in_the_operation_is_a_failure(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage_add(&stage, 200,
              "{\"name\":\"operation-1\",\"status\":\"DONE\",\"httpErrorStatusCode\":503,"
              "\"error\":{\"errors\":[{\"code\":\"ZONE_RESOURCE_POOL_EXHAUSTED\","
              "\"message\":\"no room\"}]}}",
              SCRIPT_ANSWER);
    stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true});
    assert_false(stage.reply.is_ok);
    assert_int_equal(stage.reply.failure.outcome, OUTCOME_CAPACITY);
    assert_int_equal(stage.reply.err.kind, ERR_CAPACITY);
    assert_like(str_from(stage.reply.err.text), "*things.do: no room (ZONE_*");
    stage_close(&stage);
}

static void what_only_may_have_happened_is_unknown(void **state)
{
    static const struct {
        struct script_answer second;
        enum outcome outcome;
    } rows[] = {
        {{.status = 403, .body = REASON("forbidden")}, OUTCOME_UNKNOWN}, /* proves nothing */
        {{.status = 429, .body = ""}, OUTCOME_UNKNOWN},
        {{.status = 400, .body = REASON("invalid")}, OUTCOME_INVALID}, /* so was the first one */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage stage;
        stage_open(&stage);
        stage_add(&stage, 0, "", SCRIPT_RESET);
        stage.answers[stage.answer_count++] = rows[i].second;
        stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true});
        assert_int_equal(stage.reply.failure.outcome, rows[i].outcome);
        assert_true(stage.reply.is_in_doubt);
        stage_close(&stage);
    }
}

static void refusals_are_not_repeated(void **state)
{
    static const struct {
        int status;
        enum outcome outcome;
        int requests;
    } rows[] = {
        {400, OUTCOME_INVALID, 1},  {403, OUTCOME_DENIED, 1},  {404, OUTCOME_NOT_FOUND, 1},
        {409, OUTCOME_MISMATCH, 1}, {412, OUTCOME_INVALID, 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage stage;
        stage_open(&stage);
        stage_add(&stage, rows[i].status, "", SCRIPT_ANSWER);
        stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true});
        assert_int_equal(stage.reply.failure.outcome, rows[i].outcome);
        assert_int_equal(stage.requests, rows[i].requests);
        assert_false(stage.reply.is_in_doubt);
        stage_close(&stage);
    }
}

static void throttling_ends_with_the_deadline(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage_add(&stage, 429, "", SCRIPT_ANSWER);
    stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true, .deadline_ms = 5000});
    assert_int_equal(stage.reply.failure.outcome, OUTCOME_THROTTLED);
    assert_true(stage.requests > 1);
    stage_close(&stage);
}

/* An overloaded Google answers a wait at once, although the operation runs. */
static void a_wait_that_ends_at_once_is_not_repeated_at_once(void **state)
{
    enum { MOST = 12 }; /* 2, and the pauses of 1.5 s: at least 100, 200, 400, 800 ms */
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage_add(&stage, 200, RUNNING, SCRIPT_ANSWER);
    stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true, .deadline_ms = 1500});
    assert_int_equal(stage.reply.failure.outcome, OUTCOME_UNKNOWN);
    assert_in_range(stage.requests, 1, MOST); /* 1: the machine is slow */
    stage_close(&stage);
}

/* ---- many at once ---- */

enum { MANY = 200, SENDING_MAX = 24, HELD_MAX = 16 };

struct crowd {
    struct stage stage;
    bool hangs;       /* changes get no answer */
    int waits, polls; /* for operations */
    int ended, failed;
};

static struct script_answer serve_crowd(void *context, const struct script_request *request)
{
    struct crowd *crowd = context;
    bool is_operation = strstr(request->target, "/operations/") != NULL;
    crowd->stage.requests++;
    crowd->waits += strstr(request->target, "/wait") != NULL;
    crowd->polls += strcmp(request->method, "GET") == 0;
    if (strstr(request->target, "/wait") ||
        (crowd->hangs && !strstr(request->target, "instanceTemplates"))) {
        return (struct script_answer){.deed = SCRIPT_HANG};
    }
    bool is_done = is_operation || strstr(request->target, "instanceTemplates");
    return (struct script_answer){.body = is_done ? DONE : RUNNING};
}

static void on_crowd(void *context, const struct gcp_reply *reply)
{
    struct crowd *crowd = context;
    crowd->ended++;
    crowd->failed += !reply->is_ok;
}

static void crowd_open(struct crowd *crowd, int64_t deadline_ms)
{
    stage_open(&crowd->stage);
    script_server_stop(crowd->stage.server);
    crowd->stage.server = script_server_start(serve_crowd, crowd);
    snprintf(crowd->stage.endpoint, TEXT_MAX,
             "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=http://127.0.0.1:%d/c/",
             script_server_port(crowd->stage.server));
    for (int i = 0; i < MANY; i++) {
        gcp_call_start(crowd->stage.client,
                       &(struct gcp_request){.name = "instances.setLabels",
                                             .method = "POST",
                                             .path = STR("zones/z/instances/i/setLabels"),
                                             .waits = true,
                                             .deadline_ms = deadline_ms,
                                             .done = on_crowd,
                                             .context = crowd});
    }
}

static void crowd_stop(void *context)
{
    struct crowd *crowd = context;
    loop_stop(crowd->stage.loop);
}

static void crowd_run(struct crowd *crowd, const int *count, int least)
{
    struct loop_timer *timer = loop_timer_new(crowd->stage.loop, crowd_stop, crowd);
    while (*(const volatile int *)count < least) {
        loop_timer_start(timer, 5);
        loop_run(crowd->stage.loop);
    }
    loop_timer_free(timer);
}

/* The replies of a few are held for ever; the others are asked for. */
static void a_crowd_of_changes_ends(void **state)
{
    static struct crowd crowd;
    (void)state;
    crowd_open(&crowd, 60000);
    crowd_run(&crowd, &crowd.ended, MANY - HELD_MAX);
    assert_int_equal(crowd.failed, 0);
    assert_int_equal(crowd.waits, HELD_MAX);
    assert_int_equal(crowd.polls, MANY - HELD_MAX);
    stage_close(&crowd.stage);
}

/* The lease is renewed with templates while Google answers nothing else. */
static void a_crowd_does_not_delay_the_lease(void **state)
{
    static struct crowd crowd;
    (void)state;
    crowd.hangs = true;
    crowd_open(&crowd, 3000);
    crowd_run(&crowd, &crowd.stage.requests, SENDING_MAX);
    stage_run(&crowd.stage, (struct gcp_request){.name = "instanceTemplates.insert",
                                                 .method = "POST",
                                                 .path = STR("global/instanceTemplates"),
                                                 .waits = true});
    assert_true(crowd.stage.reply.is_ok);
    assert_true(crowd.stage.requests <= SENDING_MAX + 1);
    assert_int_equal(crowd.failed, 0);
    crowd_run(&crowd, &crowd.ended, MANY); /* those that were never sent, too */
    stage_close(&crowd.stage);
}

static void nothing_is_created_without_the_lease(void **state)
{
    struct stage stage;
    int64_t now;
    (void)state;
    stage_open(&stage);
    stage_add(&stage, 200, DONE, SCRIPT_ANSWER);
    stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true, .creates = true});
    assert_int_equal(stage.reply.failure.outcome, OUTCOME_NO_LEASE);
    assert_int_equal(stage.requests, 0);
    /* Both clocks must agree. */
    now = loop_now_ms(stage.loop);
    gcp_client_set_lease(stage.client, (struct gcp_lease){now + 60000, 1});
    stage.answered = 0;
    stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true, .creates = true});
    assert_int_equal(stage.reply.failure.outcome, OUTCOME_NO_LEASE);
    gcp_client_set_lease(stage.client, (struct gcp_lease){now + 1000, INT64_MAX});
    stage.answered = 0;
    stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true, .creates = true});
    assert_int_equal(stage.reply.failure.outcome, OUTCOME_NO_LEASE);
    assert_int_equal(stage.requests, 0);
    gcp_client_set_lease(stage.client, (struct gcp_lease){now + 60000, INT64_MAX});
    stage.answered = 0;
    stage_run(&stage, (struct gcp_request){.method = "POST", .waits = true, .creates = true});
    assert_true(stage.reply.is_ok);
    stage_close(&stage);
}

static void ids(void **state)
{
    char a[GCP_REQUEST_ID_SIZE];
    char b[GCP_REQUEST_ID_SIZE];
    (void)state;
    gcp_request_id(STR("x"), a);
    gcp_request_id(STR("x"), b);
    assert_string_equal(a, b);
    assert_string_equal(a, "2d711642-b726-4044-8162-7ca9fbac32f5");
    gcp_request_id(STR(""), a);
    gcp_request_id(STR(""), b);
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_is_repeated_until_it_succeeds),
        cmocka_unit_test(a_change_keeps_its_id_and_waits),
        cmocka_unit_test(a_wait_that_ends_at_once_is_not_repeated_at_once),
        cmocka_unit_test(an_error_in_the_operation_is_a_failure),
        cmocka_unit_test(what_only_may_have_happened_is_unknown),
        cmocka_unit_test(refusals_are_not_repeated),
        cmocka_unit_test(throttling_ends_with_the_deadline),
        cmocka_unit_test(a_crowd_of_changes_ends),
        cmocka_unit_test(a_crowd_does_not_delay_the_lease),
        cmocka_unit_test(nothing_is_created_without_the_lease),
        cmocka_unit_test(ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
