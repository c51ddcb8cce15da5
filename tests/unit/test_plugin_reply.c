/* test_plugin_reply.c: what a plug-in may send, and what is refused. */
#include "provider/external/plugin_reply.h"

#include "unit.h"

#include <string.h>

struct line_row {
    const char *line;
    enum outcome outcome;
    const char *text; /* part of the error; empty: none */
    bool is_refused;  /* the line is not a reply */
};

static void lines(void **state)
{
    static const struct line_row rows[] = {
        {"{\"id\":7}", OUTCOME_DONE, "", false},
        {"{\"id\":7,\"more\":[1,{}]}", OUTCOME_DONE, "", false},
        {"{\"id\":7,\"error\":\"capacity\",\"message\":\"no a100\"}", OUTCOME_CAPACITY,
         "the plug-in reports: no a100 (capacity)", false},
        {"{\"id\":7,\"error\":\"quota\"}", OUTCOME_QUOTA, "no message (quota)", false},
        {"{\"id\":7,\"error\":\"throttled\"}", OUTCOME_THROTTLED, "throttled", false},
        {"{\"id\":7,\"error\":\"denied\"}", OUTCOME_DENIED, "denied", false},
        {"{\"id\":7,\"error\":\"invalid\"}", OUTCOME_INVALID, "invalid", false},
        {"{\"id\":7,\"error\":\"not_found\"}", OUTCOME_NOT_FOUND, "not_found", false},
        {"{\"id\":7,\"error\":\"timeout\"}", OUTCOME_UNKNOWN, "timeout", false},
        {"{\"id\":7,\"error\":\"\"}", OUTCOME_UNKNOWN, "no message", false},
        {"{\"id\":7,\"error\":\"denied\",\"message\":\"a\\u001b[2Jb\\n\"}", OUTCOME_DENIED,
         "reports: a?[2Jb? (denied)", false},
        {"", OUTCOME_DONE, "not a JSON object", true},
        {"[7]", OUTCOME_DONE, "not a JSON object", true},
        {"{\"id\":7} x", OUTCOME_DONE, "not a JSON object", true},
        {"{}", OUTCOME_DONE, "\"id\" must be", true},
        {"{\"id\":\"7\"}", OUTCOME_DONE, "\"id\" must be", true},
        {"{\"id\":0}", OUTCOME_DONE, "\"id\" must be", true},
        {"{\"id\":-1}", OUTCOME_DONE, "\"id\" must be", true},
        {"{\"id\":7,\"error\":5}", OUTCOME_DONE, "\"error\" must be a string", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct plugin_reply reply = {0};
        struct err err = {0};
        bool ok = plugin_reply_read(str_from(rows[i].line), &reply, &err);
        assert_int_equal(ok, !rows[i].is_refused);
        assert_non_null(strstr(ok ? reply.err.text : err.text, rows[i].text));
        if (ok) {
            assert_int_equal(reply.id, 7);
            assert_int_equal(reply.outcome, rows[i].outcome);
            json_decref(reply.body);
        }
    }
}

static bool read_hello(const char *text, struct arena *arena, struct plugin_hello *hello,
                       struct err *err)
{
    json_t *body = json_loads(text, 0, NULL);
    assert_non_null(body);
    bool ok = plugin_hello_read(body, arena, hello, err);
    json_decref(body);
    return ok;
}

static void greetings(void **state)
{
    static const char *const refused[][2] = {
        {"{}", "version 0 of the protocol, and Shoal needs version 1"},
        {"{\"version\":2}", "version 2 of the protocol"},
        {"{\"version\":\"1\"}", "\"version\" must be an integer"},
        {"{\"version\":1,\"name\":[]}", "\"name\" must be a string"},
        {"{\"version\":1,\"can\":{}}", "\"can\" must be a list"},
        {"{\"version\":1,\"can\":[1]}", "\"can\" must be a list"},
        {"{\"version\":1,\"zones\":\"a\"}", "\"zones\" must be a list"},
        {"{\"version\":1,\"zones\":[\"\"]}", "\"zones\" must be a list"},
        {"{\"version\":1,\"notes\":\"a\"}", "\"notes\" must be a list"},
        {"{\"version\":1,\"notes\":[1]}", "\"notes\" must be a list"},
        {"{\"version\":1,\"notes\":[1,2,3,4,5,6,7,8,9]}", "at most 8"},
        {"{\"version\":1,\"zones\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", "at most 16"},
        {"{\"version\":1,\"parallel\":0}", "between 1 and 16"},
        {"{\"version\":1,\"parallel\":17}", "between 1 and 16"},
        {"{\"version\":1,\"list_delay_s\":-1}", "between 0 and 300"},
        {"{\"version\":1,\"list_delay_s\":301}", "between 0 and 300"},
    };
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct plugin_hello hello;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        assert_false(read_hello(refused[i][0], &arena, &hello, &err));
        assert_non_null(strstr(err.text, refused[i][1]));
    }
    assert_true(read_hello("{\"version\":1}", &arena, &hello, &err));
    assert_false(hello.has_tokens || hello.has_atomic_swap || hello.has_tags || hello.can_stop);
    assert_int_equal(hello.parallel, 1);
    assert_int_equal(hello.zone_count, 0);
    assert_true(read_hello("{\"version\":1,\"name\":\"n\",\"can\":[\"new\",\"tokens\",\"stop\"],"
                           "\"zones\":[\"a\",\"b\"],\"parallel\":16,\"list_delay_s\":300,"
                           "\"notes\":[\"slow\\u0007\"]}",
                           &arena, &hello, &err));
    assert_true(hello.has_tokens && hello.can_stop);
    assert_false(hello.has_atomic_swap || hello.has_tags);
    assert_true(str_is(hello.name, "n") && str_is(hello.zones[1], "b"));
    assert_true(hello.note_count == 1 && str_is(hello.notes[0], "slow?"));
    assert_int_equal(hello.parallel, 16);
    assert_int_equal(hello.list_delay_s, 300);
    assert_true(
        read_hello("{\"version\":1,\"can\":[\"atomic_swap\",\"tags\"]}", &arena, &hello, &err));
    assert_true(hello.has_atomic_swap && hello.has_tags);
}

static void instances(void **state)
{
    static const char *const refused[][2] = {
        {"{}", "\"machines\" must be a list"},
        {"{\"machines\":{}}", "\"machines\" must be a list"},
        {"{\"machines\":[5]}", "\"machines\" must be a list of objects"},
        {"{\"machines\":[{\"state\":\"running\"}]}", "\"id\" must be the id"},
        {"{\"machines\":[{\"id\":\"a\"}]}", "\"state\" must be pending"},
        {"{\"machines\":[{\"id\":\"a\",\"state\":\"booting\"}]}", "\"state\" must be pending"},
        {"{\"machines\":[{\"id\":5,\"state\":\"running\"}]}", "\"id\" must be a string"},
        {"{\"machines\":[{\"id\":\"a\",\"state\":\"gone\",\"tags\":[]}]}", "\"tags\" must be"},
        {"{\"machines\":[{\"id\":\"a\",\"state\":\"gone\",\"tags\":{\"k\":1}}]}", "\"tags\" must"},
        {"{\"machines\":[{\"id\":\"a\",\"state\":\"gone\",\"launched_at\":1.5}]}",
         "\"launched_at\" must be an integer"},
        {"{\"machines\":[{\"id\":\"a\",\"state\":\"gone\"},{\"id\":\"b\"}]}", "\"state\" must be"},
    };
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct machine *machines;
    size_t count;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        json_t *body = json_loads(refused[i][0], 0, NULL);
        assert_false(plugin_machines_read(body, &arena, &machines, &count, &err));
        assert_non_null(strstr(err.text, refused[i][1]));
        json_decref(body);
    }
    json_t *body = json_loads(
        "{\"machines\":[{\"id\":\"a\",\"state\":\"stopped\",\"token\":\"t\",\"type\":\"big\","
        "\"zone\":\"z\",\"market\":\"spot\",\"private_ip\":\"10.0.0.1\",\"public_ip\":\"1.2.3.4\","
        "\"launched_at\":9,\"why\":\"w\",\"tags\":{\"k\":\"v\"},\"x\":null},"
        "{\"id\":\"b\",\"state\":\"ending\"}]}",
        0, NULL);
    assert_true(plugin_machines_read(body, &arena, &machines, &count, &err));
    json_decref(body);
    assert_int_equal(count, 2);
    assert_true(str_is(machines[0].id, "a") && str_is(machines[0].token, "t") &&
                str_is(machines[0].type, "big") && str_is(machines[0].zone, "z") &&
                str_is(machines[0].private_ip, "10.0.0.1") &&
                str_is(machines[0].public_ip, "1.2.3.4") && str_is(machines[0].why, "w"));
    assert_true(machines[0].state == MACHINE_STOPPED && machines[0].market == MARKET_SPOT);
    assert_true(machines[0].launched_at == 9 && machines[0].tag_count == 1);
    assert_true(str_is(machines[0].tags[0].key, "k") && str_is(machines[0].tags[0].value, "v"));
    assert_true(machines[1].state == MACHINE_ENDING && machines[1].market == MARKET_ON_DEMAND);
}

static void swaps(void **state)
{
    static const char *const refused[] = {
        "{\"now\":5}",
        "{\"value\":5,\"now\":5}",
        "{\"value\":\"\"}",
        "{\"value\":\"\",\"now\":0}",
        "{\"value\":\"\",\"now\":\"5\"}",
        "{\"value\":\"\",\"now\":9223372036854775807}",
    };
    struct str value;
    int64_t now = 0;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        json_t *body = json_loads(refused[i], 0, NULL);
        assert_false(plugin_swap_read(body, &value, &now, &err));
        json_decref(body);
    }
    json_t *body = json_loads("{\"value\":\"x\",\"now\":5}", 0, NULL);
    assert_true(plugin_swap_read(body, &value, &now, &err));
    assert_true(str_is(value, "x") && now == 5);
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(greetings),
        cmocka_unit_test(instances),
        cmocka_unit_test(swaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
