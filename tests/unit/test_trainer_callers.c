/* test_trainer_callers.c: connections that have not proven that they know the job's token. */
#include "app/train/trainer_internal.h"
#include "io/xalloc.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { CALLERS_MAX = 70, LIMIT = 64, HELLO_MS = 10 * 1000 };

/* The machine's time plus what the test adds. */
static int64_t skipped_ms;

static int64_t skip_monotonic(void *context)
{
    return clock_of_machine.monotonic_ms(context) + skipped_ms;
}

static int64_t skip_wall(void *context)
{
    return clock_of_machine.wall_ms(context) + skipped_ms;
}

static const struct clock skip_clock = {.monotonic_ms = skip_monotonic, .wall_ms = skip_wall};

struct visitor {
    struct line_link *link;
    bool is_challenged, is_closed;
};

struct scene {
    struct trainer *trainer;
    struct trainer_setup setup;
    struct loop_timer *end;
    struct visitor visitors[CALLERS_MAX];
    size_t count;
};

static void ignore(void *context, struct str line)
{
    (void)context;
    (void)line;
}

static void stop(void *context)
{
    loop_stop(((struct scene *)context)->trainer->loop);
}

static void run_for(struct scene *scene, int64_t ms)
{
    loop_timer_start(scene->end, ms);
    loop_run(scene->trainer->loop);
}

static int open_scene(void **state)
{
    struct scene *scene = HEAP_NEW(struct scene);
    struct err err;
    skipped_ms = 0;
    scene->setup = (struct trainer_setup){
        .job = "demo", .folder = "/nonexistent", .line = ignore, .context = scene};
    train_settings_default(&scene->setup.settings);
    scene->trainer = HEAP_NEW(struct trainer);
    scene->trainer->setup = &scene->setup;
    train_job_init(&scene->trainer->job, &scene->setup.settings);
    assert_true(loop_open(&skip_clock, &scene->trainer->loop, &err));
    scene->end = loop_timer_new(scene->trainer->loop, stop, scene);
    assert_true(trainer_listen(scene->trainer, &err));
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    for (size_t i = 0; i < scene->count; i++) {
        line_link_close(scene->visitors[i].link);
    }
    trainer_close_agents(scene->trainer);
    loop_timer_free(scene->end);
    loop_close(scene->trainer->loop);
    free(scene->trainer);
    free(scene);
    return 0;
}

static void visitor_on_line(void *context, struct str line)
{
    struct visitor *visitor = context;
    visitor->is_challenged = visitor->is_challenged || str_starts(line, "{\"type\":\"challenge\"");
}

static void visitor_on_ended(void *context, const struct err *err)
{
    struct visitor *visitor = context;
    (void)err;
    visitor->is_closed = true;
    line_link_close(visitor->link);
    visitor->link = NULL;
}

/* Waits for the challenge, so that the order of the connections is known. */
static struct visitor *visit(struct scene *scene)
{
    struct visitor *visitor = &scene->visitors[scene->count++];
    struct err err;
    assert_true(line_link_open_tcp(scene->trainer->loop, "127.0.0.1", scene->trainer->port, NULL,
                                   &(struct line_link_hooks){.context = visitor,
                                                             .line = visitor_on_line,
                                                             .ended = visitor_on_ended},
                                   &visitor->link, &err));
    for (int i = 0; i < 400 && !visitor->is_challenged; i++) {
        run_for(scene, 2);
    }
    assert_true(visitor->is_challenged);
    return visitor;
}

static size_t closed_count(const struct scene *scene)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->count; i++) {
        count += scene->visitors[i].is_closed;
    }
    return count;
}

/* Until so many connections are closed, or for 4 s. */
static void await_closed(struct scene *scene, size_t count)
{
    for (int i = 0; i < 200 && closed_count(scene) < count; i++) {
        run_for(scene, 20);
    }
    assert_int_equal(closed_count(scene), count);
}

static void a_connection_without_hello_is_closed_in_time(void **state)
{
    struct scene *scene = *state;
    struct visitor *early = visit(scene);
    skipped_ms += HELLO_MS / 2;
    struct visitor *late = visit(scene);
    line_link_write(late->link, STR("{\"type\":\"steps\",\"steps\":3}\n")); /* is not a hello */
    skipped_ms += HELLO_MS / 2 - 2000;
    run_for(scene, 300);
    assert_int_equal(closed_count(scene), 0);
    skipped_ms += 2000;
    await_closed(scene, 1);
    assert_true(early->is_closed);
    assert_false(late->is_closed);
    skipped_ms += HELLO_MS / 2;
    await_closed(scene, 2);
    assert_true(late->is_closed);
    assert_null(scene->trainer->strangers);
    assert_null(scene->trainer->callers);
}

static void the_oldest_of_too_many_are_closed(void **state)
{
    struct scene *scene = *state;
    while (scene->count < LIMIT) {
        visit(scene);
    }
    run_for(scene, 20);
    assert_int_equal(closed_count(scene), 0);
    while (scene->count < CALLERS_MAX) {
        visit(scene);
    }
    await_closed(scene, CALLERS_MAX - LIMIT);
    for (size_t i = 0; i < CALLERS_MAX - LIMIT; i++) {
        assert_true(scene->visitors[i].is_closed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_connection_without_hello_is_closed_in_time, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(the_oldest_of_too_many_are_closed, open_scene, close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
