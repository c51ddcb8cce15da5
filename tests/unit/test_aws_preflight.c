/* test_aws_preflight.c: findings about a cluster file for given answers of AWS. */
#include "provider/aws/preflight/preflight_evaluate.h"

#include "app/node_params.h"
#include "base/attr.h"
#include "fixture.h"
#include "provider/aws/preflight/quota.h"

#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }
#define AWS "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"
#define TYPES(head, worker)                                            \
    "head_node_type: head\navailable_node_types:\n"                    \
    "  head: {resources: {}, node_config: {InstanceType: " head "}}\n" \
    "  gpu: {resources: {}, node_config: {InstanceType: " worker "}}\n"

/* ---- an account without problems ---- */

static struct ec2_subnet subnets[] = {
    {TEXT("subnet-a"), TEXT("us-west-2a"), TEXT("vpc-1"), TEXT("available"), 9, true},
    {TEXT("subnet-b"), TEXT("us-west-2b"), TEXT("vpc-1"), TEXT("available"), 9, true},
};
static struct ec2_group groups[] = {{TEXT("sg-1"), TEXT("web"), TEXT("vpc-1")},
                                    {TEXT("sg-2"), TEXT("far"), TEXT("vpc-2")}};
static struct ec2_image images[] = {
    {.id = TEXT("ami-x86"),
     .name = TEXT("mine"),
     .state = TEXT("available"),
     .arch = TEXT("x86_64"),
     .root_device = TEXT("/dev/xvda"),
     .root_gib = 8},
    {.id = TEXT("ami-0a2b85e15b7c0ac34"),
     .name = TEXT("Deep Learning"),
     .state = TEXT("available"),
     .arch = TEXT("x86_64")},
};
static struct ec2_image new_images[] = {
    {.id = TEXT("ami-new-arm"), .state = TEXT("available"), .arch = TEXT("arm64")},
    {.id = TEXT("ami-new-x86"), .state = TEXT("available"), .arch = TEXT("x86_64")}};
static struct ec2_type types[] = {
    {.name = TEXT("m5.large"),
     .archs = {TEXT("x86_64")},
     .vcpus = 2,
     .memory_mib = 8192,
     .has_spot = true},
    {.name = TEXT("m6g.large"), .archs = {TEXT("arm64")}, .vcpus = 2, .memory_mib = 8192},
    {.name = TEXT("g5.xlarge"),
     .archs = {TEXT("x86_64")},
     .vcpus = 4,
     .memory_mib = 16384,
     .gpus = 1},
};
static struct ec2_offering zones[] = {
    {TEXT("m5.large"), TEXT("us-west-2b")},
    {TEXT("m5.large"), TEXT("us-west-2a")},
    {TEXT("m6g.large"), TEXT("us-west-2a")},
    {TEXT("g5.xlarge"), TEXT("us-west-2b")},
};
static struct ec2_offering region_types[] = {{TEXT("m5.large"), TEXT("us-west-2")}};
static struct ec2_key keys[] = {
    {.name = TEXT("me"), .public_key = TEXT("ssh-ed25519 AAAA me@here")}};

struct scene {
    struct fixture *f;
    struct preflight_request request;
    struct preflight_answers answers;
    struct preflight_result result;
};

/* With the settings of the first type's launch template; NULL: none, or not known. `type_images`:
 * those of a handover. */
static void begin_as(struct scene *scene, const char *yaml, const struct param *template,
                     struct str type_images)
{
    const struct param *templates[] = {template, NULL};
    struct provider_cluster cluster;
    struct err err;
    scene->f = fixture_new();
    struct arena *arena = &scene->f->arena;
    const struct value *tree = fixture_prepare(scene->f, yaml);
    assert_non_null(tree);
    assert_true(node_params_cluster(config_type(arena, tree), type_images, arena, &cluster, &err));
    assert_true(cluster.type_count <= ARRAY_LEN(templates));
    preflight_request_read(&cluster, templates, arena, &scene->request);
    scene->answers = (struct preflight_answers){
        .region = STR("us-west-2"),
        .source = STR("profile work: sso"),
        .identity = {STR("123"), STR("arn:me"), STR("u")},
        .subnets = {subnets, ARRAY_LEN(subnets)},
        .groups = {groups, ARRAY_LEN(groups)},
        .images = {images, ARRAY_LEN(images)},
        .new_images = {new_images, ARRAY_LEN(new_images)},
        .types = {types, ARRAY_LEN(types)},
        .zones = {zones, ARRAY_LEN(zones)},
        .region_types = {region_types, ARRAY_LEN(region_types)},
        .keys = {keys, ARRAY_LEN(keys)},
        .profiles = ARENA_ARRAY(arena, scene->request.profiles.count, struct preflight_profile),
    };
    for (size_t i = 0; i < ASK_COUNT; i++) {
        scene->answers.answers[i].was_asked = scene->answers.answers[i].is_ok = true;
    }
    for (size_t i = 0; i < RIGHT_COUNT; i++) {
        scene->answers.rights[i].is_known = true;
    }
    for (size_t i = 0; i < scene->request.profiles.count; i++) {
        scene->answers.profiles[i].name = scene->request.profiles.items[i];
    }
}

static void begin_with(struct scene *scene, const char *yaml, const struct param *template)
{
    begin_as(scene, yaml, template, STR(""));
}

static void begin(struct scene *scene, const char *yaml)
{
    begin_with(scene, yaml, NULL);
}

/* As preflight_run.c does between its rounds of calls: the newest images of both architectures. */
static void judge(struct scene *scene)
{
    preflight_plan_parameters(&scene->request, &scene->answers, &scene->f->arena);
    for (size_t i = 0; i < scene->answers.parameter_count; i++) {
        struct preflight_parameter *parameter = &scene->answers.parameters[i];
        if (parameter->image.len == 0) {
            parameter->image = str_is(parameter->arch, "arm64") ? STR("ami-new-arm")
                                                                : STR("ami-new-x86");
        }
    }
    preflight_evaluate(&scene->request, &scene->answers, &scene->f->arena, &scene->result);
}

static void add(struct buf *out, const char *before, struct str text)
{
    if (text.len > 0) {
        buf_addf(out, "%s%.*s", before, STR_ARG(text));
    }
}

/* "!" an error, "?" a warning; "@" a path, "->" a remedy. `subject` NULL: all except "ok". */
static void check(struct scene *scene, const char *subject, const char *expected)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 65536);
    for (size_t i = 0; i < scene->result.count; i++) {
        const struct finding *finding = &scene->result.findings[i];
        if (subject ? !str_is(finding->subject, subject) : finding->level == FINDING_FINE) {
            continue;
        }
        buf_add_c(&out, finding->level == FINDING_ERROR     ? "!"
                        : finding->level == FINDING_WARNING ? "?"
                                                            : "");
        add(&out, "", finding->text);
        add(&out, " @", finding->path);
        add(&out, " -> ", finding->remedy);
        buf_add_char(&out, '\n');
        for (size_t j = 0; j < finding->row_count; j++) {
            const struct finding_row *row = &finding->rows[j];
            add(&out, "  ", row->name);
            add(&out, " ", row->where);
            add(&out, ": ", row->why);
            add(&out, " -> ", row->remedy);
            add(&out, " @", row->path);
            buf_add_char(&out, '\n');
        }
    }
    assert_like(buf_str(&out), expected);
}

static void end(struct scene *scene)
{
    fixture_free(&scene->f);
}

static void check_yaml(const char *yaml, const char *subject, const char *expected)
{
    struct scene scene;
    begin(&scene, yaml);
    judge(&scene);
    check(&scene, subject, expected);
    end(&scene);
}

/* ---- no problems ---- */

static void everything_is_fine(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS);
    judge(&scene);
    check(&scene, NULL, "");
    check(&scene, "identity", "arn:me (profile work: sso)\n");
    check(&scene, "machine", "m5.large: 2 vCPUs, 8 GiB, x86_64, in 2a, 2b\n");
    check(&scene, "image", "ami-new-x86 newest Ubuntu 22.04 x86_64 (/aws/service/canonical/*)\n");
    check(&scene, "subnets", "subnet-b 2b, subnet-a 2a in vpc-1\n");
    check(&scene, "security group", "the cluster's own, created by shoal up\n");
    check(&scene, "key", "the cluster's own, created by shoal up\n");
    check(&scene, "profile", "the head's own role, created by shoal up, without access to S3\n");
    const struct aws_facts *facts = &scene.result.facts;
    assert_false(scene.result.has_errors);
    assert_str(facts->account, "123");
    assert_str(facts->vpc, "vpc-1");
    assert_int_equal(facts->types[0].subnet_count, 2);
    assert_str(facts->types[0].subnets[0].id, "subnet-b");
    assert_true(facts->types[0].makes_group && facts->types[0].makes_key);
    assert_true(facts->types[0].makes_profile && !facts->types[1].makes_profile);
    assert_str(facts->types[1].machine, "m5.large");
    end(&scene);
}

static void each_type_has_its_own(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS TYPES("m5.large", "g5.xlarge, ImageId: ami-x86"));
    judge(&scene);
    check(&scene, NULL, "");
    check(&scene, "machine",
          "m5.large: 2 vCPUs, 8 GiB, x86_64, in 2a, 2b (head)\n"
          "g5.xlarge: 4 vCPUs, 16 GiB, 1 GPU, x86_64, in 2b (gpu)\n");
    check(&scene, "image",
          "ami-new-x86 newest Ubuntu 22.04 x86_64 (/aws/service/canonical/*) (head)\n"
          "ami-x86 mine, x86_64 (the file) (gpu)\n");
    check(&scene, "subnets",
          "subnet-b 2b, subnet-a 2a in vpc-1 (head)\n"
          "1 of 2: subnet-b 2b in vpc-1 (gpu)\n");
    assert_str(scene.result.facts.types[1].image, "ami-x86");
    assert_str(scene.result.facts.types[1].image_from, "the file");
    assert_str(scene.result.facts.types[1].root_device, "/dev/xvda");
    assert_int_equal(scene.result.facts.types[1].subnet_count, 1);
    end(&scene);
}

/* ---- subnets ---- */

static void every_refused_subnet_says_why(void **state)
{
    static struct ec2_subnet bad[] = {
        {TEXT("subnet-0a1"), TEXT("us-west-2a"), TEXT("vpc-1"), TEXT("available"), 9, false},
        {TEXT("subnet-0b2"), TEXT("us-west-2b"), TEXT("vpc-2"), TEXT("available"), 9, true},
        {TEXT("subnet-0c3"), TEXT("us-west-2b"), TEXT("vpc-1"), TEXT("available"), 0, true},
        {TEXT("subnet-0d4"), TEXT("us-west-2d"), TEXT("vpc-1"), TEXT("available"), 9, true},
        {TEXT("subnet-0e5"), TEXT("us-west-2e"), TEXT("vpc-1"), TEXT("pending"), 9, true},
    };
    struct scene scene;
    (void)state;
    begin(&scene,
          AWS TYPES("m5.large, SecurityGroupIds: [sg-1]", "m5.large, SecurityGroupIds: [sg-1]"));
    scene.answers.subnets = (struct ec2_subnets){bad, ARRAY_LEN(bad)};
    judge(&scene);
    check(&scene, NULL,
          "!no subnet in us-west-2 can be used\n"
          "  subnet-0a1 2a: assigns no public addresses -> provider.use_internal_ips: true "
          "@provider.use_internal_ips\n"
          "  subnet-0b2 2b: is in a different VPC than your security group "
          "@available_node_types.head.node_config.SecurityGroupIds\n"
          "  subnet-0c3 2b: full: 0 free addresses\n"
          "  subnet-0d4 2d: its zone does not offer m5.large\n"
          "  subnet-0e5 2e: is not ready: pending\n");
    assert_true(scene.result.has_errors);
    end(&scene);
}

static void no_subnet_at_all(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS);
    scene.answers.subnets.count = 0;
    judge(&scene);
    check(
        &scene, NULL,
        "!no subnet exists in us-west-2 -> create the default subnets: aws ec2 create-default-vpc "
        "--region us-west-2\n");
    end(&scene);
}

static void named_subnets(void **state)
{
    (void)state;
    check_yaml(AWS TYPES("m5.large, SubnetIds: [subnet-a, subnet-x]", "m5.large"), NULL,
               "!1 of 2 subnets in the file cannot be used "
               "@available_node_types.head.node_config.SubnetIds\n"
               "  subnet-x: does not exist in us-west-2\n");
    check_yaml(AWS TYPES("g5.xlarge, SubnetIds: [subnet-a, subnet-b]", "m5.large"), NULL,
               "?1 of 2 subnets in the file cannot be used "
               "@available_node_types.head.node_config.SubnetIds\n"
               "  subnet-a 2a: its zone does not offer g5.xlarge\n");
    check_yaml(AWS TYPES("m5.large, SubnetId: subnet-a", "m5.large"), "subnets",
               "subnet-a 2a in vpc-1 (head)\nsubnet-b 2b, subnet-a 2a in vpc-1 (gpu)\n");
    check_yaml(AWS TYPES("m5.large, NetworkInterfaces: [{DeviceIndex: 0, SubnetId: subnet-b, "
                         "Groups: [sg-1]}]",
                         "m5.large"),
               "subnets", "subnet-b 2b in vpc-1 (head)\nsubnet-b 2b, subnet-a 2a in vpc-1 (gpu)\n");
}

static void an_interface_may_ask_for_a_public_address(void **state)
{
    static struct ec2_subnet private_one[] = {
        {TEXT("subnet-p"), TEXT("us-west-2b"), TEXT("vpc-1"), TEXT("available"), 9, false},
        {TEXT("subnet-b"), TEXT("us-west-2b"), TEXT("vpc-1"), TEXT("available"), 9, true},
    };
    struct scene scene;
    (void)state;
    begin(&scene, AWS TYPES("m5.large, NetworkInterfaces: [{DeviceIndex: 0, SubnetId: subnet-p, "
                            "Groups: [sg-1], AssociatePublicIpAddress: true}]",
                            "m5.large"));
    scene.answers.subnets = (struct ec2_subnets){private_one, 2};
    judge(&scene);
    check(&scene, NULL, "");
    check(&scene, "subnets", "subnet-p 2b in vpc-1 (head)\n1 of 2: subnet-b 2b in vpc-1 (gpu)\n");
    end(&scene);
}

static void zones_that_are_asked_for(void **state)
{
    (void)state;
    check_yaml("cluster_name: x\nprovider: {type: aws, region: us-west-2, "
               "availability_zone: us-west-2c}\n",
               NULL,
               "!no subnet in us-west-2 can be used\n"
               "  subnet-a 2a: its zone is not in the file -> us-west-2a in "
               "provider.availability_zone @provider.availability_zone\n"
               "  subnet-b 2b: its zone is not in the file -> *\n");
}

/* ---- groups ---- */

static void groups_that_are_not_there(void **state)
{
    (void)state;
    check_yaml(AWS TYPES("m5.large, SecurityGroupIds: [sg-9]", "m5.large"), NULL,
               "!security group sg-9 does not exist in us-west-2 "
               "@available_node_types.head.node_config.SecurityGroupIds\n");
    check_yaml(AWS TYPES("m5.large, SecurityGroupIds: [sg-1, sg-2]", "m5.large"), NULL,
               "!security group sg-2 is in vpc-2, but others in the file are in vpc-1 @*\n");
}

/* ---- instance types and images ---- */

static void machines_that_are_not_there(void **state)
{
    (void)state;
    check_yaml(
        AWS TYPES("m5.larg", "m5.large"), "machine",
        "!m5.larg does not exist in us-west-2 "
        "@available_node_types.head.node_config.InstanceType -> the closest match in this region "
        "is m5.large\nm5.large: *\n");
    check_yaml(
        AWS TYPES("m6g.large, InstanceMarketOptions: {MarketType: spot}", "m5.large"), NULL,
        "!m6g.large is not available as a spot instance @*InstanceMarketOptions -> remove *\n");
}

/* ---- what the account does not allow ---- */

static void classes_of_instance_types(void **state)
{
    static const struct {
        const char *machine, *on_demand, *spot;
    } rows[] = {
        {"m5.large", "L-1216C47A", "L-34B43A08"},
        {"c7gn.xlarge", "L-1216C47A", "L-34B43A08"},
        {"t3.micro", "L-1216C47A", "L-34B43A08"},
        {"g5.xlarge", "L-DB2E81BA", "L-3819A6DF"},
        {"vt1.3xlarge", "L-DB2E81BA", "L-3819A6DF"},
        {"p3.2xlarge", "L-417A185B", "L-7212CCBC"},
        {"p5.48xlarge", "L-417A185B", ""},
        {"inf2.xlarge", "", ""},
        {"", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct quota *on_demand = quota_of(str_from(rows[i].machine), false);
        const struct quota *spot = quota_of(str_from(rows[i].machine), true);
        assert_string_equal(on_demand ? on_demand->code : "", rows[i].on_demand);
        assert_string_equal(spot ? spot->code : "", rows[i].spot);
    }
}

/* A head and three workers of two vCPUs each, at most nine workers. */
#define COUNTED                                                                \
    AWS "head_node_type: head\nmax_workers: 9\navailable_node_types:\n"        \
        "  head: {resources: {}, node_config: {InstanceType: m5.large}}\n"     \
        "  gpu: {min_workers: 3, max_workers: 9, resources: {}, node_config: " \
        "{InstanceType: m5.large}}\n"

static void check_limit(int64_t limit, const char *subject, const char *expected)
{
    struct scene scene;
    begin(&scene, COUNTED);
    preflight_plan_quotas(&scene.request, &scene.answers, &scene.f->arena);
    assert_int_equal(scene.answers.quota_count, 1);
    scene.answers.quotas[0].limit = limit;
    scene.answers.quotas[0].is_known = limit >= 0;
    judge(&scene);
    check(&scene, subject, expected);
    end(&scene);
}

static void quotas_of_the_account(void **state)
{
    (void)state;
    check_limit(
        7, NULL,
        "!the account's quota is 7 vCPUs of on-demand Standard * in us-west-2; head and "
        "min_workers need 8 @available_node_types.head.node_config.InstanceType -> *--quota-code "
        "L-1216C47A --desired-value 20 --region us-west-2\n");
    check_limit(8, NULL, "");
    check_limit(8, "quota", "8 vCPUs of on-demand Standard *, less than max_workers would need\n");
    check_limit(20, "quota", "20 vCPUs of on-demand Standard * instances\n");
    check_limit(-1, "quota", "");
}

static void check_dry_run(struct preflight_dry_run answer, const char *expected)
{
    struct scene scene;
    struct preflight_dry_run runs[2] = {[1] = answer};
    begin(&scene, AWS TYPES("m5.large", "m5.large, InstanceMarketOptions: {MarketType: spot}"));
    scene.answers.dry_runs = runs;
    judge(&scene);
    check(&scene, NULL, expected);
    end(&scene);
}

static void launches_that_a_dry_run_refuses(void **state)
{
    (void)state;
    check_dry_run((struct preflight_dry_run){0}, "");
    check_dry_run((struct preflight_dry_run){.code = STR("DryRunOperation")}, "");
    check_dry_run(
        (struct preflight_dry_run){.code = STR("UnauthorizedOperation"),
                                   .message = STR("arn:me is not authorized to perform: "
                                                  "ec2:RunInstances. Encoded authorization "
                                                  "failure message: x"),
                                   .is_denied = true},
        "!launching node type gpu (m5.large, spot) is not allowed: arn:me is not "
        "authorized to perform: ec2:RunInstances. "
        "@available_node_types.gpu.node_config.InstanceType -> *shoal policy*\n");
    struct scene scene;
    begin(&scene, AWS);
    scene.answers.makings[MAKING_GROUP] = (struct preflight_dry_run){
        .code = STR("UnauthorizedOperation"), .message = STR("No."), .is_denied = true};
    scene.answers.makings[MAKING_KEY] = (struct preflight_dry_run){
        .code = STR("InvalidKey.Format")};
    judge(&scene);
    check(&scene, NULL,
          "!creating the cluster's security group is not allowed: No. -> *shoal policy*\n");
    end(&scene);
    check_dry_run((struct preflight_dry_run){.code = STR("Unsupported"), .message = STR("No.")},
                  "!a dry-run launch of node type gpu (m5.large) was refused: No. (Unsupported) "
                  "@*\n");
    check_dry_run((struct preflight_dry_run){.code = STR("InternalError"), .is_vague = true},
                  "?a dry-run launch of node type gpu *(InternalError) @*\n");
    check_dry_run((struct preflight_dry_run){.is_vague = true},
                  "?a dry-run launch of node type gpu *(no reply) @*\n");
    begin(&scene, AWS TYPES("m5.large", "m5.large"));
    struct preflight_dry_run runs[2] = {
        [1] = {.code = STR("InvalidParameterCombination"),
               .message = STR("The specified instance type is not eligible for Free Tier.")}};
    scene.answers.dry_runs = runs;
    scene.answers.free_types = (struct ec2_types){types, 2};
    judge(&scene);
    check(&scene, NULL,
          "!a dry-run launch of node type gpu *Free Tier*@* -> use an InstanceType that the "
          "account's plan allows: m5.large, m6g.large\n");
    end(&scene);
}

static void persistent_spot_requests(void **state)
{
    (void)state;
    check_yaml(AWS TYPES("m5.large", "m5.large, InstanceMarketOptions: {MarketType: spot, "
                                     "SpotOptions: {SpotInstanceType: persistent}}"),
               NULL,
               "!node type gpu uses persistent spot requests: * "
               "@available_node_types.gpu.node_config.InstanceMarketOptions -> set "
               "SpotInstanceType: one-time, *\n");
    check_yaml(AWS TYPES("m5.large", "m5.large, InstanceMarketOptions: {MarketType: spot, "
                                     "SpotOptions: {SpotInstanceType: one-time}}"),
               NULL, "");
}

static void an_image_for_another_processor(void **state)
{
    (void)state;
    check_yaml(AWS TYPES("m6g.large, ImageId: ami-x86", "m5.large"), NULL,
               "!image ami-x86 is for x86_64, but m6g.large runs arm64 "
               "@available_node_types.head.node_config.ImageId -> ImageId: ami-new-arm (newest "
               "Ubuntu 22.04 arm64), or remove ImageId\n");
    check_yaml(
        AWS TYPES("m5.large, ImageId: ami-gone", "m5.large"), NULL,
        "!image ami-gone does not exist in us-west-2 or is not shared with this account @*ImageId "
        "-> ImageId: ami-new-x86 (newest Ubuntu 22.04 x86_64), or remove ImageId\n");
}

#define DISK(device, size)                                                       \
    "m5.large, ImageId: ami-x86, BlockDeviceMappings: [{DeviceName: /dev/sdf}, " \
    "{DeviceName: " device ", Ebs: {VolumeSize: " size "}}]"

static void root_volumes(void **state)
{
    (void)state;
    check_yaml(AWS TYPES(DISK("/dev/xvda", "8"), "m5.large"), NULL, "");
    check_yaml(AWS TYPES(DISK("/dev/xvda", "7"), "m5.large"), NULL,
               "!a root volume of 7 GiB is too small: image ami-x86 needs 8 GiB "
               "@available_node_types.head.node_config.BlockDeviceMappings[1].Ebs.VolumeSize -> "
               "set VolumeSize: 8 or more\n");
    check_yaml(
        AWS TYPES(DISK("/dev/sda1", "100"), "m5.large"), NULL,
        "?/dev/sda1 adds a second disk: the root device of image ami-x86 is /dev/xvda and stays "
        "unchanged at 8 GiB "
        "@available_node_types.head.node_config.BlockDeviceMappings[1].DeviceName -> DeviceName: "
        "/dev/xvda\n");
    check_yaml(AWS TYPES(DISK("/dev/sdg", "100"), "m5.large"), NULL, "");
}

static void the_newest_image(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS TYPES("m5.large, ImageId: latest_dlami", "m6g.large"));
    scene.answers.images.count = 1; /* Ray's default image is gone */
    judge(&scene);
    check(&scene, NULL, "");
    check(&scene, "image",
          "ami-new-x86 newest Ubuntu 22.04 x86_64 (/aws/service/canonical/*); Ray's default "
          "ami-0a2b85e15b7c0ac34 no longer exists (head)\n"
          "ami-new-arm newest Ubuntu 22.04 arm64 (/aws/service/canonical/*/arm64/*) (gpu)\n");
    assert_like(scene.result.facts.types[0].image_from, "/aws/service/canonical/*");
    assert_str(scene.result.facts.types[1].arch, "arm64");
    end(&scene);
}

static void an_image_of_a_parameter(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene,
          AWS TYPES("m5.large, ImageId: resolve:ssm:/p", "m6g.large, ImageId: resolve:ssm:/p"));
    judge(&scene);
    check(&scene, "image",
          "!image *:/p is for x86_64, but m6g.large runs arm64 *\n"
          "ami-new-x86 the image of a parameter (/p) (head)\n");
    scene.answers.parameters[0].image = STR("");
    preflight_evaluate(&scene.request, &scene.answers, &scene.f->arena, &scene.result);
    check(&scene, NULL, "!the parameter /p does not exist in us-west-2 *\n!the para*\n");
    end(&scene);
}

static void the_vpc_of_the_cluster(void **state)
{
    struct scene scene;
    struct ec2_subnet own[] = {subnets[0], subnets[0]};
    (void)state;
    begin(&scene, AWS TYPES("m5.large", "m5.large"));
    own[1].vpc = scene.answers.named.vpc = STR("vpc-2");
    scene.answers.subnets = (struct ec2_subnets){own, ARRAY_LEN(own)};
    judge(&scene);
    assert_str(scene.result.facts.vpc, "vpc-2");
    end(&scene);
}

/* Ubuntu's own root disk is too small for what people install. */
static void an_image_that_we_chose_gets_a_larger_root_disk(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS TYPES("m5.large", "m5.large, ImageId: ami-x86"));
    judge(&scene);
    assert_int_equal(scene.result.facts.types[0].root_gib, 60);
    assert_int_equal(scene.result.facts.types[1].root_gib, 0);
    end(&scene);
    begin(&scene, AWS TYPES("m5.large, BlockDeviceMappings: [{DeviceName: /dev/sda1, "
                            "Ebs: {VolumeSize: 20}}]",
                            "m5.large"));
    new_images[1].root_gib = 90;
    judge(&scene);
    new_images[1].root_gib = 0;
    assert_int_equal(scene.result.facts.types[0].root_gib, 0);
    assert_int_equal(scene.result.facts.types[1].root_gib, 90);
    end(&scene);
}

static void rays_default_if_the_file_says_so(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS TYPES("m5.large, ImageId: latest_dlami", "m5.large"));
    judge(&scene);
    check(&scene, "image",
          "ami-0a2b85e15b7c0ac34 Deep Learning, x86_64 (Ray's default) (head)\n"
          "ami-new-x86 newest Ubuntu 22.04 x86_64 (/aws/service/canonical/*) (gpu)\n");
    assert_int_equal(scene.result.facts.types[0].root_gib, 0);
    end(&scene);
}

/* A head is not allowed to look for images, so `up` tells it. */
static void an_image_that_up_chose(void **state)
{
    struct scene scene;
    (void)state;
    begin_as(&scene, AWS TYPES("m5.large, ImageId: 'resolve:ssm:/my/image'", "m5.large"), NULL,
             STR("head\tami-x86\ngpu\tami-x86\n"));
    scene.answers.parameter_count = 0;
    judge(&scene);
    assert_str(scene.result.facts.types[0].image, "ami-x86");
    assert_str(scene.result.facts.types[1].image, "ami-x86");
    assert_int_equal(scene.answers.parameter_count, 0);
    assert_int_equal(scene.result.facts.types[1].root_gib, 60);
    end(&scene);
}

static void no_image_anywhere(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS TYPES("m5.large", "m5.large"));
    scene.answers.images.count = 1;
    scene.answers.new_images.count = 0;
    judge(&scene);
    check(&scene, NULL,
          "!no image for node type head: the file does not set one, and "
          "/aws/service/* has none @*.head.node_config.ImageId -> add: ImageId: ami-...\n"
          "!no image for node type gpu: *\n");
    end(&scene);
}

/* ---- keys and profiles ---- */

#define KEY "auth: {ssh_user: me, ssh_private_key: ~/k}\n"

static void keys_of_the_file(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS KEY TYPES("m5.large, KeyName: me", "m5.large, KeyName: mee"));
    scene.answers.key_state = PREFLIGHT_KEY_READ;
    scene.answers.key_half = STR("AAAA");
    judge(&scene);
    check(&scene, "key",
          "me, ssh-ed25519, with ~/k (head)\n"
          "!key pair \"mee\" does not exist in us-west-2 "
          "@available_node_types.gpu.node_config.KeyName -> did you mean \"me\"?\n");
    end(&scene);
    begin(&scene, AWS KEY TYPES("m5.large, KeyName: me", "m5.large, KeyName: me"));
    scene.answers.key_state = PREFLIGHT_KEY_READ;
    scene.answers.key_half = STR("BBBB");
    judge(&scene);
    check(&scene, "key",
          "!~/k is not the private key of key pair \"me\" @auth.ssh_private_key -> *\n");
    end(&scene);
    begin(&scene, AWS KEY TYPES("m5.large, KeyName: me", "m5.large, KeyName: me"));
    scene.answers.key_state = PREFLIGHT_KEY_LOCKED;
    judge(&scene);
    check(&scene, "key", "me (not compared with ~/k: it has a passphrase)\n");
    end(&scene);
}

static void keys_that_are_made(void **state)
{
    struct scene scene;
    (void)state;
    check_yaml(AWS TYPES("m5.large, KeyName: me", "m5.large"), "key",
               "?KeyName me is ignored, as in Ray, because * @*KeyName -> add: auth: *\n"
               "the cluster's own, created by shoal up\n");
    begin(&scene, "cluster_name: x\nprovider: {type: aws, region: us-west-2, key_pair: "
                  "{key_name: me}}\n");
    judge(&scene);
    check(&scene, "key", "the cluster's own, created by shoal up (~/.ssh/me.pem does not exist)\n");
    scene.answers.has_key_file = true;
    judge(&scene);
    check(&scene, "key", "me, with ~/.ssh/me.pem\n");
    assert_str(scene.result.facts.types[0].key, "me");
    assert_false(scene.result.facts.types[0].makes_key);
    end(&scene);
}

static void profiles(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS TYPES("m5.large, IamInstanceProfile: {Arn: "
                            "'arn:aws:iam::1:instance-profile/a/mine'}",
                            "m5.large, IamInstanceProfile: {Name: other}"));
    scene.answers.profiles[0].is_missing = true;
    scene.answers.profiles[1].is_found = true;
    scene.answers.profiles[1].found = (struct iam_profile){STR("other"), STR("arn"), STR("r")};
    judge(&scene);
    check(&scene, "profile",
          "!instance profile \"mine\" does not exist in account 123 "
          "@available_node_types.head.node_config.IamInstanceProfile\nother with role r\n");
    scene.answers.profiles[1].found.role = STR("");
    judge(&scene);
    check(&scene, "profile",
          "!*\n!instance profile \"other\" has no role, so it grants no permissions *\n");
    end(&scene);
}

static void instances_that_are_not_shoals(void **state)
{
    struct str ids[] = {STR("i-1"), STR("i-2"), STR("i-3"), STR("i-4"), STR("i-5"), STR("i-6")};
    struct scene scene;
    (void)state;
    begin(&scene, AWS);
    judge(&scene);
    check(&scene, "name", "");
    scene.answers.named = (struct preflight_foreign){.ids = ids, .count = 1};
    judge(&scene);
    assert_true(scene.result.has_errors);
    check(&scene, "name",
          "!1 instance of a cluster with this name was not launched by Shoal: i-1 @cluster_name -> "
          "remove them first (ray down FILE terminates instances of ray up), or use another name: "
          "-n OTHER\n");
    scene.answers.named.count = 6;
    judge(&scene);
    check(&scene, "name",
          "!6 instances of a cluster with this name were not launched by Shoal: i-1, i-2, i-3, "
          "i-4, i-5, ... *\n");
    scene.answers.answers[ASK_NAMED].is_ok = false;
    judge(&scene);
    check(&scene, "name", "");
    end(&scene);
}

/* ---- missing answers ---- */

static void fail_ask(struct scene *scene, enum preflight_ask ask, const char *code, bool is_denied)
{
    struct preflight_answer *answer = &scene->answers.answers[ask];
    *answer = (struct preflight_answer){.was_asked = true,
                                        .code = str_from(code),
                                        .message = STR("there are none"),
                                        .is_denied = is_denied};
    err_set(&answer->err, ERR_UNAVAILABLE, "ec2 X in us-west-2: no answer");
}

static void what_may_not_be_asked(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS);
    fail_ask(&scene, ASK_SUBNETS, "UnauthorizedOperation", true);
    fail_ask(&scene, ASK_ZONES, "UnauthorizedOperation", true);
    judge(&scene);
    check(&scene, NULL,
          "!arn:me lacks permissions that a launch needs -> allow these actions in the "
          "IAM policy of this identity\n"
          "  ec2:DescribeSubnets: to choose subnets\n"
          "  ec2:DescribeInstanceTypeOfferings: to find the zones that offer the instance type\n");
    check(&scene, "machine", "m5.large: 2 vCPUs, 8 GiB, x86_64*\n");
    end(&scene);
    begin(&scene, AWS);
    fail_ask(&scene, ASK_ZONES, "UnauthorizedOperation", true);
    judge(&scene);
    assert_false(scene.result.has_errors);
    assert_int_equal(scene.result.facts.types[0].subnet_count, 2);
    end(&scene);
}

static void what_was_not_answered(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS);
    fail_ask(&scene, ASK_IMAGES, "", false);
    judge(&scene);
    check(&scene, NULL,
          "!1 API call failed\n  ec2:DescribeImages: ec2 X in us-west-2: no answer\n");
    end(&scene);
}

static void who_is_not_known(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS);
    fail_ask(&scene, ASK_IDENTITY, "NoCredentials", false);
    scene.answers.answers[ASK_IDENTITY].is_unknown = true;
    scene.answers.sources = STR("  environment: X is not set\n  sso: the token: too old\n");
    judge(&scene);
    assert_int_equal(scene.result.count, 1);
    check(&scene, NULL,
          "!there are none -> select a profile *\n  environment: X is not set\n"
          "  sso: the token: too old\n");
    scene.answers.answers[ASK_IDENTITY].code = STR("ExpiredToken");
    judge(&scene);
    check(&scene, NULL,
          "!the AWS credentials from profile work: sso have expired (ExpiredToken) -> "
          "log in again: aws sso login --profile work\n");
    scene.answers.answers[ASK_IDENTITY].code = STR("InvalidClientTokenId");
    judge(&scene);
    check(&scene, NULL,
          "!AWS does not accept the credentials from * (InvalidClientTokenId) -> "
          "check that *\n");
    end(&scene);
}

static void a_template_that_is_not_there(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, AWS TYPES("m5.large, LaunchTemplate: {LaunchTemplateName: t}", "m5.large"));
    judge(&scene);
    check(&scene, NULL,
          "!launch template t, or the requested version of it, does not exist in us-west-2 "
          "@available_node_types.head.node_config.LaunchTemplate\n");
    assert_str(scene.result.facts.types[0].image, "");
    assert_false(scene.result.facts.types[0].makes_group);
    end(&scene);
    begin(&scene, AWS TYPES("m5.large, LaunchTemplate: {LaunchTemplateName: t}", "m5.large"));
    fail_ask(&scene, ASK_TEMPLATES, "UnauthorizedOperation", true);
    judge(&scene);
    check(&scene, NULL,
          "!arn:me lacks permissions *\n  ec2:DescribeLaunchTemplateVersions: to read *\n");
    end(&scene);
}

static void what_a_template_sets_counts(void **state)
{
    struct scene scene;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct param *data = param_new_map(&arena);
    param_add_text(data, "InstanceType", STR("m6g.large"), &arena);
    param_add_text(data, "ImageId", STR("ami-x86"), &arena);
    struct param *list = param_add_list(data, "SecurityGroupIds", &arena);
    param_add_text(list, "", STR("sg-1"), &arena);
    begin_with(&scene, AWS TYPES("m5.large, LaunchTemplate: {LaunchTemplateName: t}", "m5.large"),
               data);
    judge(&scene);
    check(&scene, NULL, "");
    check(&scene, "image", "ami-x86 mine, x86_64 (the launch template) (head)\nami-new-x86 *\n");
    check(&scene, "security group",
          "sg-1 web in vpc-1\nthe cluster's own, created by shoal up (gpu)\n");
    assert_str(scene.result.facts.types[0].machine, "m5.large");
    assert_str(scene.result.facts.types[0].groups[0], "sg-1");
    end(&scene);
    begin_with(&scene, AWS TYPES("m6g.large, LaunchTemplate: {LaunchTemplateName: t}", "m5.large"),
               data);
    judge(&scene);
    check(&scene, NULL,
          "!image ami-x86 is for x86_64, but m6g.large runs arm64 "
          "@available_node_types.head.node_config.LaunchTemplate -> add to the node_config: "
          "ImageId: ami-new-arm (newest Ubuntu 22.04 arm64)\n");
    end(&scene);
    list = param_add_list(data, "NetworkInterfaces", &arena);
    param_add_text(param_add_map(list, "", &arena), "SubnetId", STR("subnet-a"), &arena);
    begin_with(&scene, AWS TYPES("m5.large, LaunchTemplate: {LaunchTemplateId: t}", "m5.large"),
               data);
    judge(&scene);
    check(
        &scene, NULL,
        "!network interfaces of a launch template (t) are not supported yet "
        "@available_node_types.head.node_config.LaunchTemplate -> put them into the node_config\n");
    end(&scene);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_fine),
        cmocka_unit_test(each_type_has_its_own),
        cmocka_unit_test(every_refused_subnet_says_why),
        cmocka_unit_test(no_subnet_at_all),
        cmocka_unit_test(named_subnets),
        cmocka_unit_test(an_interface_may_ask_for_a_public_address),
        cmocka_unit_test(zones_that_are_asked_for),
        cmocka_unit_test(groups_that_are_not_there),
        cmocka_unit_test(machines_that_are_not_there),
        cmocka_unit_test(persistent_spot_requests),
        cmocka_unit_test(classes_of_instance_types),
        cmocka_unit_test(quotas_of_the_account),
        cmocka_unit_test(launches_that_a_dry_run_refuses),
        cmocka_unit_test(an_image_for_another_processor),
        cmocka_unit_test(root_volumes),
        cmocka_unit_test(the_newest_image),
        cmocka_unit_test(an_image_of_a_parameter),
        cmocka_unit_test(the_vpc_of_the_cluster),
        cmocka_unit_test(no_image_anywhere),
        cmocka_unit_test(keys_of_the_file),
        cmocka_unit_test(keys_that_are_made),
        cmocka_unit_test(profiles),
        cmocka_unit_test(instances_that_are_not_shoals),
        cmocka_unit_test(what_may_not_be_asked),
        cmocka_unit_test(what_was_not_answered),
        cmocka_unit_test(who_is_not_known),
        cmocka_unit_test(a_template_that_is_not_there),
        cmocka_unit_test(what_a_template_sets_counts),
        cmocka_unit_test(an_image_that_we_chose_gets_a_larger_root_disk),
        cmocka_unit_test(rays_default_if_the_file_says_so),
        cmocka_unit_test(an_image_that_up_chose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
