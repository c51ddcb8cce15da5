/* cloud.c: the factory: a provider by its name, with a small cluster to try it on. */
#include "conform.h"

#include "base/panic.h"
#include "provider/aws/aws_provider.h"

#include <unistd.h>

/* The clock of all providers here. */
static int64_t slept_ms;

static int64_t read_monotonic(void *context)
{
    (void)context;
    return clock_monotonic_ms(&clock_of_machine) + slept_ms;
}

static int64_t read_wall(void *context)
{
    (void)context;
    return clock_wall_ms(&clock_of_machine) + slept_ms;
}

static const struct clock sleeping_clock = {read_monotonic, read_wall, NULL};

void cloud_jump(int64_t ms)
{
    slept_ms += ms;
}

static const char *const machine_of[TYPE_COUNT] = {"m5.large", "m5.large", "c5.large"};

static void add_types(struct cloud *cloud, const struct options *options)
{
    static const char *const names[TYPE_COUNT] = {"head", "worker", "scarce"};
    struct provider_type *types = ARENA_ARRAY(&cloud->arena, TYPE_COUNT, struct provider_type);
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        struct param *config = param_new_map(&cloud->arena);
        if (cloud_is_gce(options)) {
            config = gce_node_config(i, options, &cloud->arena);
        } else {
            param_add_text(config, "ImageId", str_from(options->image), &cloud->arena);
            param_add_text(config, "InstanceType", str_from(machine_of[i]), &cloud->arena);
        }
        types[i] = (struct provider_type){
            .name = str_from(names[i]), .node_config = config, .is_head = i == TYPE_HEAD};
    }
    cloud->cluster.types = types;
    cloud->cluster.type_count = TYPE_COUNT;
}

/* From where the machines may be reached. */
static void add_places(struct param *settings, const struct options *options, struct arena *arena)
{
    if (*options->ssh_from) {
        param_add_text(param_add_list(settings, "ssh_from", arena), "", str_from(options->ssh_from),
                       arena);
    }
    if (options->is_private) {
        param_add_bool(settings, "use_internal_ips", true, arena);
    }
    if (*options->open_to) {
        struct param *group = param_add_map(settings, "security_group", arena);
        struct param *rule = param_add_map(param_add_list(group, "IpPermissions", arena), "",
                                           arena);
        param_add_text(rule, "IpProtocol", STR("tcp"), arena);
        param_add_number(rule, "FromPort", 8265, arena);
        param_add_number(rule, "ToPort", 8265, arena);
        struct param *place = param_add_map(param_add_list(rule, "IpRanges", arena), "", arena);
        param_add_text(place, "CidrIp", str_from(options->open_to), arena);
    }
}

bool cloud_is_own(const struct options *options)
{
    return str_is(str_from(options->cloud), "local");
}

void cloud_open(struct cloud *cloud, const struct options *options)
{
    static int standard_error = STDERR_FILENO;
    struct err err;
    *cloud = (struct cloud){0};
    arena_init(&cloud->arena);
    if (!loop_open(&sleeping_clock, &cloud->loop, &err) ||
        !http_open(cloud->loop, &(struct http_limits){0}, &cloud->http, &err)) {
        panic("%s", err.text);
    }
    cloud->children = child_pool_new(cloud->loop, 4);
    cloud->redact = redact_new();
    cloud->log = (struct log){.clock = &sleeping_clock,
                              .redact = cloud->redact,
                              .least = LOG_LEVEL_INFO,
                              .sink = log_to_descriptor,
                              .context = &standard_error};
    struct param *settings = param_new_map(&cloud->arena);
    param_add_text(settings, "type", str_from(options->cloud), &cloud->arena);
    param_add_text(settings, "region", STR("us-west-2"), &cloud->arena);
    add_places(settings, options, &cloud->arena);
    if (cloud_is_own(options)) {
        own_hosts_add(settings, &cloud->arena);
    }
    if (cloud_is_gce(options)) {
        gce_add(settings, options, &cloud->arena);
    }
    if (cloud_is_plugin(options)) {
        plugin_add(settings, &cloud->arena);
    }
    cloud->cluster.name = str_from(options->cluster);
    cloud->cluster.provider = settings;
    cloud->cluster.auth = param_new_map(&cloud->arena);
    add_types(cloud, options);
}

struct provider *cloud_provider(struct cloud *cloud, const struct options *options)
{
    struct aws_client_setup setup = {.loop = cloud->loop,
                                     .http = cloud->http,
                                     .children = cloud->children,
                                     .log = &cloud->log,
                                     .redact = cloud->redact,
                                     .environ = (aws_environ)environ,
                                     .region = STR("us-west-2"),
                                     .seed = options->seed + (uint64_t)getpid()};
    struct aws_client *client;
    struct provider *provider;
    struct err err;
    if (cloud_is_own(options)) {
        return own_hosts_provider(cloud, options);
    }
    if (cloud_is_plugin(options)) {
        return plugin_provider(cloud, options);
    }
    if (cloud_is_gce(options)) {
        return gce_provider(cloud, options);
    }
    if (!str_is(str_from(options->cloud), "aws")) {
        panic("no cloud called %s", options->cloud);
    }
    if (!aws_client_open(&setup, &client, &err) ||
        !aws_provider_open(client, &setup, &cloud->cluster, &provider, &err)) {
        panic("%s", err.text);
    }
    return provider;
}

void cloud_close(struct cloud *cloud)
{
    child_pool_free(cloud->children);
    http_close(cloud->http);
    loop_close(cloud->loop);
    redact_free(cloud->redact);
    arena_clear(&cloud->arena);
}
