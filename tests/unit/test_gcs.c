/* test_gcs.c: the GCS client without a GCS. Calls to a real one are in tests/ray. */
#include "ray/gcs.h"

#include "unit.h"

#include <string.h>

static struct loop *loop;
static struct http *http;
static struct gcs *gcs;

static int open_all(void **state)
{
    (void)state;
    struct err err;
    assert_true(loop_open(&clock_of_machine, &loop, &err));
    assert_true(http_open(loop, &(struct http_limits){0}, &http, &err));
    /* No process listens there. */
    gcs = gcs_open(&(struct gcs_setup){.http = http, .server = "http://127.0.0.1:1"});
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    if (gcs) {
        gcs_close(gcs);
    }
    http_close(http);
    loop_close(loop);
    return 0;
}

struct heard {
    int count;
    struct gcs_answer answer;
    bool closes;
};

static void hear(void *context, const struct gcs_answer *answer)
{
    struct heard *heard = context;
    heard->count++;
    heard->answer = *answer;
    if (heard->closes) {
        gcs_close(gcs);
        gcs = NULL;
    }
}

static void apply_drain(void *context, const struct gcs_answer *answer, bool is_accepted,
                        struct str why_not)
{
    assert_false(is_accepted);
    assert_int_equal(why_not.len, 0);
    hear(context, answer);
}

static void apply_state(void *context, const struct gcs_answer *answer, struct str bytes)
{
    assert_int_equal(bytes.len, 0);
    hear(context, answer);
}

static void test_nobody_is_there(void **state)
{
    (void)state;
    struct heard read = {0}, report = {0}, groups = {0}, bundle = {0}, drain = {0}, line = {0};
    char id[RAY_ID_BYTES] = {0};
    gcs_read_state(gcs, apply_state, &read);
    gcs_report(gcs, &(struct ray_report){.version = 1}, hear, &report);
    gcs_report_groups(gcs, &(struct gcs_group){.name = STR("a")}, 1, hear, &groups);
    gcs_request_resources(gcs, NULL, 0, hear, &bundle);
    gcs_drain(gcs, &(struct gcs_drain){.node = {id, sizeof(id)}}, apply_drain, &drain);
    gcs_tell_drivers(gcs, &(struct gcs_line){.ray_version = STR("2.60.0")}, hear, &line);
    assert_int_equal(read.count, 0);
    loop_run(loop);
    const struct heard *const all[] = {&read, &report, &groups, &bundle, &drain, &line};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        assert_int_equal(all[i]->count, 1);
        assert_int_equal(all[i]->answer.trouble, GCS_AWAY);
    }
}

/* None of these may reach a GCS or a raylet: they would crash it. */
static void test_what_is_never_sent(void **state)
{
    (void)state;
    char id[64] = {0};
    const struct gcs_drain drains[] = {
        {.node = {id, 0}},
        {.node = {id, RAY_ID_BYTES - 1}},
        {.node = {id, RAY_ID_BYTES + 1}},
        {.node = {id, 2 * (size_t)RAY_ID_BYTES}},
        {.node = {id, RAY_ID_BYTES}, .deadline_ms = -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(drains); i++) {
        struct heard heard = {0};
        gcs_drain(gcs, &drains[i], apply_drain, &heard);
        assert_int_equal(heard.count, 0); /* only from the loop */
        loop_run(loop);
        assert_int_equal(heard.count, 1);
        assert_int_equal(heard.answer.trouble, GCS_REFUSED);
        assert_int_equal(heard.answer.err.kind, ERR_INTERNAL);
    }
}

static void test_a_line_that_is_too_long(void **state)
{
    (void)state;
    static char text[200000];
    struct heard heard = {0};
    memset(text, 'x', sizeof(text));
    gcs_tell_drivers(gcs,
                     &(struct gcs_line){.ray_version = STR("2.60.0"), .text = {text, sizeof(text)}},
                     hear, &heard);
    loop_run(loop);
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.answer.trouble, GCS_REFUSED);
}

/* The other waiting calls get no answer any more. */
static void test_closed_while_several_are_told(void **state)
{
    (void)state;
    struct heard heard = {.closes = true};
    for (int i = 0; i < 3; i++) {
        gcs_report(gcs, &(struct ray_report){.version = 1}, hear, &heard);
    }
    loop_run(loop);
    assert_int_equal(heard.count, 1);
}

static void test_closed_before_a_refusal_is_told(void **state)
{
    (void)state;
    struct heard heard = {0};
    gcs_drain(gcs, &(struct gcs_drain){0}, apply_drain, &heard);
    gcs_read_state(gcs, apply_state, &heard);
    gcs_close(gcs);
    gcs = NULL;
    loop_run(loop);
    assert_int_equal(heard.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nobody_is_there),
        TEST(test_what_is_never_sent),
        TEST(test_a_line_that_is_too_long),
        TEST(test_closed_while_several_are_told),
        TEST(test_closed_before_a_refusal_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
