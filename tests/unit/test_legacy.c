/* test_legacy.c: the keys of 2019 are converted to their present form, with a warning each. */
#include "config/prepare/legacy.h"

#include "fixture.h"

#define AWS "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"
#define DEFAULT_WORKER                                                                            \
    "{\"min_workers\": 0, \"resources\": {\"CPU\": 2, \"memory\": 6012954214}, \"node_config\": " \
    "{\"InstanceType\": \"m5.large\", \"InstanceMarketOptions\": {\"MarketType\": \"spot\"}}, "   \
    "\"max_workers\": 2}"

static void file_of_2019_becomes_two_node_types(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(
        f,
        AWS "min_workers: 1\nmax_workers: 3\n"
            "head_node: {InstanceType: c5.large, resources: {CPU: 8, mine: 1}}\n"
            "worker_nodes:\n  InstanceType: m5.large\n  ImageId: ami-1\n  resources: {GPU: 2}\n");
    (void)state;
    assert_str(fixture_findings(f), "5:1 warning legacy-key");
    assert_str(fixture_json_at(f, tree, "head_node_type"), "\"ray-legacy-head-node-type\"");
    /* Resources are moved out of the node_config: a cloud would not know them. */
    assert_str(fixture_json_at(f, tree, "available_node_types"),
               "{\"ray-legacy-head-node-type\": {\"node_config\": {\"InstanceType\": "
               "\"c5.large\"}, \"resources\": {\"CPU\": 8, \"mine\": 1}, \"min_workers\": 0, "
               "\"max_workers\": 0}, \"ray-legacy-worker-node-type\": {\"node_config\": "
               "{\"InstanceType\": \"m5.large\", \"ImageId\": \"ami-1\"}, \"resources\": "
               "{\"CPU\": 2, \"memory\": 6012954214, \"GPU\": 2}, \"min_workers\": 1, "
               "\"max_workers\": 3}}");
    assert_str(fixture_json_at(f, tree, "head_node"), "(none)");
    assert_str(fixture_json_at(f, tree, "worker_nodes"), "(none)");
    assert_str(fixture_json_at(f, tree, "min_workers"), "(none)");
}

static void missing_side_is_the_providers(void **state)
{
    static const char *const rows[][3] = {
        {AWS "head_node: {InstanceType: c5.large}\n", "ray-legacy-worker-node-type",
         DEFAULT_WORKER},
        {AWS "head_node: {InstanceType: c5.large}\nworker_nodes: {}\n",
         "ray-legacy-worker-node-type", DEFAULT_WORKER},
        {AWS "head_node: {InstanceType: c5.large}\nworker_nodes:\n", "ray-legacy-worker-node-type",
         DEFAULT_WORKER},
        {AWS "worker_nodes: {InstanceType: c5.large}\n", "ray-legacy-head-node-type",
         "{\"resources\": {\"CPU\": 2}, \"node_config\": {\"InstanceType\": \"m5.large\", "
         "\"BlockDeviceMappings\": [{\"DeviceName\": \"/dev/sda1\", \"Ebs\": {\"VolumeSize\": "
         "256}}]}, \"min_workers\": 0, \"max_workers\": 0}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct value *tree = fixture_prepare(f, rows[i][0]);
        const struct value *types = value_get_c(tree, "available_node_types");
        assert_int_equal(f->diags.error_count, 0);
        assert_str(fixture_json(f, value_get_c(types, rows[i][1])), rows[i][2]);
    }
}

static void node_types_win_over_the_old_keys(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(
        f, AWS "head_node: {InstanceType: c5.large}\nworker_nodes: {}\nhead_node_type: h\n"
               "available_node_types: {h: {node_config: {InstanceType: m5.large}}}\n");
    (void)state;
    assert_like(fixture_messages(f), "3:1 warning legacy-key: head_node*available_node_types*");
    assert_str(fixture_json_at(f, tree, "head_node"), "(none)");
    assert_str(fixture_json_at(f, tree, "worker_nodes"), "(none)");
}

static void old_scaling_keys_become_a_speed(void **state)
{
    static const char *const rows[][3] = {
        {"initial_workers: 3\n", "1.0", "3:1 warning legacy-key"},
        {"autoscaling_mode: default\n", "1.0", "3:1 warning legacy-key"},
        {"autoscaling_mode: aggressive\n", "99999", "3:1 warning legacy-key"},
        {"autoscaling_mode: aggressive\nupscaling_speed: 2\n", "2", "3:1 warning legacy-key"},
        {"target_utilization_fraction: 0.8\n", "0.25", "3:1 warning legacy-key"},
        {"target_utilization_fraction: 1\n", "0.0", "3:1 warning legacy-key"},
        {"target_utilization_fraction: 0\n", "1.0", "3:1 warning legacy-key"},
        {"target_utilization_fraction: 0.0001\n", "999.0", "3:1 warning legacy-key"},
        {"target_utilization_fraction: 0.5\nupscaling_speed: 3\n", "3", "3:1 warning legacy-key"},
        {"autoscaling_mode: aggressive\ntarget_utilization_fraction: 0.5\n", "99999",
         "3:1 warning legacy-key\n4:1 warning legacy-key"},
        {"target_utilization_fraction: half\n", "1.0", "3:30 error wrong-type"},
        {"target_utilization_fraction: true\n", "1.0", "3:30 error wrong-type"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str yaml = arena_printf(&f->arena, AWS "%s", rows[i][0]);
        const struct value *tree = fixture_prepare(f, yaml.ptr);
        assert_str(fixture_json_at(f, tree, "upscaling_speed"), rows[i][1]);
        assert_str(fixture_findings(f), rows[i][2]);
        assert_str(fixture_json_at(f, tree, "initial_workers"), "(none)");
        assert_str(fixture_json_at(f, tree, "autoscaling_mode"), "(none)");
        assert_str(fixture_json_at(f, tree, "target_utilization_fraction"), "(none)");
    }
}

/* What was not in the file is not a mistake of the user. */
static void modern_files_are_left_alone(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct value *tree = fixture_read_c(f, "{a: 1, upscaling_speed: 2}");
    (void)state;
    legacy_convert_scaling(&f->arena, tree, &f->diags);
    legacy_drop_nodes(tree, &f->diags);
    assert_str(fixture_json(f, tree), "{\"a\": 1, \"upscaling_speed\": 2}");
    assert_str(fixture_findings(f), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_of_2019_becomes_two_node_types),
        cmocka_unit_test(missing_side_is_the_providers),
        cmocka_unit_test(node_types_win_over_the_old_keys),
        cmocka_unit_test(old_scaling_keys_become_a_speed),
        cmocka_unit_test(modern_files_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
