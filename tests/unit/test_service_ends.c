/* test_service_ends.c: what the events say about instances that the service did not terminate. */
#include "service_scene.h"

enum { WORKER = 2 }; /* its number; that of the head is 1 */

static int open_scene(void **state)
{
    *state = service_scene_new();
    return 0;
}

static int close_scene(void **state)
{
    service_scene_free(*state);
    return 0;
}

static bool has_worker(struct service_scene *scene)
{
    struct managed_node managed_node;
    return scene->service.head.controller &&
           controller_find(scene->service.head.controller, WORKER, &managed_node) &&
           managed_node.machine && managed_node.node && managed_node.node->state == NODE_BOOTING;
}

static bool has_end(struct service_scene *scene)
{
    return events_with(scene, "stopped or deleted") > 0;
}

/* The next listing shows its instance in this state. */
static void worker_ends(struct service_scene *scene, enum machine_state as, enum market market)
{
    service_scene_begin(scene);
    assert_service(scene, is_leading);
    assert_service(scene, has_worker);
    struct machine *machine = fake_cloud_find(&scene->cloud, "i-1");
    machine->market = market;
    machine->state = as;
    controller_refresh(scene->service.head.controller);
    assert_service(scene, has_end);
    assert_int_equal(events_with(scene, "failed"), 0);
}

/* A listing can show it while it stops, or only afterwards, when nothing is left to show: chance
 * decides which, and the event is the same. */
static void the_end_of_a_spot_instance_is_told(struct service_scene *scene, enum machine_state as)
{
    worker_ends(scene, as, MARKET_SPOT);
    assert_int_equal(events_with(scene, "the cloud reclaimed the spot instance, or a user"), 1);
    service_scene_end(scene);
}

static void a_spot_instance_that_is_stopping(void **state)
{
    the_end_of_a_spot_instance_is_told(*state, MACHINE_STOPPING);
}

static void a_spot_instance_that_is_ending(void **state)
{
    the_end_of_a_spot_instance_is_told(*state, MACHINE_ENDING);
}

static void a_spot_instance_that_is_gone(void **state)
{
    the_end_of_a_spot_instance_is_told(*state, MACHINE_GONE);
}

static void an_instance_on_demand(void **state)
{
    struct service_scene *scene = *state;
    worker_ends(scene, MACHINE_ENDING, MARKET_ON_DEMAND);
    assert_int_equal(events_with(scene, "the cloud or a user stopped or deleted the instance"), 1);
    assert_int_equal(events_with(scene, "spot"), 0);
    service_scene_end(scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_spot_instance_that_is_stopping),
        TEST(a_spot_instance_that_is_ending),
        TEST(a_spot_instance_that_is_gone),
        TEST(an_instance_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
