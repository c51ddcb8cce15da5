/* test_prepare.c: a cluster file is completed in Ray's order, and every mistake is reported in
 * one run. */
#include "config/prepare/prepare.h"

#include "fixture.h"

#define AWS "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"
#define TYPE "node_config: {InstanceType: m5.large}, resources: {CPU: 1}"

static void minimal_file_is_filled_out(void **state)
{
    static const char *const rows[][2] = {
        {"cluster_name", "\"x\""},
        {"provider", "{\"type\": \"aws\", \"region\": \"us-west-2\"}"},
        {"max_workers", "2"},
        {"upscaling_speed", "1.0"},
        {"idle_timeout_minutes", "5"},
        {"docker", "{}"},
        {"auth", "{\"ssh_user\": \"ubuntu\"}"},
        {"file_mounts", "{}"},
        {"cluster_synced_files", "[]"},
        {"head_node_type", "\"ray.head.default\""},
        {"setup_commands", "[]"},
        {"worker_setup_commands", "[]"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(f, AWS);
    (void)state;
    assert_str(fixture_messages(f), "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(fixture_json_at(f, tree, rows[i][0]), rows[i][1]);
    }
    const struct value *types = value_get_c(tree, "available_node_types");
    assert_str(fixture_json(f, types),
               "{\"ray.head.default\": {\"resources\": {\"CPU\": 2}, \"node_config\": "
               "{\"InstanceType\": \"m5.large\", \"BlockDeviceMappings\": [{\"DeviceName\": "
               "\"/dev/sda1\", \"Ebs\": {\"VolumeSize\": 256}}]}, \"min_workers\": 0, "
               "\"max_workers\": 0}, \"ray.worker.default\": {\"min_workers\": 0, \"resources\": "
               "{\"CPU\": 2, \"memory\": 6012954214}, \"node_config\": {\"InstanceType\": "
               "\"m5.large\", \"InstanceMarketOptions\": {\"MarketType\": \"spot\"}}, "
               "\"max_workers\": 2}}");
}

/* Whole sections are replaced, as dict.update() does, and keep the order of the defaults. */
static void file_wins_over_the_defaults(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(
        f, AWS "auth: {ssh_private_key: k}\nmax_workers: 7\nmetadata: {a: 1}\n");
    (void)state;
    assert_str(fixture_json_at(f, tree, "auth"), "{\"ssh_private_key\": \"k\"}");
    assert_str(fixture_json_at(f, tree, "max_workers"), "7");
    assert_str(value_text(tree->map.entries[0].key), "cluster_name");
    assert_str(value_text(tree->map.entries[1].key), "max_workers");
    assert_str(value_text(tree->map.entries[tree->map.count - 1].key), "metadata");
}

static void every_provider_has_defaults(void **state)
{
    static const char *const rows[] = {
        "type: aws, region: r", "type: gcp, project_id: p",
        "type: azure",          "type: local, head_ip: a, worker_ips: [b]",
        "type: readonly",       "type: spark",
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str yaml = arena_printf(&f->arena, "cluster_name: x\nprovider: {%s}\n", rows[i]);
        assert_non_null(fixture_prepare(f, yaml.ptr));
        assert_str(fixture_messages(f), "");
    }
}

static void worker_counts_are_filled_in(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(
        f,
        AWS "max_workers: 5\nhead_node_type: h\navailable_node_types:\n"
            "  h: {" TYPE "}\n  v: {" TYPE "}\n  w: {" TYPE ", min_workers: 1, max_workers: 3}\n");
    (void)state;
    assert_str(fixture_json_at(f, tree, "available_node_types.h.max_workers"), "0");
    assert_str(fixture_json_at(f, tree, "available_node_types.v.min_workers"), "0");
    assert_str(fixture_json_at(f, tree, "available_node_types.v.max_workers"), "5");
    assert_str(fixture_json_at(f, tree, "available_node_types.w.min_workers"), "1");
    assert_str(fixture_json_at(f, tree, "available_node_types.w.max_workers"), "3");
}

static void set_up_commands_are_joined(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(
        f, AWS "setup_commands: [a, b]\nhead_setup_commands: [h]\nworker_setup_commands: [w]\n");
    (void)state;
    assert_str(fixture_json_at(f, tree, "setup_commands"), "[\"a\", \"b\"]");
    assert_str(fixture_json_at(f, tree, "head_setup_commands"), "[\"a\", \"b\", \"h\"]");
    assert_str(fixture_json_at(f, tree, "worker_setup_commands"), "[\"a\", \"b\", \"w\"]");
}

static void global_minimum_is_ignored_aloud(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(f, AWS "min_workers: 2\n");
    (void)state;
    assert_like(fixture_messages(f), "3:1 warning ignored-key: min_workers*(*node type*)");
    assert_str(fixture_json_at(f, tree, "min_workers"), "(none)");
}

struct row {
    const char *yaml, *messages;
};

static void check_rows(const struct row *rows, size_t count)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    for (size_t i = 0; i < count; i++) {
        fixture_prepare(f, rows[i].yaml);
        assert_like(fixture_messages(f), rows[i].messages);
    }
}

static void provider_mistakes_do_not_hide_others(void **state)
{
    static const struct row rows[] = {
        {"cluster_name: x\nprovider: {type: asw, region: r}\nmax_worker: 2\n",
         "2:18 error unknown-provider: *\"asw\"*(did you mean \"aws\"?)\n"
         "3:1 error unknown-key: *\"max_worker\"*"},
        {"cluster_name: x\nprovider: {type: banana}\nmax_worker: 2\n",
         "2:18 error unknown-provider: *\"banana\"*(*aws, gcp, azure*)\n"
         "3:1 error unknown-key: *\"max_worker\"*"},
        {"cluster_name: x\nmax_worker: 2\n",
         "1:1 error missing-key: *\"provider\"*(*provider: {type: aws*)\n"
         "2:1 error unknown-key: *\"max_worker\"*"},
        {"cluster_name: x\nprovider: {region: r}\n",
         "2:1 error missing-key: provider*\"type\"*(*type: aws)"},
        {"cluster_name: x\nprovider: aws\n", "2:11 error wrong-type: provider must be a map*"},
        {"cluster_name: x\nprovider: {type: 5}\n",
         "2:18 error wrong-type: provider.type must be text*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void files_that_are_no_map_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"", "* error wrong-type: *(*cluster_name*)"},
        {"# nothing\n", "* error wrong-type: *(*cluster_name*)"},
        {"- a\n", "1:1 error wrong-type: *a list*"},
        {"text\n", "1:1 error wrong-type: *text*"},
        {"5\n", "1:1 error wrong-type: *whole number*"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_null(fixture_prepare(f, rows[i][0]));
        assert_like(fixture_messages(f), rows[i][1]);
    }
}

/* external has almost no defaults: report everything that is missing at once. */
static void external_is_told_everything_it_lacks(void **state)
{
    static const char *const wanted[] = {
        "\"available_node_types\" is missing", "\"setup_commands\" is missing",
        "\"head_setup_commands\" is missing",  "\"worker_setup_commands\" is missing",
        "\"cluster_synced_files\" is missing", "provider.module is required",
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    fixture_prepare(f, "cluster_name: x\nprovider: {type: external}\n");
    struct str messages = fixture_messages(f);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        if (str_find(messages, wanted[i]) == SIZE_MAX) {
            fail_msg("%s is not in\n%s", wanted[i], messages.ptr);
        }
    }
    assert_int_equal(f->diags.error_count, f->diags.count);
    const struct value *tree = fixture_prepare(
        f, "cluster_name: x\nprovider: {type: external, module: a.B, own_key: 1}\n"
           "setup_commands: []\nhead_setup_commands: []\nworker_setup_commands: []\n"
           "cluster_synced_files: []\nmax_workers: 1\nhead_node_type: h\n"
           "available_node_types: {h: {node_config: {}, resources: {}}}\n");
    assert_str(fixture_messages(f), "");
    assert_str(fixture_json_at(f, tree, "provider.own_key"), "1");
}

#define PLUGIN(command)                                                                   \
    "cluster_name: x\nprovider: {type: external, command: " command "}\nmax_workers: 1\n" \
    "head_node_type: h\navailable_node_types: {h: {" TYPE "}}\n"

/* Ray knows no plug-ins: what the file leaves out is as for own machines. */
static void plugins_have_defaults(void **state)
{
    static const struct row rows[] = {
        {PLUGIN("[./a, b]"), ""},
        {PLUGIN("[]"), "2:37 error wrong-type: provider.command must be a list of strings*"},
        {PLUGIN("./a"), "2:37 error wrong-type: provider.command must be a list of strings*"},
        {PLUGIN("[./a, 5]"), "2:37 error wrong-type: provider.command must be a list of strings*"},
        {PLUGIN("['']"), "2:37 error wrong-type: provider.command must be a list of strings*"},
        {"cluster_name: x\nprovider: {type: external, command: [a]}\nmax_workers: 1\n"
         "head_node: {}\n",
         "*\"available_node_types\" is missing*"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
    const struct value *tree = fixture_prepare(f, PLUGIN("[./a]"));
    assert_str(fixture_json_at(f, tree, "provider.command"), "[\"./a\"]");
    assert_like(fixture_json_at(f, tree, "head_start_ray_commands"), "*ray start --head*");
}

static void docker_needs_an_image_and_a_name(void **state)
{
    static const struct row rows[] = {
        {AWS "docker: {}\n", ""},
        {AWS "docker: {image: a, container_name: b}\n", ""},
        {AWS "docker: {head_image: a, worker_image: b, container_name: c}\n", ""},
        {AWS "docker: {image: '', container_name: ''}\n", ""},
        {AWS "docker: {image: a}\n", "3:1 error docker: *container_name*(*container_name: ray)"},
        {AWS "docker: {container_name: a}\n", "3:1 error docker: *image*(*image: *)"},
        {AWS "docker: {head_image: a, container_name: b}\n",
         "3:1 error docker: *image for every node*(*image: *)"},
        {AWS "file_mounts: {/a: 5}\n", "3:19 error wrong-type: *local path*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void node_types_must_fit_together(void **state)
{
    static const struct row rows[] = {
        {AWS "head_node_type: hh\navailable_node_types:\n  h: {" TYPE "}\n  w: {" TYPE "}\n",
         "3:17 error unknown-node-type: *\"hh\"*(*h (line 5), w (line 6)*)"},
        {AWS "max_workers: 1\nhead_node_type: h\navailable_node_types:\n  h: {" TYPE "}\n"
             "  w: {" TYPE ", min_workers: 3}\n",
         "3:14 error max-workers: max_workers is 1*3*(*at least 3)"},
        {AWS "max_workers: 3\nhead_node_type: h\navailable_node_types:\n  h: {" TYPE "}\n"
             "  w: {" TYPE ", min_workers: 3}\n",
         ""},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minimal_file_is_filled_out),
        cmocka_unit_test(file_wins_over_the_defaults),
        cmocka_unit_test(every_provider_has_defaults),
        cmocka_unit_test(worker_counts_are_filled_in),
        cmocka_unit_test(set_up_commands_are_joined),
        cmocka_unit_test(global_minimum_is_ignored_aloud),
        cmocka_unit_test(provider_mistakes_do_not_hide_others),
        cmocka_unit_test(files_that_are_no_map_are_refused),
        cmocka_unit_test(external_is_told_everything_it_lacks),
        cmocka_unit_test(plugins_have_defaults),
        cmocka_unit_test(docker_needs_an_image_and_a_name),
        cmocka_unit_test(node_types_must_fit_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
