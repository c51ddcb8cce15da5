/* test_jobs.c: the client of Ray's Jobs API against scripted replies. */
#include "ray/jobs.h"

#include "script_server.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_HEAD "{\"type\":\"SUBMISSION\",\"job_id\":null,\"submission_id\":\"train-s1-1\","
#define RECORD                                                                                 \
    RECORD_HEAD "\"status\":\"FAILED\",\"entrypoint\":\"exec agent\",\"message\":\"exit 7\","  \
                "\"error_type\":null,\"start_time\":1794738600123,\"end_time\":1794738601123," \
                "\"metadata\":{},\"runtime_env\":{\"env_vars\":{}},"                           \
                "\"driver_agent_http_address\":\"http://10.0.0.9:52365\","                     \
                "\"driver_node_id\":"                                                          \
                "\"0123456789abcdef0123456789abcdef0123456789abcdef01234567\","                \
                "\"driver_exit_code\":7}"
#define DUPLICATE                                                                               \
    "Traceback (most recent call last):\n  File \"job_head.py\"\nRuntimeError: Request failed " \
    "with status code 400: Traceback (most recent call last):\nValueError: Job with "           \
    "submission_id train-s1-1 already exists. Please use a different submission_id.\n."

/* STR() as an initializer of static data. */
#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }

enum { ANSWERS_MAX = 4, DEADLINE_MS = 10000, HANG_MS = 300 };

/* ---- a dashboard that gives the next answer to each request ---- */

struct scene {
    struct script_answer answers[ANSWERS_MAX];
    char method[ANSWERS_MAX][16], target[ANSWERS_MAX][300], head[2000], body[4000];
    struct script_server *server;
    struct loop *loop;
    struct http *http;
    struct jobs *jobs;
    int calls; /* of `done` */
    bool flag;
    struct err err;
    struct jobs_job job;
    struct arena arena;
    size_t count;
    char ids[200];
};

static struct script_answer answer(void *context, const struct script_request *request)
{
    struct scene *scene = context;
    int i = request->number - 1;
    assert_true(i < ANSWERS_MAX);
    snprintf(scene->method[i], sizeof(scene->method[i]), "%s", request->method);
    snprintf(scene->target[i], sizeof(scene->target[i]), "%s", request->target);
    if (i == 0) {
        snprintf(scene->head, sizeof(scene->head), "%s", request->head);
        snprintf(scene->body, sizeof(scene->body), "%s", request->body);
    }
    return scene->answers[i];
}

static void open_scene(struct scene *scene, const char *token)
{
    char url[64];
    struct err err;
    arena_init(&scene->arena);
    scene->server = script_server_start(answer, scene);
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    assert_true(http_open(scene->loop, &(struct http_limits){0}, &scene->http, &err));
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", script_server_port(scene->server));
    scene->jobs = jobs_open(&(struct jobs_setup){
        .http = scene->http,
        .server = url,
        .token = str_from(token),
        .is_direct = true,
        .deadline_ms = scene->answers[0].deed == SCRIPT_HANG ? HANG_MS : DEADLINE_MS});
}

static void close_scene(struct scene *scene)
{
    if (scene->jobs) {
        jobs_close(scene->jobs);
    }
    http_close(scene->http);
    loop_close(scene->loop);
    script_server_stop(scene->server);
    arena_clear(&scene->arena);
}

static void note(struct scene *scene, const struct err *err)
{
    scene->calls++;
    scene->err = err ? *err : (struct err){0};
    loop_stop(scene->loop);
}

static void take_flag(void *context, bool flag, const struct err *err)
{
    struct scene *scene = context;
    scene->flag = flag;
    note(scene, err);
}

static void take_job(void *context, const struct jobs_job *job, const struct err *err)
{
    struct scene *scene = context;
    assert_true(!job == !!err);
    if (job) {
        scene->job = *job;
        scene->job.message = arena_str(&scene->arena, job->message);
        scene->job.node_host = arena_str(&scene->arena, job->node_host);
        scene->job.node_id = arena_str(&scene->arena, job->node_id);
    }
    note(scene, err);
}

static void take_list(void *context, const struct jobs_list *list, const struct err *err)
{
    struct scene *scene = context;
    size_t used = 0;
    assert_true(!list == !!err);
    for (size_t i = 0; list && i < list->count; i++) {
        used += (size_t)snprintf(scene->ids + used, sizeof(scene->ids) - used, "%.*s ",
                                 STR_ARG(list->jobs[i].submission_id));
    }
    scene->count = list ? list->count : 0;
    note(scene, err);
}

/* ---- addresses ---- */

static void test_addresses(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"http://10.0.0.4:8265", "http://10.0.0.4:8265"},
        {"http://10.0.0.4:8265/", "http://10.0.0.4:8265"},
        {"https://ray.example.com:443", "https://ray.example.com:443"},
        {"10.0.0.4:9000", "http://10.0.0.4:9000"},
        {"head_1", "http://head_1:8265"},
        {" head.local \n", "http://head.local:8265"},
        {"http://head", "http://head:8265"},
        {"ray://head:10001", "http://head:8265"},
        {"ray://head", "http://head:8265"},
        {"ray://[fd00::1]:10001", "http://[fd00::1]:8265"},
        {"[::1]:80", "http://[::1]:80"},
        {"[::1]", "http://[::1]:8265"},
    };
    char server[JOBS_SERVER_SIZE];
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        assert_true(jobs_address_parse(str_from(pairs[i][0]), server, &err));
        assert_string_equal(server, pairs[i][1]);
    }
}

static void test_wrong_addresses(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",           "http://",      ":8265",        "head:",     "head:0",  "head:65536",
        "head:8265x", "ftp://head",   "http://a b",   "a@b:1",     "fd00::1", "[fd00::1",
        "[]:1",       "http://h:1/x", "http://h?x=1", "[::1]x:80", "h:1:2",   "http://h//",
        "a\nb",       "h:+1",         "h: 1",
    };
    char server[JOBS_SERVER_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = {0};
        assert_false(jobs_address_parse(str_from(wrong[i]), server, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        assert_like(str_from(err.text), "*write http://HOST:8265*");
    }
    char longest[400];
    struct err err;
    memset(longest, 'h', sizeof(longest));
    assert_false(jobs_address_parse((struct str){longest, sizeof(longest)}, server, &err));
    assert_false(jobs_address_parse((struct str){"h\0:1", 4}, server, &err));
}

/* ---- submitting ---- */

static const struct jobs_pair environment[] = {{TEXT("NAME"), TEXT("a \"value\"")},
                                               {TEXT("EMPTY"), TEXT("")}};
static const struct jobs_amount amounts[] = {{TEXT("spot"), 0.5}};
static const struct jobs_request request = {
    .submission_id = TEXT("train-s1-1"),
    .entrypoint = TEXT("exec agent"),
    .num_cpus = 2,
    .num_gpus = 0.5,
    .resources = amounts,
    .resource_count = ARRAY_LEN(amounts),
    .env_vars = environment,
    .env_var_count = ARRAY_LEN(environment),
    .metadata = environment,
    .metadata_count = 1,
};

static void submit(struct scene *scene, const char *token)
{
    open_scene(scene, token);
    jobs_submit(scene->jobs, &request, take_flag, scene);
    assert_int_equal(scene->calls, 0);
    loop_run(scene->loop);
    assert_int_equal(scene->calls, 1);
}

static void test_submit(void **state)
{
    (void)state;
    struct scene scene = {
        .answers = {{.body = "{\"job_id\":\"x\",\"submission_id\":\"train-s1-1\"}"}}};
    submit(&scene, "t0k");
    assert_string_equal(scene.err.text, "");
    assert_true(scene.flag);
    assert_string_equal(scene.method[0], "POST");
    assert_string_equal(scene.target[0], "/api/jobs/");
    assert_non_null(strcasestr(scene.head, "authorization: Bearer t0k\r\n"));
    assert_non_null(strcasestr(scene.head, "content-type: application/json\r\n"));
    assert_string_equal(scene.body,
                        "{\"entrypoint\":\"exec agent\","
                        "\"metadata\":{\"NAME\":\"a \\\"value\\\"\"},"
                        "\"entrypoint_resources\":{\"spot\":0.5},\"entrypoint_num_cpus\":2.0,"
                        "\"entrypoint_num_gpus\":0.5,\"submission_id\":\"train-s1-1\","
                        "\"runtime_env\":{\"env_vars\":{\"NAME\":\"a \\\"value\\\"\","
                        "\"EMPTY\":\"\"}}}");
    close_scene(&scene);
}

static void test_a_duplicate_is_a_success(void **state)
{
    (void)state;
    struct scene scene = {.answers = {{.status = 500, .body = DUPLICATE}, {.body = RECORD}}};
    submit(&scene, NULL);
    assert_int_equal(scene.err.kind, ERR_NONE);
    assert_false(scene.flag);
    assert_string_equal(scene.method[1], "GET");
    assert_string_equal(scene.target[1], "/api/jobs/train-s1-1");
    assert_null(strcasestr(scene.head, "authorization:"));
    close_scene(&scene);
}

static void test_a_lost_reply_is_looked_up(void **state)
{
    (void)state;
    static const enum script_deed deeds[] = {SCRIPT_RESET, SCRIPT_TRUNCATE, SCRIPT_HANG};
    for (size_t i = 0; i < ARRAY_LEN(deeds); i++) {
        /* A lost connection is closed before the reply: libcurl may try again on a new one. */
        struct scene scene = {
            .answers = {{.body = "{ \"a\": 1 }", .deed = deeds[i]}, {.body = RECORD}}};
        submit(&scene, NULL);
        assert_string_equal(scene.err.text, "");
        assert_false(scene.flag);
        close_scene(&scene);
    }
}

static void test_an_id_of_another_command(void **state)
{
    (void)state;
    struct scene scene = {
        .answers = {{.status = 500, .body = DUPLICATE},
                    {.body = RECORD_HEAD "\"status\":\"RUNNING\",\"entrypoint\":\"other\"}"}}};
    submit(&scene, NULL);
    assert_int_equal(scene.err.kind, ERR_EXISTS);
    assert_like(str_from(scene.err.text), "*train-s1-1 with another command*");
    close_scene(&scene);
}

static void test_a_submission_that_failed(void **state)
{
    (void)state;
    static const struct {
        struct script_answer answers[2];
        enum err_kind kind;
        const char *text;
        int requests;
    } rows[] = {
        {{{.status = 500, .body = "Boom\nKeyError: no agent\n"}, {.status = 404, .body = "none"}},
         ERR_UNAVAILABLE,
         "cannot submit job train-s1-1:*HTTP 500: KeyError: no agent",
         2},
        {{{.status = 500, .body = DUPLICATE}, {.status = 404, .body = "none"}},
         ERR_PROTOCOL,
         "*ValueError: Job with submission_id*",
         2},
        {{{.status = 400, .body = "TypeError: entrypoint"}, {.status = 404, .body = "none"}},
         ERR_PROTOCOL,
         "*HTTP 400: TypeError: entrypoint",
         2},
        {{{.status = 502, .body = ""}, {.status = 502, .body = ""}}, ERR_TIMEOUT, "*HTTP 502", 2},
        {{{.deed = SCRIPT_RESET, .body = ""}, {.status = 404, .body = ""}},
         ERR_TIMEOUT,
         "*Ray's answer was lost*",
         2},
        {{{.status = 401, .body = "Unauthorized: Missing authentication token"}},
         ERR_AUTH,
         "*refused the token*Missing*auth_token",
         1},
        {{{.status = 403, .body = "\x1b[1mForbidden"}}, ERR_AUTH, "*refused the token*", 1},
        {{{.body = "<html>"}}, ERR_PROTOCOL, "cannot parse the reply to a submission", 1},
        {{{.body = "{\"submission_id\":\"other\"}"}}, ERR_PROTOCOL, "*not about job*", 1},
        {{{.body = "{\"submission_id\":7}"}}, ERR_PROTOCOL, "*not about job*", 1},
        {{{.status = 500, .body = ""}, {.body = "{}"}}, ERR_PROTOCOL, "*is missing", 2},
        {{{.status = 500, .body = "x\x1b[2Jy"}, {.status = 404, .body = ""}},
         ERR_UNAVAILABLE,
         "*x?[2Jy",
         2},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scene scene = {.answers = {rows[i].answers[0], rows[i].answers[1]}};
        submit(&scene, "t");
        assert_like(str_from(scene.err.text), rows[i].text);
        assert_int_equal(scene.err.kind, rows[i].kind);
        assert_false(scene.flag);
        assert_int_equal(script_server_requests(scene.server), rows[i].requests);
        close_scene(&scene);
    }
}

static void test_nothing_listens(void **state)
{
    (void)state;
    struct scene scene = {0};
    open_scene(&scene, NULL);
    jobs_close(scene.jobs);
    scene.jobs = jobs_open(&(struct jobs_setup){
        .http = scene.http, .server = "http://127.0.0.1:1", .is_direct = true});
    jobs_submit(scene.jobs, &request, take_flag, &scene);
    loop_run(scene.loop);
    assert_int_equal(scene.err.kind, ERR_UNAVAILABLE);
    assert_int_equal(scene.calls, 1);
    close_scene(&scene);
}

static void test_requests_that_are_never_sent(void **state)
{
    (void)state;
    static char huge[5 << 20];
    static const struct jobs_pair bad_pair = {TEXT("A"), TEXT("\xff")};
    static const struct jobs_amount bad_amount = {TEXT("a"), HUGE_VAL};
    memset(huge, 'x', sizeof(huge));
    struct jobs_request wrong[] = {request, request, request, request, request, request};
    wrong[0].submission_id = STR("");
    wrong[1].submission_id = STR("../a");
    wrong[2].env_vars = &bad_pair;
    wrong[2].env_var_count = 1;
    wrong[3].resources = &bad_amount;
    wrong[4].num_cpus = HUGE_VAL - HUGE_VAL;
    wrong[5].entrypoint = (struct str){huge, sizeof(huge)};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct scene scene = {0};
        open_scene(&scene, NULL);
        jobs_submit(scene.jobs, &wrong[i], take_flag, &scene);
        assert_int_equal(scene.calls, 0);
        loop_run(scene.loop);
        assert_int_equal(scene.calls, 1);
        assert_int_equal(scene.err.kind, ERR_USAGE);
        assert_int_equal(script_server_requests(scene.server), 0);
        close_scene(&scene);
    }
}

/* ---- looking ---- */

static void get(struct scene *scene, const char *id)
{
    open_scene(scene, NULL);
    jobs_get(scene->jobs, str_from(id), take_job, scene);
    loop_run(scene->loop);
    assert_int_equal(scene->calls, 1);
}

static void test_get(void **state)
{
    (void)state;
    struct scene scene = {.answers = {{.body = RECORD}}};
    get(&scene, "train-s1-1");
    assert_int_equal(scene.err.kind, ERR_NONE);
    assert_int_equal(scene.job.status, JOBS_FAILED);
    assert_true(jobs_status_is_final(scene.job.status));
    assert_true(scene.job.has_exit_code);
    assert_int_equal(scene.job.exit_code, 7);
    assert_str(scene.job.node_host, "10.0.0.9");
    assert_str(scene.job.message, "exit 7");
    assert_int_equal(scene.job.node_id.len, 56);
    assert_true(scene.job.start_ms == 1794738600123);
    close_scene(&scene);
}

static void test_get_fails(void **state)
{
    (void)state;
    static const struct {
        struct script_answer answer;
        const char *id;
        enum err_kind kind;
        const char *text;
    } rows[] = {
        {{.status = 404, .body = "Job x does not exist"}, "x", ERR_NOT_FOUND, "*does not exist"},
        {{.status = 503, .body = ""}, "x", ERR_UNAVAILABLE, "cannot look up job x:*HTTP 503"},
        {{.deed = SCRIPT_HANG, .body = ""}, "x", ERR_UNAVAILABLE, "cannot look up job x:*"},
        {{.body = RECORD, .deed = SCRIPT_TRUNCATE}, "x", ERR_UNAVAILABLE, "*"},
        {{.body = "[]"}, "x", ERR_PROTOCOL, "*not an object"},
        {{.body = RECORD}, "a/b", ERR_USAGE, "*letters*"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scene scene = {.answers = {rows[i].answer}};
        get(&scene, rows[i].id);
        assert_like(str_from(scene.err.text), rows[i].text);
        assert_int_equal(scene.err.kind, rows[i].kind);
        close_scene(&scene);
    }
}

static void test_strict_records(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"\"status\":\"PAUSED\",\"entrypoint\":\"\"", "job train-s1-1*unknown status \"PAUSED\""},
        {"\"status\":\"running\",\"entrypoint\":\"\"", "*unknown status \"running\""},
        {"\"status\":\"\\u001b[2J\",\"entrypoint\":\"\"", "*unknown status \"?[2J\""},
        {"\"status\":7,\"entrypoint\":\"\"", "*\"status\" is not a text"},
        {"\"status\":null,\"entrypoint\":\"\"", "*\"status\" is missing"},
        {"\"status\":\"RUNNING\"", "*\"entrypoint\" is missing"},
        {"\"status\":\"RUNNING\",\"entrypoint\":\"\",\"message\":[]", "*\"message\" is not*"},
        {"\"status\":\"FAILED\",\"entrypoint\":\"\",\"driver_exit_code\":\"7\"", "*number*"},
        {"\"status\":\"FAILED\",\"entrypoint\":\"\",\"driver_exit_code\":7.5", "*number*"},
        {"\"status\":\"FAILED\",\"entrypoint\":\"\",\"driver_exit_code\":4294967296", "*number*"},
        {"\"status\":\"FAILED\",\"entrypoint\":\"\",\"start_time\":-1", "*number*"},
        {"\"status\":\"FAILED\",\"entrypoint\":\"\",\"driver_node_id\":\"ab\"", "*id of a node"},
        {"\"status\":\"FAILED\",\"entrypoint\":\"\",\"driver_agent_http_address\":\"http://a b\"",
         "*not an address"},
        {"\"status\":\"FAILED\",\"status\":\"FAILED\",\"entrypoint\":\"\"", "*not JSON*"},
    };
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        struct jobs_job job;
        struct str body = arena_printf(&arena, RECORD_HEAD "%s}", rows[i][0]);
        assert_false(jobs_read_job(body, &arena, &job, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
        assert_like(str_from(err.text), rows[i][1]);
    }
}

static void test_a_pending_job_and_ipv6(void **state)
{
    (void)state;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    struct jobs_job job;
    assert_true(jobs_read_job(STR(RECORD_HEAD "\"status\":\"PENDING\",\"entrypoint\":\"x\"}"),
                              &arena, &job, &err));
    assert_false(jobs_status_is_final(job.status));
    assert_false(job.has_exit_code);
    assert_int_equal(job.node_host.len, 0);
    assert_true(jobs_read_job(STR(RECORD_HEAD "\"status\":\"RUNNING\",\"entrypoint\":\"x\","
                                              "\"driver_agent_http_address\":"
                                              "\"http://[fd00::2]:52365\"}"),
                              &arena, &job, &err));
    assert_str(job.node_host, "fd00::2");
    assert_string_equal(jobs_status_name(job.status), "RUNNING");
}

static void test_list(void **state)
{
    (void)state;
    struct scene scene = {
        .answers = {{.body = "[" RECORD ","
                             "{\"type\":\"DRIVER\",\"submission_id\":null,\"status\":\"ODD\"},"
                             "{\"submission_id\":\"other\",\"status\":7},"
                             "{\"submission_id\":\"train-s2-1\",\"status\":\"STOPPED\","
                             "\"entrypoint\":\"\",\"driver_exit_code\":null}]"},
                    {.body = "{}"},
                    {.body = "[{\"submission_id\":\"train-1\"}]"}}};
    open_scene(&scene, NULL);
    jobs_list(scene.jobs, STR("train-"), take_list, &scene);
    loop_run(scene.loop);
    assert_string_equal(scene.err.text, "");
    assert_int_equal(scene.count, 2);
    assert_string_equal(scene.ids, "train-s1-1 train-s2-1 ");
    jobs_list(scene.jobs, STR("train-"), take_list, &scene);
    loop_run(scene.loop);
    assert_like(str_from(scene.err.text), "*not a list");
    jobs_list(scene.jobs, STR("train-"), take_list, &scene);
    loop_run(scene.loop);
    assert_like(str_from(scene.err.text), "job train-1*\"status\" is missing");
    assert_int_equal(scene.calls, 3);
    close_scene(&scene);
}

/* ---- ending ---- */

static void test_stop_and_delete(void **state)
{
    (void)state;
    struct scene scene = {.answers = {{.body = "{\"stopped\": true}"},
                                      {.body = "{\"deleted\": true}"},
                                      {.status = 500,
                                       .body = "RuntimeError: Attempted to delete job 'a', but "
                                               "it is in a non-terminal state RUNNING."},
                                      {.body = "{\"stopped\": 1}"}}};
    open_scene(&scene, NULL);
    jobs_stop(scene.jobs, STR("a"), take_flag, &scene);
    loop_run(scene.loop);
    assert_true(scene.flag);
    assert_string_equal(scene.method[0], "POST");
    assert_string_equal(scene.target[0], "/api/jobs/a/stop");
    jobs_delete(scene.jobs, STR("a"), take_flag, &scene);
    loop_run(scene.loop);
    assert_true(scene.flag);
    assert_string_equal(scene.method[1], "DELETE");
    assert_string_equal(scene.target[1], "/api/jobs/a");
    jobs_delete(scene.jobs, STR("a"), take_flag, &scene);
    loop_run(scene.loop);
    assert_int_equal(scene.err.kind, ERR_PROTOCOL);
    assert_like(str_from(scene.err.text), "cannot delete job a:*non-terminal state RUNNING.");
    jobs_stop(scene.jobs, STR("a"), take_flag, &scene);
    loop_run(scene.loop);
    assert_false(scene.flag);
    assert_like(str_from(scene.err.text), "*no \"stopped\"");
    jobs_delete(scene.jobs, STR(""), take_flag, &scene);
    loop_run(scene.loop);
    assert_int_equal(scene.err.kind, ERR_USAGE);
    assert_int_equal(scene.calls, 5);
    close_scene(&scene);
}

/* ---- closing ---- */

static void close_in_done(void *context, bool flag, const struct err *err)
{
    struct scene *scene = context;
    jobs_close(scene->jobs);
    scene->jobs = NULL;
    take_flag(context, flag, err);
}

static void test_closing_cancels(void **state)
{
    (void)state;
    struct scene scene = {.answers = {{.deed = SCRIPT_HANG, .body = ""}}};
    open_scene(&scene, NULL);
    jobs_get(scene.jobs, STR("a"), take_job, &scene);
    jobs_get(scene.jobs, STR("/"), take_job, &scene); /* refused, deferred */
    jobs_close(scene.jobs);
    scene.jobs = NULL;
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 0);
    close_scene(&scene);
}

static void test_closing_from_a_callback(void **state)
{
    (void)state;
    struct scene scene = {
        .answers = {{.body = "{\"stopped\": true}"}, {.deed = SCRIPT_HANG, .body = ""}}};
    open_scene(&scene, NULL);
    jobs_stop(scene.jobs, STR("/"), close_in_done, &scene);
    jobs_get(scene.jobs, STR("b"), take_job, &scene);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    close_scene(&scene);
    scene = (struct scene){.answers = {{.body = "{\"stopped\": true}"}}};
    open_scene(&scene, NULL);
    jobs_stop(scene.jobs, STR("a"), close_in_done, &scene);
    loop_run(scene.loop);
    assert_int_equal(scene.calls, 1);
    assert_true(scene.flag);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_wrong_addresses),
        cmocka_unit_test(test_submit),
        cmocka_unit_test(test_a_duplicate_is_a_success),
        cmocka_unit_test(test_a_lost_reply_is_looked_up),
        cmocka_unit_test(test_an_id_of_another_command),
        cmocka_unit_test(test_a_submission_that_failed),
        cmocka_unit_test(test_nothing_listens),
        cmocka_unit_test(test_requests_that_are_never_sent),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_get_fails),
        cmocka_unit_test(test_strict_records),
        cmocka_unit_test(test_a_pending_job_and_ipv6),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_stop_and_delete),
        cmocka_unit_test(test_closing_cancels),
        cmocka_unit_test(test_closing_from_a_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
