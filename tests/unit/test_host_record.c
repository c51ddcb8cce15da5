/* test_host_record.c: leases, nodes and pauses in the records of own machines. */
#include "provider/host_record.h"

#include "provider/local/host_script.h"
#include "unit.h"

#include <string.h>

#define UID "0123456789abcdef0123456789abcdef"

static const struct host_choice hosts[] = {
    {{"a", 1}, {"10.0.0.1", 8}, {"1.2.3.4", 7}, true},
    {{"b", 1}, {"10.0.0.2", 8}, {"10.0.0.2", 8}, false},
    {{"c", 1}, {"10.0.0.3", 8}, {"10.0.0.3", 8}, false},
};

static enum outcome take(json_t **record, const char *holder, uint64_t from, int64_t now,
                         struct err *err)
{
    struct take_request request = {.holder = str_from(holder), .lease_ms = 60000, .from = from};
    struct lease_change change = {.cluster = STR("demo"),
                                  .request = &request,
                                  .uid = STR("u"),
                                  .nonce = str_from(holder),
                                  .head = STR("a"),
                                  .now = now};
    return host_record_take(record, &change, err);
}

static void a_lease_has_one_holder(void **state)
{
    json_t *record = NULL;
    struct err err;
    (void)state;
    assert_int_equal(take(&record, "one", 0, 1000, &err), OUTCOME_DONE);
    assert_int_equal(host_record_lease(record).epoch, 1);
    assert_int_equal(host_record_lease(record).until, 1060);
    assert_int_equal(take(&record, "two", 0, 1001, &err), OUTCOME_MISMATCH);
    assert_int_equal(take(&record, "two", 7, 1001, &err), OUTCOME_MISMATCH);
    assert_int_equal(take(&record, "two", 0, 1060 + LEASE_GRACE_S - 1, &err), OUTCOME_MISMATCH);
    assert_int_equal(take(&record, "one", 0, 1002, &err), OUTCOME_DONE);
    assert_int_equal(host_record_lease(record).epoch, 2);
    assert_int_equal(take(&record, "two", 2, 1003, &err), OUTCOME_DONE);
    assert_int_equal(host_record_renew(record, 2, 60000, 1004, &err), OUTCOME_MISMATCH);
    assert_int_equal(err.kind, ERR_EXISTS);
    assert_int_equal(host_record_renew(record, 3, 60000, 1004, &err), OUTCOME_DONE);
    assert_int_equal(host_record_renew(record, 3, 60000, 1064, &err), OUTCOME_MISMATCH);
    assert_int_equal(err.kind, ERR_TIMEOUT);
    assert_int_equal(host_record_renew(NULL, 3, 60000, 1004, &err), OUTCOME_MISMATCH);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_true(host_record_is_held(record, 3, 1063));
    assert_false(host_record_is_held(record, 3, 1064));
    assert_false(host_record_is_held(record, 2, 1005));
    host_record_release(record, 2);
    assert_int_equal(take(&record, "one", 0, 1005, &err), OUTCOME_MISMATCH);
    host_record_release(record, 3);
    assert_int_equal(take(&record, "one", 0, 1005, &err), OUTCOME_DONE);
    assert_int_equal(host_record_lease(record).epoch, 4);
    json_decref(record);
}

static struct launch_draft draft_of(const char *token, int64_t count, bool is_head, json_t *tags)
{
    return (struct launch_draft){.token = str_from(token),
                                 .launch = STR("1.1"),
                                 .call = 5,
                                 .count = count,
                                 .is_head = is_head,
                                 .tags = tags};
}

static void a_launch_reserves_free_hosts_once(void **state)
{
    json_t *record = host_record_new(STR("demo"), STR("u"), STR("a"), STR("me"));
    json_t *tags = json_pack("{s:s}", "k", "v");
    struct launch_draft one = draft_of("t1", 1, false, tags);
    struct launch_draft more = draft_of("t2", 5, false, tags);
    (void)state;
    assert_true(host_record_reserve(record, &one, hosts, 3, false, 10));
    assert_true(host_record_reserve(record, &one, hosts, 3, false, 11));
    assert_int_equal(host_record_count(record, STR("t1")), 1);
    assert_non_null(host_record_node(record, STR("b@1.1")));
    assert_null(host_record_node_on(record, STR("a")));
    assert_true(host_record_reserve(record, &more, hosts, 3, false, 12));
    assert_int_equal(host_record_count(record, STR("t2")), 1);
    more.call = 6;
    assert_false(host_record_reserve(record, &more, hosts, 3, false, 12));
    struct launch_draft head = draft_of("t3", 1, true, tags);
    assert_true(host_record_reserve(record, &head, hosts, 3, false, 12));
    json_t *node = host_record_node_on(record, STR("a"));
    assert_true(host_record_node_is(node, NODE_RUNNING));
    struct arena arena;
    arena_init(&arena);
    struct machine machine = host_record_machine(node, &arena);
    assert_true(str_is(machine.public_ip, "1.2.3.4") && str_is(machine.private_ip, "10.0.0.1"));
    assert_int_equal(machine.tag_count, 1);
    host_record_set_state(node, NODE_ENDING, STR(""), 13);
    assert_int_equal(host_record_machine(node, &arena).state, MACHINE_RUNNING);
    host_record_set_state(node, NODE_ENDED, STR(""), 13);
    assert_int_equal(host_record_machine(node, &arena).state, MACHINE_GONE);
    arena_clear(&arena);
    json_decref(tags);
    json_decref(record);
}

static void a_host_that_failed_is_paused_and_used_again(void **state)
{
    json_t *record = host_record_new(STR("demo"), STR("u"), STR("a"), STR("me"));
    json_t *tags = json_object();
    struct launch_draft draft = draft_of("t", 5, false, tags);
    (void)state;
    host_record_set_unused(record, STR("b"), STR("no route"), 100, true);
    assert_int_equal(host_record_number(host_record_unused(record, STR("b")), "until"), 130);
    assert_true(host_record_reserve(record, &draft, hosts, 3, false, 129));
    assert_int_equal(host_record_count(record, STR("t")), 1);
    assert_true(host_record_reserve(record, &draft, hosts, 3, false, 130));
    assert_int_equal(host_record_count(record, STR("t")), 1); /* a repetition adds nothing */
    assert_true(host_record_reserve(record, &draft, hosts, 3, true, 130));
    assert_int_equal(host_record_count(record, STR("t")), 2);
    for (int i = 0; i < 20; i++) {
        host_record_set_unused(record, STR("b"), STR("no route"), 1000, false);
    }
    const json_t *unused = host_record_unused(record, STR("b"));
    assert_int_equal(host_record_number(unused, "until"), 1600);
    assert_int_equal(host_record_number(unused, "since"), 100);
    assert_true(json_is_true(json_object_get(unused, "unclean")));
    host_record_set_used(record, STR("b"));
    assert_null(host_record_unused(record, STR("b")));
    json_decref(tags);
    json_decref(record);
}

static void ended_nodes_are_forgotten_oldest_first(void **state)
{
    json_t *record = host_record_new(STR("demo"), STR("u"), STR("a"), STR("me"));
    json_t *nodes = host_record_nodes(record);
    (void)state;
    for (int i = 0; i < 150; i++) {
        json_t *node = json_pack("{s:i}", "at", i);
        host_record_set_state(node, i == 0 ? NODE_RUNNING : NODE_ENDED, STR(""), i);
        json_array_append_new(nodes, node);
    }
    host_record_forget_ended(record);
    assert_int_equal(json_array_size(nodes), 101);
    assert_int_equal(host_record_number(json_array_get(nodes, 0), "at"), 0);
    assert_int_equal(host_record_number(json_array_get(nodes, 1), "at"), 50);
    json_decref(record);
}

static struct host_reply reply_of(const char *output, int status, struct arena *arena)
{
    struct host_reply reply;
    host_reply_read(str_from(output), status, STR("ssh said this"), arena, &reply);
    return reply;
}

static void output_is_read_or_is_no_answer(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct host_reply reply = reply_of(
        "Welcome!\nshoal-host 1\nnow 55\ncpus 8\nkey ssh-ed25519 A b\n"
        "flock yes\nserial 3\nrecord {\"uid\":\"" UID "\"}\nwatch yes\nshoal-end\n",
        0, &arena);
    assert_int_equal(reply.end, HOST_DONE);
    assert_true(reply.now == 55 && reply.cpus == 8 && reply.serial == 3 && reply.has_flock);
    assert_true(str_is(reply.host_key, "ssh-ed25519 A b"));
    assert_true(str_is(host_record_text(reply.record, "uid"), UID) && reply.has_watch);
    host_reply_clear(&reply);
    assert_int_equal(reply_of("", 255, &arena).end, HOST_UNREACHED);
    assert_int_equal(reply_of("Permission denied\n", 255, &arena).end, HOST_UNREACHED);
    assert_int_equal(reply_of("shoal-host 1\nnow 5\n", 255, &arena).end, HOST_BROKEN);
    assert_int_equal(reply_of("shoal-host 1\nshoal-end\n", 1, &arena).end, HOST_BROKEN);
    assert_int_equal(reply_of("shoal-host 1\nfailed disk\nshoal-end\n", 0, &arena).end,
                     HOST_FAILED);
    assert_int_equal(reply_of("shoal-host 1\nserial 4\nrecord {\nshoal-end\n", 0, &arena).end,
                     HOST_FAILED);
    reply = reply_of("shoal-host 1\nserial 4\nrecord {\"uid\":\"" UID "\"}\nconflict\nshoal-end\n",
                     0, &arena);
    assert_int_equal(reply.end, HOST_CONFLICT);
    host_reply_clear(&reply);
    arena_clear(&arena);
}

static void a_hostile_record_decides_nothing(void **state)
{
    static const char *const uids[] = {"",
                                       "u",
                                       UID "0",
                                       "0123456789abcdef0123456789abcdeF",
                                       "0123456789abcdef0123456789abcd;x",
                                       "$(reboot)0123456789abcdef0123456"};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct host_reply reply = reply_of("shoal-host 1\nowner eve\nserial 3\nrecord {\"uid\":\"" UID
                                       "\",\"cluster\":\"a\\u001b[0m\"}\n"
                                       "owner \nkey ssh-ed25519 EVIL\nserial 9\nchanged yes\n"
                                       "record {\"uid\":\"" UID
                                       "\",\"cluster\":\"b\"}\nconflict\nshoal-end\n",
                                       0, &arena);
    assert_int_equal(reply.end, HOST_CONFLICT);
    assert_true(str_is(reply.owner, "eve") && reply.serial == 3 && reply.host_key.len == 0);
    assert_null(reply.record);
    assert_non_null(reply.other);
    assert_false(reply.was_changed);
    struct err err;
    host_record_tell_user(STR("b"), reply.other, reply.owner, &err);
    assert_non_null(strstr(err.text, "b is used by cluster a?[0m (uid "));
    assert_non_null(strstr(err.text, ", user eve)"));
    host_reply_clear(&reply);
    reply = reply_of("shoal-host 1\nowner eve\nrecord {\nowner \nkey EVIL\nshoal-end\n", 0, &arena);
    assert_true(str_is(reply.owner, "eve") && reply.host_key.len == 0);
    for (size_t i = 0; i < ARRAY_LEN(uids); i++) {
        char text[200];
        snprintf(text, sizeof(text), "shoal-host 1\nserial 4\nrecord {\"uid\":\"%s\"}\nshoal-end\n",
                 uids[i]);
        reply = reply_of(text, 0, &arena);
        assert_int_equal(reply.end, HOST_FAILED);
        assert_null(reply.record);
        AUTO_BUF struct buf script;
        buf_init(&script, HOST_SCRIPT_BYTES_MAX);
        host_script_authorize(&script, STR(""), str_from(uids[i]));
        assert_int_equal(str_find(buf_str(&script), "authorized_keys"), SIZE_MAX);
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_has_one_holder),
        cmocka_unit_test(a_launch_reserves_free_hosts_once),
        cmocka_unit_test(a_host_that_failed_is_paused_and_used_again),
        cmocka_unit_test(ended_nodes_are_forgotten_oldest_first),
        cmocka_unit_test(output_is_read_or_is_no_answer),
        cmocka_unit_test(a_hostile_record_decides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
