/* test_events.c: the event history is written and read again. */
#include "app/head/events.h"
#include "app/head/launch_reasons.h"

#include "app/head/ray/gcs_poller.h"
#include "scratch.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct scene {
    char folder[64];
    struct loop *loop;
    struct journal *journal;
    struct log log;
    struct events *events;
    struct buf heard;
    struct err err;
};

static void hear(void *context, const struct cluster_event *event)
{
    struct buf *heard = context;
    buf_addf(heard, "%lld %s %.*s|%.*s|%.*s\n", (long long)event->number,
             cluster_event_kind_name(event->kind), STR_ARG(event->node), STR_ARG(event->text),
             STR_ARG(event->reason));
}

static void begin(struct scene *scene)
{
    assert_true(loop_open(&clock_of_machine, &scene->loop, &scene->err));
    assert_true(journal_open(scene->folder, "test", &scene->journal, &scene->err));
    scene->log = (struct log){.clock = &clock_of_machine, .least = LOG_LEVEL_ERROR};
    scene->events = events_open(scene->loop, scene->journal, &scene->log);
}

static void end(struct scene *scene)
{
    events_close(scene->events);
    journal_close(scene->journal);
    loop_close(scene->loop);
}

static void open_scene(struct scene *scene)
{
    *scene = (struct scene){0};
    memcpy(scene->folder, "/tmp/shoal-events-XXXXXX", 25);
    assert_non_null(mkdtemp(scene->folder));
    buf_init(&scene->heard, 1 << 20);
    begin(scene);
}

static void close_scene(struct scene *scene)
{
    end(scene);
    buf_clear(&scene->heard);
    scratch_remove(scene->folder);
}

static void the_reason_of_a_launch_is_known_after_a_restart(void **state)
{
    const uint64_t launch = (UINT64_C(7) << 32) + 3;
    struct scene scene;
    (void)state;
    open_scene(&scene);
    events_add_launch(scene.events, CLUSTER_EVENT_LAUNCH_FAILED, launch, STR("failed"), STR("no"));
    events_add_launch(scene.events, CLUSTER_EVENT_LAUNCH, launch, STR("2 x a"), STR("for tasks"));
    events_add_launch(scene.events, CLUSTER_EVENT_LAUNCH, launch, STR("2 x a"), STR("again"));
    events_add(scene.events, CLUSTER_EVENT_LAUNCH, STR(""), STR("launch 7.4: b"), STR("old"));
    end(&scene);
    begin(&scene);
    struct launch_reasons *reasons = launch_reasons_open(scene.events);
    assert_str(launch_reasons_find(reasons, launch), "for tasks");
    assert_str(launch_reasons_find(reasons, launch + 1), "");
    events_add_launch(scene.events, CLUSTER_EVENT_LAUNCH, launch + 1, STR("b"), STR("min_workers"));
    assert_str(launch_reasons_find(reasons, launch + 1), "min_workers");
    launch_reasons_close(reasons);
    close_scene(&scene);
}

static void numbers_go_on_over_restarts(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    assert_int_equal(events_last(scene.events), 0);
    events_listen(scene.events, hear, &scene.heard);
    events_add(scene.events, CLUSTER_EVENT_LAUNCH, STR(""), STR("launch 1.1: 2 x a"), STR("why"));
    events_add(scene.events, CLUSTER_EVENT_JOIN, STR("worker-1"), STR("joined Ray"), STR(""));
    assert_string_equal(scene.heard.ptr,
                        "1 launch |launch 1.1: 2 x a|why\n2 join worker-1|joined Ray|\n");
    end(&scene);
    begin(&scene);
    assert_int_equal(events_last(scene.events), 2);
    events_add(scene.events, CLUSTER_EVENT_TERMINATE, STR("worker-1"), STR("ended"), STR("idle"));
    buf_clear(&scene.heard);
    events_each(scene.events, 1, hear, &scene.heard);
    assert_string_equal(scene.heard.ptr,
                        "2 join worker-1|joined Ray|\n3 terminate worker-1|ended|idle\n");
    close_scene(&scene);
}

static void count(void *context, const struct cluster_event *event)
{
    (void)event;
    ++*(size_t *)context;
}

static void the_oldest_are_forgotten(void **state)
{
    struct scene scene;
    size_t kept = 0;
    (void)state;
    open_scene(&scene);
    for (int i = 0; i < 6000; i++) {
        events_add(scene.events, CLUSTER_EVENT_DRAIN, STR("worker-1"), STR("x"), STR("y"));
        if (i % 400 == 0) {
            size_t so_far = 0;
            events_each(scene.events, 0, count, &so_far); /* writes */
        }
    }
    events_each(scene.events, 0, count, &kept);
    assert_in_range(kept, 5000, 5500);
    assert_int_equal(events_last(scene.events), 6000);
    close_scene(&scene);
}

static void a_short_retention_keeps_fewer(void **state)
{
    struct scene scene;
    (void)state;
    setenv("SHOAL_TEST_TIMES", "keep_events=10", 1);
    open_scene(&scene);
    unsetenv("SHOAL_TEST_TIMES");
    for (int i = 0; i < 30; i++) {
        size_t kept = 0;
        events_add(scene.events, CLUSTER_EVENT_DRAIN, STR("worker-1"), STR("x"), STR("y"));
        events_each(scene.events, 0, count, &kept); /* writes */
        assert_int_equal(kept, i < 10 ? i + 1 : 10);
    }
    close_scene(&scene);
}

static void the_pace_follows_size_and_trouble(void **state)
{
    static const struct {
        struct ray_pace pace;
        int64_t pause;
    } rows[] = {
        {{false, 3, 50, 0, 0}, 400},       {{true, 3, 50, 0, 0}, 100},
        {{false, 500, 50, 0, 0}, 400},     {{false, 501, 3, 0, 0}, 400},
        {{false, 5000, 8, 0, 0}, 800},     {{true, 5000, 8, 0, 0}, 160},
        {{false, 5000, 900, 0, 0}, 10000}, {{false, 3, 0, 1, 0}, 400},
        {{false, 3, 0, 2, 0}, 800},        {{false, 5000, 5, 0, 60}, 1980},
        {{true, 5000, 5, 0, 60}, 600},     {{true, 3, 5, 0, 60}, 100},
        {{false, 3, 0, 9, 0}, 2000},       {{true, 3, 0, 2, 0}, 200},
        {{true, 3, 0, 40, 0}, 1600},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(ray_pace_ms(&rows[i].pace), rows[i].pause);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_go_on_over_restarts),
        cmocka_unit_test(the_reason_of_a_launch_is_known_after_a_restart),
        cmocka_unit_test(the_oldest_are_forgotten),
        cmocka_unit_test(a_short_retention_keeps_fewer),
        cmocka_unit_test(the_pace_follows_size_and_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
