/*
 * plugin.c: a plug-in for the factory: --image is its program, SHOAL_PLUGIN_STATE its file, and
 * SHOAL_PLUGIN_MS the deadline of a request. RAY_CLASS is the class for ray_class_plugin.
 */
#include "conform.h"

#include "base/panic.h"
#include "provider/external/external_provider.h"

#include <stdlib.h>
#include <unistd.h>

enum { SCARCE = 5, DEADLINE_MS = 20 * 1000 };

bool cloud_is_plugin(const struct options *options)
{
    return str_is(str_from(options->cloud), "external");
}

/* SHOAL_PLUGIN_CAN: the abilities, separated by spaces; all if it is not set. */
void plugin_add(struct param *settings, struct arena *arena)
{
    struct str rest = str_from(getenv("SHOAL_PLUGIN_CAN"));
    param_add_text(settings, "state", str_from(getenv("SHOAL_PLUGIN_STATE")), arena);
    param_add_number(param_add_map(settings, "limits", arena), "c5.large", SCARCE, arena);
    if (getenv("RAY_CLASS")) {
        param_add_text(settings, "module", str_from(getenv("RAY_CLASS")), arena);
    }
    if (getenv("SHOAL_PLUGIN_CAN")) {
        struct param *list = param_add_list(settings, "can", arena);
        while (rest.len > 0) {
            param_add_text(list, "", str_cut(&rest, ' '), arena);
        }
    }
}

struct provider *plugin_provider(struct cloud *cloud, const struct options *options)
{
    const char **argv = ARENA_ARRAY(&cloud->arena, 2, const char *);
    struct provider *provider;
    struct err err;
    int64_t deadline_ms = DEADLINE_MS;
    struct str given = str_from(getenv("SHOAL_PLUGIN_MS"));
    if (given.len > 0 && !str_to_i64(given, &deadline_ms)) {
        panic("SHOAL_PLUGIN_MS is not a number");
    }
    argv[0] = options->image;
    struct external_setup setup = {.loop = cloud->loop,
                                   .children = cloud->children,
                                   .argv = argv,
                                   .env = (const char *const *)environ,
                                   .deadline_ms = deadline_ms};
    if (!external_provider_open(&setup, &cloud->cluster, &provider, &err)) {
        panic("%s", err.text);
    }
    return provider;
}
