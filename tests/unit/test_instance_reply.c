/* test_instance_reply.c: instances in replies, and invalid replies. The comparison with botocore
 * covers the rest. */
#include "provider/aws/machines/instance_reply.h"

#include "base/buf.h"
#include "provider/aws/wire/xml_scan.h"
#include "unit.h"

static bool read_reply(enum instance_reply_kind kind, struct str body, size_t piece,
                       struct arena *arena, struct instance_list *ret_list, struct err *err)
{
    static const char *const prefixes[] = {"ray-", NULL};
    struct instance_reply *reply = instance_reply_new(kind, prefixes, arena);
    bool ok = true;
    for (size_t at = 0; ok && at < body.len; at += piece) {
        ok = instance_reply_feed(reply, str_sub(body, at, at + piece), err);
    }
    ok = ok && instance_reply_end(reply, ret_list, err);
    instance_reply_free(reply);
    return ok;
}

static const char listing[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">"
    "<reservationSet><item><instancesSet>"
    "<item><instanceId>i-1</instanceId><instanceState><name>running</name></instanceState>"
    "<instanceType>m5.large</instanceType><launchTime>2020-06-17T10:11:12.000Z</launchTime>"
    "<unknown><instanceId>i-no</instanceId></unknown><privateIpAddress>10.0.0.1</privateIpAddress>"
    "<tagSet><item><key>ray-a</key><value>x &amp; y</value></item>"
    "<item><key>other</key><value>z</value></item></tagSet></item>"
    "<item><instanceId>i-2</instanceId><instanceState><name>odd</name></instanceState>"
    "<instanceType>m5.large</instanceType><instanceLifecycle>spot</instanceLifecycle></item>"
    "</instancesSet></item></reservationSet><nextToken>more</nextToken>"
    "</DescribeInstancesResponse>";

static void machines_are_listed(void **state)
{
    struct arena arena;
    struct instance_list list;
    struct err err;
    (void)state;
    arena_init(&arena);
    for (size_t piece = 1; piece < sizeof(listing); piece += 13) {
        assert_true(read_reply(INSTANCES_LISTED, str_from(listing), piece, &arena, &list, &err));
        assert_int_equal(list.count, 2);
        assert_str(list.next_token, "more");
        assert_str(list.items[0].id, "i-1");
        assert_str(list.items[0].private_ip, "10.0.0.1");
        assert_int_equal(list.items[0].launched_at, 1592388672);
        assert_int_equal(list.items[0].state, INSTANCE_RUNNING);
        assert_int_equal(list.items[0].tag_count, 1);
        assert_str(list.items[0].tags[0].value, "x & y");
        assert_int_equal(list.items[1].state, INSTANCE_STATE_OTHER);
        assert_int_equal(list.items[1].market, INSTANCE_SPOT);
        assert_int_equal(list.items[1].tag_count, 0);
        assert_ptr_equal(list.items[1].type.ptr, list.items[0].type.ptr);
    }
    arena_clear(&arena);
}

static void a_part_is_nothing(void **state)
{
    struct arena arena;
    struct instance_list list = {.count = 77};
    struct err err;
    (void)state;
    arena_init(&arena);
    for (size_t len = 0; len < sizeof(listing) - 1; len++) {
        struct str part = str_sub(str_from(listing), 0, len);
        assert_false(read_reply(INSTANCES_LISTED, part, SIZE_MAX / 2, &arena, &list, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
        assert_int_equal(list.count, 77);
    }
    arena_clear(&arena);
}

static void other_replies_are_refused(void **state)
{
#define WRAP(text) "<DescribeInstancesResponse>" text "</DescribeInstancesResponse>"
    static const char *const rows[] = {
        "<RunInstancesResponse/>",
        "<!DOCTYPE a><DescribeInstancesResponse/>",
        "\xEF\xBB\xBF<DescribeInstancesResponse/>",
        WRAP("") WRAP(""),
        WRAP("") "x",
        "x" WRAP(""),
        WRAP("<a></b>"),
        WRAP("<a x=1/>"),
        WRAP("<a x='1'y='2'/>"),
        WRAP("<a x='1' x='2'/>"),
        WRAP("<a x='<'/>"),
        WRAP("&x;"),
        WRAP("&#0;"),
        WRAP("&#xD800;"),
        WRAP("&#x110000;"),
        WRAP("& "),
        WRAP("]]>"),
        WRAP("\x01"),
        WRAP("\xFF"),
        WRAP("\xEF\xBF\xBE"),
        WRAP("<!-- a -- b -->"),
        WRAP("<?pi?>"),
        WRAP("<1/>"),
        WRAP("</>"),
        WRAP("<reservationSet><item><instancesSet><item></item></instancesSet></item>"
             "</reservationSet>"),
    };
    struct arena arena;
    struct instance_list list;
    struct err err;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str body = str_from(rows[i]);
        assert_false(read_reply(INSTANCES_LISTED, body, SIZE_MAX / 2, &arena, &list, &err));
        assert_false(read_reply(INSTANCES_LISTED, body, 1, &arena, &list, &err));
    }
    arena_clear(&arena);
}

static void long_tokens_are_refused_in_any_pieces(void **state)
{
    static const size_t lens[] = {XML_SCAN_TOKEN_MAX, XML_SCAN_TOKEN_MAX + 1};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        struct arena arena;
        struct instance_list list;
        struct err err;
        AUTO_BUF struct buf body;
        arena_init(&arena);
        buf_init(&body, (size_t)XML_SCAN_TOKEN_MAX * 2);
        buf_add_c(&body, "<DescribeInstancesResponse>");
        buf_add_spaces(&body, lens[i]);
        buf_add_c(&body, "</DescribeInstancesResponse>");
        bool is_fine = lens[i] <= XML_SCAN_TOKEN_MAX;
        assert_int_equal(
            read_reply(INSTANCES_LISTED, buf_str(&body), SIZE_MAX / 2, &arena, &list, &err),
            is_fine);
        assert_int_equal(read_reply(INSTANCES_LISTED, buf_str(&body), 100, &arena, &list, &err),
                         is_fine);
        arena_clear(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_are_listed),
        cmocka_unit_test(a_part_is_nothing),
        cmocka_unit_test(other_replies_are_refused),
        cmocka_unit_test(long_tokens_are_refused_in_any_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
