/* test_preflight.c: what this machine lacks for a launch is found before the launch. */
#include "app/preflight.h"

#include "fake_provider.h"
#include "fixture.h"
#include "io/clock.h"

#define AWS "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"
#define TYPES                                                       \
    "head_node_type: h\navailable_node_types:\n"                    \
    "  h: {resources: {}, node_config: {InstanceType: m5.large}}\n" \
    "  w: {resources: {}, node_config: {InstanceType: m5.large}}\n"
#define DLAMI "Deep Learning AMI (Ubuntu 18.04) Version 64.1"

static const struct config *config_of(struct fixture *f, const char *yaml)
{
    const struct value *tree = fixture_prepare(f, yaml);
    assert_non_null(tree);
    return config_type(&f->arena, tree);
}

static void add_finding(struct buf *out, const struct finding *finding)
{
    buf_addf(out, "%s%.*s: %.*s @%.*s -> %.*s\n", finding->level == FINDING_ERROR ? "!" : "?",
             STR_ARG(finding->subject), STR_ARG(finding->text), STR_ARG(finding->path),
             STR_ARG(finding->remedy));
}

/* Only the program for x86_64 exists: this very test. */
static void check(const char *yaml, struct provider_type_facts head,
                  struct provider_type_facts worker, const char *expected)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf out;
    const struct provider_type_facts types[] = {head, worker};
    const struct payload_places places = {.program = STR("/opt/bin/shoal"),
                                          .own_machine = STR("x86_64")};
    struct preflight_findings all = preflight_local(config_of(f, yaml), types, &places, &f->arena);
    buf_init(&out, 65536);
    for (size_t i = 0; i < all.count; i++) {
        add_finding(&out, &all.items[i]);
    }
    assert_like(buf_str(&out), expected);
}

static struct provider_type_facts of(const char *architecture, const char *image_name)
{
    return (struct provider_type_facts){.architecture = str_from(architecture),
                                        .image = STR("ami-1"),
                                        .image_name = str_from(image_name)};
}

/* User data that cannot be combined with ours is found before the launch. */
static void user_data_is_checked(void **state)
{
    static char big[16384];
    struct provider_type_facts fine = of("", "");
    struct provider_type_facts odd = of("", "");
    (void)state;
    odd.user_data = STR("#!/bin/sh\necho MINE\n");
    check(AWS TYPES, fine, odd, "");
    odd.user_data = STR("echo MINE");
    check(AWS TYPES, fine, odd,
          "!user data: UserData does not start with a header that cloud-init knows* "
          "@available_node_types.w.node_config.LaunchTemplate -> \n");
    odd.user_data = STR("\x1f\x8b\x08 z");
    check(AWS TYPES, odd, fine, "!user data: UserData is compressed* @*h.node_config.Launch*\n");
    big[0] = '#';
    big[1] = '!';
    for (size_t i = 2; i < sizeof big; i++) {
        big[i] = 'x';
    }
    odd.user_data = (struct str){big, sizeof big - 5000};
    check(AWS TYPES, odd, odd, "");
    odd.user_data.len = sizeof big - 3000;
    check(AWS TYPES, odd, fine, "!user data: UserData has 13384 bytes and Shoal adds *\n");
    /* The file's own user data counts more than the template's. */
    check(AWS "head_node_type: h\navailable_node_types:\n"
              "  h: {resources: {}, node_config: {UserData: '#!/bin/true'}}\n"
              "  w: {resources: {}, node_config: {UserData: 'mine'}}\n",
          odd, fine, "!user data: * @available_node_types.w.node_config.UserData -> \n");
}

static void nothing_is_wrong(void **state)
{
    (void)state;
    check(AWS TYPES, of("x86_64", "mine"), of("x86_64", "mine"), "");
    check(AWS TYPES, of("", ""), of("", ""), "");
    check(AWS TYPES "docker: {}\n", of("x86_64", ""), of("", ""), "");
}

static void session_manager_needs_two_programs(void **state)
{
    (void)state;
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    assert_int_equal(unsetenv("AWS_ACCESS_KEY_ID"), 0);
    check(AWS TYPES "metadata: {shoal: {access: ssm}}\n", of("x86_64", ""), of("x86_64", ""),
          "!program: access: ssm needs the program aws, which is not in PATH on this machine "
          "@metadata.shoal.access -> install *\n"
          "!program: access: ssm needs the program session-manager-plugin, *\n");
    check(AWS TYPES "metadata: {shoal: {access: ssh}}\n", of("x86_64", ""), of("x86_64", ""), "");
    check(AWS TYPES "metadata: {shoal: {access: ssm}}\nauth: {ssh_proxy_command: mine}\n",
          of("x86_64", ""), of("x86_64", ""), "");
    assert_int_equal(setenv("AWS_ACCESS_KEY_ID", "x", 1), 0);
    check(AWS TYPES "metadata: {shoal: {access: ssm}}\n", of("x86_64", ""), of("x86_64", ""),
          "!program: *\n!program: *\n"
          "?credentials: ssh does not get credentials from environment variables*\n");
    assert_int_equal(unsetenv("AWS_ACCESS_KEY_ID"), 0);
}

static void a_program_is_missing(void **state)
{
    (void)state;
    check(AWS TYPES, of("arm64", ""), of("arm64", ""),
          "!program: the shoal program for aarch64 machines is missing: "
          "/opt/libexec/shoal/payload/shoal-aarch64 @ -> install the release package (build it "
          "with `packaging/static package`), *\n");
}

static void architectures_are_mixed(void **state)
{
    (void)state;
    check(AWS TYPES, of("x86_64", ""), of("arm64", ""),
          "!program: the shoal program for aarch64 *\n"
          "!program: node type w uses arm64 and the head uses x86_64* "
          "@available_node_types.w.node_config.InstanceType -> *\n");
}

static void images_with_an_old_python(void **state)
{
    (void)state;
    check(AWS TYPES, of("x86_64", DLAMI), of("x86_64", DLAMI),
          "!image: image ami-1 is Ubuntu 18.04, which comes with Python 3.6; Ray *needs 3.10 or "
          "newer @available_node_types.h.node_config.ImageId -> use a newer image*\n");
    /* A command may install another one, and some images have conda. */
    check(AWS TYPES "setup_commands: [./python]\n", of("x86_64", DLAMI), of("x86_64", DLAMI),
          "?image: *\n");
    check(AWS TYPES, of("x86_64", "DLAMI PyTorch (Ubuntu 20.04)"), of("x86_64", "mine"),
          "?image: *\n");
    check(AWS TYPES "metadata: {shoal: {ray_version: '2.9.0'}}\n", of("x86_64", DLAMI),
          of("x86_64", DLAMI), "");
    check(AWS TYPES "docker: {image: i, container_name: c}\n", of("x86_64", DLAMI),
          of("x86_64", DLAMI), "");
}

/* `up` would wait ten minutes for a driver, and fail. */
static void gpus_and_an_image_without_their_driver(void **state)
{
    static const char gpu[] = AWS
        "head_node_type: h\navailable_node_types:\n"
        "  h: {resources: {}, node_config: {InstanceType: m5.large}}\n"
        "  w: {resources: {}, node_config: {InstanceType: g5.xlarge, ImageId: ami-1}}\n";
    static const char ubuntu[] = "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20260101";
    (void)state;
    check(gpu, of("x86_64", ubuntu), of("x86_64", ubuntu),
          "!image: image ubuntu*-20260101 has no NVIDIA driver, and node type w has GPUs "
          "@available_node_types.w.node_config.ImageId -> remove ImageId*\n");
    check(gpu, of("x86_64", ubuntu), of("x86_64", "Deep Learning Base OSS Nvidia Driver GPU AMI"),
          "");
    check(gpu, of("x86_64", ubuntu), of("x86_64", "amzn2-ami-ecs-gpu-hvm-2.0"), "");
    /* A command may install it. */
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct str more = arena_printf(&f->arena, "%ssetup_commands: [./driver]\n", gpu);
    check(more.ptr, of("x86_64", ubuntu), of("x86_64", ubuntu), "?image: *\n");
}

/* ---- together with the cloud's findings ---- */

struct heard {
    struct loop *loop;
    struct buf text;
    enum outcome outcome;
};

static void hear(void *context, const struct provider_answer *answer,
                 const struct finding *findings, size_t count)
{
    struct heard *heard = context;
    heard->outcome = answer->outcome;
    for (size_t i = 0; i < count; i++) {
        add_finding(&heard->text, &findings[i]);
    }
    loop_stop(heard->loop);
}

static void the_preflight_comes_first(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = config_of(f, AWS TYPES);
    const struct finding full = {.level = FINDING_WARNING, .subject = STR("subnets")};
    struct fake_cloud cloud;
    struct heard heard = {0};
    struct err err;
    (void)state;
    assert_true(loop_open(&clock_of_machine, &heard.loop, &err));
    fake_cloud_init(&cloud);
    buf_init(&heard.text, 65536);
    cloud.findings = &full;
    cloud.finding_count = 1;
    cloud.type_facts[0] = of("", DLAMI);
    struct provider *provider = fake_provider_new(&cloud, heard.loop);
    preflight_run(provider, config, PREFLIGHT_FOR_PEOPLE, &f->arena, hear, &heard);
    loop_run(heard.loop);
    assert_int_equal(heard.outcome, OUTCOME_DONE);
    assert_like(buf_str(&heard.text), "?subnets: *\n!image: *\n");
    buf_clear(&heard.text);
    cloud.next[FAKE_PREFLIGHT] = OUTCOME_DENIED;
    preflight_run(provider, config, PREFLIGHT_FOR_PEOPLE, &f->arena, hear, &heard);
    loop_run(heard.loop);
    assert_int_equal(heard.outcome, OUTCOME_DENIED);
    assert_str(buf_str(&heard.text), "");
    provider->ops->close(provider);
    loop_close(heard.loop);
    fake_cloud_clear(&cloud);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_wrong),
        cmocka_unit_test(user_data_is_checked),
        cmocka_unit_test(session_manager_needs_two_programs),
        cmocka_unit_test(a_program_is_missing),
        cmocka_unit_test(architectures_are_mixed),
        cmocka_unit_test(images_with_an_old_python),
        cmocka_unit_test(gpus_and_an_image_without_their_driver),
        cmocka_unit_test(the_preflight_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
