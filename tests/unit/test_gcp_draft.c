/* test_gcp_draft.c: what a launch on GCE sends. */
#include "provider/gcp/gcp_provider.h"

#include "unit.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct stage {
    struct arena arena;
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct log log;
    struct provider_type types[2];
    struct param *settings;
    struct provider_cluster cluster;
    struct provider *provider;
    json_t *draft;
};

static const char *const no_variables[] = {NULL};

static void stage_log(void *context, struct str line)
{
    (void)context;
    (void)line;
}

static struct param *node_config(struct arena *arena)
{
    struct param *config = param_new_map(arena);
    struct param *disk = param_add_map(param_add_list(config, "disks", arena), "", arena);
    struct param *params = param_add_map(disk, "initializeParams", arena);
    struct param *gpu = param_add_map(param_add_list(config, "guestAccelerators", arena), "",
                                      arena);
    struct param *scheduling = param_add_list(config, "scheduling", arena);
    struct param *rule = param_add_map(scheduling, "", arena);
    param_add_text(config, "machineType", STR("zones/us-a/machineTypes/n1-standard-2"), arena);
    param_add_text(config, "name", STR("not-ours"), arena);
    param_add_text(params, "diskType", STR("zones/us-a/diskTypes/pd-ssd"), arena);
    param_add_text(gpu, "acceleratorType", STR("zones/us-a/acceleratorTypes/t4"), arena);
    param_add_bool(rule, "preemptible", true, arena);
    rule = param_add_map(scheduling, "", arena);
    param_add_bool(rule, "automaticRestart", false, arena);
    param_add_text(param_add_map(config, "networkConfig", arena), "network", STR("x"), arena);
    return config;
}

static void stage_open(struct stage *stage)
{
    static const struct http_limits limits = {0};
    struct err err = {0};
    memset(stage, 0, sizeof(*stage));
    arena_init(&stage->arena);
    assert_true(loop_open(&clock_of_machine, &stage->loop, &err));
    assert_true(http_open(stage->loop, &limits, &stage->http, &err));
    stage->children = child_pool_new(stage->loop, 1);
    stage->log = (struct log){&clock_of_machine, NULL, LOG_LEVEL_INFO, stage_log, stage};
    stage->settings = param_new_map(&stage->arena);
    param_add_text(stage->settings, "availability_zone", STR("us-a, us-b"), &stage->arena);
    param_add_text(param_add_map(stage->settings, "tags", &stage->arena), "team", STR("vision"),
                   &stage->arena);
    stage->types[0] = (struct provider_type){
        .name = STR("head"), .node_config = node_config(&stage->arena), .is_head = true};
    stage->types[1] = (struct provider_type){.name = STR("worker"),
                                             .node_config = node_config(&stage->arena)};
    stage->cluster = (struct provider_cluster){
        .name = STR("Demo.1"), .provider = stage->settings, .types = stage->types, .type_count = 2};
    struct gcp_setup setup = {.loop = stage->loop,
                              .http = stage->http,
                              .children = stage->children,
                              .log = &stage->log,
                              .environ = no_variables};
    assert_true(gcp_provider_open(&setup, 1, &stage->cluster, &stage->provider, &err));
    stage->provider->ops->adopt(stage->provider, STR("0123456789abcdef0123456789abcdef"));
}

static void stage_close(struct stage *stage)
{
    json_decref(stage->draft);
    stage->provider->ops->close(stage->provider);
    child_pool_free(stage->children);
    http_close(stage->http);
    loop_close(stage->loop);
    arena_clear(&stage->arena);
}

/* The properties of its instances. */
static const json_t *stage_draft(struct stage *stage, struct launch_request request)
{
    struct str call;
    struct err err = {0};
    request.token = STR("shoal-00112233");
    request.launch = (uint64_t)7 << 32 | 12;
    request.count = request.count > 0 ? request.count : 1;
    assert_true(stage->provider->ops->draft(stage->provider, &request, &stage->arena, &call, &err));
    json_decref(stage->draft);
    stage->draft = json_loadb(call.ptr, call.len, 0, NULL);
    return json_object_get(json_object_get(stage->draft, "body"), "instanceProperties");
}

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

static const char *metadata(const json_t *properties, const char *key)
{
    const json_t *items = json_object_get(json_object_get(properties, "metadata"), "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        if (strcmp(text(json_array_get(items, i), "key"), key) == 0) {
            return text(json_array_get(items, i), "value");
        }
    }
    return "";
}

static void a_worker(void **state)
{
    struct stage stage;
    struct machine_tag tags[] = {{STR("ray-node-type"), STR("worker")}};
    (void)state;
    stage_open(&stage);
    const json_t *made = stage_draft(
        &stage, (struct launch_request){
                    .type = 1, .count = 2, .tags = tags, .tag_count = 1, .user_data = STR("#!/x")});
    const json_t *body = json_object_get(stage.draft, "body");
    const json_t *labels = json_object_get(made, "labels");
    const json_t *disk = json_array_get(json_object_get(made, "disks"), 0);
    const json_t *params = json_object_get(disk, "initializeParams");
    assert_string_equal(text(stage.draft, "zone"), "us-a");
    assert_string_equal(text(body, "minCount"), "1");
    assert_int_equal(json_integer_value(json_object_get(body, "count")), 2);
    const char *name = json_object_iter_key(
        json_object_iter(json_object_get(body, "perInstanceProperties")));
    assert_like(str_from(name), "ray-demo-1-*-worker-*-compute");
    assert_true(strlen(name) <= 63);
    /* Types are names, and what Shoal decides is not in the file. */
    assert_string_equal(text(made, "machineType"), "n1-standard-2");
    assert_string_equal(text(made, "name"), "");
    assert_null(json_object_get(made, "networkConfig"));
    assert_string_equal(text(params, "diskType"), "pd-ssd");
    assert_true(json_is_true(json_object_get(disk, "autoDelete")));
    assert_string_equal(text(json_object_get(params, "labels"), TAG_CLUSTER_UID),
                        "0123456789abcdef0123456789abcdef");
    assert_string_equal(
        text(json_array_get(json_object_get(made, "guestAccelerators"), 0), "acceleratorType"),
        "t4");
    /* Tags; those of metadata.shoal are labels of the disk, too. */
    assert_string_equal(text(labels, "team"), "vision");
    assert_string_equal(text(json_object_get(params, "labels"), "team"), "vision");
    assert_string_equal(text(labels, "ray-node-type"), "worker");
    assert_string_equal(text(labels, "shoal-token"), "shoal-00112233");
    assert_string_equal(text(labels, TAG_EPOCH), "7");
    assert_int_equal(strlen(text(labels, "shoal-call")), 16);
    assert_non_null(strstr(metadata(made, "shoal-tags"), "\"ray-cluster-name\":\"Demo.1\""));
    assert_non_null(strstr(metadata(made, "shoal-tags"), "\"shoal-launch\":\"7.12\""));
    assert_non_null(strstr(metadata(made, "startup-script"), "\nIyEveA==\n.\n")); /* "#!/x" */
    assert_null(strstr(metadata(made, "startup-script"), ">startup-script"));
    assert_null(json_object_get(made, "serviceAccounts"));
    assert_int_equal(json_array_size(json_object_get(json_object_get(made, "tags"), "items")), 1);
    stage_close(&stage);
}

static void add_metadata(struct param *node_config, const char *key, struct str value,
                         struct arena *arena)
{
    struct param *items = param_add_list(param_add_map(node_config, "metadata", arena), "items",
                                         arena);
    struct param *item = param_add_map(items, "", arena);
    param_add_text(item, "key", str_from(key), arena);
    param_add_text(item, "value", value, arena);
}

/* That of the file runs after Shoal's. */
static void a_startup_script_of_the_file(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    struct param *config = node_config(&stage.arena);
    add_metadata(config, "startup-script", STR("#!/y"), &stage.arena);
    stage.types[1].node_config = config;
    const json_t *made = stage_draft(&stage,
                                     (struct launch_request){.type = 1, .user_data = STR("#!/x")});
    const char *script = metadata(made, "startup-script");
    const char *ours = strstr(script, "IyEveA==");
    const char *theirs = strstr(script, "IyEveQ==");
    assert_true(ours && theirs && ours < theirs);
    made = stage_draft(&stage, (struct launch_request){.type = 1});
    assert_string_equal(metadata(made, "startup-script"), "#!/y");
    stage_close(&stage);
}

static void markets(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    const json_t *rule = json_object_get(
        stage_draft(&stage, (struct launch_request){.type = 1, .market = MARKET_SPOT}),
        "scheduling");
    assert_string_equal(text(rule, "provisioningModel"), "SPOT");
    assert_string_equal(text(rule, "instanceTerminationAction"), "DELETE");
    assert_true(json_is_false(json_object_get(rule, "automaticRestart")));
    assert_null(json_object_get(rule, "preemptible"));
    rule = json_object_get(
        stage_draft(&stage,
                    (struct launch_request){.type = 1, .market = MARKET_SPOT, .rests = true}),
        "scheduling");
    assert_string_equal(text(rule, "instanceTerminationAction"), "STOP");
    /* On demand, whatever the file says: the core chose it. GPUs do not migrate. */
    rule = json_object_get(
        stage_draft(&stage, (struct launch_request){.type = 1, .market = MARKET_ON_DEMAND}),
        "scheduling");
    assert_string_equal(text(rule, "provisioningModel"), "");
    assert_null(json_object_get(rule, "preemptible"));
    assert_string_equal(text(rule, "onHostMaintenance"), "TERMINATE");
    /* A list, as in Ray's examples, has become an object. */
    assert_true(json_is_false(json_object_get(rule, "automaticRestart")));
    stage_close(&stage);
}

/* Google's console writes the body of instances.insert, and bulkInsert does not have all of it. */
static void what_only_instances_have(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    struct arena *arena = &stage.arena;
    struct param *config = node_config(arena);
    param_add_text(config, "hostname", STR("a.example.com"), arena);
    param_add_bool(config, "deletionProtection", false, arena);
    param_add_text(config, "labelFingerprint", STR("x"), arena);
    param_add_bool(param_add_map(config, "displayDevice", arena), "enableDisplay", false, arena);
    param_add_map(config, "instanceEncryptionKey", arena);
    param_add_text(
        param_add_map(param_add_map(config, "params", arena), "resourceManagerTags", arena),
        "tagKeys/1", STR("tagValues/2"), arena);
    param_add_text(param_add_list(config, "resourcePolicies", arena), "",
                   STR("https://x/projects/p/regions/us/resourcePolicies/near"), arena);
    stage.types[1].node_config = config;
    const json_t *made = stage_draft(&stage, (struct launch_request){.type = 1, .count = 2});
    static const char *const gone[] = {"hostname",      "deletionProtection",    "labelFingerprint",
                                       "displayDevice", "instanceEncryptionKey", "params"};
    for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
        assert_null(json_object_get(made, gone[i]));
    }
    assert_string_equal(text(json_object_get(made, "resourceManagerTags"), "tagKeys/1"),
                        "tagValues/2");
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(made, "resourcePolicies"), 0)), "near");
    json_t *names = json_object_get(json_object_get(stage.draft, "body"), "perInstanceProperties");
    const char *name;
    json_t *own;
    json_object_foreach(names, name, own)
    {
        assert_string_equal(text(own, "hostname"), "a.example.com");
    }
    stage_close(&stage);
}

/* The GPUs of a2, a3, g2 and so on are part of the machine type. */
static void built_in_gpus_do_not_migrate(void **state)
{
    static const struct {
        const char *type, *action;
    } rows[] = {
        {"g2-standard-8", "TERMINATE"}, {"a3-highgpu-8g", "TERMINATE"}, {"n2-standard-8", ""}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stage stage;
        stage_open(&stage);
        struct param *config = param_new_map(&stage.arena);
        param_add_text(config, "machineType", str_from(rows[i].type), &stage.arena);
        stage.types[1].node_config = config;
        const json_t *made = stage_draft(&stage, (struct launch_request){.type = 1});
        assert_string_equal(text(json_object_get(made, "scheduling"), "onHostMaintenance"),
                            rows[i].action);
        stage_close(&stage);
    }
}

static void places_and_roles(void **state)
{
    struct stage stage;
    struct err err = {0};
    struct str call;
    (void)state;
    stage_open(&stage);
    const json_t *made = stage_draft(&stage, (struct launch_request){.zone = STR("us-b")});
    const json_t *interface = json_array_get(json_object_get(made, "networkInterfaces"), 0);
    char id[64];
    assert_string_equal(text(stage.draft, "zone"), "us-b");
    assert_int_equal(json_array_size(json_object_get(made, "serviceAccounts")), 1);
    assert_int_equal(json_array_size(json_object_get(interface, "accessConfigs")), 1);
    /* Another zone is another request. */
    assert_int_equal(strlen(text(stage.draft, "request")), 36);
    snprintf(id, sizeof(id), "%s", text(stage.draft, "request"));
    param_add_bool(stage.settings, "use_internal_ips", true, &stage.arena);
    made = stage_draft(&stage, (struct launch_request){0});
    interface = json_array_get(json_object_get(made, "networkInterfaces"), 0);
    assert_null(json_object_get(interface, "accessConfigs"));
    assert_string_not_equal(text(stage.draft, "request"), id);
    /* A template that no preflight has read. */
    struct launch_request one = {.token = STR("t"), .count = 1};
    struct param *config = node_config(&stage.arena);
    param_add_text(config, "sourceInstanceTemplate", STR("global/instanceTemplates/x"),
                   &stage.arena);
    stage.types[0].node_config = config;
    assert_false(stage.provider->ops->draft(stage.provider, &one, &stage.arena, &call, &err));
    struct launch_request none = {.token = STR("t")};
    assert_false(stage.provider->ops->draft(stage.provider, &none, &stage.arena, &call, &err));
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker),
        cmocka_unit_test(a_startup_script_of_the_file),
        cmocka_unit_test(what_only_instances_have),
        cmocka_unit_test(markets),
        cmocka_unit_test(built_in_gpus_do_not_migrate),
        cmocka_unit_test(places_and_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
