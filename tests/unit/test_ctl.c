/* test_ctl.c: lines of the control channel, and the client side of a command. */
#include "app/head/ctl/ctl.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

struct sheet {
    struct arena arena;
    struct buf text;
    struct err err;
};

static void open_sheet(struct sheet *sheet)
{
    *sheet = (struct sheet){0};
    arena_init(&sheet->arena);
    buf_init(&sheet->text, 1 << 20);
}

static void close_sheet(struct sheet *sheet)
{
    arena_clear(&sheet->arena);
    buf_clear(&sheet->text);
}

static struct ctl_line there_and_back(struct sheet *sheet, const struct ctl_line *line)
{
    struct ctl_line again;
    sheet->text.len = 0;
    ctl_line_write(line, &sheet->text);
    assert_int_equal(sheet->text.ptr[sheet->text.len - 1], '\n');
    assert_true(ctl_line_read(buf_str(&sheet->text), &sheet->arena, &again, &sheet->err));
    assert_int_equal(again.kind, line->kind);
    return again;
}

static void every_kind_of_line_comes_back(void **state)
{
    struct sheet sheet;
    (void)state;
    open_sheet(&sheet);
    struct ctl_line line = {.kind = CTL_GREETING,
                            .greeting = {STR("0.1.0"), STR("demo"), STR("abc"), 3, 2, 1}};
    struct ctl_line again = there_and_back(&sheet, &line);
    assert_str(again.greeting.version, "0.1.0");
    assert_int_equal(again.greeting.epoch, 3);
    assert_int_equal(again.greeting.protocol, 2);
    assert_int_equal(again.greeting.least, 1);
    line = (struct ctl_line){.kind = CTL_STATUS,
                             .status = {.ray_version = STR("2.60.0"),
                                        .autoscaler = AUTOSCALER_ACTIVE,
                                        .autoscaler_message = STR("no reboot"),
                                        .joined = 2,
                                        .wanted = 3,
                                        .is_settled = true,
                                        .is_ray_scaling = true,
                                        .is_ray_gone = true,
                                        .waits_for_lease = true,
                                        .serial = 1790000000000}};
    again = there_and_back(&sheet, &line);
    assert_str(again.status.ray_version, "2.60.0");
    assert_int_equal(again.status.joined, 2);
    assert_int_equal(again.status.autoscaler, AUTOSCALER_ACTIVE);
    assert_str(again.status.autoscaler_message, "no reboot");
    assert_int_equal(again.status.serial, 1790000000000);
    assert_true(again.status.is_settled);
    assert_true(again.status.is_ray_scaling);
    assert_true(again.status.is_ray_gone);
    assert_true(again.status.waits_for_lease);
    line.status.waits_for_lease = false;
    assert_false(there_and_back(&sheet, &line).status.waits_for_lease);
    line = (struct ctl_line){.kind = CTL_NODE,
                             .node = {.name = STR("worker-2"),
                                      .phase = PHASE_FAILED,
                                      .failure = {.said = STR("no such file\xff"), .status = 2}}};
    again = there_and_back(&sheet, &line);
    assert_str(again.node.name, "worker-2");
    assert_int_equal(again.node.failure.status, 2);
    static const enum ctl_line_kind with_text[] = {CTL_LOG, CTL_DONE, CTL_END, CTL_ERROR};
    for (size_t i = 0; i < ARRAY_LEN(with_text); i++) {
        line = (struct ctl_line){.kind = with_text[i], .text = STR("so\n\x1b it is")};
        assert_str(there_and_back(&sheet, &line).text, "so\n\x1b it is");
        line.text = STR("");
        assert_str(there_and_back(&sheet, &line).text, "");
    }
    close_sheet(&sheet);
}

static void what_is_known_of_demand_comes_back(void **state)
{
    static const struct str told[] = {{"They fit \"gpu\".", 15}, {"", 0}};
    struct sheet sheet;
    (void)state;
    open_sheet(&sheet);
    struct ctl_line line = {.kind = CTL_DEMAND,
                            .demand = {.source = DEMAND_PLACEMENT_GROUP,
                                       .shape = STR("{CPU: 1} * 3 (STRICT_SPREAD)"),
                                       .labels = STR("zone in a, b"),
                                       .count = 2,
                                       .unmet = 1,
                                       .why = STR("max_workers is reached"),
                                       .is_infeasible = true,
                                       .since_ms = 1790000000000}};
    struct ctl_line again = there_and_back(&sheet, &line);
    assert_int_equal(again.demand.source, DEMAND_PLACEMENT_GROUP);
    assert_str(again.demand.shape, "{CPU: 1} * 3 (STRICT_SPREAD)");
    assert_str(again.demand.labels, "zone in a, b");
    assert_int_equal(again.demand.count, 2);
    assert_int_equal(again.demand.unmet, 1);
    assert_str(again.demand.why, "max_workers is reached");
    assert_true(again.demand.is_infeasible);
    assert_int_equal(again.demand.since_ms, 1790000000000);
    line = (struct ctl_line){.kind = CTL_EVENT,
                             .event = {.number = 17,
                                       .wall_ms = 5,
                                       .kind = CLUSTER_EVENT_LAUNCH_FAILED,
                                       .node = STR("worker-3"),
                                       .text = STR("no capacity"),
                                       .reason = STR("for 9 waiting")}};
    again = there_and_back(&sheet, &line);
    assert_int_equal(again.event.number, 17);
    assert_int_equal(again.event.kind, CLUSTER_EVENT_LAUNCH_FAILED);
    assert_str(again.event.node, "worker-3");
    assert_str(again.event.reason, "for 9 waiting");
    line = (struct ctl_line){
        .kind = CTL_EXPLAIN,
        .answer = {.question = STR("Why?"), .lines = told, .line_count = 2, .fix = STR("so")}};
    again = there_and_back(&sheet, &line);
    assert_str(again.answer.question, "Why?");
    assert_int_equal(again.answer.line_count, 2);
    assert_str(again.answer.lines[0], "They fit \"gpu\".");
    assert_str(again.answer.lines[1], "");
    assert_str(again.answer.fix, "so");
    close_sheet(&sheet);
}

static void a_price_of_nothing_is_a_price(void **state)
{
    struct sheet sheet;
    (void)state;
    open_sheet(&sheet);
    struct ctl_line line = {.kind = CTL_STATUS, .status = {.price = 0, .price_limit = -1}};
    struct ctl_line again = there_and_back(&sheet, &line);
    assert_int_equal(again.status.price, 0);
    assert_int_equal(again.status.price_limit, -1);
    assert_true(ctl_line_read(STR("{\"status\":{}}"), &sheet.arena, &again, &sheet.err));
    assert_int_equal(again.status.price, -1); /* an older head */
    close_sheet(&sheet);
}

static void words_of_a_newer_version_are_no_fault(void **state)
{
    struct sheet sheet;
    struct ctl_line line;
    (void)state;
    open_sheet(&sheet);
    assert_true(
        ctl_line_read(STR("{\"weather\": {\"rain\": 1}}"), &sheet.arena, &line, &sheet.err));
    assert_int_equal(line.kind, CTL_OTHER);
    assert_true(ctl_line_read(STR("{\"event\": {\"kind\": \"party\", \"text\": \"now\"}}"),
                              &sheet.arena, &line, &sheet.err));
    assert_int_equal(line.event.kind, CLUSTER_EVENT_AUTOSCALER);
    assert_str(line.event.text, "now");
    close_sheet(&sheet);
}

static void strange_lines_are_refused_and_strange_keys_are_not(void **state)
{
    static const char *const bad[] = {
        "",
        "hello",
        "[]",
        "{}",
        "{\"status\": 3}",
        "{\"status\": {\"ray_nodes\": \"3\"}}",
        "{\"status\": {\"ray_nodes\": -1}}",
        "{\"status\": {\"converged\": 1}}",
        "{\"node\": []}",
        "{\"node\": {\"name\": \"a\"}}",
        "{\"log\": 7}",
        "{\"shoal\": \"0.1\", \"protocol\": 1, \"min_protocol\": 2}",
        "{\"end\": \"status\"} {}",
        "{\"demand\": 1}",
        "{\"demand\": {\"count\": \"1\"}}",
        "{\"event\": []}",
        "{\"explain\": {\"answer\": \"x\"}}",
        "{\"explain\": {\"answer\": [1]}}",
        "{\"text\": {}}",
    };
    struct sheet sheet;
    struct ctl_line line;
    (void)state;
    open_sheet(&sheet);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (ctl_line_read(str_from(bad[i]), &sheet.arena, &line, &sheet.err)) {
            fail_msg("accepted: %s", bad[i]);
        }
    }
    assert_true(ctl_line_read(STR("{\"log\": \"x\", \"colour\": [1, {}]}"), &sheet.arena, &line,
                              &sheet.err));
    close_sheet(&sheet);
}

static void requests_come_back(void **state)
{
    struct sheet sheet;
    struct ctl_request request = {.what = STR("log"), .node = STR("worker-1"), .follows = true};
    struct ctl_request again;
    (void)state;
    open_sheet(&sheet);
    ctl_request_write(&request, &sheet.text);
    assert_str(buf_str(&sheet.text),
               "{\"request\":\"log\",\"node\":\"worker-1\",\"follow\":true}\n");
    assert_true(ctl_request_read(buf_str(&sheet.text), &sheet.arena, &again, &sheet.err));
    assert_str(again.what, "log");
    assert_str(again.node, "worker-1");
    assert_true(again.follows);
    assert_false(ctl_request_read(STR("{\"don't\": 1}"), &sheet.arena, &again, &sheet.err));
    assert_false(ctl_request_read(STR("{\"request\": 1}"), &sheet.arena, &again, &sheet.err));
    assert_false(ctl_request_read(STR("do it"), &sheet.arena, &again, &sheet.err));
    close_sheet(&sheet);
}

static void requested_bundles_come_back(void **state)
{
    static const struct ray_quantity amounts[] = {{{"CPU", 3}, 4}, {{"GPU", 3}, 0.5}};
    static const struct gcs_bundle bundles[] = {{amounts, 2, 3}, {amounts, 1, 1}};
    static const char *const bad[] = {
        "{\"request\": \"request-resources\", \"bundles\": {}}",
        "{\"request\": \"request-resources\", \"bundles\": [1]}",
        "{\"request\": \"request-resources\", \"bundles\": [{\"count\": 1}]}",
        "{\"request\": \"x\", \"bundles\": [{\"amounts\": {\"CPU\": -1}, \"count\": 1}]}",
        "{\"request\": \"request-resources\", \"bundles\": [{\"amounts\": {\"CPU\": 1}}]}",
        ("{\"request\": \"request-resources\", \"bundles\": [{\"amounts\": {\"CPU\": 1}, "
         "\"count\": 0, \"leaving\": 1}]}"),
    };
    struct sheet sheet;
    struct ctl_request again;
    (void)state;
    open_sheet(&sheet);
    ctl_request_write(&(struct ctl_request){.what = STR("request-resources"),
                                            .bundles = bundles,
                                            .bundle_count = 2},
                      &sheet.text);
    assert_true(ctl_request_read(buf_str(&sheet.text), &sheet.arena, &again, &sheet.err));
    assert_int_equal(again.bundle_count, 2);
    assert_int_equal(again.bundles[0].count, 3);
    assert_int_equal(again.bundles[0].amount_count, 2);
    assert_str(again.bundles[0].amounts[1].name, "GPU");
    assert_true(again.bundles[0].amounts[1].amount == 0.5);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (ctl_request_read(str_from(bad[i]), &sheet.arena, &again, &sheet.err)) {
            fail_msg("accepted: %s", bad[i]);
        }
    }
    close_sheet(&sheet);
}

static void a_training_job_asks_for_nodes(void **state)
{
    static const struct ray_quantity amounts[] = {{{"CPU", 3}, 1}};
    static const struct gcs_bundle bundles[] = {{amounts, 1, 2, 1}};
    static const char *const bad[] = {
        "{\"request\": \"train-demand\", \"job\": 1}",
        "{\"request\": \"train-demand\", \"job\": \"a\", \"session\": []}",
        "{\"request\": \"train-demand\", \"bundles\": [{\"amounts\": {}, \"count\": -1}]}",
        "{\"request\": \"train-demand\", \"bundles\": [{\"amounts\": {}, \"count\": 1e9}]}",
    };
    struct sheet sheet;
    struct ctl_request again;
    (void)state;
    open_sheet(&sheet);
    ctl_request_write(&(struct ctl_request){.what = STR("train-demand"),
                                            .job = STR("ddp"),
                                            .session = STR("session_1"),
                                            .bundles = bundles,
                                            .bundle_count = 1},
                      &sheet.text);
    assert_string_equal(sheet.text.ptr,
                        "{\"request\":\"train-demand\",\"job\":\"ddp\",\"session\":\"session_1\","
                        "\"bundles\":[{\"amounts\":{\"CPU\":1.0},\"count\":2,\"leaving\":1}]}\n");
    assert_true(ctl_request_read(buf_str(&sheet.text), &sheet.arena, &again, &sheet.err));
    assert_str(again.job, "ddp");
    assert_str(again.session, "session_1");
    assert_int_equal(again.bundles[0].count, 2);
    assert_int_equal(again.bundles[0].leaving, 1);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(ctl_request_read(str_from(bad[i]), &sheet.arena, &again, &sheet.err));
    }
    close_sheet(&sheet);
}

static void versions_that_do_not_fit_say_what_to_do(void **state)
{
    struct err err = {0};
    struct ctl_line line = {.kind = CTL_GREETING,
                            .greeting = {.version = STR("0.9.1"),
                                         .least = CTL_PROTOCOL + 1,
                                         .protocol = CTL_PROTOCOL + 2}};
    (void)state;
    assert_false(ctl_greeting_check(&line, &err));
    assert_like(str_from(err.text), "the head runs Shoal 0.9.1 (protocols * to *), this is Shoal "
                                    "* (protocol *): install Shoal 0.9.1 or newer here");
    line.greeting.least = line.greeting.protocol = CTL_PROTOCOL_LEAST - 1;
    assert_false(ctl_greeting_check(&line, &err));
    assert_like(str_from(err.text), "*: run `shoal up` to update the head to this version");
    line.greeting.least = 1; /* newer, but compatible */
    line.greeting.protocol = CTL_PROTOCOL + 5;
    assert_true(ctl_greeting_check(&line, &err));
}

/* ---- a client of a service that a shell script plays ---- */

struct talk {
    struct loop *loop;
    struct child_pool *pool;
    struct ctl_client *client;
    char heard[1000];
    struct err err;
    int done_calls;
    bool closes_at_status;
};

static void hear(void *context, const struct ctl_line *line)
{
    struct talk *talk = context;
    size_t used = strlen(talk->heard);
    snprintf(talk->heard + used, sizeof(talk->heard) - used, "%d:%.*s ", line->kind,
             STR_ARG(line->text));
    if (line->kind == CTL_STATUS && talk->closes_at_status) {
        ctl_client_close(talk->client);
        talk->client = NULL;
    }
}

static void note_done(void *context, const struct err *err)
{
    struct talk *talk = context;
    talk->done_calls++;
    talk->err = *err;
}

static void play(struct talk *talk, const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct ctl_client_hooks hooks = {talk, hear, note_done};
    struct err err;
    assert_true(loop_open(&clock_of_machine, &talk->loop, &err));
    talk->pool = child_pool_new(talk->loop, 2);
    talk->client = ctl_client_open(talk->pool, argv, &hooks);
    ctl_client_ask(talk->client, "status");
    ctl_client_ask_log(talk->client, STR("worker-1"), false);
    loop_run(talk->loop);
    ctl_client_close(talk->client);
    child_pool_free(talk->pool);
    loop_close(talk->loop);
}

#define GREETING "echo '{\"shoal\":\"0.1\",\"protocol\":1,\"min_protocol\":1}';"

static void a_client_asks_after_the_greeting(void **state)
{
    struct talk talk = {0};
    (void)state;
    play(&talk, "echo 'Welcome to Debian!';" GREETING
                "echo '{\"weather\":1}'; read a; echo '{\"status\":{}}'; read b; "
                "echo \"{\\\"log\\\":\\\"${#a} ${#b}\\\"}\"");
    assert_string_equal(talk.heard, "0: 1: 3:20 35 ");
    assert_int_equal(talk.done_calls, 1);
    assert_int_equal(talk.err.kind, ERR_UNAVAILABLE);
    assert_string_equal(talk.err.text, "the head's service closed the connection");
}

static void a_client_says_why_it_ended(void **state)
{
    struct talk away = {0};
    struct talk refused = {0};
    struct talk other = {0};
    struct talk silent = {0};
    struct talk garbled = {0};
    (void)state;
    play(&away, "echo 'debug1: x' >&2; echo 'ssh: connect to host: No route' >&2; exit 255");
    assert_string_equal(away.err.text,
                        "cannot reach the service on the head: ssh: connect to host: No route");
    play(&refused, "echo '{\"error\":\"it does not run\"}'; exit 1");
    assert_string_equal(refused.err.text, "it does not run");
    play(&other, "echo '{\"shoal\":\"9.0\",\"protocol\":9,\"min_protocol\":8}'; read a; echo $a");
    assert_like(str_from(other.err.text), "the head runs Shoal 9.0*");
    assert_string_equal(other.heard, "");
    play(&silent, "exit 0");
    assert_string_equal(silent.err.text, "the head's service did not answer");
    play(&garbled, GREETING "echo nonsense; sleep 5");
    assert_int_equal(garbled.err.kind, ERR_PROTOCOL);
}

static void a_client_may_be_closed_from_its_hook(void **state)
{
    struct talk talk = {.closes_at_status = true};
    (void)state;
    play(&talk, GREETING "echo '{\"status\":{}}'; echo '{\"status\":{}}'; sleep 5");
    assert_string_equal(talk.heard, "0: 1: ");
    assert_int_equal(talk.done_calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_line_comes_back),
        cmocka_unit_test(what_is_known_of_demand_comes_back),
        cmocka_unit_test(a_price_of_nothing_is_a_price),
        cmocka_unit_test(words_of_a_newer_version_are_no_fault),
        cmocka_unit_test(strange_lines_are_refused_and_strange_keys_are_not),
        cmocka_unit_test(requests_come_back),
        cmocka_unit_test(requested_bundles_come_back),
        cmocka_unit_test(a_training_job_asks_for_nodes),
        cmocka_unit_test(versions_that_do_not_fit_say_what_to_do),
        cmocka_unit_test(a_client_asks_after_the_greeting),
        cmocka_unit_test(a_client_says_why_it_ended),
        cmocka_unit_test(a_client_may_be_closed_from_its_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
