/* test_cluster_state.c: where a cluster's keys and sockets are kept, and which users can change
 * that. */
#include "app/cluster_state.h"

#include "app/launch/head_connection.h"
#include "app/launch/launcher.h"
#include "fixture.h"
#include "io/file.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MINIMAL                                                        \
    "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"   \
    "auth: {ssh_user: ubuntu}\nmax_workers: 1\nhead_node_type: head\n" \
    "available_node_types:\n"                                          \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"

enum { SOCKET_BYTES_MAX = 103, SSH_ADDS = 17 };

struct scene {
    char base[64];
    struct fixture *f;
    const struct config *config;
    struct cluster_state state;
    struct err err;
};

static void set_up(struct scene *scene)
{
    *scene = (struct scene){.base = "/tmp/shoal-state-XXXXXX", .f = fixture_new()};
    assert_non_null(mkdtemp(scene->base));
    assert_int_equal(setenv("XDG_STATE_HOME", scene->base, 1), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    const struct value *tree = fixture_prepare(scene->f, MINIMAL);
    assert_non_null(tree);
    scene->config = config_type(&scene->f->arena, tree);
}

static void tear_down(struct scene *scene)
{
    assert_int_equal(scratch_remove(scene->base), 0);
    fixture_free(&scene->f);
}

static bool open_state(struct scene *scene, bool makes)
{
    return cluster_state_open(scene->config, makes, &scene->f->arena, &scene->state, &scene->err);
}

static const char *below(struct scene *scene, const char *name)
{
    return arena_printf(&scene->f->arena, "%s/%s", scene->base, name).ptr;
}

static void sockets_are_kept_in_the_state_folder(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(open_state(&scene, true));
    assert_string_equal(scene.state.control, below(&scene, "shoal/aws-us-west-2-demo/ctl"));
    assert_int_equal(file_stat(scene.state.control).mode, 0700);
    tear_down(&scene);
}

static void a_runtime_folder_is_preferred(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_int_equal(mkdir(below(&scene, "run"), 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", below(&scene, "run"), 1), 0);
    assert_true(open_state(&scene, true));
    assert_like(str_from(scene.state.control), "*/run/shoal/*");
    assert_int_equal(chmod(below(&scene, "run"), 0777), 0);
    assert_false(open_state(&scene, true));
    assert_int_equal(scene.err.kind, ERR_AUTH);
    assert_like(str_from(scene.err.text), "*/run: other users can write to it *");
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    tear_down(&scene);
}

/* For all paths, ssh can create a socket there, and two instances have two sockets. */
static void sockets_fit(void **state)
{
    struct scene scene;
    char name[120];
    (void)state;
    set_up(&scene);
    struct arena *arena = &scene.f->arena;
    memset(name, 'x', sizeof(name));
    for (int len = 1; len < 100; len += 7) {
        const char *home = arena_printf(arena, "%s/%.*s", scene.base, len, name).ptr;
        assert_int_equal(setenv("XDG_STATE_HOME", home, 1), 0);
        assert_true(open_state(&scene, true));
        const char *one = cluster_state_control(&scene.state, STR("i-0123456789abcdef0"), arena);
        const char *two = cluster_state_control(&scene.state, STR("i-0123456789abcdef1"), arena);
        assert_true(strlen(one) + SSH_ADDS <= SOCKET_BYTES_MAX);
        assert_string_not_equal(one, two);
        assert_true(cluster_state_remove(&scene.state, &scene.err));
    }
    assert_like(str_from(scene.state.control), "/tmp/shoal-*");
    tear_down(&scene);
}

/* Also for commands that only use a cluster: they read its key and its host keys there. */
static void a_folder_that_others_can_replace_is_not_used(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(open_state(&scene, false)); /* not known here: nothing to check, nothing created */
    assert_int_equal(file_stat(below(&scene, "shoal")).kind, FILE_MISSING);
    assert_true(open_state(&scene, true));
    assert_true(open_state(&scene, false));
    assert_int_equal(chmod(below(&scene, "shoal"), 0777), 0);
    for (int makes = 0; makes < 2; makes++) {
        assert_false(open_state(&scene, makes));
        assert_int_equal(scene.err.kind, ERR_AUTH);
        assert_like(str_from(scene.err.text), "*/shoal: other users can write to it *");
    }
    tear_down(&scene);
}

#define KEY_1 "ssh-ed25519 AAAAfirstBoot"
#define KEY_2 "ssh-ed25519 AAAAmadeThere"

static struct str pinned(struct scene *scene)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 1000);
    const char *path = cluster_state_known_hosts(&scene->state, STR("i-1"), &scene->f->arena);
    assert_true(file_read(path, &text, &scene->err));
    return arena_str(&scene->f->arena, buf_str(&text));
}

static void greet(struct scene *scene, const char *to_come, const char *shown)
{
    const struct node_hello hello = {.host_key = str_from(to_come), .shown_key = str_from(shown)};
    assert_true(cluster_state_pin_greeted(&scene->state, STR("i-1"), &hello, &scene->err));
}

/* A process that died before it learned that the new key is in place learns it later. */
static void a_first_host_key_goes_when_the_new_one_is_shown(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(open_state(&scene, true));
    assert_true(cluster_state_pin(&scene.state, STR("i-1"), STR(KEY_1), false, &scene.err));
    greet(&scene, KEY_2, "");
    assert_str(pinned(&scene), "i-1 " KEY_1 "\ni-1 " KEY_2 "\n");
    greet(&scene, KEY_2, ""); /* it could not be put in place: both keys stay valid */
    assert_str(pinned(&scene), "i-1 " KEY_1 "\ni-1 " KEY_2 "\n");
    greet(&scene, "", "");
    assert_str(pinned(&scene), "i-1 " KEY_1 "\ni-1 " KEY_2 "\n");
    greet(&scene, "", KEY_2);
    assert_str(pinned(&scene), "i-1 " KEY_2 "\n");
    tear_down(&scene);
}

#define LOCAL                                                                                  \
    "cluster_name: rack\nprovider: {type: local, head_ip: 10.0.0.1, worker_ips: [10.0.0.2]}\n" \
    "auth: {ssh_user: me}\n"

/* Without a key in the file ssh uses the keys of the user; the host key is that of the address. */
static void own_machines_need_no_key(void **state)
{
    struct scene scene;
    struct ssh_target place;
    struct launcher_head head = {.id = STR("10.0.0.1@3.1"), .address = STR("10.0.0.1")};
    (void)state;
    set_up(&scene);
    struct launcher_setup setup = {.config = scene.config};
    assert_false(launcher_head_place(&setup, &head, &scene.f->arena, &place, &scene.err));
    assert_non_null(strstr(scene.err.text, "does not have the key of cluster demo"));

    const struct value *tree = fixture_prepare(scene.f, LOCAL);
    assert_non_null(tree);
    setup.config = scene.config = config_type(&scene.f->arena, tree);
    assert_true(open_state(&scene, true));
    assert_true(cluster_state_pin(&scene.state, head.id, STR(KEY_1), false, &scene.err));
    assert_str(cluster_state_pinned(&scene.state, head.id, &scene.f->arena), KEY_1);
    assert_str(cluster_state_pinned(&scene.state, STR("10.0.0.1@4.1"), &scene.f->arena), KEY_1);
    assert_true(launcher_head_place(&setup, &head, &scene.f->arena, &place, &scene.err));
    assert_null(place.identity);
    assert_str(place.machine, "10.0.0.1");
    tear_down(&scene);
}

/* Processes with the same id, in two containers with one home, must not read each other's log. */
static void every_ssh_has_a_log_of_its_own(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct launcher_setup setup = {.config = scene.config};
    assert_null(head_connection_log(&setup, &scene.f->arena)); /* the folder does not exist */
    assert_true(open_state(&scene, true));
    const char *first = head_connection_log(&setup, &scene.f->arena);
    const char *second = head_connection_log(&setup, &scene.f->arena);
    assert_true(first && second && strcmp(first, second) != 0);
    assert_int_equal(file_stat(first).mode, 0600);
    assert_int_equal(file_stat(second).kind, FILE_REGULAR);
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_are_kept_in_the_state_folder),
        cmocka_unit_test(a_runtime_folder_is_preferred),
        cmocka_unit_test(sockets_fit),
        cmocka_unit_test(a_folder_that_others_can_replace_is_not_used),
        cmocka_unit_test(a_first_host_key_goes_when_the_new_one_is_shown),
        cmocka_unit_test(own_machines_need_no_key),
        cmocka_unit_test(every_ssh_has_a_log_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
