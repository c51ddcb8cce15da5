/* test_progress.c: what is written to a pipe, and what is redrawn on a terminal. */
#include "cli/progress/progress.h"

#include "live_scene.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t no_monotonic(void *context)
{
    (void)context;
    return 0;
}

static int64_t fixed_wall(void *context)
{
    (void)context;
    return SCENE_NOW_MS;
}

static const struct clock fixed = {no_monotonic, fixed_wall, NULL};

struct recorded {
    char *text;
    size_t size;
    struct progress *progress;
    FILE *stream;
};

static void start(struct recorded *recorded, bool is_live, bool is_down)
{
    recorded->stream = open_memstream(&recorded->text, &recorded->size);
    assert_non_null(recorded->stream);
    struct progress_setup setup = {.out = recorded->stream,
                                   .is_live = is_live,
                                   .is_down = is_down,
                                   .cluster = STR("demo"),
                                   .where = STR("aws us-west-2"),
                                   .clock = &fixed};
    recorded->progress = progress_new(&setup);
}

static void end(struct recorded *recorded)
{
    progress_free(recorded->progress);
    fclose(recorded->stream);
    free(recorded->text);
}

static void a_pipe_gets_one_line_per_change(void **state)
{
    struct recorded recorded;
    struct provider_resource thing = {STR("security group"), STR("sg-1"), STR("")};
    struct node_view view = scene_nodes[1];
    (void)state;
    start(&recorded, false, false);
    progress_thing(recorded.progress, &thing);
    progress_node(recorded.progress, &view);
    view.detail = STR("the same step");
    progress_node(recorded.progress, &view);
    view.step = 4;
    progress_node(recorded.progress, &view);
    progress_note(recorded.progress, STR("the head's service took over"));
    progress_status(recorded.progress, &scene_status);
    progress_status(recorded.progress, &scene_status);
    progress_end(recorded.progress);
    fflush(recorded.stream);
    assert_string_equal(recorded.text,
                        "10:30:00 created security group sg-1\n"
                        "10:30:00 worker-1 setup 3 of 5: pip install -r requirements.txt\n"
                        "10:30:00 worker-1 setup 4 of 5: the same step\n"
                        "10:30:00 the head's service took over\n"
                        "10:30:00 Ray 2.60.0 on 10.0.0.4: 1 of 3 nodes joined.\n");
    end(&recorded);
}

static void a_terminal_keeps_the_last_picture(void **state)
{
    struct recorded recorded;
    (void)state;
    start(&recorded, true, false);
    for (size_t i = 0; i < ARRAY_LEN(scene_nodes); i++) {
        progress_node(recorded.progress, &scene_nodes[i]);
    }
    fflush(recorded.stream);
    assert_int_equal(recorded.size, 0); /* the loop draws */
    progress_end(recorded.progress);
    progress_end(recorded.progress);
    fflush(recorded.stream);
    assert_non_null(strstr(recorded.text, "\rCluster demo   aws us-west-2"));
    assert_non_null(strstr(recorded.text, "  worker-1  i-0b7"));
    assert_null(strstr(recorded.text, "A\r")); /* nothing was drawn before */
    size_t count;
    assert_string_equal(progress_nodes(recorded.progress, &count)[2].failure.said.ptr,
                        scene_nodes[2].failure.said.ptr);
    assert_int_equal(count, 3);
    end(&recorded);
}

static void what_is_told_is_copied(void **state)
{
    struct recorded recorded;
    char name[] = "worker-9";
    struct node_view view = {.name = {name, 8}, .phase = PHASE_REQUESTED};
    size_t count;
    (void)state;
    start(&recorded, true, true);
    progress_node(recorded.progress, &view);
    name[7] = '8';
    progress_node(recorded.progress, &view);
    const struct node_view *nodes = progress_nodes(recorded.progress, &count);
    assert_int_equal(count, 2);
    assert_str(nodes[0].name, "worker-9");
    assert_str(nodes[1].name, "worker-8");
    end(&recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_gets_one_line_per_change),
        cmocka_unit_test(a_terminal_keeps_the_last_picture),
        cmocka_unit_test(what_is_told_is_copied),
    };
    setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
