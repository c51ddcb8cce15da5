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
    struct idle_stop_view views[6];
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
    for (size_t i = 0; i < ARRAY_LEN(views); i++) {
        struct idle_stop stop = {.after_ms = 10 * MINUTE};
        assert_false(idle_stop_is_due(&stop, &idle, 1 * MINUTE, &wait));
        assert_false(idle_stop_is_due(&stop, &views[i], 20 * MINUTE, &wait));
        assert_false(idle_stop_is_due(&stop, &idle, 21 * MINUTE, &wait));
        assert_false(idle_stop_is_due(&stop, &idle, 30 * MINUTE, &wait));
        assert_true(idle_stop_is_due(&stop, &idle, 31 * MINUTE, &wait));
    }
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
        cmocka_unit_test(it_rests_after_so_long_and_not_before),
        cmocka_unit_test(whatever_happens_begins_the_time_anew),
        cmocka_unit_test(a_node_knows_better_how_long_it_was_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
