/* test_preflight_text.c: findings as a user reads them. */
#include "app/preflight_text.h"

#include "base/attr.h"
#include "fixture.h"

#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }

static const struct diag_style plain = {"", "", "", ""};
static const char yaml[] = "cluster_name: demo\n"
                           "provider:\n"
                           "  type: aws\n"
                           "available_node_types:\n"
                           "  head:\n"
                           "    node_config:\n"
                           "      KeyName: mee\n"
                           "      SecurityGroupIds: [sg-1]\n";

static void check(const struct finding *findings, size_t count, const char *expected)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    AUTO_BUF struct buf out;
    buf_init(&out, 65536);
    const struct value *tree = fixture_read_c(f, yaml);
    assert_non_null(tree);
    preflight_text_fine(&out, findings, count);
    preflight_text_problems(&out, findings, count, tree, &plain);
    assert_like(buf_str(&out), expected);
}

static void fine_things_are_a_line_each(void **state)
{
    static const struct finding findings[] = {
        {.subject = TEXT("identity"), .text = TEXT("arn:me")},
        {.level = FINDING_WARNING, .subject = TEXT("a long subject"), .text = TEXT("look")},
        {.subject = TEXT("key"), .text = TEXT("me\x1b[31m")},
    };
    (void)state;
    check(findings, ARRAY_LEN(findings), "identity  arn:me\nkey       me?[31m\nwarning: look\n");
}

static void rows_have_columns_and_places(void **state)
{
    static const struct finding_row rows[] = {
        {TEXT("subnet-0a1"), TEXT("2a"), TEXT("assigns no public addresses"),
         TEXT("provider.use_internal_ips: true"), TEXT("provider.use_internal_ips")},
        {.name = TEXT("subnet-0b2"),
         .where = TEXT("2b"),
         .why = TEXT("is in a different VPC than your security group"),
         .path = TEXT("available_node_types.head.node_config.SecurityGroupIds")},
        {.name = TEXT("subnet-0c3"), .where = TEXT("2c"), .why = TEXT("full: 0 free addresses")},
    };
    static const struct finding finding = {.level = FINDING_ERROR,
                                           .subject = TEXT("subnets"),
                                           .text = TEXT("no subnet in us-west-2 can be used"),
                                           .rows = rows,
                                           .row_count = ARRAY_LEN(rows)};
    (void)state;
    check(&finding, 1,
          "error: no subnet in us-west-2 can be used\n\n"
          "  subnet-0a1  2a  assigns no public addresses  -> provider.use_internal_ips: true (*:2) "
          "would allow it\n"
          "  subnet-0b2  2b  is in a different VPC than your security group (*:8)\n"
          "  subnet-0c3  2c  full: 0 free addresses\n\n");
}

static void errors_come_last_at_their_place(void **state)
{
    static const struct finding findings[] = {
        {.level = FINDING_ERROR,
         .subject = TEXT("key"),
         .text = TEXT("key pair \"mee\" does not exist"),
         .path = TEXT("available_node_types.head.node_config.KeyName"),
         .remedy = TEXT("did you mean \"me\"?")},
        {.level = FINDING_WARNING, .subject = TEXT("x"), .text = TEXT("look")},
        {.level = FINDING_ERROR,
         .subject = TEXT("y"),
         .text = TEXT("no place"),
         .path = TEXT("auth.x"),
         .remedy = TEXT("do this")},
    };
    (void)state;
    struct preflight_counts counts = preflight_text_count(findings, ARRAY_LEN(findings));
    assert_true(counts.errors == 2 && counts.warnings == 1 && counts.fine == 0);
    check(findings, ARRAY_LEN(findings),
          "warning: look\n"
          "*:7:16: error: key pair \"mee\" does not exist\n"
          "    7 |       KeyName: mee\n"
          "      |                ^~~ did you mean \"me\"?\n"
          "error: no place\n-> do this\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fine_things_are_a_line_each),
        cmocka_unit_test(rows_have_columns_and_places),
        cmocka_unit_test(errors_come_last_at_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
