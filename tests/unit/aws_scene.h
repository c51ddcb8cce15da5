/*
 * aws_scene.h: what tests of the AWS client share: a client with its own variables, a server that
 * plays AWS, a movable clock, and the results of calls.
 */
#pragma once

#include "io/redact.h"
#include "provider/aws/client/aws_client_internal.h"
#include "script_server.h"
#include "unit.h"

#include <string.h>

enum { SCENE_VARIABLES_MAX = 16 };

struct scene {
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct redact *redact;
    struct log log;
    struct clock clock;
    int64_t wall_shift_ms, monotonic_shift_ms;
    char logged[4096];
    int warnings;
    struct script_server *server;
    char variables[SCENE_VARIABLES_MAX][512];
    const char *environ[SCENE_VARIABLES_MAX + 1];
    size_t variable_count;
    struct aws_client *client;
};

/* The result of one call. */
struct heard {
    int calls, begins;
    struct aws_reply reply;
    char body[4096], code[128], streamed[4096];
    size_t streamed_len;
    int64_t took_ms;
    struct scene *scene;
};

static int64_t scene_monotonic(void *context)
{
    const struct scene *scene = context;
    return clock_monotonic_ms(&clock_of_machine) + scene->monotonic_shift_ms;
}

static int64_t scene_wall(void *context)
{
    const struct scene *scene = context;
    return clock_wall_ms(&clock_of_machine) + scene->wall_shift_ms;
}

static void scene_log(void *context, struct str line)
{
    struct scene *scene = context;
    size_t len = strlen(scene->logged);
    snprintf(scene->logged + len, sizeof(scene->logged) - len, "%.*s", STR_ARG(line));
    scene->warnings += str_find(line, " warning ") != SIZE_MAX;
}

static inline void scene_set(struct scene *scene, const char *name, const char *value)
{
    size_t at = scene->variable_count++;
    snprintf(scene->variables[at], sizeof(scene->variables[at]), "%s=%s", name, value);
    scene->environ[at] = scene->variables[at];
}

/* The server's address with a path appended, in one of two static buffers. */
static inline const char *scene_url(const struct scene *scene, const char *path)
{
    static char texts[2][256];
    static int at;
    at = !at;
    snprintf(texts[at], sizeof(texts[at]), "http://127.0.0.1:%d%s",
             script_server_port(scene->server), path);
    return texts[at];
}

static inline void scene_open(struct scene *scene, script_fn *answer, void *context)
{
    static const struct http_limits limits = {0};
    struct err err = {0};
    memset(scene, 0, sizeof(*scene));
    scene->clock = (struct clock){scene_monotonic, scene_wall, scene};
    scene->server = script_server_start(answer, context);
    assert_true(loop_open(&scene->clock, &scene->loop, &err));
    assert_true(http_open(scene->loop, &limits, &scene->http, &err));
    scene->children = child_pool_new(scene->loop, 2);
    scene->redact = redact_new();
    scene->log = (struct log){&scene->clock, scene->redact, LOG_LEVEL_INFO, scene_log, scene};
    scene_set(scene, "AWS_ENDPOINT_URL", scene_url(scene, ""));
    scene_set(scene, "AWS_CONFIG_FILE", "/nonexistent/config");
    scene_set(scene, "AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/credentials");
}

/* Call it after the variables are set. */
static inline void scene_start(struct scene *scene)
{
    struct err err = {0};
    struct aws_client_setup setup = {.loop = scene->loop,
                                     .http = scene->http,
                                     .children = scene->children,
                                     .log = &scene->log,
                                     .redact = scene->redact,
                                     .environ = scene->environ,
                                     .region = STR("us-west-2"),
                                     .seed = 1};
    if (!aws_client_open(&setup, &scene->client, &err)) {
        fail_msg("%s", err.text);
    }
}

static inline void scene_start_with_keys(struct scene *scene)
{
    scene_set(scene, "AWS_ACCESS_KEY_ID", "AKIAFIRST");
    scene_set(scene, "AWS_SECRET_ACCESS_KEY", "sEcReT0000");
    scene_start(scene);
}

static inline void scene_close(struct scene *scene)
{
    aws_client_close(scene->client);
    child_pool_free(scene->children);
    http_close(scene->http);
    loop_close(scene->loop);
    redact_free(scene->redact);
    script_server_stop(scene->server);
}

static void scene_on_reply(void *context, const struct aws_reply *reply)
{
    struct heard *heard = context;
    heard->calls++;
    heard->reply = *reply;
    snprintf(heard->body, sizeof(heard->body), "%.*s", STR_ARG(reply->body));
    snprintf(heard->code, sizeof(heard->code), "%.*s", STR_ARG(reply->error.code));
}

/* A call of EC2 whose answer is <XResponse/>. */
static inline struct aws_request scene_request(struct heard *heard, enum aws_idempotency care)
{
    memset(heard, 0, sizeof(*heard));
    return (struct aws_request){.service = AWS_EC2,
                                .action = "X",
                                .care = care,
                                .deadline_ms = 8000,
                                .done = scene_on_reply,
                                .context = heard};
}

static inline void scene_run(struct scene *scene, const struct aws_request *request)
{
    struct heard *heard = request->context;
    int64_t start = loop_now_ms(scene->loop);
    aws_call_start(scene->client, request);
    assert_int_equal(heard->calls, 0);
    loop_run(scene->loop);
    assert_int_equal(heard->calls, 1);
    heard->took_ms = loop_now_ms(scene->loop) - start;
}

static inline void scene_ask(struct scene *scene, enum aws_idempotency care, struct heard *heard)
{
    struct aws_request request = scene_request(heard, care);
    scene_run(scene, &request);
}

#define SCENE_REFUSAL(code, words)                                  \
    "<Response><Errors><Error><Code>" code "</Code><Message>" words \
    "</Message></Error></Errors><RequestID>req-1</RequestID></Response>"
