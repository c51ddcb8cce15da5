/* test_ec2_reply.c: listings as EC2, IAM and SSM write them. */
#include "provider/aws/preflight/ec2_reply.h"

#include "provider/aws/preflight/preflight_evaluate.h"

#include "unit.h"

enum { PAGES_MAX = 4 };

struct scene {
    struct arena arena;
    const struct xml_element *roots[PAGES_MAX];
    struct ec2_pages pages;
    struct err err;
};

static void add_page(struct scene *scene, const char *xml)
{
    if (scene->pages.count == 0) {
        arena_init(&scene->arena);
    }
    assert_true(scene->pages.count < PAGES_MAX);
    assert_true(xml_tree_parse(str_from(xml), &scene->arena, &scene->roots[scene->pages.count],
                               &scene->err));
    scene->pages.count++;
    scene->pages.roots = scene->roots;
}

static void subnets_of_two_pages(void **state)
{
    struct scene scene = {0};
    struct ec2_subnets subnets;
    (void)state;
    add_page(&scene, "<DescribeSubnetsResponse><requestId>r</requestId><subnetSet><item>"
                     "<subnetId>subnet-1</subnetId><state>available</state><vpcId>vpc-1</vpcId>"
                     "<availableIpAddressCount>251</availableIpAddressCount>"
                     "<availabilityZone>us-west-2a</availabilityZone>"
                     "<mapPublicIpOnLaunch>true</mapPublicIpOnLaunch></item></subnetSet>"
                     "<nextToken>n</nextToken></DescribeSubnetsResponse>");
    add_page(&scene, "<DescribeSubnetsResponse><subnetSet/></DescribeSubnetsResponse>");
    add_page(&scene, "<DescribeSubnetsResponse><subnetSet><item>\n<subnetId>subnet-2</subnetId>"
                     "<vpcId>vpc-2</vpcId><availabilityZone>us-west-2b</availabilityZone>"
                     "</item></subnetSet></DescribeSubnetsResponse>");
    assert_true(ec2_subnets_read(scene.pages, &scene.arena, &subnets, &scene.err));
    assert_int_equal(subnets.count, 2);
    assert_str(subnets.items[0].id, "subnet-1");
    assert_str(subnets.items[0].zone, "us-west-2a");
    assert_str(subnets.items[0].vpc, "vpc-1");
    assert_str(subnets.items[0].state, "available");
    assert_int_equal(subnets.items[0].free_addresses, 251);
    assert_true(subnets.items[0].maps_public && !subnets.items[1].maps_public);
    assert_true(subnets.items[1].free_addresses == INT64_MAX);
    arena_clear(&scene.arena);
}

static void instances_of_another_launcher(void **state)
{
    struct scene scene = {0};
    struct preflight_foreign named;
    (void)state;
    add_page(
        &scene,
        "<a><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><tagSet>"
        "<item><key>shoal-cluster-uid</key><value>u</value></item></tagSet></item>"
        "<item><instanceId>i-2</instanceId></item></instancesSet></item></reservationSet></a>");
    add_page(&scene, "<a><reservationSet><item><instancesSet><item><instanceId>i-3</instanceId>"
                     "</item></instancesSet></item></reservationSet></a>");
    assert_true(preflight_foreign_read(scene.pages, &scene.arena, &named, &scene.err));
    assert_int_equal(named.count, 2);
    assert_str(named.ids[0], "i-2");
    assert_str(named.ids[1], "i-3");
    arena_clear(&scene.arena);

    scene = (struct scene){0};
    add_page(&scene, "<a/>");
    assert_false(preflight_foreign_read(scene.pages, &scene.arena, &named, &scene.err));
    arena_clear(&scene.arena);
    scene = (struct scene){0};
    add_page(&scene, "<a><reservationSet><item><instancesSet><item/></instancesSet></item>"
                     "</reservationSet></a>");
    assert_false(preflight_foreign_read(scene.pages, &scene.arena, &named, &scene.err));
    arena_clear(&scene.arena);
}

static void half_a_listing_is_not_believed(void **state)
{
    static const char *const pages[] = {
        "<DescribeSubnetsResponse><requestId>r</requestId></DescribeSubnetsResponse>",
        "<a><subnetSet><item><vpcId>vpc-1</vpcId></item></subnetSet></a>",
        "<a><subnetSet><item><subnetId>s</subnetId></item></subnetSet></a>",
        "<a><subnetSet><item/></subnetSet></a>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        struct scene scene = {0};
        struct ec2_subnets subnets = {NULL, 99};
        add_page(&scene, pages[i]);
        assert_false(ec2_subnets_read(scene.pages, &scene.arena, &subnets, &scene.err));
        assert_int_equal(scene.err.kind, ERR_PROTOCOL);
        assert_int_equal(subnets.count, 99);
        arena_clear(&scene.arena);
    }
}

static void groups_and_vpcs(void **state)
{
    struct scene scene = {0};
    struct ec2_groups groups;
    struct ec2_vpcs vpcs;
    (void)state;
    add_page(&scene,
             "<r><securityGroupInfo><item><groupId>sg-1</groupId><vpcId>vpc-1</vpcId>"
             "<groupName>web</groupName><ipPermissions><item><groups><item><groupId>sg-9</groupId>"
             "</item></groups></item></ipPermissions></item></securityGroupInfo>"
             "<vpcSet><item><vpcId>vpc-1</vpcId><cidrBlock>10.0.0.0/16</cidrBlock>"
             "<isDefault>true</isDefault></item><item><vpcId>vpc-2</vpcId></item></vpcSet></r>");
    assert_true(ec2_groups_read(scene.pages, &scene.arena, &groups, &scene.err));
    assert_int_equal(groups.count, 1);
    assert_str(groups.items[0].id, "sg-1");
    assert_str(groups.items[0].name, "web");
    assert_str(groups.items[0].vpc, "vpc-1");
    assert_true(ec2_vpcs_read(scene.pages, &scene.arena, &vpcs, &scene.err));
    assert_int_equal(vpcs.count, 2);
    assert_true(vpcs.items[0].is_default && !vpcs.items[1].is_default);
    assert_str(vpcs.items[0].cidr, "10.0.0.0/16");
    arena_clear(&scene.arena);
}

static void images(void **state)
{
    struct scene scene = {0};
    struct ec2_images images;
    (void)state;
    add_page(&scene,
             "<r><imagesSet><item><imageId>ami-1</imageId><imageState>available</imageState>"
             "<architecture>arm64</architecture><name>ubuntu &amp; more</name>"
             "<rootDeviceName>/dev/sda1</rootDeviceName>"
             "<creationDate>2026-01-02T03:04:05.000Z</creationDate><blockDeviceMapping>"
             "<item><deviceName>/dev/sdb</deviceName><virtualName>ephemeral0</virtualName></item>"
             "<item><deviceName>/dev/sda1</deviceName><ebs><volumeSize>8</volumeSize></ebs></item>"
             "</blockDeviceMapping></item><item><imageId>ami-2</imageId>"
             "<platform>windows</platform></item></imagesSet></r>");
    assert_true(ec2_images_read(scene.pages, &scene.arena, &images, &scene.err));
    assert_int_equal(images.count, 2);
    assert_str(images.items[0].name, "ubuntu & more");
    assert_str(images.items[0].arch, "arm64");
    assert_str(images.items[0].root_device, "/dev/sda1");
    assert_int_equal(images.items[0].root_gib, 8);
    assert_false(images.items[0].is_windows);
    assert_true(images.items[1].is_windows && images.items[1].root_gib == 0);
    arena_clear(&scene.arena);
}

static void machines_and_where_they_are(void **state)
{
    struct scene scene = {0};
    struct ec2_types types;
    struct ec2_offerings offerings;
    (void)state;
    add_page(&scene,
             "<r><instanceTypeSet><item><instanceType>g5.xlarge</instanceType>"
             "<supportedUsageClasses><item>on-demand</item><item>spot</item>"
             "</supportedUsageClasses><processorInfo><supportedArchitectures><item>x86_64</item>"
             "</supportedArchitectures></processorInfo><vCpuInfo><defaultVCpus>4</defaultVCpus>"
             "</vCpuInfo><memoryInfo><sizeInMiB>16384</sizeInMiB></memoryInfo><gpuInfo><gpus>"
             "<item><name>A10G</name><count>1</count></item></gpus></gpuInfo></item>"
             "<item><instanceType>odd.one</instanceType></item></instanceTypeSet>"
             "<instanceTypeOfferingSet><item><instanceType>g5.xlarge</instanceType>"
             "<locationType>availability-zone</locationType><location>us-west-2b</location></item>"
             "</instanceTypeOfferingSet></r>");
    assert_true(ec2_types_read(scene.pages, &scene.arena, &types, &scene.err));
    assert_int_equal(types.count, 2);
    assert_str(types.items[0].archs[0], "x86_64");
    assert_str(types.items[0].archs[1], "");
    assert_int_equal(types.items[0].vcpus, 4);
    assert_int_equal(types.items[0].memory_mib, 16384);
    assert_int_equal(types.items[0].gpus, 1);
    assert_true(types.items[0].has_spot && !types.items[1].has_spot);
    assert_true(ec2_offerings_read(scene.pages, &scene.arena, &offerings, &scene.err));
    assert_int_equal(offerings.count, 1);
    assert_str(offerings.items[0].type, "g5.xlarge");
    assert_str(offerings.items[0].location, "us-west-2b");
    arena_clear(&scene.arena);
}

static void a_launch_template(void **state)
{
    struct scene scene = {0};
    struct param *data;
    (void)state;
    add_page(&scene, "<r><launchTemplateVersionSet><item><launchTemplateId>lt-1</launchTemplateId>"
                     "<versionNumber>3</versionNumber><launchTemplateData><imageId>ami-1</imageId>"
                     "<instanceType>m5.large</instanceType><securityGroupIdSet><item>sg-1</item>"
                     "<item>sg-2</item></securityGroupIdSet><networkInterfaceSet><item>"
                     "<associatePublicIpAddress>true</associatePublicIpAddress><groupSet>"
                     "<groupId>sg-3</groupId></groupSet><subnetId>subnet-1</subnetId></item>"
                     "</networkInterfaceSet><iamInstanceProfile><name>p</name></iamInstanceProfile>"
                     "<blockDeviceMappingSet><item><deviceName>/dev/sda1</deviceName><ebs>"
                     "<volumeSize>50</volumeSize></ebs></item></blockDeviceMappingSet>"
                     "<instanceMarketOptions><marketType>spot</marketType><spotOptions>"
                     "<spotInstanceType>persistent</spotInstanceType></spotOptions>"
                     "</instanceMarketOptions><metadataOptions><httpTokens>optional</httpTokens>"
                     "<httpPutResponseHopLimit>3</httpPutResponseHopLimit>"
                     "<instanceMetadataTags>enabled</instanceMetadataTags></metadataOptions>"
                     "<userData>IyEvYmluL3NoCmVjaG8gTUlORQ==</userData>"
                     "</launchTemplateData></item></launchTemplateVersionSet></r>");
    assert_true(ec2_template_read(scene.pages, &scene.arena, &data, &scene.err));
    assert_str(param_find(data, "LaunchTemplateId")->text, "lt-1");
    assert_str(param_find(data, "InstanceType")->text, "m5.large");
    assert_str(param_find(data, "SecurityGroupIds")->last->text, "sg-2");
    const struct param *interface = param_find(data, "NetworkInterfaces")->first;
    assert_str(param_find(interface, "SubnetId")->text, "subnet-1");
    assert_str(param_find(interface, "Groups")->first->text, "sg-3");
    assert_true(param_find(interface, "AssociatePublicIpAddress")->boolean);
    assert_str(param_find(param_find(data, "IamInstanceProfile"), "Name")->text, "p");
    const struct param *disk = param_find(data, "BlockDeviceMappings")->first;
    assert_int_equal(param_find(param_find(disk, "Ebs"), "VolumeSize")->number, 50);
    const struct param *market = param_find(data, "InstanceMarketOptions");
    assert_str(param_find(market, "MarketType")->text, "spot");
    assert_str(param_find(param_find(market, "SpotOptions"), "SpotInstanceType")->text,
               "persistent");
    const struct param *metadata = param_find(data, "MetadataOptions");
    assert_str(param_find(metadata, "HttpTokens")->text, "optional");
    assert_str(param_find(metadata, "InstanceMetadataTags")->text, "enabled");
    assert_int_equal(param_find(metadata, "HttpPutResponseHopLimit")->number, 3);
    assert_null(param_find(metadata, "HttpEndpoint"));
    assert_str(param_find(data, "UserData")->text, "#!/bin/sh\necho MINE");
    assert_null(param_find(data, "KeyName"));
    arena_clear(&scene.arena);
}

static void one_version_of_a_template_is_wanted(void **state)
{
    static const char *const pages[] = {
        "<r><launchTemplateVersionSet/></r>",
        "<r><launchTemplateVersionSet><item/></launchTemplateVersionSet></r>",
        "<r><launchTemplateVersionSet><item/><item/></launchTemplateVersionSet></r>",
        "<r/>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        struct scene scene = {0};
        struct param *data;
        add_page(&scene, pages[i]);
        assert_false(ec2_template_read(scene.pages, &scene.arena, &data, &scene.err));
        assert_int_equal(scene.err.kind, ERR_PROTOCOL);
        arena_clear(&scene.arena);
    }
}

static void keys(void **state)
{
    struct scene scene = {0};
    struct ec2_keys keys;
    (void)state;
    add_page(&scene, "<r><keySet><item><keyPairId>key-1</keyPairId><keyName>me</keyName>"
                     "<keyFingerprint>ab</keyFingerprint><publicKey>ssh-ed25519 AAAA me\n"
                     "</publicKey></item><item><keyName>old</keyName></item></keySet></r>");
    assert_true(ec2_keys_read(scene.pages, &scene.arena, &keys, &scene.err));
    assert_int_equal(keys.count, 2);
    assert_str(keys.items[0].name, "me");
    assert_str(keys.items[0].public_key, "ssh-ed25519 AAAA me");
    assert_str(keys.items[1].public_key, "");
    arena_clear(&scene.arena);
}

static void a_profile(void **state)
{
    struct scene scene = {0};
    struct iam_profile profile;
    (void)state;
    add_page(&scene, "<GetInstanceProfileResponse><GetInstanceProfileResult><InstanceProfile>"
                     "<InstanceProfileName>p</InstanceProfileName>"
                     "<Arn>arn:aws:iam::1:instance-profile/p</Arn><Roles><member>"
                     "<RoleName>r</RoleName></member></Roles></InstanceProfile>"
                     "</GetInstanceProfileResult></GetInstanceProfileResponse>");
    assert_true(iam_profile_read(scene.roots[0], &scene.arena, &profile, &scene.err));
    assert_str(profile.name, "p");
    assert_str(profile.arn, "arn:aws:iam::1:instance-profile/p");
    assert_str(profile.role, "r");
    add_page(&scene, "<GetInstanceProfileResponse/>");
    assert_false(iam_profile_read(scene.roots[1], &scene.arena, &profile, &scene.err));
    arena_clear(&scene.arena);
}

static void check_parameter(const char *json, const char *expected)
{
    struct arena arena;
    struct str value = STR("");
    struct err err = {0};
    arena_init(&arena);
    bool ok = ssm_parameter_read(str_from(json), &arena, &value, &err);
    if (expected) {
        assert_true(ok);
        assert_str(value, expected);
    } else {
        assert_false(ok);
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
    arena_clear(&arena);
}

static void parameters(void **state)
{
    (void)state;
    check_parameter("{\"Parameter\": {\"Name\": \"/a\", \"Value\": \"ami-1\", \"Version\": 3}}",
                    "ami-1");
    check_parameter("{\"Parameter\": {\"Name\": \"/a\"}}", NULL);
    check_parameter("{\"Parameter\": {\"Value\": 3}}", NULL);
    check_parameter("{\"Parameter\": {\"Value\": \"\"}}", NULL);
    check_parameter("{\"Parameter\": {\"Value\": \"a b\"}}", NULL);
    check_parameter("{\"Parameter\": {\"Value\": \"a\\u001b[1m\"}}", NULL);
    check_parameter("[]", NULL);
    check_parameter("{", NULL);
    check_parameter("", NULL);
}

static void limits_of_quotas(void **state)
{
    struct err err;
    int64_t limit;
    (void)state;
    assert_true(quota_limit_read(STR("{\"Quota\": {\"Value\": 32.0}}"), &limit, &err));
    assert_int_equal(limit, 32);
    assert_true(quota_limit_read(STR("{\"Quota\": {\"Value\": 1e300}}"), &limit, &err));
    assert_int_equal(limit, 1000000000);
    static const char *const bad[] = {"", "{}", "{\"Quota\": {\"Value\": \"32\"}}",
                                      "{\"Quota\": {\"Value\": -1}}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(quota_limit_read(str_from(bad[i]), &limit, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_quotas),
        cmocka_unit_test(subnets_of_two_pages),
        cmocka_unit_test(instances_of_another_launcher),
        cmocka_unit_test(half_a_listing_is_not_believed),
        cmocka_unit_test(groups_and_vpcs),
        cmocka_unit_test(images),
        cmocka_unit_test(machines_and_where_they_are),
        cmocka_unit_test(a_launch_template),
        cmocka_unit_test(one_version_of_a_template_is_wanted),
        cmocka_unit_test(keys),
        cmocka_unit_test(a_profile),
        cmocka_unit_test(parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
