/* test_head_plan.c: what is sent to the head: the cluster's own key, and never the user's. */
#include "app/launch/head_plan.h"

#include "app/handover/handover.h"
#include "app/launch/bootstrap.h"
#include "app/plugin_command.h"
#include "app/ray_class.h"
#include "fixture.h"
#include "io/file.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USERS_KEY "-----BEGIN OPENSSH PRIVATE KEY-----\nthe user's own\n"

struct scene {
    char base[64];
    struct fixture *f;
    struct launcher_setup setup;
    struct cluster_session launch;
    struct head_plan plan;
    struct err err;
};

static const char *provider = "type: aws, region: us-west-2";
static const char *shoal = ""; /* keys of metadata.shoal */

static const struct config *read_config(struct scene *scene, bool names_key)
{
    struct arena *arena = &scene->f->arena;
    struct str key = arena_printf(arena, ", ssh_private_key: %s/users.pem", scene->base);
    struct str yaml = arena_printf(
        arena,
        "cluster_name: demo\nprovider: {%s}\n"
        "auth: {ssh_user: ubuntu%.*s}\nmax_workers: 1\nhead_node_type: head\n"
        "available_node_types:\n"
        "  head: {node_config: {InstanceType: m5.large, KeyName: mine}, resources: {CPU: 2}}\n"
        "metadata: {shoal: {%s}}\n",
        provider, STR_ARG(names_key ? key : STR("")), shoal);
    const struct value *tree = fixture_prepare(scene->f, yaml.ptr);
    assert_non_null(tree);
    return config_type(arena, tree);
}

static void set_up(struct scene *scene, bool names_key)
{
    *scene = (struct scene){.base = "/tmp/shoal-plan-XXXXXX", .f = fixture_new()};
    struct arena *arena = &scene->f->arena;
    assert_non_null(mkdtemp(scene->base));
    assert_int_equal(setenv("XDG_STATE_HOME", scene->base, 1), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    assert_true(file_write(arena_printf(arena, "%s/users.pem", scene->base).ptr, STR(USERS_KEY),
                           0600, &scene->err));
    struct cluster_session *launch = &scene->launch;
    launch->arena = arena;
    launch->setup = &scene->setup;
    launch->config = read_config(scene, names_key);
    assert_true(cluster_state_open(launch->config, true, arena, &launch->state, &scene->err));
    assert_true(journal_open(launch->state.folder, "test", &launch->journal, &scene->err));
    const struct head_spec spec = {.launch = launch,
                                   .uid = STR("0123456789abcdef0123456789abcdef"),
                                   .epoch = 1,
                                   .serial = 1,
                                   .id = STR("i-1"),
                                   .private_ip = STR("10.0.0.1"),
                                   .machine = STR("m5.large")};
    assert_true(head_plan_make(&spec, &scene->plan, &scene->err));
}

static void tear_down(struct scene *scene)
{
    journal_close(scene->launch.journal);
    assert_int_equal(scratch_remove(scene->base), 0);
    fixture_free(&scene->f);
}

static const struct node_file *file_named(const struct scene *scene, const char *path)
{
    static const struct node_file none;
    const struct node_request *request = &scene->plan.setup.request;
    for (size_t i = 0; i < request->file_count; i++) {
        if (str_is(request->files[i].path, path)) {
            return &request->files[i];
        }
    }
    fail_msg("%s is not sent", path);
    return &none;
}

static struct str read_own(struct scene *scene, const char *name)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 10000);
    const char *path =
        arena_printf(&scene->f->arena, "%s/%s", scene->launch.state.folder, name).ptr;
    assert_true(file_read(path, &text, &scene->err));
    return arena_str(&scene->f->arena, str_trim(buf_str(&text)));
}

/* With and without a key of the user, the head gets the same key, made for this cluster. */
static void the_head_is_sent_the_clusters_own_key(void **state)
{
    (void)state;
    for (int names_key = 0; names_key < 2; names_key++) {
        struct scene scene;
        struct handover handover;
        set_up(&scene, names_key);
        struct str own = read_own(&scene, "key");
        assert_true(str_eq(str_trim(file_named(&scene, BOOTSTRAP_KEY)->bytes), own));
        assert_int_equal(file_named(&scene, BOOTSTRAP_KEY)->mode, 0600);
        assert_true(handover_read(file_named(&scene, HANDOVER_FILE)->bytes, &scene.f->arena,
                                  &handover, &scene.err));
        assert_true(str_eq(str_trim(handover.key), own));
        assert_true(str_eq(handover.public_key, read_own(&scene, "key.pub")));
        assert_int_equal(file_named(&scene, HANDOVER_FILE)->mode, 0600);
        tear_down(&scene);
    }
}

static void the_users_key_stays_here(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene, true);
    const struct node_request *request = &scene.plan.setup.request;
    assert_like(str_from(scene.launch.state.key), "*/users.pem"); /* for the head, from here */
    for (size_t i = 0; i < request->file_count; i++) {
        assert_true(str_find(request->files[i].bytes, "the user's own") == SIZE_MAX);
    }
    for (size_t i = 0; i < request->bundle.count; i++) {
        assert_true(str_find(request->bundle.steps[i].command, "users.pem") == SIZE_MAX);
    }
    tear_down(&scene);
}

static struct str variable_of(const struct handover *handover, const char *name)
{
    for (size_t i = 0; i < handover->environment_count; i++) {
        if (str_is(handover->environment[i].name, name)) {
            return handover->environment[i].value;
        }
    }
    return STR("-");
}

static void read_handover(struct scene *scene, struct handover *handover)
{
    set_up(scene, false);
    assert_true(handover_read(file_named(scene, HANDOVER_FILE)->bytes, &scene->f->arena, handover,
                              &scene->err));
}

/* The head reaches AWS as this machine does: the same endpoints, the same authorities. A proxy is
 * copied only if both are in one network, and never to a file that others can read. */
static void the_way_to_the_cloud_is_copied(void **state)
{
    static const char *const names[] = {"AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT",
                                        "AWS_CA_BUNDLE", "HTTPS_PROXY", "NO_PROXY"};
    char bundle[] = "/tmp/shoal-ca-XXXXXX";
    struct scene scene;
    struct handover handover;
    (void)state;
    int file = mkstemp(bundle);
    assert_int_equal(write(file, "authorities", 11), 11);
    assert_int_equal(close(file), 0);
    const char *const values[] = {"true", "true", bundle, "http://me:pass@proxy.corp:3128",
                                  ".corp"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(setenv(names[i], values[i], 1), 0);
    }
    provider = "type: aws, region: us-west-2";
    read_handover(&scene, &handover);
    assert_str(variable_of(&handover, "AWS_USE_FIPS_ENDPOINT"), "true");
    assert_str(variable_of(&handover, "AWS_USE_DUALSTACK_ENDPOINT"), "true");
    assert_str(variable_of(&handover, "AWS_CA_BUNDLE"), "~/.shoal/cluster/ca-bundle.pem");
    assert_str(file_named(&scene, "~/.shoal/cluster/ca-bundle.pem")->bytes, "authorities");
    assert_str(variable_of(&handover, "HTTPS_PROXY"), "-");
    assert_str(variable_of(&handover, "NO_PROXY"), "-");
    tear_down(&scene);
    provider = "type: aws, region: us-west-2, use_internal_ips: true";
    read_handover(&scene, &handover);
    assert_str(variable_of(&handover, "HTTPS_PROXY"), "http://me:pass@proxy.corp:3128");
    assert_str(variable_of(&handover, "NO_PROXY"), ".corp");
    const struct node_request *request = &scene.plan.setup.request;
    for (size_t i = 0; i < request->file_count; i++) {
        assert_true(request->files[i].mode == 0600 ||
                    str_find(request->files[i].bytes, "me:pass") == SIZE_MAX);
    }
    for (size_t i = 0; i < request->bundle.count; i++) {
        assert_true(str_find(request->bundle.steps[i].command, "me:pass") == SIZE_MAX);
    }
    tear_down(&scene);
    assert_int_equal(setenv("HTTPS_PROXY", "http://localhost:3128", 1), 0);
    read_handover(&scene, &handover);
    assert_str(variable_of(&handover, "HTTPS_PROXY"), "-");
    tear_down(&scene);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(unsetenv(names[i]), 0);
    }
    assert_int_equal(unlink(bundle), 0);
    provider = "type: aws, region: us-west-2";
}

/* A class of Ray that knows no user data installs it on the workers, too. */
static void the_users_key_of_a_class(void **state)
{
    static const struct {
        const char *provider, *shoal;
        bool is_sent;
    } cases[] = {
        {"type: azure, location: west, resource_group: g", "", true},
        {"type: azure, location: west, resource_group: g", "user_data_key: UserData", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scene scene;
        provider = cases[i].provider;
        shoal = cases[i].shoal;
        set_up(&scene, true);
        bool is_sent = str_find(file_named(&scene, BOOTSTRAP_KEY)->bytes, "the user's own") !=
                       SIZE_MAX;
        assert_int_equal(is_sent, cases[i].is_sent);
        assert_int_equal(config_trusts_first_key(scene.launch.config), cases[i].is_sent);
        tear_down(&scene);
    }
    shoal = "";
}

static void write_plugin(const char *folder, const char *text)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    assert_true(
        file_write(arena_printf(&arena, "%s/cloud.py", folder).ptr, str_from(text), 0600, &err));
}

/* The files of the user among the words of the command, and the words on both machines. */
static void the_head_is_sent_the_plugin(void **state)
{
    char home[] = "/tmp/shoal-home-XXXXXX";
    struct str wanted[3] = {{0}};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    (void)state;
    assert_non_null(mkdtemp(home));
    assert_int_equal(setenv("HOME", home, 1), 0);
    provider = "type: external, command: [python3, /usr/bin/x, ~/cloud.py, -v, ~/cloud.py]";
    for (int i = 0; i < 3; i++) {
        struct scene scene;
        write_plugin(home, i == 2 ? "two" : "one");
        set_up(&scene, false);
        const struct node_file *file = file_named(&scene, "~/.shoal/cluster/plug-in/2-cloud.py");
        assert_str(file->bytes, i == 2 ? "two" : "one");
        assert_int_equal(file->mode, 0700);
        (void)file_named(&scene, "~/.shoal/cluster/plug-in/4-cloud.py");
        const char *const *here = plugin_command_argv(scene.launch.config, false, &arena);
        const char *const *there = plugin_command_argv(scene.launch.config, true, &arena);
        assert_string_equal(here[0], "python3");
        assert_string_equal(there[1], "/usr/bin/x");
        assert_string_equal(here[2], arena_printf(&arena, "%s/cloud.py", home).ptr);
        assert_string_equal(there[4],
                            arena_printf(&arena, "%s/.shoal/cluster/plug-in/4-cloud.py", home).ptr);
        assert_string_equal(there[3], "-v");
        assert_null(here[5]);
        wanted[i] = arena_str(&arena, scene.plan.wanted);
        tear_down(&scene);
    }
    /* A changed plug-in is a change of the head. */
    assert_true(str_eq(wanted[0], wanted[1]));
    assert_false(str_eq(wanted[0], wanted[2]));
    assert_int_equal(scratch_remove(home), 0);
}

/* Words of the file conf/x.yaml that are relative to it. */
static void words_are_relative_to_the_cluster_file(void **state)
{
    static const struct {
        const char *file, *word, *path;
    } cases[] = {
        {"x.yaml", "./a.py", "./a.py"},         {"conf/x.yaml", "./a.py", "conf/./a.py"},
        {"/conf/x.yaml", "../a", "/conf/../a"}, {"/x.yaml", "./a", "/./a"},
        {"conf/x.yaml", "a.py", "a.py"},        {"conf/x.yaml", "/a.py", "/a.py"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FIXTURE struct fixture *f = fixture_new();
        struct source source = {.name = str_from(cases[i].file)};
        struct value *tree = value_new(&f->arena, VALUE_MAP, (struct place){&source, 1, 1, 1});
        struct value *list = value_new(&f->arena, VALUE_LIST, tree->place);
        value_list_add(&f->arena, list,
                       value_string(&f->arena, str_from(cases[i].word), tree->place));
        value_map_set_c(&f->arena, tree, "command", list);
        const struct config config = {.provider = tree, .provider_type = STR("external")};
        assert_string_equal(plugin_command_argv(&config, false, &f->arena)[0], cases[i].path);
    }
}

/* The module next to the cluster file, and what the class prepared here. */
static void the_head_is_sent_the_class(void **state)
{
    static const struct {
        const char *provider;
        size_t count;
    } cases[] = {
        {"{type: external, module: my_cloud.Provider}", 2},
        {"{type: external, module: my_cloud.deeper.Provider}", 1}, /* a package is installed */
        {"{type: external, module: ../my_cloud.Provider}", 1},
        {"{type: azure}", 1},
        {"{type: external, command: [./a]}", 0},
        {"{type: aws}", 0},
    };
    char home[] = "/tmp/shoal-home-XXXXXX";
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(home));
    struct source source = {.name = arena_printf(&arena, "%s/x.yaml", home)};
    assert_true(
        file_write(arena_printf(&arena, "%s/my_cloud.py", home).ptr, STR("class"), 0600, &err));
    assert_true(file_write(arena_printf(&arena, "%s/ray-class-bootstrap.json", home).ptr, STR("{}"),
                           0600, &err));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FIXTURE struct fixture *f = fixture_new();
        struct value *tree = value_copy_shallow(&f->arena, fixture_read_c(f, cases[i].provider));
        struct node_file files[RAY_CLASS_FILES_MAX];
        size_t count;
        tree->place.source = &source;
        const struct config config = {.provider = tree,
                                      .provider_type = value_text(value_get_c(tree, "type"))};
        assert_true(ray_class_files(&config, home, &arena, files, &count, &err));
        assert_int_equal(count, cases[i].count);
        if (count == 2) {
            assert_str(files[0].path, "~/.shoal/cluster/plug-in/my_cloud.py");
            assert_str(files[0].bytes, "class");
        }
        if (count > 0) {
            assert_str(files[count - 1].path, "~/.shoal/cluster/plug-in/ray-class-bootstrap.json");
            assert_int_equal(files[count - 1].mode, 0600);
        }
    }
    assert_int_equal(scratch_remove(home), 0);
}

static void a_plugin_that_cannot_be_read(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_read_c(f, "{type: external, command: [./no/such]}");
    const struct config config = {.provider = tree, .provider_type = STR("external")};
    struct node_file *files;
    size_t count;
    struct err err;
    (void)state;
    assert_false(plugin_command_files(&config, &f->arena, &files, &count, &err));
    assert_like(str_from(err.text), "provider.command*./no/such*");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_sent_the_clusters_own_key),
        cmocka_unit_test(the_users_key_stays_here),
        cmocka_unit_test(the_way_to_the_cloud_is_copied),
        cmocka_unit_test(the_users_key_of_a_class),
        cmocka_unit_test(the_head_is_sent_the_plugin),
        cmocka_unit_test(words_are_relative_to_the_cluster_file),
        cmocka_unit_test(the_head_is_sent_the_class),
        cmocka_unit_test(a_plugin_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
