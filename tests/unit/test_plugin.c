/* test_plugin.c: plug-ins that work, die, are silent, or send something wrong. */
#include "provider/external/plugin.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `next` reads a request, `hi` replies to hello, `say` sends a line. Each start adds a line to
 * the file "starts". */
#define PRELUDE                                                                    \
    "say() { printf '%s\\n' \"$1\"; }\n"                                           \
    "next() { read -r line || exit 0; id=${line#*\\\"id\\\":}; id=${id%%[,\\}]*};" \
    " op=${line#*\\\"op\\\":\\\"}; op=${op%%\\\"*}; }\n"                           \
    "hi() { next; say \"{\\\"id\\\":$id,\\\"version\\\":1$1}\"; }\n"               \
    "ok() { say \"{\\\"id\\\":$id,\\\"op\\\":\\\"$op\\\"}\"; }\n"                  \
    "echo start >> $FOLDER/starts; starts=$(wc -l < $FOLDER/starts)\n"

enum { DEADLINE_MS = 10000, SHORT_MS = 1500, PAUSE_MS = 40, ASKED_MAX = 4 };

struct scene {
    char folder[64];
    struct loop *loop;
    struct child_pool *pool;
    struct plugin *plugin;
    json_t *settings;
    const char *argv[4];
    const char *env[4];
    char folder_variable[80];
    int answers;
    int awaited;
};

struct asked {
    struct scene *scene;
    int calls, order;
    enum outcome outcome;
    struct err err;
    char op_text[16]; /* of the reply, as `ok` sends it */
};

static void begin(struct scene *scene, const char *script, int64_t deadline_ms)
{
    struct err err;
    *scene = (struct scene){.folder = "/tmp/shoal-plugin-XXXXXX"};
    assert_non_null(mkdtemp(scene->folder));
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    scene->pool = child_pool_new(scene->loop, 4);
    scene->settings = json_pack("{s:s}", "region", "r1");
    snprintf(scene->folder_variable, sizeof(scene->folder_variable), "FOLDER=%s", scene->folder);
    scene->argv[0] = "/bin/sh";
    scene->argv[1] = "-c";
    scene->argv[2] = script;
    scene->env[0] = scene->folder_variable;
    scene->env[1] = "PATH=/usr/bin:/bin";
    scene->plugin = plugin_new(&(struct plugin_setup){.loop = scene->loop,
                                                      .children = scene->pool,
                                                      .argv = scene->argv,
                                                      .env = scene->env,
                                                      .cluster = "demo",
                                                      .settings = scene->settings,
                                                      .deadline_ms = deadline_ms,
                                                      .pause_ms = PAUSE_MS});
}

static void end(struct scene *scene)
{
    char path[100];
    plugin_free(scene->plugin);
    child_pool_free(scene->pool);
    loop_close(scene->loop);
    json_decref(scene->settings);
    snprintf(path, sizeof(path), "%s/starts", scene->folder);
    unlink(path);
    assert_int_equal(rmdir(scene->folder), 0);
}

static int starts(const struct scene *scene)
{
    char path[100];
    int count = 0;
    snprintf(path, sizeof(path), "%s/starts", scene->folder);
    FILE *file = fopen(path, "r");
    for (int c; file && (c = fgetc(file)) != EOF;) {
        count += c == '\n';
    }
    if (file) {
        fclose(file);
    }
    return count;
}

static void note(void *context, const struct plugin_reply *reply)
{
    struct asked *asked = context;
    const char *op = json_string_value(json_object_get(reply->body, "op"));
    asked->calls++;
    asked->order = ++asked->scene->answers;
    asked->outcome = reply->outcome;
    asked->err = reply->err;
    snprintf(asked->op_text, sizeof(asked->op_text), "%s", op ? op : "");
    if (asked->scene->answers == asked->scene->awaited) {
        loop_stop(asked->scene->loop);
    }
}

static struct plugin_call *ask(struct scene *scene, const char *op, struct asked *asked)
{
    *asked = (struct asked){.scene = scene};
    return plugin_ask(scene->plugin, op, json_object(), NULL, note, asked);
}

static void await(struct scene *scene, int answers)
{
    scene->answers = 0;
    scene->awaited = answers;
    loop_run(scene->loop);
    assert_int_equal(scene->answers, answers);
}

static struct asked ask_one(struct scene *scene, const char *op)
{
    struct asked asked;
    ask(scene, op, &asked);
    assert_int_equal(asked.calls, 0);
    await(scene, 1);
    return asked;
}

static void check_refused(struct scene *scene, enum outcome outcome, const char *text)
{
    struct asked asked = ask_one(scene, "list");
    if (asked.outcome != outcome || !strstr(asked.err.text, text)) {
        fail_msg("outcome %d: %s", (int)asked.outcome, asked.err.text);
    }
}

static void requests_are_answered(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene,
          PRELUDE
          "next; case $line in *'\"version\":1,\"cluster\":\"demo\",\"provider\":{\"region\""
          ":\"r1\"}'*) say \"{\\\"id\\\":$id,\\\"version\\\":1,\\\"name\\\":\\\"x\\\"}\";;"
          " esac\nwhile next; do ok; done",
          DEADLINE_MS);
    assert_null(plugin_greeting(scene.plugin));
    struct asked asked = ask_one(&scene, "list");
    assert_int_equal(asked.outcome, OUTCOME_DONE);
    assert_string_equal(asked.op_text, "list");
    assert_true(str_is(plugin_greeting(scene.plugin)->name, "x"));
    assert_string_equal(ask_one(&scene, "launch").op_text, "launch");
    assert_int_equal(starts(&scene), 1);
    end(&scene);
}

/* The first process dies with one request under way and one waiting. */
static void a_killed_plugin_is_started_again(void **state)
{
    struct scene scene;
    struct asked lost;
    struct asked waiting;
    (void)state;
    begin(&scene,
          PRELUDE "hi; next; if [ $starts = 1 ]; then echo first >&2; echo 'last words' >&2; "
                  "kill -9 $$; fi; ok; while next; do ok; done",
          DEADLINE_MS);
    ask(&scene, "launch", &lost);
    ask(&scene, "list", &waiting);
    await(&scene, 2);
    assert_int_equal(lost.outcome, OUTCOME_UNKNOWN);
    assert_non_null(strstr(lost.err.text, "killed by signal 9"));
    assert_non_null(strstr(lost.err.text, "Its last output: first | last words"));
    assert_int_equal(waiting.outcome, OUTCOME_DONE);
    assert_int_equal(starts(&scene), 2);
    end(&scene);
}

/* The second process fails too: the request that still waits was not sent. */
static void waiting_has_an_end(void **state)
{
    struct scene scene;
    struct asked asked[3];
    (void)state;
    begin(&scene, PRELUDE "hi; next; exit 3", DEADLINE_MS);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        ask(&scene, "list", &asked[i]);
    }
    await(&scene, ARRAY_LEN(asked));
    assert_int_equal(asked[0].outcome, OUTCOME_UNKNOWN);
    assert_int_equal(asked[1].outcome, OUTCOME_UNKNOWN);
    assert_int_equal(asked[2].outcome, OUTCOME_THROTTLED);
    assert_int_equal(starts(&scene), 2);
    end(&scene);
}

static void a_silent_plugin_is_ended(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, PRELUDE "hi; next; [ $starts -gt 1 ] || exec sleep 100; ok; next", SHORT_MS);
    check_refused(&scene, OUTCOME_UNKNOWN, "did not reply to list within 1 s");
    enum outcome outcome = OUTCOME_UNKNOWN;
    for (int i = 0; i < 10 && outcome != OUTCOME_DONE; i++) { /* a busy machine needs several */
        outcome = ask_one(&scene, "list").outcome;
    }
    assert_int_equal(outcome, OUTCOME_DONE);
    end(&scene);
    begin(&scene, PRELUDE "exec sleep 100", SHORT_MS);
    check_refused(&scene, OUTCOME_INVALID, "did not reply to hello");
    end(&scene);
}

static void wrong_lines_end_it(void **state)
{
    static const char *const rows[][2] = {
        {PRELUDE "hi; next; say hello; next", "not a reply (not a JSON object)"},
        {PRELUDE "hi; next; say '{\"id\":999}'; next", "replied to request 999"},
        {PRELUDE "hi; next; say '{\"id\":\"x\"}'; next", "\"id\" must be"},
        {PRELUDE "hi; next; say \"{\\\"id\\\":$((id - 1))}\"; next", "replied to request 1,"},
        {PRELUDE "hi; next; head -c 17825792 /dev/zero | tr '\\0' x; sleep 100",
         "a line longer than 16 MiB"},
        {PRELUDE "hi; next; head -c 16777217 /dev/zero | tr '\\0' x; echo; sleep 100",
         "a line longer than 16 MiB"},
        {PRELUDE "hi; next; exit 3", "exited with status 3"},
        {PRELUDE "hi; next; exit 0", "it exited with status 0"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scene scene;
        begin(&scene, rows[i][0], DEADLINE_MS);
        check_refused(&scene, OUTCOME_UNKNOWN, rows[i][1]);
        end(&scene);
    }
}

static void the_longest_line_is_read(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene,
          PRELUDE "hi; next; printf '{\"id\":2,\"x\":\"'; head -c 16777201 /dev/zero | tr '\\0' x; "
                  "say '\"}'; next",
          DEADLINE_MS);
    assert_int_equal(ask_one(&scene, "list").outcome, OUTCOME_DONE);
    end(&scene);
}

/* Before it has ever worked a person must act; afterwards it is tried again. */
static void starts_that_fail(void **state)
{
    static const struct {
        const char *script;
        enum outcome outcome;
        const char *text;
    } rows[] = {
        {PRELUDE "next; say \"{\\\"id\\\":$id,\\\"version\\\":2}\"; next", OUTCOME_INVALID,
         "it has version 2 of the protocol"},
        {PRELUDE "next; say \"{\\\"id\\\":$id,\\\"version\\\":1,\\\"can\\\":5}\"; next",
         OUTCOME_INVALID, "\"can\" must be a list"},
        {PRELUDE "echo 'no module named cloud' >&2; exit 1", OUTCOME_INVALID,
         "exited with status 1. Its last output: no module named cloud"},
        {PRELUDE "next; say \"{\\\"id\\\":$id,\\\"error\\\":\\\"denied\\\"}\"; next",
         OUTCOME_DENIED, "denied"},
        {PRELUDE "next; say \"{\\\"id\\\":$id,\\\"error\\\":\\\"odd\\\"}\"; next",
         OUTCOME_THROTTLED, "odd"},
        {PRELUDE "say '{\"id\":7,\"version\":1}'; sleep 100", OUTCOME_INVALID,
         "replied to request 7"},
    };
    struct scene scene;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        begin(&scene, rows[i].script, DEADLINE_MS);
        check_refused(&scene, rows[i].outcome, rows[i].text);
        end(&scene);
    }
    begin(&scene, "", DEADLINE_MS);
    scene.argv[0] = "/no/such/program";
    check_refused(&scene, OUTCOME_INVALID, "/no/such/program: cannot start");
    end(&scene);
    begin(&scene, PRELUDE "[ $starts = 1 ] || exit 5; hi; next; ok; next; exit 4", DEADLINE_MS);
    assert_int_equal(ask_one(&scene, "list").outcome, OUTCOME_DONE);
    check_refused(&scene, OUTCOME_UNKNOWN, "exited with status 4");
    check_refused(&scene, OUTCOME_THROTTLED, "exited with status 5");
    end(&scene);
}

/* 40, 80 and 160 ms before the second, third and fourth start. */
static void restarts_wait_longer_each_time(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, PRELUDE "exit 1", DEADLINE_MS);
    int64_t began_ms = loop_now_ms(scene.loop);
    for (int i = 0; i < 4; i++) {
        check_refused(&scene, OUTCOME_INVALID, "exited with status 1");
    }
    assert_int_equal(starts(&scene), 4);
    assert_true(loop_now_ms(scene.loop) - began_ms >= 7 * PAUSE_MS);
    end(&scene);
}

/* It replies to the second request first, and takes no third one before that. */
static void requests_in_parallel(void **state)
{
    struct scene scene;
    struct asked asked[ASKED_MAX];
    (void)state;
    begin(&scene,
          PRELUDE "hi ',\"parallel\":2'; next; one=$id; next; ok; say \"{\\\"id\\\":$one}\"; "
                  "while next; do ok; done",
          DEADLINE_MS);
    ask(&scene, "list", &asked[0]);
    ask(&scene, "launch", &asked[1]);
    ask(&scene, "tag", &asked[2]);
    ask(&scene, "swap", &asked[3]);
    await(&scene, ASKED_MAX);
    /* A swap is sent before all others that wait. */
    assert_int_equal(asked[3].order, 2);
    assert_int_equal(asked[0].order, 1);
    assert_string_equal(asked[0].op_text, "list");
    assert_string_equal(asked[1].op_text, "launch");
    assert_string_equal(asked[2].op_text, "tag");
    end(&scene);
}

static bool never(const void *context)
{
    (void)context;
    return false;
}

static void a_request_without_permission_is_not_sent(void **state)
{
    struct scene scene;
    struct asked asked = {.scene = &scene};
    (void)state;
    begin(&scene, PRELUDE "hi; while next; do ok; done", DEADLINE_MS);
    plugin_ask(scene.plugin, "launch", json_object(), never, note, &asked);
    await(&scene, 1);
    assert_int_equal(asked.outcome, OUTCOME_NO_LEASE);
    assert_int_equal(ask_one(&scene, "list").outcome, OUTCOME_DONE);
    end(&scene);
}

static void a_request_that_is_too_large(void **state)
{
    struct scene scene;
    struct asked asked = {.scene = &scene};
    char *text = calloc(1, CHILD_INPUT_MAX + 1);
    (void)state;
    memset(text, 'x', CHILD_INPUT_MAX);
    begin(&scene, PRELUDE "hi; while next; do ok; done", DEADLINE_MS);
    plugin_ask(scene.plugin, "swap", json_pack("{s:s}", "value", text), NULL, note, &asked);
    await(&scene, 1);
    assert_int_equal(asked.outcome, OUTCOME_INVALID);
    assert_non_null(strstr(asked.err.text, "larger than 4 MB"));
    assert_int_equal(ask_one(&scene, "list").outcome, OUTCOME_DONE);
    free(text);
    end(&scene);
}

/* Sent, waiting and answered requests: none calls back, and the next reply is still understood. */
static void dropped_requests_do_not_call_back(void **state)
{
    struct scene scene;
    struct asked sent;
    struct asked waiting;
    (void)state;
    begin(&scene, PRELUDE "hi; while next; do sleep 0.1; ok; done", DEADLINE_MS);
    assert_int_equal(ask_one(&scene, "list").outcome, OUTCOME_DONE);
    struct plugin_call *first = ask(&scene, "list", &sent);
    struct plugin_call *second = ask(&scene, "list", &waiting);
    plugin_drop(first);
    plugin_drop(second);
    assert_int_equal(ask_one(&scene, "list").outcome, OUTCOME_DONE);
    assert_int_equal(sent.calls + waiting.calls, 0);
    assert_int_equal(starts(&scene), 1);
    ask(&scene, "list", &sent);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(a_killed_plugin_is_started_again),
        cmocka_unit_test(waiting_has_an_end),
        cmocka_unit_test(a_silent_plugin_is_ended),
        cmocka_unit_test(wrong_lines_end_it),
        cmocka_unit_test(the_longest_line_is_read),
        cmocka_unit_test(starts_that_fail),
        cmocka_unit_test(restarts_wait_longer_each_time),
        cmocka_unit_test(requests_in_parallel),
        cmocka_unit_test(a_request_without_permission_is_not_sent),
        cmocka_unit_test(a_request_that_is_too_large),
        cmocka_unit_test(dropped_requests_do_not_call_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
