/* gcp_stage.h: a gcp provider whose calls go to a script_server. */
#pragma once

#include "provider/gcp/gcp_provider.h"
#include "script_server.h"

struct gcp_stage {
    struct clock clock;
    int64_t shift_ms; /* by how much the test has moved the clocks */
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct log log;
    struct script_server *server;
    char folder[64], path[128], endpoint[256], login[256];
    char resources[256], iam[256];
    const char *environ[5];
    struct provider_cluster cluster;
    struct arena arena;
    struct provider *provider;
};

/* Must stay where it is. For project "p", region "us", zone "us-a" and cluster "demo". */
void gcp_stage_open(struct gcp_stage *stage, script_fn *serve, void *context);
void gcp_stage_close(struct gcp_stage *stage);
