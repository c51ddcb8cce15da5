/* gcp_stage.c: opens and closes the provider and what it needs. */
#include "gcp_stage.h"

#include "io/file.h"
#include "scratch.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void gcp_stage_log(void *context, struct str line)
{
    (void)context;
    (void)line;
}

static int64_t stage_monotonic(void *context)
{
    const struct gcp_stage *stage = context;
    return clock_monotonic_ms(&clock_of_machine) + stage->shift_ms;
}

static int64_t stage_wall(void *context)
{
    const struct gcp_stage *stage = context;
    return clock_wall_ms(&clock_of_machine) + stage->shift_ms;
}

void gcp_stage_open(struct gcp_stage *stage, script_fn *serve, void *context)
{
    static const struct http_limits limits = {0};
    struct err err = {0};
    memset(stage, 0, sizeof(*stage));
    stage->server = script_server_start(serve, context);
    stage->clock = (struct clock){stage_monotonic, stage_wall, stage};
    assert_true(loop_open(&stage->clock, &stage->loop, &err));
    assert_true(http_open(stage->loop, &limits, &stage->http, &err));
    stage->children = child_pool_new(stage->loop, 1);
    stage->log = (struct log){&clock_of_machine, NULL, LOG_LEVEL_INFO, gcp_stage_log, stage};
    snprintf(stage->folder, sizeof(stage->folder), "/tmp/shoal-gcp-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->path, sizeof(stage->path), "%s/key.json", stage->folder);
    assert_true(file_write(stage->path,
                           STR("{\"type\":\"authorized_user\",\"client_id\":\"i\","
                               "\"client_secret\":\"s\",\"refresh_token\":\"r\","
                               "\"token\":\"the-token\",\"expiry\":\"2099-01-01T00:00:00Z\"}"),
                           0600, &err));
    snprintf(stage->login, sizeof(stage->login), "GOOGLE_APPLICATION_CREDENTIALS=%s", stage->path);
    snprintf(stage->endpoint, sizeof(stage->endpoint),
             "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=http://127.0.0.1:%d/c/",
             script_server_port(stage->server));
    snprintf(stage->resources, sizeof(stage->resources),
             "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER=http://127.0.0.1:%d/r/",
             script_server_port(stage->server));
    snprintf(stage->iam, sizeof(stage->iam),
             "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM=http://127.0.0.1:%d/i",
             script_server_port(stage->server));
    stage->environ[0] = stage->login;
    stage->environ[1] = stage->endpoint;
    stage->environ[2] = stage->resources;
    stage->environ[3] = stage->iam;
    arena_init(&stage->arena);
    struct param *settings = param_new_map(&stage->arena);
    param_add_text(settings, "project_id", STR("p"), &stage->arena);
    param_add_text(settings, "region", STR("us"), &stage->arena);
    param_add_text(settings, "availability_zone", STR("us-a"), &stage->arena);
    stage->cluster = (struct provider_cluster){.name = STR("demo"), .provider = settings};
    struct gcp_setup setup = {.loop = stage->loop,
                              .http = stage->http,
                              .children = stage->children,
                              .log = &stage->log,
                              .environ = stage->environ,
                              .product_path = "/nonexistent"};
    assert_true(gcp_provider_open(&setup, 1, &stage->cluster, &stage->provider, &err));
}

void gcp_stage_close(struct gcp_stage *stage)
{
    stage->provider->ops->close(stage->provider);
    child_pool_free(stage->children);
    http_close(stage->http);
    loop_close(stage->loop);
    script_server_stop(stage->server);
    arena_clear(&stage->arena);
    assert_int_equal(scratch_remove(stage->folder), 0);
}
