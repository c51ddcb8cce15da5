/* gce.c: Google Compute Engine, or the stand-in for it (tests/gce). */
#include "conform.h"

#include "base/panic.h"
#include "provider/gcp/gcp_provider.h"

#include <unistd.h>

bool cloud_is_gce(const struct options *options)
{
    return str_is(str_from(options->cloud), "gcp");
}

void gce_add(struct param *settings, const struct options *options, struct arena *arena)
{
    param_add_text(settings, "project_id", STR("shoal-test"), arena);
    param_add_text(settings, "availability_zone",
                   arena_printf(arena, "%s,%s", options->zones[0], options->zones[1]), arena);
}

/* The scarce type is that of which the test lets Google run out. */
struct param *gce_node_config(size_t type, const struct options *options, struct arena *arena)
{
    struct param *config = param_new_map(arena);
    if (*options->source) {
        param_add_text(config, "sourceInstanceTemplate", str_from(options->source), arena);
        return config;
    }
    struct param *disk = param_add_map(param_add_list(config, "disks", arena), "", arena);
    struct param *params;
    param_add_text(config, "machineType", type == TYPE_SCARCE ? STR("e2-micro") : STR("e2-small"),
                   arena);
    param_add_bool(disk, "boot", true, arena);
    params = param_add_map(disk, "initializeParams", arena);
    param_add_text(params, "sourceImage", str_from(options->image), arena);
    return config;
}

struct provider *gce_provider(struct cloud *cloud, const struct options *options)
{
    struct gcp_setup setup = {.loop = cloud->loop,
                              .http = cloud->http,
                              .children = cloud->children,
                              .log = &cloud->log,
                              .redact = cloud->redact,
                              .environ = (const char *const *)environ};
    struct provider *provider;
    struct err err;
    if (!gcp_provider_open(&setup, options->seed + (uint64_t)getpid(), &cloud->cluster, &provider,
                           &err)) {
        panic("%s", err.text);
    }
    return provider;
}
