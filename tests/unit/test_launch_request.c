/* test_launch_request.c: a launch request equals Ray's, and is the same each time. */
#include "app/control/launch_request.h"

#include "app/launch/bootstrap.h"
#include "fake_provider.h"
#include "fixture.h"
#include "provider/launch_token.h"

#define FILE_HEAD                                                            \
    "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"         \
    "auth: {ssh_user: ubuntu}\nmax_workers: 4\nhead_node_type: head\n"       \
    "available_node_types:\n"                                                \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n" \
    "  small:\n    min_workers: 2\n    node_config:\n      InstanceType: m5.large\n"

struct scene {
    struct fake_cloud cloud;
    struct provider *provider;
    struct loop *loop;
    struct launch_spec spec;
    struct str token, call;
    struct err err;
};

static bool compose(struct scene *scene, struct fixture *f, const char *yaml)
{
    const struct value *tree = fixture_prepare(f, yaml);
    assert_non_null(tree);
    assert_int_equal(f->diags.error_count, 0);
    scene->spec.config = config_type(&f->arena, tree);
    return launch_request_make(&scene->spec, scene->provider, &f->arena, &scene->token,
                               &scene->call, &scene->err);
}

static void set_up(struct scene *scene)
{
    *scene = (struct scene){.spec = {.type = 1,
                                     .uid = STR("0123456789abcdef0123456789abcdef"),
                                     .secret = STR("0123456789abcdef0123456789abcdef"),
                                     .launch = (uint64_t)3 << 32 | 7,
                                     .zone = STR("us-west-2b"),
                                     .market = MARKET_SPOT,
                                     .count = 2}};
    fake_cloud_init(&scene->cloud);
    assert_true(loop_open(&clock_of_machine, &scene->loop, &scene->err));
    scene->provider = fake_provider_new(&scene->cloud, scene->loop);
}

static void tear_down(struct scene *scene)
{
    scene->provider->ops->close(scene->provider);
    loop_close(scene->loop);
    fake_cloud_clear(&scene->cloud);
}

static void a_worker_bears_rays_tags(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(compose(&scene, f, FILE_HEAD));
    assert_true(str_eq(scene.token, launch_token(scene.spec.uid, scene.spec.launch, &f->arena)));
    struct str first = str_sub(scene.call, 0, str_find_char(scene.call, '|'));
    assert_like(first, "2 type-1 zone-us-west-2b spot shoal-* 3.7 ray-node-name=ray-demo-worker "
                       "ray-node-type=worker ray-node-status=uninitialized "
                       "ray-launch-config=* ray-user-node-type=small shoal-node-config=*");
    /* hash_launch_conf of Ray 2.60 for [{"InstanceType": "m5.large"}, {"ssh_user": "ubuntu"}] */
    assert_true(str_find(scene.call, "=v3665bgbtd46hgo35ja53o3u3nnc0p3ml669d57r3knnqjr457j0 ") !=
                SIZE_MAX);
    tear_down(&scene);
}

/* The head reaches it with that key; KeyName stays as in the file. */
static void a_machine_accepts_the_clusters_own_key(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(compose(&scene, f, FILE_HEAD));
    assert_true(str_find(scene.call, "ssh_authorized_keys") == SIZE_MAX);
    scene.spec.cluster_key = STR("ssh-ed25519 AAAAownKey shoal-demo");
    assert_true(compose(&scene, f, FILE_HEAD));
    assert_true(str_find(scene.call, "ssh_authorized_keys:\n  - ssh-ed25519 AAAAownKey\n") !=
                SIZE_MAX);
    assert_true(str_find(scene.call, "    - 'ubuntu'\n") != SIZE_MAX);
    tear_down(&scene);
}

static void the_head_is_launched_the_same_way(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    (void)state;
    set_up(&scene);
    scene.spec.type = 0;
    scene.spec.launch = HEAD_LAUNCH(3, 0);
    scene.spec.zone = STR("us-west-2");
    scene.spec.is_head = true;
    assert_true(compose(&scene, f, FILE_HEAD));
    struct str first = str_sub(scene.call, 0, str_find_char(scene.call, '|'));
    assert_like(
        first,
        "2 type-0 zone- spot * 3.2147483648 ray-node-name=ray-demo-head ray-node-type=head *");
    assert_false(launch_is_cores(scene.spec.launch));
    tear_down(&scene);
}

static void the_same_wish_is_the_same_call(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(compose(&scene, f, FILE_HEAD));
    struct str first = scene.call;
    assert_true(compose(&scene, f, FILE_HEAD));
    assert_true(str_eq(first, scene.call));
    scene.spec.launch++;
    assert_true(compose(&scene, f, FILE_HEAD));
    assert_false(str_eq(first, scene.call));
    tear_down(&scene);
}

static void user_data_is_joined(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(compose(&scene, f, FILE_HEAD "      UserData: \"#!/bin/sh\\necho hello\\n\"\n"));
    assert_true(str_find(scene.call, "BEGIN OPENSSH PRIVATE KEY") != SIZE_MAX);
    assert_true(str_find(scene.call, "multipart") != SIZE_MAX);
    assert_false(compose(&scene, f, FILE_HEAD "      UserData: \"<powershell>\"\n"));
    assert_like(str_from(scene.err.text), "available_node_types.small.node_config.UserData: *");
    tear_down(&scene);
}

/* With or without idle_stop: who shuts a head down does not mean to lose its disk. */
static void a_head_keeps_its_disk_at_a_shutdown(void **state)
{
    static const struct {
        bool is_head;
        enum market market;
        bool rests;
    } rows[] = {{true, MARKET_ON_DEMAND, true},
                {true, MARKET_SPOT, false}, /* cannot be stopped */
                {false, MARKET_ON_DEMAND, false},
                {false, MARKET_SPOT, false}};
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scene scene;
        set_up(&scene);
        scene.spec.is_head = rows[i].is_head;
        scene.spec.market = rows[i].market;
        assert_true(compose(&scene, f, FILE_HEAD));
        assert_int_equal(str_ends(scene.call, "|rests"), rows[i].rests);
        tear_down(&scene);
    }
}

static void every_machine_has_the_switch(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(compose(&scene, f, FILE_HEAD));
    assert_true(str_find(scene.call, "text/cloud-boothook\n\n#!/bin/sh\nrole=worker\nlimit=60\n") !=
                SIZE_MAX);
    scene.spec.type = 0;
    scene.spec.is_head = true;
    assert_true(compose(&scene, f, FILE_HEAD));
    assert_true(str_find(scene.call, "#!/bin/sh\nrole=head\nlimit=60\n") != SIZE_MAX);
    assert_true(
        compose(&scene, f, FILE_HEAD "metadata: {shoal: {contact_timeout_minutes: 2.5}}\n"));
    assert_true(str_find(scene.call, "\nlimit=10\n") != SIZE_MAX);
    assert_true(compose(&scene, f, FILE_HEAD "metadata: {shoal: {contact_timeout_minutes: 0}}\n"));
    assert_true(str_find(scene.call, "boothook") == SIZE_MAX);
    tear_down(&scene);
}

/* The head reads another form of the file and has other keys; it must not treat workers of the
 * laptop as outdated. */
static void laptop_and_head_have_the_same_config_hash(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_FIXTURE struct fixture *head = fixture_new();
    struct str json;
    struct str here;
    struct str there;
    struct err err;
    (void)state;
    const struct value *tree = fixture_prepare(
        f, FILE_HEAD "      ImageId: ami-1\n      Ratio: 0.5\n      Big: 12345678901\n"
                     "      BlockDeviceMappings: [{DeviceName: /dev/sda1, Ebs: {VolumeSize: 64}}]\n"
                     "      UserData: \"#!/bin/sh\\necho h\\u00e9llo\\n\"\n");
    const struct config *laptop = config_type(&f->arena, tree);
    assert_true(bootstrap_config(laptop, BOOTSTRAP_FOR_SERVICE, false, &f->arena, &json, &err));
    const struct value *again = fixture_prepare(head, json.ptr);
    const struct config *service = config_type(&head->arena, again);
    for (size_t i = 0; i < laptop->node_type_count; i++) {
        assert_true(launch_config_hash(laptop, i, &f->arena, &here, &err));
        assert_true(launch_config_hash(service, i, &head->arena, &there, &err));
        assert_true(str_eq(here, there));
    }
    const struct config *other = config_type(
        &f->arena, fixture_prepare(f, FILE_HEAD "      ImageId: ami-2\n"));
    assert_true(launch_config_hash(other, 1, &f->arena, &there, &err));
    assert_false(str_eq(here, there));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_bears_rays_tags),
        cmocka_unit_test(a_machine_accepts_the_clusters_own_key),
        cmocka_unit_test(the_head_is_launched_the_same_way),
        cmocka_unit_test(the_same_wish_is_the_same_call),
        cmocka_unit_test(user_data_is_joined),
        cmocka_unit_test(a_head_keeps_its_disk_at_a_shutdown),
        cmocka_unit_test(every_machine_has_the_switch),
        cmocka_unit_test(laptop_and_head_have_the_same_config_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
