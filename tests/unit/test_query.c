/* test_query.c: one launch as it is sent, names that follow no rule, and limits. The comparison
 * with botocore covers the rest. */
#include "provider/aws/wire/query.h"

#include "unit.h"

static void a_launch_is_written(void **state)
{
    struct arena arena;
    struct err err;
    AUTO_BUF struct buf body;
    (void)state;
    arena_init(&arena);
    buf_init(&body, 10000);
    struct param *top = param_new_map(&arena);
    param_add_number(top, "MinCount", 1, &arena);
    param_add_text(top, "UserData", STR("#!/bin/sh\n"), &arena);
    struct param *groups = param_add_list(top, "SecurityGroupIds", &arena);
    param_add_text(groups, "", STR("sg 1"), &arena);
    struct param *disk = param_add_map(param_add_list(top, "BlockDeviceMappings", &arena), "",
                                       &arena);
    param_add_bool(param_add_map(disk, "Ebs", &arena), "Encrypted", true, &arena);
    struct param *tags = param_add_map(param_add_list(top, "TagSpecifications", &arena), "",
                                       &arena);
    param_add_tag(param_add_list(tags, "Tags", &arena), STR("k"), STR("v&"), &arena);
    assert_true(query_write(QUERY_EC2, "RunInstances", top, &body, &err));
    assert_str(buf_str(&body),
               "Action=RunInstances&Version=2016-11-15&MinCount=1&UserData=IyEvYmluL3NoCg%3D%3D"
               "&SecurityGroupId.1=sg%201&BlockDeviceMapping.1.Ebs.Encrypted=true"
               "&TagSpecification.1.Tag.1.Key=k&TagSpecification.1.Tag.1.Value=v%26");
    arena_clear(&arena);
}

static void services_differ(void **state)
{
    struct arena arena;
    struct err err;
    AUTO_BUF struct buf body;
    struct str value = STR("running");
    (void)state;
    arena_init(&arena);
    buf_init(&body, 10000);
    struct param *top = param_new_map(&arena);
    param_add_tag(param_add_list(top, "Tags", &arena), STR("k"), STR("v"), &arena);
    param_add_list(top, "PolicyArns", &arena);
    assert_true(query_write(QUERY_STS, "AssumeRole", top, &body, &err));
    assert_str(buf_str(&body), "Action=AssumeRole&Version=2011-06-15&Tags.member.1.Key=k"
                               "&Tags.member.1.Value=v&PolicyArns=");
    buf_clear(&body);
    top = param_new_map(&arena);
    param_add_filter(param_add_list(top, "Filters", &arena), "state", &value, 1, &arena);
    assert_true(query_write(QUERY_EC2, "DescribeInstances", top, &body, &err));
    assert_str(buf_str(&body), "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=state"
                               "&Filter.1.Value.1=running");
    arena_clear(&arena);
}

static void limits_hold(void **state)
{
    struct arena arena;
    struct err err;
    AUTO_BUF struct buf body;
    (void)state;
    arena_init(&arena);
    buf_init(&body, 100);
    struct param *top = param_new_map(&arena);
    struct param *deep = top;
    for (int i = 0; i < QUERY_DEPTH_MAX + 1; i++) {
        deep = param_add_map(deep, "a", &arena);
    }
    assert_false(query_write(QUERY_EC2, "X", top, &body, &err));
    assert_like(str_from(err.text), "parameters of X are nested too deeply");
    top = param_new_map(&arena);
    param_add_text(top, "UserData", arena_printf(&arena, "%0200d", 1), &arena);
    assert_false(query_write(QUERY_EC2, "RunInstances", top, &body, &err));
    assert_like(str_from(err.text), "the parameters of RunInstances have more than 100 bytes");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_is_written),
        cmocka_unit_test(services_differ),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
