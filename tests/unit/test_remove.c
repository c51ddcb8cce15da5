/* test_remove.c: what the AWS provider deletes and terminates, and what it leaves alone, with a
 * server that plays EC2 and IAM. */
#include "aws_scene.h"
#include "provider/aws/aws_provider.h"

#include <stdlib.h>

#define UID "0123456789abcdef0123456789abcdef"
#define TAGGED(id)                                                                 \
    "<item>" id "<tagSet><item><key>shoal-cluster-uid</key><value>" UID "</value>" \
    "</item></tagSet></item>"
#define FOREIGN(id) "<item>" id "</item>"

struct play {
    struct scene scene;
    struct provider *provider;
    struct provider_cluster cluster;
    char calls[8192];    /* "DeleteSecurityGroup sg-1\n" */
    const char *refused; /* an action that is always refused */
    const char *code;
    int64_t shift_ms; /* of the monotonic clock, at each refusal */
    int64_t shifted_ms;
    int listings; /* of groups and keys, which are empty after the first */
    int volumes;  /* in how many listings one is available */
    int ending;   /* in how many listings of instances one is shutting down */
    struct provider_answer answer;
    char told[4096];
};

static int64_t shifted_clock(void *context)
{
    const struct play *play = context;
    return clock_monotonic_ms(&clock_of_machine) + play->shifted_ms;
}

static int64_t real_wall(void *context)
{
    (void)context;
    return clock_wall_ms(&clock_of_machine);
}

/* ---- the server ---- */

static bool is_action(const struct script_request *request, const char *action)
{
    char text[128];
    snprintf(text, sizeof(text), "Action=%s&", action);
    return strstr(request->body, text) != NULL;
}

static void note(struct play *play, const struct script_request *request)
{
    static const char *const fields[] = {
        "GroupId=", "KeyName=", "InstanceId.1=", "InstanceId.2=", "LaunchTemplateId="};
    const char *action = strstr(request->body, "Action=") + 7;
    size_t len = strlen(play->calls);
    len += (size_t)snprintf(play->calls + len, sizeof(play->calls) - len, "%.*s",
                            (int)strcspn(action, "&"), action);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *found = strstr(request->body, fields[i]);
        if (found) {
            found += strlen(fields[i]);
            len += (size_t)snprintf(play->calls + len, sizeof(play->calls) - len, " %.*s",
                                    (int)strcspn(found, "&"), found);
        }
    }
    snprintf(play->calls + len, sizeof(play->calls) - len, "\n");
}

/* The filters are ignored: the reply includes resources without our tag. */
static const char *reply_to(struct play *play, const struct script_request *request)
{
    if (is_action(request, "DescribeSecurityGroups")) {
        return ++play->listings <= 2 ? "<securityGroupInfo>" TAGGED("<groupId>sg-1</groupId>")
                                           FOREIGN("<groupId>sg-2</groupId>") "</securityGroupInfo>"
                                     : "<securityGroupInfo/>";
    }
    if (is_action(request, "DescribeKeyPairs")) {
        return ++play->listings <= 2 ? "<keySet>" TAGGED("<keyName>k-1</keyName>")
                                           FOREIGN("<keyName>k-2</keyName>") "</keySet>"
                                     : "<keySet/>";
    }
    if (is_action(request, "DescribeNetworkInterfaces")) {
        return "<networkInterfaceSet><item><networkInterfaceId>eni-1</networkInterfaceId>"
               "<attachment><instanceId>i-9</instanceId></attachment></item></networkInterfaceSet>";
    }
    if (is_action(request, "DescribeInstances") && strstr(request->body, "i-1")) {
        return "<reservationSet><item><instancesSet>" TAGGED(
            "<instanceId>i-1</instanceId>") "</instancesSet></item></reservationSet>";
    }
    if (is_action(request, "DescribeInstances") && play->ending > 0) {
        play->ending--;
        return "<reservationSet><item><instancesSet><item><instanceId>i-2</instanceId>"
               "<instanceState><name>terminated</name></instanceState></item>"
               "<item><instanceId>i-3</instanceId><instanceState><name>shutting-down</name>"
               "</instanceState></item></instancesSet></item></reservationSet>";
    }
    if (is_action(request, "DescribeVolumes") && play->volumes-- > 0) {
        return "<volumeSet>" TAGGED("<volumeId>vol-1</volumeId>") "</volumeSet>";
    }
    return "<reservationSet/><volumeSet/><launchTemplates/>";
}

static struct script_answer answer(void *context, const struct script_request *request)
{
    static char refusal[512], reply[2048];
    struct play *play = context;
    note(play, request);
    if (play->refused && is_action(request, play->refused)) {
        snprintf(refusal, sizeof(refusal),
                 "<Response><Errors><Error><Code>%s</Code><Message>no</Message></Error></Errors>"
                 "</Response>",
                 play->code);
        play->shifted_ms += play->shift_ms;
        return (struct script_answer){.status = 400, .body = refusal};
    }
    if (is_action(request, "GetRole") || is_action(request, "GetInstanceProfile")) {
        return (struct script_answer){
            .status = 404,
            .body = "<ErrorResponse><Error><Code>NoSuchEntity</Code><Message>none</Message>"
                    "</Error></ErrorResponse>"};
    }
    const char *action = strstr(request->body, "Action=") + 7;
    int len = (int)strcspn(action, "&");
    snprintf(reply, sizeof(reply), "<%.*sResponse>%s</%.*sResponse>", len, action,
             reply_to(play, request), len, action);
    return (struct script_answer){.body = reply};
}

/* ---- the scene ---- */

static struct play *play_new(void)
{
    struct play *play = calloc(1, sizeof(*play));
    struct err err;
    scene_open(&play->scene, answer, play);
    play->scene.clock = (struct clock){shifted_clock, real_wall, play};
    scene_start_with_keys(&play->scene);
    struct aws_client_setup setup = {.loop = play->scene.loop,
                                     .http = play->scene.http,
                                     .log = &play->scene.log,
                                     .environ = play->scene.environ,
                                     .region = STR("us-west-2"),
                                     .seed = 1};
    play->cluster = (struct provider_cluster){.name = STR("demo")};
    assert_true(
        aws_provider_open(play->scene.client, &setup, &play->cluster, &play->provider, &err));
    play->provider->ops->adopt(play->provider, STR(UID));
    return play;
}

static void play_free(struct play *play)
{
    play->provider->ops->close(play->provider);
    play->scene.client = NULL;
    child_pool_free(play->scene.children);
    http_close(play->scene.http);
    loop_close(play->scene.loop);
    redact_free(play->scene.redact);
    script_server_stop(play->scene.server);
    free(play);
}

static void on_things(void *context, const struct provider_answer *given,
                      const struct provider_resource *things, size_t count)
{
    struct play *play = context;
    size_t len = 0;
    play->answer = *given;
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(play->told + len, sizeof(play->told) - len, "%s %.*s: %.*s\n",
                                things[i].is_gone ? "gone" : "left", STR_ARG(things[i].id),
                                STR_ARG(things[i].note));
    }
    loop_stop(play->scene.loop);
}

static void on_done(void *context, const struct provider_answer *given)
{
    struct play *play = context;
    play->answer = *given;
    loop_stop(play->scene.loop);
}

static void remove_all(struct play *play)
{
    play->provider->ops->remove(play->provider, on_things, play);
    loop_run(play->scene.loop);
}

#define assert_called(play, what) assert_non_null(strstr((play)->calls, what))
#define assert_not_called(play, what) assert_null(strstr((play)->calls, what))

/* ---- removing ---- */

static void test_only_what_carries_the_uid_is_deleted(void **state)
{
    struct play *play = play_new();
    (void)state;
    remove_all(play);
    assert_int_equal(play->answer.outcome, OUTCOME_DONE);
    assert_called(play, "DeleteSecurityGroup sg-1\n");
    assert_called(play, "DeleteKeyPair k-1\n");
    assert_not_called(play, "DeleteSecurityGroup sg-2");
    assert_not_called(play, "DeleteKeyPair k-2");
    assert_not_called(play, "LaunchTemplate lt"); /* there is none, and none is created */
    assert_not_called(play, "CreateLaunchTemplate");
    assert_string_equal(play->told, "gone sg-1: \ngone k-1: \n");
    play_free(play);
}

static void test_a_group_that_stays_in_use_is_left_and_the_rest_goes(void **state)
{
    struct play *play = play_new();
    (void)state;
    play->refused = "DeleteSecurityGroup";
    play->code = "DependencyViolation";
    play->shift_ms = 60 * 1000;
    play->listings = -1; /* the group is listed to the end */
    remove_all(play);
    assert_int_equal(play->answer.outcome, OUTCOME_DONE);
    assert_non_null(strstr(play->told, "left sg-1: still in use by eni-1 of i-9\n"));
    assert_called(play, "DeleteKeyPair k-1\n");
    play_free(play);
}

/* One may end between the filter and the reply. */
static void test_instances_that_end_are_waited_for(void **state)
{
    struct play *play = play_new();
    (void)state;
    play->ending = 1;
    remove_all(play);
    assert_int_equal(play->answer.outcome, OUTCOME_DONE);
    assert_string_equal(play->told, "gone sg-1: \ngone k-1: \n");
    play_free(play);
}

/* EC2 may show a volume as available for a moment before it deletes it. */
static void test_a_volume_that_goes_is_not_left(void **state)
{
    struct play *play = play_new();
    (void)state;
    play->volumes = 2;
    remove_all(play);
    assert_int_equal(play->answer.outcome, OUTCOME_DONE);
    assert_string_equal(play->told, "gone sg-1: \ngone k-1: \n");
    play_free(play);
}

static void test_a_volume_that_stays_is_named(void **state)
{
    (void)state;
    for (int is_wanted = 0; is_wanted < 2; is_wanted++) {
        struct play *play = play_new();
        AUTO_ARENA struct arena arena = ARENA_HEAP;
        struct param *config = param_new_map(&arena);
        struct param *disk = param_add_map(param_add_list(config, "BlockDeviceMappings", &arena),
                                           "", &arena);
        param_add_bool(param_add_map(disk, "Ebs", &arena), "DeleteOnTermination", is_wanted == 0,
                       &arena);
        struct provider_type type = {.node_config = config};
        play->cluster.types = &type;
        play->cluster.type_count = 1;
        play->volumes = 1000;
        remove_all(play);
        assert_int_equal(play->answer.outcome, OUTCOME_DONE);
        assert_non_null(
            strstr(play->told, is_wanted ? "left vol-1: kept: the file has DeleteOnTermination: "
                                           "false\n"
                                         : "left vol-1: kept: its instance is gone and EC2 did "));
        assert_true(is_wanted ? play->volumes == 999 : play->volumes < 998);
        play_free(play);
    }
}

static void check_unseen(const char *action, const char *code, const char *expected)
{
    struct play *play = play_new();
    play->refused = action;
    play->code = code;
    remove_all(play);
    assert_int_equal(play->answer.outcome, OUTCOME_DONE);
    assert_non_null(strstr(play->told, expected));
    play_free(play);
}

static void test_a_denied_call_is_never_none(void **state)
{
    (void)state;
    check_unseen("GetRole", "AccessDenied", "needs iam:GetRole");
    check_unseen("GetInstanceProfile", "AccessDenied", "needs iam:GetInstanceProfile");
    check_unseen("DescribeSecurityGroups", "UnauthorizedOperation",
                 "needs ec2:DescribeSecurityGroups");
    check_unseen("DescribeKeyPairs", "UnauthorizedOperation", "needs ec2:DescribeKeyPairs");
    check_unseen("DescribeVolumes", "UnauthorizedOperation", "needs ec2:DescribeVolumes");
    check_unseen("DeleteKeyPair", "UnauthorizedOperation", "needs ec2:DeleteKeyPair");
    check_unseen("DeleteKeyPair", "InvalidParameterValue", "left k-1: could not be deleted: no");
    check_unseen("DeleteSecurityGroup", "InvalidParameterValue",
                 "left sg-1: could not be deleted: no");
}

/* ---- terminating ---- */

static void test_an_instance_of_another_cluster_is_never_terminated(void **state)
{
    const struct str ids[] = {STR("i-1"), STR("i-2")};
    struct play *play = play_new();
    (void)state;
    play->provider->ops->terminate(play->provider, ids, 2, on_done, play);
    loop_run(play->scene.loop);
    assert_int_equal(play->answer.outcome, OUTCOME_NOT_FOUND);
    assert_called(play, "TerminateInstances i-1\n");
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instances_that_end_are_waited_for),
        cmocka_unit_test(test_a_volume_that_goes_is_not_left),
        cmocka_unit_test(test_a_volume_that_stays_is_named),
        cmocka_unit_test(test_only_what_carries_the_uid_is_deleted),
        cmocka_unit_test(test_a_group_that_stays_in_use_is_left_and_the_rest_goes),
        cmocka_unit_test(test_a_denied_call_is_never_none),
        cmocka_unit_test(test_an_instance_of_another_cluster_is_never_terminated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
