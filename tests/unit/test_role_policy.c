/* test_role_policy.c: the complete policy of the head, and the names of resources. */
#include "provider/aws/cluster/role_policy.h"

#include "provider/aws/client/endpoint.h"
#include "provider/aws/cluster/aws_names.h"
#include "unit.h"

#define TAG "\"aws:RequestTag/shoal-cluster-uid\":\"0123\""
#define OWN "\"aws:ResourceTag/shoal-cluster-uid\":\"0123\""
#define HERE "\"Condition\":{\"StringEquals\":{\"aws:RequestedRegion\":\"us-west-2\""
#define ARN "arn:aws:ec2:us-west-2:123456789012:"

/* In two parts: compilers need not accept a longer literal. */
static const char expected_start[] =
    "{\"Version\":\"2012-10-17\",\"Statement\":["
    "{\"Sid\":\"Look\",\"Effect\":\"Allow\",\"Action\":[\"ec2:DescribeImages\","
    "\"ec2:DescribeInstanceStatus\",\"ec2:DescribeInstanceTypeOfferings\","
    "\"ec2:DescribeInstanceTypes\",\"ec2:DescribeInstances\","
    "\"ec2:DescribeKeyPairs\","
    "\"ec2:DescribeLaunchTemplateVersions\",\"ec2:DescribeLaunchTemplates\","
    "\"ec2:DescribeSecurityGroups\",\"ec2:DescribeSpotPriceHistory\",\"ec2:DescribeSubnets\","
    "\"ec2:DescribeTags\"],\"Resource\":\"*\"," HERE "}}},"
    "{\"Sid\":\"LaunchMachines\",\"Effect\":\"Allow\",\"Action\":[\"ec2:RunInstances\"],"
    "\"Resource\":\"" ARN "instance/*\"," HERE "," TAG
    ",\"aws:RequestTag/ray-node-type\":\"worker\""
    ",\"ec2:InstanceType\":[\"m5.large\",\"p3.2xlarge\"],\"ec2:MetadataHttpTokens\":\"required\"},"
    "\"NumericLessThanEquals\":{\"ec2:MetadataHttpPutResponseHopLimit\":\"1\"}}},"
    "{\"Sid\":\"LaunchParts\",\"Effect\":\"Allow\",\"Action\":[\"ec2:RunInstances\"],"
    "\"Resource\":[\"" ARN "volume/*\",\"" ARN "network-interface/*\",\"" ARN
    "spot-instances-request/*\"]," HERE "," TAG "}}},"
    "{\"Sid\":\"LaunchFrom\",\"Effect\":\"Allow\",\"Action\":[\"ec2:RunInstances\"],"
    "\"Resource\":[\"arn:aws:ec2:us-west-2::image/ami-1\",\"" ARN "subnet/subnet-1\"]," HERE "}}},"
    "{\"Sid\":\"TagAtLaunch\",\"Effect\":\"Allow\",\"Action\":[\"ec2:CreateTags\"],"
    "\"Resource\":[\"" ARN "instance/*\",\"" ARN "volume/*\",\"" ARN "network-interface/*\",\"" ARN
    "spot-instances-request/*\"]," HERE ",\"ec2:CreateAction\":\"RunInstances\"," TAG "}}},"
    "{\"Sid\":\"TagLater\",\"Effect\":\"Allow\",\"Action\":[\"ec2:CreateTags\"],"
    "\"Resource\":\"" ARN "instance/*\"," HERE "," OWN
    "},\"ForAllValues:StringEquals\":{\"aws:TagKeys\":[\"Name\",\"ray-file-mounts-contents\","
    "\"ray-launch-config\",\"ray-node-status\",\"ray-runtime-config\",\"shoal-epoch\","
    "\"shoal-launch\",\"shoal-stopped\"]}}},";
static const char expected_rest[] =
    "{\"Sid\":\"EndWorkers\",\"Effect\":\"Allow\",\"Action\":[\"ec2:StartInstances\","
    "\"ec2:StopInstances\",\"ec2:TerminateInstances\"],\"Resource\":\"" ARN "instance/*\"," HERE
    "," OWN ",\"aws:ResourceTag/ray-node-type\":\"worker\"}}},"
    "{\"Sid\":\"EndHeads\",\"Effect\":\"Allow\",\"Action\":[\"ec2:TerminateInstances\"],"
    "\"Resource\":\"" ARN "instance/*\"," HERE "," OWN
    ",\"aws:ResourceTag/ray-node-type\":\"head\"},"
    "\"Null\":{\"aws:ResourceTag/shoal-head\":\"true\"}}},"
    "{\"Sid\":\"Lease\",\"Effect\":\"Allow\",\"Action\":[\"ec2:CreateLaunchTemplateVersion\","
    "\"ec2:DeleteLaunchTemplateVersions\",\"ec2:ModifyLaunchTemplate\"],\"Resource\":\"" ARN
    "launch-template/*\"," HERE "," OWN "}}},"
    "{\"Sid\":\"LeaseEnd\",\"Effect\":\"Allow\",\"Action\":[\"ec2:CreateTags\"],\"Resource\":\"" ARN
    "launch-template/*\"," HERE "," OWN
    "},\"ForAllValues:StringEquals\":{\"aws:TagKeys\":[\"shoal-lease-until\"]}}},"
    "{\"Sid\":\"NeverIdentities\",\"Effect\":\"Deny\",\"Action\":\"iam:*\",\"Resource\":\"*\"},"
    "{\"Sid\":\"NeverOpenMachines\",\"Effect\":\"Deny\",\"Action\":["
    "\"ec2:ModifyInstanceAttribute\",\"ec2:ModifyInstanceMetadataOptions\",\"ec2:DeleteTags\"],"
    "\"Resource\":\"*\"},"
    "{\"Sid\":\"NeverRelabel\",\"Effect\":\"Deny\",\"Action\":\"ec2:CreateTags\","
    "\"Resource\":\"*\",\"Condition\":{\"ForAnyValue:StringEquals\":{\"aws:TagKeys\":["
    "\"shoal-cluster-uid\",\"ray-node-type\",\"shoal-head\"]},"
    "\"StringNotEquals\":{\"ec2:CreateAction\":"
    "\"RunInstances\"}}},"
    "{\"Sid\":\"NeverByOldMetadata\",\"Effect\":\"Deny\",\"Action\":\"*\",\"Resource\":\"*\","
    "\"Condition\":{\"NumericLessThan\":{\"ec2:RoleDelivery\":\"2.0\"}}}]}";

static const struct str machines[] = {{"m5.large", 8}, {"p3.2xlarge", 10}};
static const struct str launch_from[] = {{"arn:aws:ec2:us-west-2::image/ami-1", 34},
                                         {ARN "subnet/subnet-1", 50}};

static struct role_needs usual_needs(void)
{
    return (struct role_needs){.partition = STR("aws"),
                               .account = STR("123456789012"),
                               .region = STR("us-west-2"),
                               .uid = STR("0123"),
                               .machines = machines,
                               .machine_count = 2,
                               .launch_from = launch_from,
                               .launch_from_count = 2,
                               .hop_limit = 1};
}

static void the_policy_is_exactly_this(void **state)
{
    struct arena arena;
    struct err err;
    struct str policy = STR("");
    struct role_needs needs = usual_needs();
    (void)state;
    arena_init(&arena);
    assert_true(role_policy_write(&needs, &arena, &policy, &err));
    size_t len = sizeof(expected_start) - 1;
    assert_str(str_sub(policy, 0, len), expected_start);
    assert_str(str_sub(policy, len, policy.len), expected_rest);
    arena_clear(&arena);
}

static void workers_with_a_role_get_just_that(void **state)
{
    struct arena arena;
    struct err err;
    struct str policy = STR("");
    struct role_needs needs = usual_needs();
    struct str roles[] = {STR("arn:aws:iam::123456789012:role/worker")};
    (void)state;
    arena_init(&arena);
    needs.worker_roles = roles;
    needs.worker_role_count = 1;
    needs.takes_old_metadata = true;
    needs.hop_limit = 2;
    assert_true(role_policy_write(&needs, &arena, &policy, &err));
    assert_like(policy,
                "*\"Action\":\"iam:PassRole\",\"Resource\":[\"arn:aws:iam::123456789012:role/"
                "worker\"],\"Condition\":{\"StringEquals\":{\"iam:PassedToService\":"
                "\"ec2.amazonaws.com\"}}*");
    assert_like(policy, "*\"Action\":\"iam:*\",\"NotResource\":[\"arn:aws:iam::123456789012:role/"
                        "worker\"]*");
    assert_like(policy, "*HopLimit\":\"2\"*");
    assert_int_equal(str_find(policy, "ec2:MetadataHttpTokens"), SIZE_MAX);
    arena_clear(&arena);
}

static void keys_of_volumes_are_for_ec2_only(void **state)
{
    struct arena arena;
    struct err err;
    struct str policy = STR("");
    struct role_needs needs = usual_needs();
    struct str keys[] = {STR("arn:aws:kms:us-west-2:1:key/a"), STR("alias/mine")};
    (void)state;
    arena_init(&arena);
    needs.disk_keys = keys;
    needs.disk_key_count = 2;
    assert_true(role_policy_write(&needs, &arena, &policy, &err));
    assert_like(policy,
                "*\"Sid\":\"EncryptDisks\",\"Effect\":\"Allow\",\"Action\":[\"kms:CreateGrant\","
                "\"kms:Decrypt\",\"kms:DescribeKey\",\"kms:GenerateDataKeyWithoutPlaintext\"],"
                "\"Resource\":[\"arn:aws:kms:us-west-2:1:key/a\","
                "\"arn:aws:kms:us-west-2:*:key/*\"]," HERE "},\"StringLike\":{"
                "\"kms:ViaService\":\"ec2.us-west-2.amazonaws.com*\"},\"BoolIfExists\":{"
                "\"kms:GrantIsForAWSResource\":\"true\"}}}*");
    arena_clear(&arena);
}

static void china_has_other_names(void **state)
{
    struct arena arena;
    struct err err;
    struct str policy = STR("");
    struct role_needs needs = usual_needs();
    struct str roles[] = {STR("arn:aws-cn:iam::1:role/worker")};
    (void)state;
    arena_init(&arena);
    needs.region = STR("cn-north-1");
    needs.worker_roles = roles;
    needs.worker_role_count = 1;
    assert_true(role_policy_write(&needs, &arena, &policy, &err));
    assert_like(policy, "*\"iam:PassedToService\":\"ec2.amazonaws.com.cn\"*");
    assert_like(role_trust_policy(STR("cn-north-1"), &arena), "*\"ec2.amazonaws.com.cn\"*");
    assert_string_equal(aws_partition(STR("cn-north-1")), "aws-cn");
    assert_string_equal(aws_partition(STR("us-gov-west-1")), "aws-us-gov");
    assert_string_equal(aws_partition(STR("us-isob-east-1")), "aws-iso-b");
    assert_string_equal(aws_partition(STR("eusc-de-east-1")), "aws-eusc");
    assert_string_equal(aws_partition(STR("eu-west-1")), "aws");
    arena_clear(&arena);
}

static void session_manager_gets_its_channels_and_no_parameters(void **state)
{
    struct arena arena;
    struct err err;
    struct str policy = STR("");
    struct role_needs needs = usual_needs();
    (void)state;
    arena_init(&arena);
    assert_true(role_policy_write(&needs, &arena, &policy, &err));
    assert_int_equal(str_find(policy, "ssm"), SIZE_MAX);
    needs.has_sessions = true;
    assert_true(role_policy_write(&needs, &arena, &policy, &err));
    assert_like(policy, "*{\"Sid\":\"SessionManager\",\"Effect\":\"Allow\",\"Action\":[*"
                        "\"ssm:UpdateInstanceInformation\",*\"ssmmessages:OpenDataChannel\"],"
                        "\"Resource\":\"*\",\"Condition\":{\"StringEquals\":"
                        "{\"aws:RequestedRegion\":\"us-west-2\"}}}*");
    assert_int_equal(str_find(policy, "ssm:GetParameter"), SIZE_MAX);
    arena_clear(&arena);
}

static void a_policy_too_long_is_refused(void **state)
{
    struct arena arena;
    struct err err;
    struct str policy = STR("");
    struct str many[300];
    struct role_needs needs = usual_needs();
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = arena_printf(&arena, ARN "subnet/subnet-%zu", i);
    }
    needs.launch_from = many;
    needs.launch_from_count = ARRAY_LEN(many);
    assert_false(role_policy_write(&needs, &arena, &policy, &err));
    assert_like(str_from(err.text),
                "the policy of the head's role has * bytes, and AWS accepts 10240*");
    arena_clear(&arena);
}

static void names_fit_everywhere(void **state)
{
    struct arena arena;
    struct str uid = STR("0123456789abcdef0123456789abcdef");
    char long_name[200];
    (void)state;
    arena_init(&arena);
    memset(long_name, 'x', sizeof(long_name));
    struct str name = {long_name, sizeof(long_name)};
    assert_str(aws_lease_name(STR("my.demo_1"), &arena), "shoal-anchor-my.demo_1");
    assert_like(aws_lease_name(STR("my demo"), &arena), "shoal-anchor-my-demo-*");
    assert_false(str_eq(aws_lease_name(STR("a b"), &arena), aws_lease_name(STR("a-b"), &arena)));
    assert_true(aws_lease_name(name, &arena).len <= 128);
    assert_str(aws_own_name(STR("demo"), uid, "-head", &arena), "shoal-demo-01234567-head");
    assert_true(aws_own_name(name, uid, "-head", &arena).len <= 64);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policy_is_exactly_this),
        cmocka_unit_test(workers_with_a_role_get_just_that),
        cmocka_unit_test(keys_of_volumes_are_for_ec2_only),
        cmocka_unit_test(china_has_other_names),
        cmocka_unit_test(session_manager_gets_its_channels_and_no_parameters),
        cmocka_unit_test(a_policy_too_long_is_refused),
        cmocka_unit_test(names_fit_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
