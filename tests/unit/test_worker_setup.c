/* test_worker_setup.c: a copy to a worker does not disturb its setup, and can be repeated. */
#include "app/head/workers/worker_setup.h"

#include "app/head/workers/worker_setup_internal.h"
#include "io/clock.h"
#include "unit.h"

#include <stdlib.h>

struct scene {
    struct config config;
    struct cluster_state state;
    struct loop *loop;
    struct child_pool *children;
    struct worker_setups *setups;
};

static void on_changed(void *context, uint64_t instance)
{
    (void)context;
    (void)instance;
}

static void on_tag(void *context, uint64_t instance, struct str status)
{
    (void)context;
    (void)instance;
    (void)status;
}

static int open_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct err err;
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0); /* no ssh */
    scene->config.provider_type = STR("local");
    scene->config.ssh_user = STR("ubuntu");
    scene->state.folder = scene->state.control = "/nonexistent";
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    scene->children = child_pool_new(scene->loop, 2);
    scene->setups = worker_setups_open(&(struct worker_setups_setup){
        .loop = scene->loop,
        .children = scene->children,
        .config = &scene->config,
        .state = &scene->state,
        .hooks = {.context = scene, .changed = on_changed, .tag = on_tag},
    });
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    worker_setups_close(scene->setups);
    child_pool_free(scene->children);
    loop_close(scene->loop);
    free(scene);
    return 0;
}

static const struct worker *begin(struct scene *scene, uint64_t instance, bool only_copies)
{
    worker_setups_begin(scene->setups, &(struct worker_machine){.instance = instance,
                                                                .name = STR("worker-1"),
                                                                .id = STR("i-1"),
                                                                .address = STR("192.0.2.1"),
                                                                .only_copies = only_copies});
    return scene->setups->workers;
}

static void a_copy_has_a_connection_of_its_own(void **state)
{
    struct scene *scene = *state;
    const struct worker *setup = begin(scene, 1, false);
    const struct worker *copy = begin(scene, 2, true);
    assert_string_not_equal(setup->place.control, copy->place.control);
    assert_string_equal(setup->place.known_hosts, copy->place.known_hosts);
    assert_str(copy->place.machine, "i-1");
}

/* A failed setup is remembered for users; a failed copy would never be tried again. */
static void a_failed_copy_can_be_repeated(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1, false);
    begin(scene, 2, true);
    for (uint64_t instance = 1; instance <= 2; instance++) {
        worker_setups_give_up(scene->setups, instance, STR("no route"));
        assert_int_equal(worker_setups_progress(scene->setups, instance)->phase, PHASE_FAILED);
        worker_setups_end(scene->setups, instance);
    }
    assert_non_null(worker_setups_progress(scene->setups, 1));
    assert_null(worker_setups_progress(scene->setups, 2));
    begin(scene, 2, true);
    assert_int_equal(worker_setups_progress(scene->setups, 2)->phase, PHASE_CONNECTING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_has_a_connection_of_its_own),
        TEST(a_failed_copy_can_be_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
