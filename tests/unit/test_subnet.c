/* test_subnet.c: Ray's rules for subnets, and ours in addition. */
#include "provider/aws/preflight/subnet.h"

#include "base/attr.h"
#include "base/buf.h"
#include "unit.h"

#define ZONE(letter)           \
    {                          \
        "us-west-2" letter, 10 \
    }
#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }

static struct ec2_subnet subnets[] = {
    {TEXT("s-a1"), ZONE("a"), TEXT("vpc-1"), TEXT("available"), 9, true},
    {TEXT("s-c1"), ZONE("c"), TEXT("vpc-1"), TEXT("available"), 9, true},
    {TEXT("s-b1"), ZONE("b"), TEXT("vpc-1"), TEXT("available"), 9, true},
    {TEXT("s-b2"), ZONE("b"), TEXT("vpc-1"), TEXT("available"), 9, true},
    {TEXT("s-private"), ZONE("a"), TEXT("vpc-1"), TEXT("available"), 9, false},
    {TEXT("s-full"), ZONE("a"), TEXT("vpc-1"), TEXT("available"), 0, true},
    {TEXT("s-new"), ZONE("a"), TEXT("vpc-1"), TEXT("pending"), 9, true},
    {TEXT("s-other"), ZONE("a"), TEXT("vpc-2"), TEXT("available"), 9, true},
};
static const struct ec2_subnets all = {subnets, ARRAY_LEN(subnets)};

/* "s-c1 s-b1 | s-private:7 ..." */
static void check(struct subnet_question question, const char *expected)
{
    AUTO_BUF struct buf out;
    struct arena arena;
    struct subnet_choice choice;
    buf_init(&out, 4096);
    arena_init(&arena);
    question.all = question.all ? question.all : &all;
    subnet_choose(&question, &arena, &choice);
    for (size_t i = 0; i < choice.count; i++) {
        const struct subnet_judged *judged = &choice.judged[i];
        assert_true((judged->verdict == SUBNET_USABLE) == (i < choice.usable_count));
        if (i == choice.usable_count) {
            buf_add_c(&out, i > 0 ? " | " : "| ");
        } else if (i > 0) {
            buf_add_char(&out, ' ');
        }
        buf_add(&out, judged->subnet.id);
        if (judged->verdict != SUBNET_USABLE) {
            buf_addf(&out, ":%d", (int)judged->verdict);
        }
    }
    assert_str(buf_str(&out), expected);
    arena_clear(&arena);
}

static void from_the_last_zone_to_the_first(void **state)
{
    (void)state;
    check((struct subnet_question){.allows_private = false},
          "s-c1 s-b1 s-b2 s-a1 | s-other:8 s-private:7 s-full:6 s-new:2");
}

static void private_ones_when_allowed(void **state)
{
    (void)state;
    check((struct subnet_question){.allows_private = true},
          "s-c1 s-b1 s-b2 s-a1 s-private | s-other:8 s-full:6 s-new:2");
}

static void zones_in_the_order_of_the_file(void **state)
{
    static const struct str zones[] = {ZONE("a"), ZONE("c")};
    (void)state;
    check((struct subnet_question){.zones = zones, .zone_count = 2},
          "s-a1 s-c1 | s-other:8 s-private:7 s-b1:4 s-b2:4 s-full:6 s-new:2");
}

static void the_vpc_of_the_groups(void **state)
{
    (void)state;
    check((struct subnet_question){.vpc = TEXT("vpc-2")},
          "s-other | s-a1:3 s-private:3 s-full:3 s-new:2 s-b1:3 s-b2:3 s-c1:3");
    check((struct subnet_question){.vpc = TEXT("vpc-3")},
          "| s-a1:3 s-private:3 s-full:3 s-new:2 s-other:3 s-b1:3 s-b2:3 s-c1:3");
}

/* Ray takes the last zone's subnet, which may be in any VPC. */
static void the_default_vpc_if_none_is_named(void **state)
{
    struct ec2_subnet own[ARRAY_LEN(subnets)];
    const struct ec2_subnets with_default = {own, ARRAY_LEN(own)};
    static const struct str named[] = {TEXT("s-b1"), TEXT("s-other")};
    static const struct str zones[] = {ZONE("c")};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        own[i] = subnets[i];
        own[i].is_default = str_is(own[i].vpc, "vpc-2");
    }
    check((struct subnet_question){.all = &with_default},
          "s-other | s-c1:8 s-b1:8 s-b2:8 s-a1:8 s-private:7 s-full:6 s-new:2");
    check((struct subnet_question){.all = &with_default, .named = named, .named_count = 2},
          "s-b1 | s-other:8");
    check((struct subnet_question){.all = &with_default, .vpc = TEXT("vpc-1")},
          "s-c1 s-b1 s-b2 s-a1 | s-private:7 s-full:6 s-new:2 s-other:3");
    check((struct subnet_question){.all = &with_default, .zones = zones, .zone_count = 1},
          "s-c1 | s-a1:4 s-other:4 s-b1:4 s-b2:4 s-private:4 s-full:4 s-new:2");
}

static void named_ones_only(void **state)
{
    static const struct str named[] = {TEXT("s-b1"), TEXT("s-gone"), TEXT("s-b1"),
                                       TEXT("s-private")};
    (void)state;
    check((struct subnet_question){.named = named, .named_count = 4},
          "s-b1 | s-private:7 s-gone:1");
}

static void only_where_the_machine_is_offered(void **state)
{
    static struct ec2_offering items[] = {{TEXT("m5.large"), ZONE("b")},
                                          {TEXT("c5.large"), ZONE("c")}};
    static const struct ec2_offerings offered = {items, 2};
    (void)state;
    check((struct subnet_question){.offered = &offered, .machine = TEXT("m5.large")},
          "s-b1 s-b2 | s-a1:5 s-private:5 s-full:5 s-new:2 s-other:5 s-c1:5");
    check((struct subnet_question){.offered = &offered, .machine = TEXT("")},
          "s-c1 s-b1 s-b2 s-a1 | s-other:8 s-private:7 s-full:6 s-new:2");
}

static void no_subnets_at_all(void **state)
{
    static const struct ec2_subnets none = {NULL, 0};
    (void)state;
    check((struct subnet_question){.all = &none}, "");
}

static void zones_are_short_for_people(void **state)
{
    (void)state;
    assert_str(subnet_short_zone(STR("us-west-2a"), STR("us-west-2")), "2a");
    assert_str(subnet_short_zone(STR("ap-southeast-1c"), STR("ap-southeast-1")), "1c");
    assert_str(subnet_short_zone(STR("us-west-2-lax-1a"), STR("us-west-2")), "us-west-2-lax-1a");
    assert_str(subnet_short_zone(STR("us-east-1a"), STR("us-west-2")), "us-east-1a");
    assert_str(subnet_short_zone(STR(""), STR("us-west-2")), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_the_last_zone_to_the_first),
        cmocka_unit_test(private_ones_when_allowed),
        cmocka_unit_test(zones_in_the_order_of_the_file),
        cmocka_unit_test(the_vpc_of_the_groups),
        cmocka_unit_test(the_default_vpc_if_none_is_named),
        cmocka_unit_test(named_ones_only),
        cmocka_unit_test(only_where_the_machine_is_offered),
        cmocka_unit_test(no_subnets_at_all),
        cmocka_unit_test(zones_are_short_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
