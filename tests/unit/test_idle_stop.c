/* test_idle_stop.c: when an idle cluster is stopped. */
#include "app/idle_stop.h"

#include "fixture.h"

enum { MINUTE = 60 * 1000 };

static int64_t after(const char *yaml)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(f, yaml);
    assert_non_null(tree);
    return idle_stop_after(value_get_c(value_get_c(tree, "metadata"), "shoal"));
}

#define FILE_WITH(words)                                                    \
    "cluster_name: x\nprovider: {type: aws, region: us-west-2}\nmetadata: " \
    "{shoal: {" words "}}\n"

static void minutes_of_the_file(void **state)
{
    (void)state;
    assert_int_equal(after(FILE_WITH("idle_stop: 60")), 60 * MINUTE);
    assert_int_equal(after(FILE_WITH("idle_stop: 0.5")), MINUTE / 2);
    assert_int_equal(after(FILE_WITH("idle_stop: false")), 0);
    assert_int_equal(after(FILE_WITH("idle_stop: true")), 60 * MINUTE);
    assert_int_equal(after(FILE_WITH("idle_stop: 0")), 0);
    assert_int_equal(after(FILE_WITH("planner: ray")), 0);
}

static int64_t terminate_after(const char *text)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(f, text);
    return idle_terminate_after(value_get_c(value_get_c(tree, "metadata"), "shoal"));
}

static void days_of_the_file(void **state)
{
    (void)state;
    assert_int_equal(terminate_after(FILE_WITH("idle_terminate: 14d")), 14 * 86400);
    assert_int_equal(terminate_after(FILE_WITH("idle_terminate: 1h30m")), 5400);
    assert_int_equal(terminate_after(FILE_WITH("idle_terminate: soon")), 0);
    assert_int_equal(terminate_after(FILE_WITH("idle_stop: 60")), 0);
}

static const struct idle_stop_view idle = {.sees_ray = true, .idle_ms = 1000 * MINUTE};

static void it_rests_after_so_long_and_not_before(void **state)
{
    struct idle_stop stop = {.after_ms = 10 * MINUTE};
    int64_t wait;
    (void)state;
    assert_false(idle_stop_is_due(&stop, &idle, 1 * MINUTE, &wait));
    assert_false(idle_stop_is_due(&stop, &idle, 11 * MINUTE - 500, &wait));
    assert_int_equal(wait, 500);
    assert_true(idle_stop_is_due(&stop, &idle, 11 * MINUTE, &wait));
    stop = (struct idle_stop){0};
    assert_false(idle_stop_is_due(&stop, &idle, 1 * MINUTE, &wait));
    assert_false(idle_stop_is_due(&stop, &idle, 100 * MINUTE, &wait));
}

static void whatever_happens_begins_the_time_anew(void **state)
{
    struct idle_stop_view views[10];
    int64_t wait;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(views); i++) {
        views[i] = idle;
    }
    views[0].sees_ray = false;
    views[1].busy = 1;
    views[2].waiting = 1;
    views[3].on_way = 1;
    views[4].drivers = 1;
    views[5].idle_ms = -1;
    views[6].logins = 1;
    views[7].editors = 1;
    views[8].notebooks = 1;
    views[9].gpus = 1;
    for (size_t i = 0; i < ARRAY_LEN(views); i++) {
        struct idle_stop stop = {.after_ms = 10 * MINUTE};
        assert_false(idle_stop_is_due(&stop, &idle, 1 * MINUTE, &wait));
        assert_false(idle_stop_is_due(&stop, &views[i], 20 * MINUTE, &wait));
        assert_false(idle_stop_is_due(&stop, &idle, 21 * MINUTE, &wait));
        assert_false(idle_stop_is_due(&stop, &idle, 30 * MINUTE, &wait));
        assert_true(idle_stop_is_due(&stop, &idle, 31 * MINUTE, &wait));
    }
}

static const char *reason_of(const struct idle_stop_view *view)
{
    static char text[IDLE_STOP_REASON_BYTES_MAX];
    AUTO_BUF struct buf reason;
    buf_init(&reason, IDLE_STOP_REASON_BYTES_MAX);
    idle_stop_add_reason(view, &reason);
    snprintf(text, sizeof(text), "%.*s", STR_ARG(buf_str(&reason)));
    return text;
}

static void the_reason_names_everything(void **state)
{
    struct idle_stop_view view = idle;
    (void)state;
    assert_string_equal(reason_of(&view), "");
    view.logins = 1;
    assert_string_equal(reason_of(&view), "1 ssh session on the head");
    view = (struct idle_stop_view){.sees_ray = true,
                                   .drivers = 1,
                                   .busy = 2,
                                   .waiting = 1,
                                   .on_way = 1,
                                   .logins = 2,
                                   .editors = 3,
                                   .notebooks = 1,
                                   .gpus = 8};
    assert_string_equal(reason_of(&view),
                        "1 connected driver, 2 busy nodes, 1 kind of pending request, "
                        "1 node that starts or ends, 2 ssh sessions on the head, "
                        "3 processes of a remote editor on the head, 1 Jupyter server on the head, "
                        "8 GPUs in use on the head");
    view = (struct idle_stop_view){.idle_ms = -1, .gpus = 1};
    assert_string_equal(reason_of(&view), "an unknown state of Ray, 1 GPU in use on the head");
}

static void gpus_in_use(void **state)
{
    (void)state;
    assert_int_equal(idle_stop_gpus(STR("")), 0);
    assert_int_equal(idle_stop_gpus(STR("0\n4\n")), 0);
    assert_int_equal(idle_stop_gpus(STR("5\n 100 \n0\n")), 2);
    assert_int_equal(idle_stop_gpus(STR("[N/A]\nNo devices were found\n")), 0);
}

/* A task that started and ended between two polls. */
static void a_node_knows_better_how_long_it_was_idle(void **state)
{
    struct idle_stop stop = {.after_ms = 10 * MINUTE};
    struct idle_stop_view short_idle = idle;
    int64_t wait;
    (void)state;
    assert_false(idle_stop_is_due(&stop, &idle, 1 * MINUTE, &wait));
    short_idle.idle_ms = 1 * MINUTE;
    assert_false(idle_stop_is_due(&stop, &short_idle, 11 * MINUTE, &wait));
    short_idle.idle_ms = 10 * MINUTE;
    assert_true(idle_stop_is_due(&stop, &short_idle, 20 * MINUTE, &wait));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minutes_of_the_file),
        cmocka_unit_test(days_of_the_file),
        cmocka_unit_test(it_rests_after_so_long_and_not_before),
        cmocka_unit_test(whatever_happens_begins_the_time_anew),
        cmocka_unit_test(the_reason_names_everything),
        cmocka_unit_test(gpus_in_use),
        cmocka_unit_test(a_node_knows_better_how_long_it_was_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
