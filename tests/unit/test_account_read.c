/* test_account_read.c: resources in replies of EC2. */
#include "provider/aws/account/account_read.h"

#include "unit.h"

#define TAGS(name, uid)                                                                         \
    "<tagSet><item><key>ray-cluster-name</key><value>" name "</value></item><item><key>x</key>" \
    "<value>y</value></item><item><key>shoal-cluster-uid</key><value>" uid                      \
    "</value></item></tagSet>"

static bool read_one(account_read_fn *read_reply, const char *xml, struct account_basket *basket,
                     struct err *err)
{
    const struct xml_element *root;
    assert_true(xml_tree_parse(str_from(xml), basket->arena, &root, err));
    return read_reply(basket, STR("eu-west-1"), root, err);
}

static void things_are_read(void **state)
{
    struct arena arena;
    struct err err = {0};
    struct account_basket basket = {.arena = &arena};
    (void)state;
    arena_init(&arena);
    assert_true(
        read_one(account_read_groups,
                 "<DescribeSecurityGroupsResponse><securityGroupInfo><item><groupId>sg-1"
                 "</groupId>" TAGS(
                     "demo", "u1") "</item><item><groupId>sg-2</groupId>"
                                   "</item></securityGroupInfo></DescribeSecurityGroupsResponse>",
                 &basket, &err));
    assert_true(read_one(account_read_keys,
                         "<DescribeKeyPairsResponse><keySet><item><keyName>k</keyName><createTime>"
                         "2020-06-17T10:11:12.000Z</createTime>" TAGS(
                             "demo", "u1") "</item></keySet></DescribeKeyPairsResponse>",
                         &basket, &err));
    assert_true(read_one(account_read_templates,
                         "<DescribeLaunchTemplatesResponse><launchTemplates><item>"
                         "<launchTemplateId>lt-1</launchTemplateId><tagSet><item><key>"
                         "shoal-lease-until</key><value>7 1592388672</value></item>"
                         "<item><key>shoal-cluster-uid</key><value>u1</value></item></tagSet>"
                         "</item></launchTemplates></DescribeLaunchTemplatesResponse>",
                         &basket, &err));
    assert_int_equal(basket.finds.thing_count, 3);
    const struct account_thing *things = basket.finds.things;
    assert_str(things[0].id, "sg-1");
    assert_str(things[0].owner.name, "demo");
    assert_str(things[0].owner.uid, "u1");
    assert_str(things[0].owner.region, "eu-west-1");
    assert_int_equal(things[0].made_at, ACCOUNT_NO_TIME);
    assert_int_equal(things[1].kind, THING_KEY);
    assert_int_equal(things[1].made_at, 1592388672);
    assert_int_equal(things[2].kind, THING_TEMPLATE);
    assert_int_equal(things[1].held_until, ACCOUNT_NO_TIME);
    assert_int_equal(things[2].held_until, 1592388672);
    arena_clear(&arena);
}

#define VOLUME(kind, more)                                                              \
    "<item><volumeId>vol-1</volumeId><size>100</size><volumeType>" kind "</volumeType>" \
    "<createTime>2020-06-17T10:11:12.000Z</createTime>" more "</item>"

static void volumes_are_read(void **state)
{
    static const bool expected[] = {true, true, false, false, true, false, false};
    struct arena arena;
    struct err err = {0};
    struct account_basket basket = {.arena = &arena};
    (void)state;
    arena_init(&arena);
    assert_true(read_one(
        account_read_volumes,
        "<DescribeVolumesResponse><volumeSet>" VOLUME(
            "gp3", "<attachmentSet><item><instanceId>i-1</instanceId></item></attachmentSet>")
            VOLUME("gp3", "<iops>3000</iops><throughput>125</throughput>")
                VOLUME("gp3", "<iops>3001</iops>") VOLUME("gp3", "<throughput>250</throughput>")
                    VOLUME("gp2", "<iops>300</iops>") VOLUME("io2", "<iops>300</iops>")
                        VOLUME("standard", "") "</volumeSet></DescribeVolumesResponse>",
        &basket, &err));
    assert_int_equal(basket.finds.volume_count, ARRAY_LEN(expected));
    assert_str(basket.finds.volumes[0].machine, "i-1");
    assert_str(basket.finds.volumes[1].machine, "");
    assert_int_equal(basket.finds.volumes[0].gb, 100);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        assert_int_equal(basket.finds.volumes[i].is_by_size, expected[i]);
    }
    arena_clear(&arena);
}

static void machines_are_taken_over(void **state)
{
    struct instance_tag tags[] = {{STR("ray-cluster-name"), STR("demo")},
                                  {STR("ray-node-type"), STR("head")},
                                  {STR("shoal-cluster-uid"), STR("u1")}};
    struct instance_record records[] = {
        {.id = STR("i-1"),
         .type = STR("m5.large"),
         .launched_at = 7,
         .tags = tags,
         .tag_count = 3,
         .state = INSTANCE_STOPPING,
         .market = INSTANCE_SPOT},
        {.id = STR("i-2"), .state = INSTANCE_STATE_OTHER, .market = INSTANCE_RESERVED_BLOCK},
        {.id = STR("i-3"), .state = INSTANCE_TERMINATED},
    };
    struct instance_list list = {.items = records, .count = 3};
    struct arena arena;
    struct account_basket basket = {.arena = &arena};
    (void)state;
    arena_init(&arena);
    account_add_machines(&basket, STR("eu-west-1"), &list);
    const struct account_machine *machines = basket.finds.machines;
    assert_int_equal(basket.finds.machine_count, 3);
    assert_true(machines[0].is_head);
    assert_int_equal(machines[0].state, MACHINE_STOPPING);
    assert_int_equal(machines[0].market, MARKET_SPOT);
    assert_str(machines[0].owner.uid, "u1");
    assert_int_equal(machines[1].state, MACHINE_RUNNING);
    assert_true(machines[1].is_unpriced);
    assert_int_equal(machines[2].state, MACHINE_GONE);
    arena_clear(&arena);
}

static void roles_are_read(void **state)
{
    static const char roles[] =
        "<ListRolesResponse><ListRolesResult><Roles><member><RoleName>shoal-a</RoleName>"
        "<CreateDate>2020-06-17T10:11:12Z</CreateDate>"
        "</member></Roles></ListRolesResult></ListRolesResponse>";
    static const char profiles[] =
        "<ListInstanceProfilesResponse><ListInstanceProfilesResult><InstanceProfiles><member>"
        "<InstanceProfileName>shoal-a</InstanceProfileName></member></InstanceProfiles>"
        "</ListInstanceProfilesResult></ListInstanceProfilesResponse>";
    static const char tags[] =
        "<ListRoleTagsResponse><ListRoleTagsResult><Tags><member><Key>shoal-cluster-uid</Key>"
        "<Value>u1</Value></member><member><Key>ray-cluster-name</Key><Value>a</Value></member>"
        "</Tags></ListRoleTagsResult></ListRoleTagsResponse>";
    struct arena arena;
    struct err err = {0};
    const struct xml_element *root;
    struct account_basket basket = {.arena = &arena};
    (void)state;
    arena_init(&arena);
    assert_true(xml_tree_parse(str_from(roles), &arena, &root, &err));
    assert_true(account_read_roles(&basket, root, &err));
    assert_false(account_read_profiles(&basket, root, &err));
    assert_true(xml_tree_parse(str_from(profiles), &arena, &root, &err));
    assert_true(account_read_profiles(&basket, root, &err));
    assert_int_equal(basket.finds.thing_count, 2);
    assert_str(basket.finds.things[0].id, "shoal-a");
    assert_int_equal(basket.finds.things[0].made_at, 1592388672);
    assert_int_equal(basket.finds.things[1].kind, THING_PROFILE);
    assert_true(xml_tree_parse(str_from(tags), &arena, &root, &err));
    struct account_owner owner = account_read_tags(&basket, root);
    assert_str(owner.uid, "u1");
    assert_str(owner.name, "a");
    assert_str(owner.region, "");
    arena_clear(&arena);
}

static void broken_replies_are_refused(void **state)
{
    static const struct {
        account_read_fn *read_reply;
        const char *xml;
    } rows[] = {
        {account_read_groups, "<DescribeKeyPairsResponse><keySet/></DescribeKeyPairsResponse>"},
        {account_read_groups, "<DescribeSecurityGroupsResponse/>"},
        {account_read_groups, "<DescribeSecurityGroupsResponse><securityGroupInfo><item/>"
                              "</securityGroupInfo></DescribeSecurityGroupsResponse>"},
        {account_read_volumes, "<DescribeVolumesResponse><volumeSet><item><volumeId>v</volumeId>"
                               "</item></volumeSet></DescribeVolumesResponse>"},
        {account_read_volumes, "<DescribeVolumesResponse><volumeSet><item><volumeId>v</volumeId>"
                               "<size>-1</size></item></volumeSet></DescribeVolumesResponse>"},
    };
    struct arena arena;
    struct account_basket basket = {.arena = &arena};
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        assert_false(read_one(rows[i].read_reply, rows[i].xml, &basket, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
    arena_clear(&arena);
}

static void regions_are_sorted(void **state)
{
    static const char xml[] =
        "<DescribeRegionsResponse><regionInfo><item><regionName>us-west-2</regionName><optInStatus>"
        "opt-in-not-required</optInStatus></item><item><regionName>af-south-1</regionName>"
        "<optInStatus>not-opted-in</optInStatus></item><item><regionName>eu-north-1</regionName>"
        "</item></regionInfo></DescribeRegionsResponse>";
    static const char none[] = "<DescribeRegionsResponse><regionInfo/></DescribeRegionsResponse>";
    struct arena arena;
    struct err err = {0};
    const struct xml_element *root;
    struct str *regions;
    size_t count;
    (void)state;
    arena_init(&arena);
    assert_true(xml_tree_parse(str_from(xml), &arena, &root, &err));
    assert_true(account_read_regions(root, &arena, &regions, &count, &err));
    assert_int_equal(count, 2);
    assert_str(regions[0], "eu-north-1");
    assert_str(regions[1], "us-west-2");
    assert_true(xml_tree_parse(str_from(none), &arena, &root, &err));
    assert_false(account_read_regions(root, &arena, &regions, &count, &err));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_are_read),
        cmocka_unit_test(volumes_are_read),
        cmocka_unit_test(machines_are_taken_over),
        cmocka_unit_test(roles_are_read),
        cmocka_unit_test(broken_replies_are_refused),
        cmocka_unit_test(regions_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
