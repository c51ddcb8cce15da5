/* test_launch_encode.c: how the file's settings of a node type are encoded, and what is always
 * added. */
#include "provider/aws/machines/launch_encode.h"

#include "provider/launch_token.h"
#include "unit.h"

#include <string.h>

struct scene {
    struct arena arena;
    struct param *config;
    struct aws_subnet subnets[2];
    struct aws_type_facts facts;
    struct launch_request request;
    struct launch_draft draft;
    struct err err;
};

static void set_up(struct scene *scene)
{
    *scene = (struct scene){0};
    arena_init(&scene->arena);
    scene->config = param_new_map(&scene->arena);
    scene->subnets[0] = (struct aws_subnet){.id = STR("subnet-a"), .zone = STR("us-west-2a")};
    scene->subnets[1] = (struct aws_subnet){.id = STR("subnet-b"), .zone = STR("us-west-2b")};
    scene->facts = (struct aws_type_facts){.machine = STR("m5.large"),
                                           .image = STR("ami-1"),
                                           .subnets = scene->subnets,
                                           .subnet_count = 2,
                                           .makes_group = true,
                                           .makes_key = true};
    scene->request = (struct launch_request){.token = STR("shoal-1"),
                                             .launch = (uint64_t)7 << 32 | 12,
                                             .zone = STR("us-west-2b"),
                                             .count = 3};
    scene->draft = (struct launch_draft){.request = &scene->request,
                                         .node_config = scene->config,
                                         .facts = &scene->facts,
                                         .cluster_name = STR("demo"),
                                         .uid = STR("0123456789abcdef0123456789abcdef"),
                                         .epoch = 7,
                                         .own_group = STR("sg-own"),
                                         .own_key = STR("shoal-demo-01234567")};
}

static struct str draft(struct scene *scene)
{
    struct str body = STR("");
    if (!launch_draft_write(&scene->draft, &scene->arena, &body, &scene->err)) {
        print_error("%s\n", scene->err.text);
        fail();
    }
    return body;
}

static bool has(struct str body, const char *pair)
{
    struct str rest = body;
    while (rest.len > 0) {
        if (str_is(str_cut(&rest, '&'), pair)) {
            return true;
        }
    }
    return false;
}

#define assert_has(body, pair)                                    \
    do {                                                          \
        if (!has(body, pair)) {                                   \
            print_error("no %s in\n%.*s\n", pair, STR_ARG(body)); \
            fail();                                               \
        }                                                         \
    } while (0)

static void a_machine_that_rests_is_only_stopped(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    scene.request.rests = true;
    assert_has(draft(&scene), "InstanceInitiatedShutdownBehavior=stop");
    param_add_text(scene.config, "InstanceInitiatedShutdownBehavior", STR("terminate"),
                   &scene.arena);
    assert_has(draft(&scene), "InstanceInitiatedShutdownBehavior=terminate");
    arena_clear(&scene.arena);
}

static void what_is_ours_is_always_there(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct str body = draft(&scene);
    assert_str(
        body,
        "Action=RunInstances&Version=2016-11-15&ImageId=ami-1&InstanceType=m5.large"
        "&InstanceInitiatedShutdownBehavior=terminate&MetadataOptions.HttpTokens=required"
        "&MetadataOptions.HttpPutResponseHopLimit=1&SubnetId=subnet-b&SecurityGroupId.1=sg-own"
        "&KeyName=shoal-demo-01234567"
        "&TagSpecification.1.ResourceType=instance"
        "&TagSpecification.1.Tag.1.Key=ray-cluster-name&TagSpecification.1.Tag.1.Value=demo"
        "&TagSpecification.1.Tag.2.Key=shoal-cluster-uid"
        "&TagSpecification.1.Tag.2.Value=0123456789abcdef0123456789abcdef"
        "&TagSpecification.1.Tag.3.Key=shoal-launch&TagSpecification.1.Tag.3.Value=7.12"
        "&TagSpecification.1.Tag.4.Key=shoal-epoch&TagSpecification.1.Tag.4.Value=7"
        "&TagSpecification.2.ResourceType=volume"
        "&TagSpecification.2.Tag.1.Key=ray-cluster-name&TagSpecification.2.Tag.1.Value=demo"
        "&TagSpecification.2.Tag.2.Key=shoal-cluster-uid"
        "&TagSpecification.2.Tag.2.Value=0123456789abcdef0123456789abcdef"
        "&TagSpecification.2.Tag.3.Key=shoal-launch&TagSpecification.2.Tag.3.Value=7.12"
        "&TagSpecification.2.Tag.4.Key=shoal-epoch&TagSpecification.2.Tag.4.Value=7"
        "&TagSpecification.3.ResourceType=network-interface"
        "&TagSpecification.3.Tag.1.Key=ray-cluster-name&TagSpecification.3.Tag.1.Value=demo"
        "&TagSpecification.3.Tag.2.Key=shoal-cluster-uid"
        "&TagSpecification.3.Tag.2.Value=0123456789abcdef0123456789abcdef"
        "&TagSpecification.3.Tag.3.Key=shoal-launch&TagSpecification.3.Tag.3.Value=7.12"
        "&TagSpecification.3.Tag.4.Key=shoal-epoch&TagSpecification.3.Tag.4.Value=7"
        "&MinCount=1&MaxCount=3&ClientToken=shoal-1");
    struct str again = draft(&scene);
    assert_int_equal(body.len, again.len);
    assert_memory_equal(body.ptr, again.ptr, body.len);
    arena_clear(&scene.arena);
}

static void the_files_words_pass_through(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct arena *arena = &scene.arena;
    struct param *disk = param_add_map(param_add_list(scene.config, "BlockDeviceMappings", arena),
                                       "", arena);
    param_add_text(disk, "DeviceName", STR("/dev/sda1"), arena);
    param_add_number(param_add_map(disk, "Ebs", arena), "VolumeSize", 256, arena);
    param_add_text(scene.config, "InstanceType", STR("the survey's word counts"), arena);
    param_add_text(param_add_list(scene.config, "SubnetIds", arena), "", STR("subnet-x"), arena);
    param_add_number(scene.config, "MaxCount", 99, arena);
    param_add_text(scene.config, "UserData", STR("#!/bin/sh\n"), arena);
    param_add_text(param_add_map(scene.config, "MetadataOptions", arena), "HttpTokens",
                   STR("optional"), arena);
    param_add_text(scene.config, "InstanceInitiatedShutdownBehavior", STR("stop"), arena);
    param_add_text(param_add_map(scene.config, "IamInstanceProfile", arena), "Arn", STR("arn:x"),
                   arena);
    scene.facts.makes_group = scene.facts.makes_key = false;
    struct str groups[] = {STR("sg-1"), STR("sg-2")};
    scene.facts.groups = groups;
    scene.facts.group_count = 2;
    scene.facts.key = STR("mine");
    struct str body = draft(&scene);
    assert_has(body, "BlockDeviceMapping.1.DeviceName=%2Fdev%2Fsda1");
    assert_has(body, "BlockDeviceMapping.1.Ebs.VolumeSize=256");
    assert_has(body, "InstanceType=m5.large");
    assert_has(body, "MaxCount=3");
    assert_has(body, "UserData=IyEvYmluL3NoCg%3D%3D");
    assert_has(body, "MetadataOptions.HttpTokens=optional");
    assert_has(body, "MetadataOptions.HttpPutResponseHopLimit=1");
    assert_has(body, "InstanceInitiatedShutdownBehavior=stop");
    assert_has(body, "IamInstanceProfile.Arn=arn%3Ax");
    assert_has(body, "SecurityGroupId.2=sg-2");
    assert_has(body, "KeyName=mine");
    assert_int_equal(str_find(body, "subnet-x"), SIZE_MAX);
    scene.request.user_data = STR("ours");
    assert_has(draft(&scene), "UserData=b3Vycw%3D%3D");
    /* The file's options replace the template's. */
    struct param *metadata = param_new_map(arena);
    param_add_number(metadata, "HttpPutResponseHopLimit", 3, arena);
    scene.facts.metadata = metadata;
    assert_has(draft(&scene), "MetadataOptions.HttpPutResponseHopLimit=1");
    param_find(scene.config, "MetadataOptions")->name = STR("ClientToken"); /* is left out */
    assert_has(draft(&scene), "MetadataOptions.HttpPutResponseHopLimit=3");
    assert_has(draft(&scene), "MetadataOptions.HttpTokens=required");
    arena_clear(&scene.arena);
}

/* Without it, EC2 keeps the disk and bills it when its instance is gone. */
static void the_default_root_disk_goes_with_its_machine(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    scene.facts.root_device = STR("/dev/sda1");
    scene.facts.root_gib = 60;
    struct str body = draft(&scene);
    assert_has(body, "BlockDeviceMapping.1.DeviceName=%2Fdev%2Fsda1");
    assert_has(body, "BlockDeviceMapping.1.Ebs.VolumeSize=60");
    assert_has(body, "BlockDeviceMapping.1.Ebs.DeleteOnTermination=true");
    arena_clear(&scene.arena);
}

static void the_request_says_the_market(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct arena *arena = &scene.arena;
    scene.request.market = MARKET_SPOT;
    struct str body = draft(&scene);
    assert_has(body, "InstanceMarketOptions.MarketType=spot");
    assert_has(body, "TagSpecification.4.ResourceType=spot-instances-request");
    struct param *options = param_add_map(scene.config, "InstanceMarketOptions", arena);
    param_add_text(options, "MarketType", STR("spot"), arena);
    param_add_text(param_add_map(options, "SpotOptions", arena), "MaxPrice", STR("0.1"), arena);
    assert_has(draft(&scene), "InstanceMarketOptions.SpotOptions.MaxPrice=0.1");
    scene.request.market = MARKET_ON_DEMAND;
    body = draft(&scene);
    assert_int_equal(str_find(body, "InstanceMarketOptions"), SIZE_MAX);
    assert_int_equal(str_find(body, "spot-instances-request"), SIZE_MAX);
    arena_clear(&scene.arena);
}

static void tags_are_merged_as_ray_does_it(void **state)
{
    struct scene scene;
    struct machine_tag tags[] = {{STR("ray-node-type"), STR("worker")},
                                 {STR("ray-node-name"), STR("ray-demo-worker")}};
    (void)state;
    set_up(&scene);
    struct arena *arena = &scene.arena;
    scene.request.tags = tags;
    scene.request.tag_count = 2;
    struct param *specs = param_add_list(scene.config, "TagSpecifications", arena);
    static const char *const kinds[] = {"instance", "volume", "instance"};
    struct machine_tag file[] = {{STR("Name"), STR("mine")},
                                 {STR("team"), STR("ml")},
                                 {STR("shoal-cluster-uid"), STR("stolen")}};
    for (size_t i = 0; i < 3; i++) {
        struct param *spec = param_add_map(specs, "", arena);
        param_add_text(spec, "ResourceType", str_from(kinds[i]), arena);
        param_add_tag(param_add_list(spec, "Tags", arena), file[i].key, file[i].value, arena);
    }
    struct str body = draft(&scene);
    assert_has(body, "TagSpecification.1.Tag.5.Key=ray-node-type");
    assert_has(body, "TagSpecification.1.Tag.6.Key=Name");
    assert_has(body, "TagSpecification.1.Tag.6.Value=mine");
    assert_has(body, "TagSpecification.2.Tag.5.Key=team");
    assert_int_equal(str_find(body, "stolen"), SIZE_MAX);
    assert_int_equal(str_find(body, "TagSpecification.4"), SIZE_MAX);
    arena_clear(&scene.arena);
}

static void interfaces_get_what_they_lack(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct arena *arena = &scene.arena;
    struct param *list = param_add_list(scene.config, "NetworkInterfaces", arena);
    struct param *first = param_add_map(list, "", arena);
    param_add_number(first, "DeviceIndex", 0, arena);
    param_add_bool(first, "AssociatePublicIpAddress", true, arena);
    struct param *second = param_add_map(list, "", arena);
    param_add_text(second, "SubnetId", STR("subnet-own"), arena);
    param_add_text(param_add_list(second, "Groups", arena), "", STR("sg-9"), arena);
    struct str body = draft(&scene);
    assert_has(body, "NetworkInterface.1.SubnetId=subnet-b");
    assert_has(body, "NetworkInterface.1.SecurityGroupId.1=sg-own");
    assert_has(body, "NetworkInterface.1.AssociatePublicIpAddress=true");
    assert_has(body, "NetworkInterface.2.SubnetId=subnet-own");
    assert_has(body, "NetworkInterface.2.SecurityGroupId.1=sg-9");
    assert_int_equal(str_find(body, "&SubnetId="), SIZE_MAX);
    assert_int_equal(str_find(body, "&SecurityGroupId."), SIZE_MAX);
    arena_clear(&scene.arena);
}

/* metadata.shoal.tags are on everything; the file's own tags of an instance win. */
static void tags_of_the_account(void **state)
{
    struct scene scene;
    struct param *tags;
    (void)state;
    set_up(&scene);
    tags = param_new_map(&scene.arena);
    param_add_text(tags, "CostCenter", STR("1234"), &scene.arena);
    scene.draft.tags = tags;
    scene.request.market = MARKET_SPOT;
    struct str body = draft(&scene);
    assert_has(body, "TagSpecification.1.Tag.5.Key=CostCenter");
    assert_has(body, "TagSpecification.1.Tag.5.Value=1234");
    assert_has(body, "TagSpecification.2.Tag.5.Key=CostCenter");
    assert_has(body, "TagSpecification.3.Tag.5.Key=CostCenter");
    assert_has(body, "TagSpecification.4.Tag.5.Key=CostCenter");
    struct param *spec = param_add_map(
        param_add_list(scene.config, "TagSpecifications", &scene.arena), "", &scene.arena);
    param_add_text(spec, "ResourceType", STR("instance"), &scene.arena);
    param_add_tag(param_add_list(spec, "Tags", &scene.arena), STR("CostCenter"), STR("9"),
                  &scene.arena);
    body = draft(&scene);
    assert_has(body, "TagSpecification.1.Tag.5.Value=9");
    assert_has(body, "TagSpecification.2.Tag.5.Value=1234");
    arena_clear(&scene.arena);
}

/* The same call, except that EC2 only says whether it would launch. */
static void a_dry_run_is_the_same_call(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct str real = draft(&scene);
    scene.draft.is_dry_run = true;
    struct str dry = draft(&scene);
    size_t same = str_find(real, "&ClientToken=");
    assert_str(str_sub(dry, 0, same), arena_printf(&scene.arena, "%.*s", (int)same, real.ptr).ptr);
    assert_str(str_sub(dry, same, dry.len), "&DryRun=true");
    arena_clear(&scene.arena);
}

static void what_cannot_be_launched_is_refused(void **state)
{
    struct scene scene;
    struct str body;
    (void)state;
    set_up(&scene);
    scene.request.zone = STR("us-west-2c");
    assert_false(launch_draft_write(&scene.draft, &scene.arena, &body, &scene.err));
    assert_like(str_from(scene.err.text), "no usable subnet for m5.large in zone us-west-2c");
    scene.request.zone = STR(""); /* the file names none: the first usable one */
    assert_true(launch_draft_write(&scene.draft, &scene.arena, &body, &scene.err));
    assert_true(str_find(body, "&SubnetId=subnet-a&") != SIZE_MAX);
    scene.draft.own_group = STR("");
    assert_false(launch_draft_write(&scene.draft, &scene.arena, &body, &scene.err));
    scene.draft.own_group = STR("sg-own");
    scene.draft.epoch = 0;
    assert_false(launch_draft_write(&scene.draft, &scene.arena, &body, &scene.err));
    scene.draft.epoch = 7;
    scene.request.token = STR("no blanks");
    assert_false(launch_draft_write(&scene.draft, &scene.arena, &body, &scene.err));
    arena_clear(&scene.arena);
}

static void a_token_is_made_of_uid_and_number(void **state)
{
    struct arena arena;
    uint64_t launch = 0;
    (void)state;
    arena_init(&arena);
    struct str uid = STR("0123456789abcdef0123456789abcdef");
    struct str token = launch_token(uid, 1, &arena);
    assert_str(token, "shoal-4da121d173ffe14d5eadfc15ad088733d11a30d5dd760f41");
    assert_true(token.len <= LAUNCH_TOKEN_MAX);
    assert_true(str_eq(token, launch_token(uid, 1, &arena)));
    assert_false(str_eq(token, launch_token(uid, 2, &arena)));
    assert_false(str_eq(token, launch_token(STR("1"), 1, &arena)));
    assert_str(launch_number_text((uint64_t)7 << 32 | 12, &arena), "7.12");
    assert_true(launch_number_parse(STR("7.12"), &launch));
    assert_int_equal(launch, (uint64_t)7 << 32 | 12);
    assert_false(launch_number_parse(STR("7"), &launch));
    assert_false(launch_number_parse(STR("7.12x"), &launch));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_rests_is_only_stopped),
        cmocka_unit_test(what_is_ours_is_always_there),
        cmocka_unit_test(the_files_words_pass_through),
        cmocka_unit_test(the_default_root_disk_goes_with_its_machine),
        cmocka_unit_test(the_request_says_the_market),
        cmocka_unit_test(tags_are_merged_as_ray_does_it),
        cmocka_unit_test(interfaces_get_what_they_lack),
        cmocka_unit_test(tags_of_the_account),
        cmocka_unit_test(a_dry_run_is_the_same_call),
        cmocka_unit_test(what_cannot_be_launched_is_refused),
        cmocka_unit_test(a_token_is_made_of_uid_and_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
