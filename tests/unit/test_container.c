/* test_container.c: the commands for the container of a node. */
#include "app/setup/container.h"

#include "fixture.h"

#define FILE_TEXT                                                                             \
    "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"                             \
    "available_node_types:\n"                                                                 \
    "  h: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"                     \
    "  w: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"                     \
    "head_node_type: h\n"                                                                     \
    "file_mounts: {/data/app: /a, ~/one file: /b}\n"                                          \
    "docker:\n"                                                                               \
    "  {head_image: hi, worker_image: wi, container_name: my box, run_options: [-e 'A=b c']," \
    " worker_run_options: [--gpus all], pull_before_run: false}\n"

static const struct config *config_of(struct fixture *f, const char *yaml)
{
    const struct value *tree = fixture_prepare(f, yaml);
    assert_non_null(tree);
    return config_type(&f->arena, tree);
}

static struct container_spec spec_of(struct fixture *f, size_t type)
{
    const struct config *config = config_of(f, FILE_TEXT);
    return container_spec_of(config, &config->node_types[type], &f->arena);
}

static void the_run_command(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct container_spec spec = spec_of(f, 0);
    struct container_run run = {
        .home = STR("/home/ray"), .machine_home = STR("/home/me"), .shm_bytes = 1000};
    assert_str(container_run_line(&spec, &run, &f->arena),
               "docker run --rm --name 'my box' -d -it"
               " -v /home/me/.shoal/mounts/x/data/app:/data/app"
               " -v '/home/me/.shoal/mounts/x/~/one file:/home/ray/one file'"
               " -e LC_ALL=C.UTF-8 -e LANG=C.UTF-8 -e 'A=b c' --shm-size=1000b --net=host hi bash");
    spec = spec_of(f, 1);
    run = (struct container_run){.home = STR("/root"), .has_gpu = true};
    assert_like(container_run_line(&spec, &run, &f->arena),
                "* -e 'A=b c' --gpus all --runtime=nvidia --net=host wi bash");
}

static void a_specification_is_sent_to_the_node(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct container_spec spec = spec_of(f, 1);
    struct container_spec read;
    struct err err = {0};
    AUTO_BUF struct buf text;
    buf_init(&text, 65536);
    spec.program = "podman";
    container_spec_write(&spec, &text);
    assert_true(container_spec_read(buf_str(&text), &f->arena, &read, &err));
    assert_string_equal(read.program, "podman");
    assert_str(read.name, "my box");
    assert_str(read.image, "wi");
    assert_str(read.cluster, "x");
    assert_false(read.pulls);
    assert_true(read.detects_runtime);
    assert_true(read.detects_shm);
    assert_int_equal(read.options.count, 2);
    assert_str(read.options.items[1], "--gpus all");
    assert_int_equal(read.mounts.count, 2);
    assert_str(read.mounts.items[1], "~/one file");
    assert_false(container_spec_read(STR("{}"), &f->arena, &read, &err));
    assert_false(container_spec_read(STR(""), &f->arena, &read, &err));
}

#define OWN_TEXT                                                                     \
    "cluster_name: rack 1\nprovider: {type: local, head_ip: h0, worker_ips: [h1]}\n" \
    "auth: {ssh_user: me}\ndocker: {image: i, container_name: box}\n"

static void containers_on_own_machines_have_a_label(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = config_of(f, OWN_TEXT);
    struct container_spec spec = container_spec_of(config, &config->node_types[0], &f->arena);
    struct container_spec read;
    struct container_run run = {.home = STR("/root")};
    struct err err = {0};
    AUTO_BUF struct buf text;
    buf_init(&text, 65536);
    container_spec_write(&spec, &text);
    assert_true(container_spec_read(buf_str(&text), &f->arena, &read, &err));
    assert_true(spec.is_own && read.is_own);
    assert_like(container_run_line(&read, &run, &f->arena),
                "docker run --rm --name box -d -it --label 'shoal-cluster=rack 1' *");
    buf_clear(&text);
    buf_init(&text, 65536);
    spec = spec_of(f, 0);
    container_spec_write(&spec, &text);
    assert_true(container_spec_read(buf_str(&text), &f->arena, &read, &err));
    assert_false(spec.is_own || read.is_own);
}

static void a_container_is_known_as_ours(void **state)
{
    (void)state;
    struct container_spec spec = {.cluster = STR("x")};
    struct str home = STR("/home/me");
    struct str mounts = STR("[{}, {\"Source\": \"/home/me/.shoal/mounts/x/a\"}]");
    struct str others = STR("[{\"Source\": \"/home/me/.shoal/mounts/xx/a\"}, {\"Source\": 1}]");
    struct str label = STR("{\"shoal-cluster\": \"x\"}");
    struct str other = STR("{\"shoal-cluster\": \"xx\"}");
    assert_true(container_is_ours(&spec, label, others, home, false));
    assert_false(container_is_ours(&spec, other, mounts, home, true));
    assert_true(container_is_ours(&spec, STR("null"), STR("[]"), home, true));
    assert_true(container_is_ours(&spec, STR("{}"), mounts, home, false));
    assert_false(container_is_ours(&spec, STR("{}"), mounts, STR("/home/you"), false));
    assert_false(container_is_ours(&spec, STR("{\"a\": \"x\"}"), others, home, false));
    assert_false(container_is_ours(&spec, STR(""), STR(""), home, false));
}

static void the_size_of_shared_memory(void **state)
{
    (void)state;
    struct str option = STR("--shm-size=1g");
    struct container_spec spec = {.detects_shm = true};
    assert_int_equal(container_shm_bytes(STR("MemTotal: 9 kB\nMemAvailable:  1000 kB\n")), 337920);
    assert_int_equal(container_shm_bytes(STR("MemAvailable: 999999999999 kB\n")), 200000000000);
    assert_int_equal(container_shm_bytes(STR("MemAvailable: x\n")), 0);
    assert_int_equal(container_shm_bytes(STR("")), 0);
    assert_true(container_wants_shm(&spec));
    spec.options = (struct config_texts){&option, 1};
    assert_false(container_wants_shm(&spec));
    spec = (struct container_spec){0};
    assert_false(container_wants_shm(&spec));
}

static void mounts_of_a_running_container(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct container_spec spec = spec_of(f, 0);
    struct str missing = {0};
    struct str home = STR("/root");
    assert_true(container_has_mounts(&spec, home,
                                     STR("[{\"Destination\":\"/data/app/\"},{},{\"Destination\":"
                                         "\"/root/one file\"}]"),
                                     &missing, &f->arena));
    assert_false(container_has_mounts(&spec, home, STR("[{\"Destination\":\"/data/app\"}]"),
                                      &missing, &f->arena));
    assert_str(missing, "/root/one file");
#define MOUNTED(folder)                                                      \
    "[{\"Source\":\"" folder "/x/data/app\",\"Destination\":\"/data/app\"}," \
    "{\"Destination\":\"/root/one file\"}]"
    assert_true(container_has_mounts(&spec, home, STR(MOUNTED("/home/me/.shoal/mounts")), &missing,
                                     &f->arena));
    /* `ray up` started it */
    assert_false(
        container_has_mounts(&spec, home, STR(MOUNTED("/tmp/ray_tmp_mount")), &missing, &f->arena));
    assert_str(missing, "/data/app");
    assert_true(container_has_mounts(&spec, home, STR("nothing"), &missing, &f->arena));
}

static void the_home_of_an_image(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    assert_str(container_home(STR("[\"A=1\",\"HOME=/home/ray\"]"), &f->arena), "/home/ray");
    assert_str(container_home(STR("[\"XHOME=/x\"]"), &f->arena), "/root");
    assert_str(container_home(STR("null"), &f->arena), "/root");
    assert_str(container_home(STR(""), &f->arena), "/root");
}

static void where_commands_and_copies_go(void **state)
{
    (void)state;
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = config_of(f, FILE_TEXT);
    const struct config_node_type *type = &config->node_types[0];
    assert_true(container_is_used(type));
    assert_str(container_copy_path(config, type, STR("~/x/"), &f->arena), "~/.shoal/mounts/x/~/x/");
    assert_true(container_runs_on_host(&type->docker, STR("docker login x")));
    assert_false(container_runs_on_host(&type->docker, STR("podman login x")));
    struct config_node_type plain = {.docker = {.container_name = STR("c")}};
    assert_false(container_is_used(&plain));
    assert_str(container_copy_path(config, &plain, STR("~/x"), &f->arena), "~/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_run_command),
        cmocka_unit_test(a_specification_is_sent_to_the_node),
        cmocka_unit_test(containers_on_own_machines_have_a_label),
        cmocka_unit_test(a_container_is_known_as_ours),
        cmocka_unit_test(the_size_of_shared_memory),
        cmocka_unit_test(mounts_of_a_running_container),
        cmocka_unit_test(the_home_of_an_image),
        cmocka_unit_test(where_commands_and_copies_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
