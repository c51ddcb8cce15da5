/* test_config.c: the typed configuration: every setting of a node is resolved. */
#include "config/config.h"

#include "fixture.h"

static const char *const file =
    "cluster_name: demo\n"
    "provider: {type: aws, region: us-west-2}\n"
    "max_workers: 8\n"
    "idle_timeout_minutes: 1.5\n"
    "upscaling_speed: 2\n"
    "auth: {ssh_user: me, ssh_private_key: ~/k.pem, ssh_proxy_command: jump}\n"
    "docker:\n"
    "  image: base\n"
    "  head_image: head\n"
    "  container_name: ray\n"
    "  run_options: [--all]\n"
    "  head_run_options: [--head]\n"
    "  worker_run_options: [--worker]\n"
    "  disable_shm_size_detection: true\n"
    "file_mounts: {/there: ./here, /b: ./c}\n"
    "rsync_exclude: ['**/.git']\n"
    "initialization_commands: [init]\n"
    "setup_commands: [common]\n"
    "head_setup_commands: [only-head]\n"
    "worker_setup_commands: [only-worker]\n"
    "head_start_ray_commands: [start-head]\n"
    "worker_start_ray_commands: [start-worker]\n"
    "head_node_type: head\n"
    "available_node_types:\n"
    "  plain:\n"
    "    node_config: {InstanceType: m5.large}\n"
    "    resources: {CPU: 2, mine: 3}\n"
    "    labels: {zone: a, market: spot}\n"
    "  head:\n"
    "    node_config: {InstanceType: m5.large}\n"
    "    resources: {CPU: 0}\n"
    "    docker: {pull_before_run: false, worker_run_options: [--no]}\n"
    "    worker_setup_commands: [not-for-heads]\n"
    "  special:\n"
    "    node_config: {InstanceType: m5.large}\n"
    "    resources: {CPU: 2}\n"
    "    min_workers: 1\n"
    "    max_workers: 4\n"
    "    idle_timeout_s: 20\n"
    "    priority: 10\n"
    "    initialization_commands: []\n"
    "    worker_setup_commands: [own]\n"
    "    docker: {worker_image: own, pull_before_run: false, worker_run_options: [--own]}\n"
    "metadata: {shoal: {planner: ray}}\n";

static const struct config *load(struct fixture *f, const char *yaml)
{
    struct source *source = ARENA_NEW(&f->arena, struct source);
    *source = (struct source){STR("test.yaml"), str_from(yaml), false};
    diag_list_init(&f->diags, &f->arena);
    return config_load(&f->arena, source, &f->diags);
}

static const struct config *load_file(struct fixture *f)
{
    const struct config *config = load(f, file);
    assert_str(fixture_messages(f), "");
    assert_non_null(config);
    assert_int_equal(config->node_type_count, 3);
    return config;
}

static struct str joined(struct fixture *f, struct config_texts texts)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    for (size_t i = 0; i < texts.count; i++) {
        buf_addf(&out, "%s%.*s", i > 0 ? " " : "", STR_ARG(texts.items[i]));
    }
    return arena_str(&f->arena, buf_str(&out));
}

static void cluster_wide_fields(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = load_file(f);
    (void)state;
    assert_str(config->cluster_name, "demo");
    assert_str(config->provider_type, "aws");
    assert_str(config->ssh_user, "me");
    assert_str(config->ssh_private_key, "~/k.pem");
    assert_str(config->ssh_proxy_command, "jump");
    assert_int_equal(config->max_workers, 8);
    assert_int_equal(config->idle_timeout_ms, 90 * 1000);
    assert_true(config->upscaling_speed == 2);
    assert_int_equal(config->mount_count, 2);
    assert_str(config->mounts[0].remote, "/there");
    assert_str(config->mounts[0].local, "./here");
    assert_str(joined(f, config->rsync_exclude), "**/.git");
    assert_int_equal(config->cluster_synced_files.count, 0);
    assert_int_equal(config->head_type, 1);
    assert_non_null(config->shoal);
}

static void docker_is_merged_per_node_type(void **state)
{
    static const struct {
        const char *image, *options;
        bool pull;
    } rows[] = {
        {"base", "--all --worker", true},
        {"head", "--all --head", true}, /* a node type's docker section applies to workers */
        {"own", "--all --own", false},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = load_file(f);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct config_docker *docker = &config->node_types[i].docker;
        assert_str(docker->image, rows[i].image);
        assert_str(docker->container_name, "ray");
        assert_str(joined(f, docker->run_options), rows[i].options);
        assert_int_equal(docker->pull_before_run, rows[i].pull);
        assert_false(docker->use_podman);
        assert_true(docker->detect_runtime);
        assert_false(docker->detect_shm_size);
    }
}

static void commands_are_those_of_the_node(void **state)
{
    static const char *const rows[][3] = {
        {"init", "common only-worker", "start-worker"},
        {"init", "common only-head", "start-head"},
        {"", "own", "start-worker"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = load_file(f);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct config_node_type *type = &config->node_types[i];
        assert_str(joined(f, type->initialization_commands), rows[i][0]);
        assert_str(joined(f, type->setup_commands), rows[i][1]);
        assert_str(joined(f, type->start_commands), rows[i][2]);
    }
}

static void counts_and_timeouts_are_per_type(void **state)
{
    static const struct {
        const char *name;
        bool is_head;
        int64_t least, most, idle_ms, priority;
    } rows[] = {
        {"plain", false, 0, 8, 90 * 1000, 0},
        {"head", true, 0, 0, 90 * 1000, 0},
        {"special", false, 1, 4, 20 * 1000, 10},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = load_file(f);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct config_node_type *type = &config->node_types[i];
        assert_str(type->name, rows[i].name);
        assert_int_equal(type->is_head, rows[i].is_head);
        assert_int_equal(type->min_workers, rows[i].least);
        assert_int_equal(type->max_workers, rows[i].most);
        assert_int_equal(type->idle_timeout_ms, rows[i].idle_ms);
        assert_int_equal(type->priority, rows[i].priority);
        assert_true(value_is(type->node_config, VALUE_MAP));
    }
    assert_int_equal(config->node_types[0].place.line, 25);
}

static void resources_and_labels_are_typed(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config_node_type *type = &load_file(f)->node_types[0];
    (void)state;
    assert_int_equal(resource_amount(type->resources, STR("CPU")), 2 * RESOURCE_UNIT);
    assert_int_equal(resource_amount(type->resources, STR("mine")), 3 * RESOURCE_UNIT);
    assert_int_equal(resource_amount(type->resources, STR("memory")),
                     INT64_C(6012954214) * RESOURCE_UNIT);
    assert_int_equal(type->label_count, 2);
    assert_str(type->labels[1].name, "market");
    assert_str(type->labels[1].value, "spot");
}

static void absent_fields_have_rays_defaults(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = load(f, "cluster_name: x\nprovider: {type: aws, region: r}\n");
    (void)state;
    assert_non_null(config);
    assert_int_equal(config->max_workers, 2);
    assert_int_equal(config->idle_timeout_ms, 5 * 60 * 1000);
    assert_true(config->upscaling_speed == 1);
    assert_str(config->ssh_private_key, "");
    assert_str(config->node_types[config->head_type].docker.image, "");
    assert_null(config->shoal);
}

/* Numbers that are too large for any cluster must not wrap around. */
static void absurd_numbers_stay_large(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = load(
        f, "cluster_name: x\nprovider: {type: aws, region: r}\nmax_workers: 1.0e+30\n"
           "idle_timeout_minutes: .inf\nhead_node_type: h\navailable_node_types:\n"
           "  h:\n    node_config: {InstanceType: m5.large}\n    idle_timeout_s: .nan\n"
           "    priority: -99999999999999999999\n"
           "    resources: {CPU: 99999999999999999999, GPU: 1000000000000000000}\n");
    (void)state;
    assert_non_null(config);
    assert_true(config->max_workers == INT64_MAX);
    assert_true(config->idle_timeout_ms >= INT64_C(9000000000000000));
    assert_true(config->node_types[0].priority == INT64_MIN);
    assert_int_equal(config->node_types[0].idle_timeout_ms, config->idle_timeout_ms);
    assert_true(resource_amount(config->node_types[0].resources, STR("CPU")) == INT64_MAX);
    assert_true(resource_amount(config->node_types[0].resources, STR("GPU")) == INT64_MAX);
}

static void files_with_errors_give_no_configuration(void **state)
{
    static const char *const rows[] = {
        "",
        "a: [\n",
        "cluster_name: x\n",
        "cluster_name: x\nprovider: {type: aws, region: r}\nmax_worker: 1\n",
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_null(load(f, rows[i]));
        assert_true(f->diags.error_count > 0);
    }
    assert_non_null(load(f, "cluster_name: x\nprovider: {type: aws, region: r}\nmin_workers: 1\n"));
    assert_int_equal(f->diags.warning_count, 1); /* a warning is not a reason to stop */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_wide_fields),
        cmocka_unit_test(docker_is_merged_per_node_type),
        cmocka_unit_test(commands_are_those_of_the_node),
        cmocka_unit_test(counts_and_timeouts_are_per_type),
        cmocka_unit_test(resources_and_labels_are_typed),
        cmocka_unit_test(absent_fields_have_rays_defaults),
        cmocka_unit_test(absurd_numbers_stay_large),
        cmocka_unit_test(files_with_errors_give_no_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
