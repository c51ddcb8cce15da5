/* gcp_token_probe.c: for each record, variables in JSON, fetches a token of Google's and prints it
 * with what belongs to it; compared with google-auth. The wall clock stands still. */
#include "provider/gcp/credentials/gcp_credentials.h"

#include "json_record.h"
#include "records.h"

#include <stdio.h>

enum { RECORD_BYTES_MAX = 1024 * 1024 };

struct fetched {
    struct gcp_credentials *credentials;
    json_t *answer;
};

static int64_t wall_now_ms;

static int64_t probe_monotonic(void *context)
{
    (void)context;
    return clock_monotonic_ms(&clock_of_machine);
}

static int64_t probe_wall(void *context)
{
    (void)context;
    return wall_now_ms;
}

static const struct clock probe_clock = {probe_monotonic, probe_wall, NULL};

static void probe_log(void *context, struct str line)
{
    (void)context;
    fprintf(stderr, "%.*s", STR_ARG(line));
}

static void on_ready(void *context, const struct err *err)
{
    struct fetched *fetched = context;
    unsigned number;
    const struct gcp_access *access = err ? NULL
                                          : gcp_credentials_now(fetched->credentials, &number);
    if (!access) {
        fetched->answer = json_pack("{s:s}", "error", err ? err->text : "no token");
        return;
    }
    json_t *expires = access->expires_at == INT64_MAX ? json_null()
                                                      : json_integer(access->expires_at);
    fetched->answer = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "token", text_json(access->token),
                                "expires", expires, "project", text_json(access->project), "quota",
                                text_json(access->quota_project), "universe",
                                text_json(access->universe), "source", text_json(access->source));
}

static json_t *answer(const json_t *record, struct arena *arena)
{
    static const struct http_limits limits = {0};
    const json_t *list = json_object_get(record, "environ");
    const char **env = ARENA_ARRAY(arena, json_array_size(list) + 1, const char *);
    struct fetched fetched = {0};
    struct loop *loop;
    struct http *http;
    struct err err = {0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        env[i] = json_string_value(json_array_get(list, i));
    }
    wall_now_ms = json_integer_value(json_object_get(record, "now")) * 1000;
    if (!loop_open(&probe_clock, &loop, &err) || !http_open(loop, &limits, &http, &err)) {
        return json_pack("{s:s}", "error", err.text);
    }
    struct child_pool *children = child_pool_new(loop, 1);
    struct redact *redact = redact_new();
    struct log log = {&probe_clock, redact, LOG_LEVEL_DEBUG, probe_log, NULL};
    struct gcp_setup setup = {.loop = loop,
                              .http = http,
                              .children = children,
                              .log = &log,
                              .redact = redact,
                              .environ = env,
                              .pause_ms = 1,
                              .product_path = "/nonexistent/product_name"};
    fetched.credentials = gcp_credentials_new(&setup);
    struct waiter waiter = {.ready = on_ready, .context = &fetched};
    gcp_credentials_await(fetched.credentials, &waiter);
    loop_run(loop);
    gcp_credentials_free(fetched.credentials);
    child_pool_free(children);
    http_close(http);
    loop_close(loop);
    redact_free(redact);
    return fetched.answer;
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* the test answers each record before it sends the next */
    answer_records(answer, RECORD_BYTES_MAX);
    return 0;
}
