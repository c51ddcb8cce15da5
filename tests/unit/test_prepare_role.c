/* test_prepare_role.c: what the AWS provider creates for the head's role, with a server that plays
 * EC2 and IAM. */
#include "lease_cloud.h"
#include "provider/aws/aws_internal.h"

enum { POLICIES = 3, LEASE_MS = 90 * 1000 };

struct play {
    struct scene scene;
    struct lease_cloud cloud;
    struct provider *provider;
    struct provider_cluster cluster;
    char attached[1024]; /* the ARNs, a word each */
    enum outcome outcome;
    struct err err;
};

static struct script_answer answer(void *context, const struct script_request *request)
{
    struct play *play = context;
    char arn[200];
    if (strstr(request->body, "Action=CreateRole&")) {
        return (struct script_answer){.body = "<CreateRoleResponse><CreateRoleResult><Role>"
                                              "<Arn>arn:aws:iam::123456789012:role/shoal/head</Arn>"
                                              "</Role></CreateRoleResult></CreateRoleResponse>"};
    }
    if (strstr(request->body, "Action=AttachRolePolicy&")) {
        body_field(request->body, "PolicyArn", arn, sizeof(arn));
        size_t len = strlen(play->attached);
        snprintf(play->attached + len, sizeof(play->attached) - len, "%s ", arn);
    }
    return lease_answer(&play->cloud, request);
}

static void on_lease(void *context, const struct provider_answer *given,
                     const struct cluster_lease *lease)
{
    struct play *play = context;
    (void)lease;
    play->outcome = given->outcome;
    play->err = given->err;
    loop_stop(play->scene.loop);
}

static void on_things(void *context, const struct provider_answer *given,
                      const struct provider_resource *things, size_t count)
{
    (void)things;
    (void)count;
    on_lease(context, given, NULL);
}

static void all_policies_of_the_file_are_attached(void **state)
{
    struct play *play = calloc(1, sizeof(*play));
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct aws_subnet subnet = {.id = STR("subnet-a"), .zone = STR("us-west-2a")};
    struct str group = STR("sg-1");
    struct aws_type_facts facts = {.machine = STR("m5.large"),
                                   .image = STR("ami-1"),
                                   .subnets = &subnet,
                                   .subnet_count = 1,
                                   .groups = &group,
                                   .group_count = 1,
                                   .key = STR("mine"),
                                   .makes_profile = true};
    struct provider_type type = {.name = STR("head"), .is_head = true};
    struct err err;
    (void)state;
    scene_open(&play->scene, answer, play);
    scene_start_with_keys(&play->scene);
    play->cloud.scene = &play->scene;
    struct param *settings = param_new_map(&arena);
    struct param *policies = param_add_list(settings, "head_policies", &arena);
    for (int i = 1; i <= POLICIES; i++) {
        param_add_text(policies, "", arena_printf(&arena, "arn:aws:iam::aws:policy/P%d", i),
                       &arena);
    }
    type.node_config = param_new_map(&arena);
    play->cluster = (struct provider_cluster){
        .name = STR("demo"), .provider = settings, .types = &type, .type_count = 1};
    const struct aws_client_setup setup = {.loop = play->scene.loop,
                                           .http = play->scene.http,
                                           .log = &play->scene.log,
                                           .environ = play->scene.environ,
                                           .seed = 1};
    assert_true(
        aws_provider_open(play->scene.client, &setup, &play->cluster, &play->provider, &err));
    struct aws_provider *provider = aws_provider_of(play->provider);
    provider->facts = (struct aws_facts){.region = STR("us-west-2"), .types = &facts};
    provider->has_facts = true;
    play->provider->ops->take(
        play->provider,
        &(struct take_request){
            .holder = STR("me"), .lease_ms = LEASE_MS, .may_create = true, .is_new = true},
        on_lease, play);
    loop_run(play->scene.loop);
    assert_int_equal(play->outcome, OUTCOME_DONE);
    play->provider->ops->prepare(play->provider, STR("ssh-ed25519 AAAA me"), on_things, play);
    loop_run(play->scene.loop);
    if (play->outcome != OUTCOME_DONE) {
        fail_msg("%s", play->err.text);
    }
    assert_string_equal(play->attached, "arn:aws:iam::aws:policy/P1 arn:aws:iam::aws:policy/P2 "
                                        "arn:aws:iam::aws:policy/P3 ");
    play->provider->ops->close(play->provider);
    play->scene.client = NULL;
    scene_close(&play->scene);
    free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_policies_of_the_file_are_attached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
