/* test_cluster.c: one test per promise of the simulated Ray. */
#include "sim/cluster.h"

#include "core/resource.h"
#include "unit.h"

enum { ROOM = 8, SECOND = 1000, MINUTE = 60 * SECOND, LONG = 1000 * MINUTE };

/* Type 0 has 4 CPUs, type 1 has 4 CPUs, 1 GPU and the label zone=a. */
struct scene {
    struct arena arena;
    struct names names;
    struct event_queue event_queue;
    struct faults faults;
    struct plan_type types[2];
    struct label zone;
    struct work_class classes[ROOM];
    struct workload workload;
    struct cluster cluster;
    struct cluster_view *view;
    const struct event *events;
    size_t event_count;
};

static struct capacity *capacities(struct scene *scene)
{
    struct capacity *items = ARENA_ARRAY(&scene->arena, 2, struct capacity);
    items[0] = (struct capacity){intern_add(&scene->names, STR("CPU")), 4 * RESOURCE_UNIT, 0};
    items[1] = (struct capacity){intern_add(&scene->names, STR("GPU")), RESOURCE_UNIT, 0};
    return items;
}

static int setup(void **state)
{
    static struct scene scene;
    scene = (struct scene){0};
    arena_init(&scene.arena);
    intern_init(&scene.names, &scene.arena);
    event_queue_init(&scene.event_queue, &scene.arena);
    scene.zone.key = intern_add(&scene.names, STR("zone"));
    scene.zone.value = intern_add(&scene.names, STR("a"));
    scene.types[0] = (struct plan_type){.capacities = capacities(&scene), .capacity_count = 1};
    scene.types[1] = (struct plan_type){
        .capacities = capacities(&scene), .capacity_count = 2, .labels = {&scene.zone, 1}};
    scene.workload.classes = scene.classes;
    *state = &scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    arena_clear(&scene->arena);
    return 0;
}

/* `count` tasks at time `at`, each with `cpus`, running for `duration`. */
static struct work_class *add_class(struct scene *scene, int64_t at, int64_t count, int64_t cpus,
                                    int64_t duration)
{
    struct amount *amount = ARENA_NEW(&scene->arena, struct amount);
    *amount = (struct amount){intern_add(&scene->names, STR("CPU")), cpus * RESOURCE_UNIT};
    struct work_class *work = &scene->classes[scene->workload.class_count++];
    *work = (struct work_class){.request = {.amounts = amount, .amount_count = 1},
                                .first_at = at,
                                .last_at = LONG,
                                .count_least = count,
                                .count_most = count,
                                .duration_least = duration,
                                .duration_most = duration};
    return work;
}

static struct work_class *add_gang(struct scene *scene, enum gang_rule rule, int64_t count,
                                   int64_t bundles, int64_t cpus, int64_t duration)
{
    struct work_class *work = add_class(scene, 0, count, cpus, duration);
    work->gang = rule;
    work->bundles = bundles;
    return work;
}

static void begin(struct scene *scene, uint64_t seed)
{
    workload_label_gangs(&scene->workload, &scene->names, &scene->arena);
    cluster_init(&scene->cluster, &scene->event_queue, &scene->faults, scene->types, 2,
                 &scene->names, &scene->workload, seed, &scene->arena);
    scene->view = cluster_view_new(&scene->cluster, &scene->arena);
}

/* Runs everything up to and including this time, also what is scheduled on the way. */
static void run_until(struct scene *scene, int64_t at)
{
    struct event_queue_entry entry;
    while (scene->event_queue.count > 0 && scene->event_queue.entries[0].at <= at) {
        assert_true(event_queue_next(&scene->event_queue, &entry));
        cluster_on(&scene->cluster, &entry);
    }
    scene->event_queue.now = at;
}

static void bring_gcs_back(struct scene *scene, enum fault fault)
{
    struct event_queue_entry entry = {
        .kind = EVENT_QUEUE_GCS_CHANGE, .who = (uint32_t)fault, .what = true};
    cluster_on(&scene->cluster, &entry);
}

static size_t running(struct scene *scene, uint64_t instance)
{
    return cluster_find(&scene->cluster, instance)->running;
}

static void poll(struct scene *scene)
{
    assert_true(cluster_poll(&scene->cluster, scene->view, scene->event_queue.now, &scene->events,
                             &scene->event_count));
    assert_int_equal(scene->events[scene->event_count - 1].kind, EVENT_RAY_SEEN);
}

static bool is_seen(const struct scene *scene, uint64_t instance)
{
    for (size_t i = 0; i < scene->event_count; i++) {
        if (scene->events[i].kind == EVENT_RAY_NODE &&
            scene->events[i].ray_node.instance == instance) {
            return true;
        }
    }
    return false;
}

static const struct ray_node *seen_node(const struct scene *scene, uint64_t instance)
{
    size_t at = 0;
    while (scene->events[at].kind != EVENT_RAY_NODE ||
           scene->events[at].ray_node.instance != instance) {
        assert_int_not_equal(scene->events[at].kind, EVENT_RAY_SEEN);
        at++;
    }
    return &scene->events[at].ray_node;
}

static const struct ray_load *seen_load(const struct scene *scene)
{
    size_t at = 0;
    while (scene->events[at].kind != EVENT_RAY_LOAD) {
        assert_int_not_equal(scene->events[at].kind, EVENT_RAY_SEEN);
        at++;
    }
    return &scene->events[at].ray_load;
}

/* ---- arrivals and waiting ------------------------------------------------------------------- */

static void test_steady_arrivals_keep_time(void **state)
{
    struct scene *scene = *state;
    struct work_class *work = add_class(scene, 5 * SECOND, 2, 1, SECOND);
    work->arrival = ARRIVAL_STEADY;
    work->every = 10 * SECOND;
    work->last_at = 25 * SECOND;
    begin(scene, 1);
    run_until(scene, 5 * SECOND - 1);
    assert_int_equal(cluster_pending(&scene->cluster), 0);
    run_until(scene, 5 * SECOND);
    assert_int_equal(cluster_pending(&scene->cluster), 2);
    run_until(scene, MINUTE);
    assert_int_equal(cluster_pending(&scene->cluster), 6);
    assert_int_equal(scene->cluster.figures[0].arrived, 6);
}

static void test_random_arrivals_have_the_mean_and_the_spread(void **state)
{
    struct scene *scene = *state;
    struct work_class *work = add_class(scene, 0, 1, 1, SECOND);
    work->arrival = ARRIVAL_RANDOM;
    work->every = 3; /* short, so that rounding would show */
    work->last_at = 300000;
    begin(scene, 7);
    int64_t quiet = 0; /* intervals of 3 ms without an arrival: one in e */
    int64_t before = 0;
    for (int64_t at = 2; at <= 300000; at += 3) {
        run_until(scene, at);
        quiet += scene->cluster.figures[0].arrived == before;
        before = scene->cluster.figures[0].arrived;
    }
    assert_in_range(before, 98500, 101500);
    assert_in_range(quiet, 36000, 37600);
}

static void test_work_waits_first_in_first_out(void **state)
{
    struct scene *scene = *state;
    struct work_class *work = add_class(scene, 0, 1, 4, 10 * SECOND);
    work->arrival = ARRIVAL_STEADY;
    work->every = SECOND;
    work->last_at = 2 * SECOND;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, MINUTE);
    const struct class_figures *figures = scene->cluster.figures;
    assert_int_equal(figures->finished, 3);
    assert_int_equal(figures->waits[0], 0);
    assert_int_equal(figures->waits[1], 9 * SECOND);
    assert_int_equal(figures->waits[2], 18 * SECOND);
}

static void test_a_node_is_filled_and_not_overfilled(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 7, 1, SECOND);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, 0);
    assert_int_equal(running(scene, 1), 4);
    assert_int_equal(cluster_find(&scene->cluster, 1)->free[0], 0);
    assert_int_equal(cluster_pending(&scene->cluster), 3);
    run_until(scene, SECOND);
    assert_int_equal(running(scene, 1), 3);
    assert_int_equal(cluster_find(&scene->cluster, 1)->free[0], RESOURCE_UNIT);
}

static void test_selectors_choose_nodes(void **state)
{
    struct scene *scene = *state;
    struct label_rule rule = {
        .key = scene->zone.key, .op = LABEL_IN, .values = &scene->zone.value, .value_count = 1};
    struct label_selector selector = {&rule, 1};
    struct work_class *work = add_class(scene, 0, 1, 1, LONG);
    work->request.selectors = &selector;
    work->request.selector_count = 1;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, SECOND);
    assert_int_equal(cluster_pending(&scene->cluster), 1);
    cluster_join(&scene->cluster, 2, 1);
    assert_int_equal(running(scene, 1), 0);
    assert_int_equal(running(scene, 2), 1);
}

static void test_plain_work_keeps_off_gpus_while_it_can(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 5, 1, LONG);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 1);
    cluster_join(&scene->cluster, 2, 0);
    run_until(scene, 0);
    assert_int_equal(running(scene, 2), 4);
    assert_int_equal(running(scene, 1), 1);
}

static void test_implicit_resources_are_one_per_node(void **state)
{
    struct scene *scene = *state;
    struct amount one = {intern_add(&scene->names, STR("node:__internal_implicit_resource_x")),
                         RESOURCE_UNIT};
    struct work_class *work = add_class(scene, 0, 3, 1, LONG);
    work->request = (struct request){.amounts = &one, .amount_count = 1};
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    cluster_join(&scene->cluster, 2, 1);
    run_until(scene, 0);
    assert_int_equal(running(scene, 1), 1);
    assert_int_equal(running(scene, 2), 1);
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->capacity_count, 1);
}

/* ---- gangs ---------------------------------------------------------------------------------- */

static void test_a_strictly_packed_gang_wants_one_node(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 2, 1, 10 * SECOND);
    add_gang(scene, GANG_STRICT_PACK, 1, 3, 1, LONG);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, SECOND);
    assert_int_equal(running(scene, 1), 2);
    assert_int_equal(cluster_pending(&scene->cluster), 3);
    run_until(scene, 10 * SECOND);
    assert_int_equal(cluster_pending(&scene->cluster), 0);
    assert_int_equal(cluster_find(&scene->cluster, 1)->free[0], RESOURCE_UNIT);
}

static void test_a_strictly_spread_gang_wants_its_own_nodes(void **state)
{
    struct scene *scene = *state;
    add_gang(scene, GANG_STRICT_SPREAD, 1, 3, 1, SECOND);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    cluster_join(&scene->cluster, 2, 0);
    run_until(scene, 0);
    assert_int_equal(running(scene, 1) + running(scene, 2), 0); /* all or none */
    cluster_join(&scene->cluster, 3, 1);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(running(scene, i), 1);
    }
    run_until(scene, SECOND);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(running(scene, i), 0);
    }
    assert_int_equal(scene->cluster.figures[0].finished, 1);
}

static void test_loose_gangs_take_what_there_is(void **state)
{
    struct scene *scene = *state;
    add_gang(scene, GANG_PACK, 1, 5, 1, SECOND);
    struct work_class *spread = add_gang(scene, GANG_SPREAD, 1, 5, 1, SECOND);
    spread->first_at = MINUTE;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, 0);
    assert_int_equal(running(scene, 1), 0);
    cluster_join(&scene->cluster, 2, 0);
    assert_int_equal(running(scene, 1), 4);
    assert_int_equal(running(scene, 2), 1);
    run_until(scene, MINUTE);
    assert_int_equal(running(scene, 1), 3);
    assert_int_equal(running(scene, 2), 2);
}

static void test_a_gang_is_lost_as_a_whole(void **state)
{
    struct scene *scene = *state;
    add_gang(scene, GANG_STRICT_SPREAD, 1, 2, 3, 10 * SECOND);
    add_class(scene, SECOND, 1, 2, LONG);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    cluster_join(&scene->cluster, 2, 0);
    run_until(scene, 5 * SECOND);
    assert_int_equal(cluster_pending(&scene->cluster), 1);
    cluster_lose(&scene->cluster, 1);
    assert_int_equal(scene->cluster.figures[0].lost, 1);
    assert_int_equal(running(scene, 2), 1); /* pending tasks get the free room */
    assert_int_equal(cluster_pending(&scene->cluster), 2);
    run_until(scene, MINUTE); /* the scheduled end has no effect any more */
    assert_int_equal(scene->cluster.figures[0].finished, 0);
    cluster_join(&scene->cluster, 3, 0);
    cluster_join(&scene->cluster, 4, 0);
    assert_int_equal(scene->cluster.figures[0].started, 2);
    assert_int_equal(scene->cluster.figures[0].waits[1], MINUTE);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void test_idle_since_the_last_task(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 10 * SECOND, 1, 1, 5 * SECOND);
    begin(scene, 1);
    run_until(scene, 3 * SECOND);
    cluster_join(&scene->cluster, 1, 0);
    assert_int_equal(cluster_find(&scene->cluster, 1)->idle_since, 3 * SECOND);
    run_until(scene, 10 * SECOND);
    assert_int_equal(cluster_find(&scene->cluster, 1)->idle_since, NOT_IDLE);
    run_until(scene, 20 * SECOND);
    assert_int_equal(cluster_find(&scene->cluster, 1)->idle_since, 15 * SECOND);
    cluster_account(&scene->cluster);
    assert_int_equal(scene->cluster.busy_ms, 5 * SECOND);
    assert_int_equal(scene->cluster.alive_ms, 17 * SECOND);
}

static void test_the_head_is_in_no_figure(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 1, 1, LONG);
    begin(scene, 1);
    scene->cluster.head = 9;
    cluster_join(&scene->cluster, 9, 0);
    run_until(scene, MINUTE);
    cluster_account(&scene->cluster);
    assert_int_equal(running(scene, 9), 1);
    assert_int_equal(scene->cluster.alive, 0);
    assert_int_equal(scene->cluster.busy_ms + scene->cluster.alive_ms, 0);
}

static void test_work_of_a_dead_node_goes_to_the_front(void **state)
{
    struct scene *scene = *state;
    struct work_class *work = add_class(scene, 0, 1, 4, 10 * SECOND);
    work->arrival = ARRIVAL_STEADY;
    work->every = SECOND;
    work->last_at = SECOND;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, 4 * SECOND);
    cluster_lose(&scene->cluster, 1);
    assert_int_equal(cluster_pending(&scene->cluster), 2);
    cluster_join(&scene->cluster, 2, 0);
    assert_int_equal(scene->cluster.figures[0].lost, 1);
    assert_int_equal(scene->cluster.figures[0].waits[1], 4 * SECOND); /* not 3: the lost one */
    run_until(scene, MINUTE);
    assert_int_equal(scene->cluster.figures[0].waits[2], 13 * SECOND);
    assert_int_equal(scene->cluster.figures[0].finished, 2);
}

static void test_a_vanished_machine_is_noticed_late(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 1, 1, LONG);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, MINUTE);
    poll(scene);
    cluster_lose(&scene->cluster, 1);
    assert_false(cluster_find(&scene->cluster, 1)->is_alive);
    run_until(scene, MINUTE + 10 * SECOND - 1);
    poll(scene);
    assert_false(is_seen(scene, 1));
    /* A new observer gets the same. */
    scene->view = cluster_view_new(&scene->cluster, &scene->arena);
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->status, RAY_ALIVE);
    assert_int_equal(seen_node(scene, 1)->idle_since, NOT_IDLE);
    assert_int_equal(seen_node(scene, 1)->capacities[0].free, 3 * RESOURCE_UNIT);
    run_until(scene, 2 * MINUTE);
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->status, RAY_DEAD);
    assert_int_equal(seen_node(scene, 1)->capacity_count, 0);
}

static void test_a_raylet_can_be_started_again(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 1, 1, 10 * MINUTE);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, SECOND);
    cluster_join(&scene->cluster, 1, 0); /* it is alive: nothing happens */
    assert_int_equal(running(scene, 1), 1);
    cluster_lose(&scene->cluster, 1);
    cluster_join(&scene->cluster, 1, 0);
    assert_int_equal(running(scene, 1), 1);
    assert_int_equal(cluster_find(&scene->cluster, 1)->free[0], 3 * RESOURCE_UNIT);
    run_until(scene, 5 * MINUTE); /* the death of the first raylet does not affect the second */
    assert_int_equal(cluster_find(&scene->cluster, 1)->status, RAY_ALIVE);
}

static void test_a_new_raylet_does_not_leave_for_the_old_one(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    assert_int_equal(cluster_drain(&scene->cluster, 1, true, 0), DRAIN_ACCEPTED);
    cluster_lose(&scene->cluster, 1);
    cluster_join(&scene->cluster, 1, 0);
    assert_false(cluster_find(&scene->cluster, 1)->accepted_idle_drain);
    run_until(scene, 5 * MINUTE);
    assert_true(cluster_find(&scene->cluster, 1)->is_alive);
    assert_int_equal(cluster_find(&scene->cluster, 1)->status, RAY_ALIVE);
}

/* ---- drains --------------------------------------------------------------------------------- */

static void test_an_idle_node_accepts_a_drain_and_leaves(void **state)
{
    struct scene *scene = *state;
    add_class(scene, SECOND, 1, 1, LONG);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    assert_int_equal(cluster_drain(&scene->cluster, 1, true, 0), DRAIN_ACCEPTED);
    assert_true(cluster_find(&scene->cluster, 1)->accepted_idle_drain);
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->status, RAY_DRAINING);
    run_until(scene, SECOND);
    assert_int_equal(running(scene, 1), 0); /* no new work ever */
    run_until(scene, MINUTE);
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->status, RAY_DEAD);
    assert_int_equal(cluster_pending(&scene->cluster), 1);
}

static void test_a_busy_node_refuses_a_drain(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 1, 1, 10 * SECOND);
    add_class(scene, 5 * SECOND, 1, 1, SECOND);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, SECOND);
    assert_int_equal(cluster_drain(&scene->cluster, 1, true, 0), DRAIN_REFUSED);
    assert_false(cluster_find(&scene->cluster, 1)->accepted_idle_drain);
    run_until(scene, 5 * SECOND);
    assert_int_equal(running(scene, 1), 2); /* as if no drain had been requested */
}

static void test_a_preempted_node_finishes_what_it_has(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 1, 1, 10 * SECOND);
    add_class(scene, 5 * SECOND, 1, 1, SECOND);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, SECOND);
    assert_int_equal(cluster_drain(&scene->cluster, 1, false, 2 * MINUTE), DRAIN_ACCEPTED);
    assert_int_equal(cluster_find(&scene->cluster, 1)->drain_until, 2 * MINUTE);
    assert_false(cluster_find(&scene->cluster, 1)->accepted_idle_drain);
    run_until(scene, 9 * SECOND);
    assert_int_equal(running(scene, 1), 1);
    assert_int_equal(cluster_pending(&scene->cluster), 1);
    assert_int_equal(cluster_drain(&scene->cluster, 1, true, 0), DRAIN_REFUSED);
    run_until(scene, MINUTE);
    assert_int_equal(scene->cluster.figures[0].finished, 1);
    assert_int_equal(scene->cluster.figures[0].lost, 0);
    assert_int_equal(cluster_find(&scene->cluster, 1)->status, RAY_DEAD);
}

static void test_nobody_drains_what_is_not_there(void **state)
{
    struct scene *scene = *state;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    cluster_lose(&scene->cluster, 1);
    assert_int_equal(cluster_drain(&scene->cluster, 1, true, 0), DRAIN_REFUSED);
    assert_int_equal(cluster_drain(&scene->cluster, 1, false, 0), DRAIN_REFUSED);
    assert_int_equal(cluster_drain(&scene->cluster, 2, true, 0), DRAIN_REFUSED);
    cluster_join(&scene->cluster, 3, 0);
    scene->cluster.is_gcs_up = false;
    assert_int_equal(cluster_drain(&scene->cluster, 3, true, 0), DRAIN_UNKNOWN);
    assert_false(cluster_find(&scene->cluster, 3)->is_draining);
}

static void test_a_drain_can_lose_the_race(void **state)
{
    struct scene *scene = *state;
    struct work_class *work = add_class(scene, 0, 1, 1, SECOND);
    work->arrival = ARRIVAL_STEADY;
    work->every = MINUTE;
    work->last_at = MINUTE;
    scene->faults.is_on[FAULT_drain_race] = true;
    scene->faults.chance[FAULT_drain_race] = 1000;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, 30 * SECOND);
    assert_int_equal(running(scene, 1), 0);
    assert_int_equal(cluster_drain(&scene->cluster, 1, true, 0), DRAIN_REFUSED);
    assert_int_equal(running(scene, 1), 1);
    run_until(scene, 2 * MINUTE);
    assert_int_equal(scene->cluster.figures[0].arrived, 2); /* early, but correct */
    assert_int_equal(scene->cluster.figures[0].finished, 2);
    assert_int_equal(cluster_drain(&scene->cluster, 1, true, 0), DRAIN_ACCEPTED);
}

/* ---- the GCS -------------------------------------------------------------------------------- */

static void test_without_the_gcs_tasks_go_on_and_gangs_wait(void **state)
{
    struct scene *scene = *state;
    add_class(scene, SECOND, 1, 1, LONG);
    add_gang(scene, GANG_STRICT_PACK, 1, 2, 1, LONG)->first_at = SECOND;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    scene->cluster.is_gcs_up = false;
    const struct event *events = NULL;
    size_t count = 0;
    assert_false(cluster_poll(&scene->cluster, scene->view, 0, &events, &count));
    run_until(scene, 2 * SECOND);
    assert_int_equal(scene->cluster.figures[0].started, 1);
    assert_int_equal(scene->cluster.figures[1].started, 0);
    cluster_join(&scene->cluster, 2, 0);
    assert_int_equal(cluster_find(&scene->cluster, 2)->status, RAY_ABSENT);
    bring_gcs_back(scene, FAULT_gcs_away);
    assert_int_equal(scene->cluster.figures[1].started, 1);
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->status, RAY_ALIVE);
    assert_false(is_seen(scene, 2));
    run_until(scene, MINUTE);
    poll(scene);
    assert_int_equal(seen_node(scene, 2)->status, RAY_ALIVE);
}

static void test_an_empty_gcs_is_found_by_and_by(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 1, 1, LONG);
    add_class(scene, MINUTE, 1, 1, LONG);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    cluster_join(&scene->cluster, 2, 0);
    cluster_lose(&scene->cluster, 2);
    run_until(scene, MINUTE - 1);
    poll(scene);
    uint64_t session = scene->cluster.session;
    scene->cluster.is_gcs_up = false;
    bring_gcs_back(scene, FAULT_gcs_restart);
    assert_int_not_equal(scene->cluster.session, session);
    run_until(scene, MINUTE);
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->status, RAY_ABSENT);
    assert_int_equal(seen_node(scene, 2)->status, RAY_ABSENT); /* it also forgets dead nodes */
    assert_int_equal(running(scene, 1), 1); /* continues, and gets nothing new yet */
    assert_int_equal(cluster_pending(&scene->cluster), 1);
    assert_int_equal(cluster_drain(&scene->cluster, 1, false, 0), DRAIN_REFUSED);
    run_until(scene, 2 * MINUTE);
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->status, RAY_ALIVE);
    assert_int_equal(running(scene, 1), 2);
    assert_false(is_seen(scene, 2));
}

static void test_a_raylet_remembers_its_drain(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 1, 1, LONG);
    add_class(scene, SECOND, 1, 1, LONG);
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    run_until(scene, 0);
    assert_int_equal(cluster_drain(&scene->cluster, 1, false, LONG), DRAIN_ACCEPTED);
    scene->cluster.is_gcs_up = false;
    bring_gcs_back(scene, FAULT_gcs_restart);
    assert_int_equal(cluster_find(&scene->cluster, 1)->status, RAY_ABSENT);
    run_until(scene, MINUTE);
    assert_int_equal(cluster_find(&scene->cluster, 1)->status, RAY_DRAINING);
    assert_int_equal(running(scene, 1), 1);
}

static void test_the_head_lives_through_every_restart(void **state)
{
    struct scene *scene = *state;
    scene->faults.is_on[FAULT_gcs_restart] = true;
    begin(scene, 1);
    scene->cluster.head = 1;
    cluster_join(&scene->cluster, 1, 0);
    for (int64_t at = 1; at <= 1000; at++) {
        scene->cluster.is_gcs_up = false;
        bring_gcs_back(scene, FAULT_gcs_restart);
        run_until(scene, at * MINUTE);
    }
    assert_int_equal(cluster_find(&scene->cluster, 1)->status, RAY_ALIVE);
}

static void test_some_raylets_die_of_an_empty_gcs(void **state)
{
    struct scene *scene = *state;
    scene->faults.is_on[FAULT_gcs_restart] = true;
    begin(scene, 1);
    for (uint64_t i = 1; i <= 1000; i++) {
        cluster_join(&scene->cluster, i, 0);
    }
    scene->cluster.is_gcs_up = false;
    bring_gcs_back(scene, FAULT_gcs_restart);
    run_until(scene, MINUTE);
    assert_in_range(scene->cluster.alive, 970, 998);
}

static void test_the_gcs_goes_and_comes_as_often_as_the_faults_say(void **state)
{
    struct scene *scene = *state;
    scene->faults.is_on[FAULT_gcs_away] = true;
    scene->faults.span[FAULT_gcs_away] = 9 * MINUTE;
    scene->faults.length[FAULT_gcs_away] = MINUTE;
    begin(scene, 3);
    int64_t away = 0;
    for (int64_t at = 1; at <= 10000; at++) {
        run_until(scene, at * MINUTE);
        away += !scene->cluster.is_gcs_up;
    }
    assert_in_range(away, 850, 1150);
    scene->faults.is_on[FAULT_gcs_away] = false; /* healed */
    run_until(scene, 10010 * MINUTE);
    for (int64_t at = 10010; at < 11000; at++) {
        run_until(scene, at * MINUTE);
        assert_true(scene->cluster.is_gcs_up);
    }
}

/* ---- views ---------------------------------------------------------------------------------- */

static void test_a_poll_tells_what_changed_and_no_more(void **state)
{
    struct scene *scene = *state;
    add_class(scene, SECOND, 1, 1, SECOND);
    begin(scene, 1);
    for (uint64_t i = 1; i <= 3; i++) {
        cluster_join(&scene->cluster, i, 1);
    }
    poll(scene);
    assert_int_equal(scene->event_count, 5); /* three nodes, the load, the end mark */
    assert_int_equal(seen_node(scene, 1)->capacity_count, 2);
    assert_int_equal(seen_node(scene, 1)->capacities[1].total, RESOURCE_UNIT);
    assert_int_equal(seen_node(scene, 1)->capacities[1].free, RESOURCE_UNIT);
    assert_int_equal(seen_node(scene, 1)->labels.items[0].value, scene->zone.value);
    poll(scene);
    assert_int_equal(scene->event_count, 1);
    run_until(scene, SECOND);
    poll(scene);
    assert_int_equal(scene->event_count,
                     2); /* tasks waited and started in between: the load is the same */
    assert_int_equal(seen_node(scene, 1)->idle_since, NOT_IDLE);
    assert_int_equal(seen_node(scene, 1)->capacities[0].free, 3 * RESOURCE_UNIT);
    assert_int_equal(scene->events[1].asked_at, SECOND);
    struct cluster_view *other = cluster_view_new(&scene->cluster, &scene->arena);
    const struct event *events = NULL;
    size_t count = 0;
    assert_true(cluster_poll(&scene->cluster, other, 0, &events, &count));
    assert_int_equal(count, 5); /* views are independent */
}

static void test_what_a_poll_showed_stays_as_it_was(void **state)
{
    struct scene *scene = *state;
    struct work_class *work = add_class(scene, SECOND, 1, 1, LONG);
    work->arrival = ARRIVAL_STEADY;
    work->every = SECOND;
    begin(scene, 1);
    cluster_join(&scene->cluster, 1, 0);
    poll(scene);
    const struct capacity *first = seen_node(scene, 1)->capacities;
    run_until(scene, SECOND);
    assert_int_equal(first[0].free, 4 * RESOURCE_UNIT); /* not an alias of live data */
    poll(scene);
    assert_int_equal(seen_node(scene, 1)->capacities[0].free, 3 * RESOURCE_UNIT);
    assert_int_equal(first[0].free, 4 * RESOURCE_UNIT); /* the new event is not handled yet */
    const struct capacity *second = seen_node(scene, 1)->capacities;
    cluster_join(&scene->cluster, 2, 0);
    poll(scene);
    poll(scene);
    assert_int_equal(second[0].free, 3 * RESOURCE_UNIT); /* polls about others do not touch it */
}

static void test_the_load_has_a_count_per_class_and_the_constraint(void **state)
{
    struct scene *scene = *state;
    add_class(scene, 0, 1000000, 1, LONG);
    struct demand constraint = {.request = scene->classes[0].request, .count = 8};
    scene->workload.constraint = &constraint;
    scene->workload.constraint_count = 1;
    begin(scene, 1);
    poll(scene);
    assert_int_equal(seen_load(scene)->demand_count, 0);
    assert_int_equal(seen_load(scene)->constraint_count, 1);
    run_until(scene, 0);
    poll(scene);
    assert_int_equal(seen_load(scene)->demand_count, 1);
    assert_int_equal(seen_load(scene)->demands[0].count, 1000000);
    assert_true(request_same(&seen_load(scene)->demands[0].request, &constraint.request));
    const struct demand *before = seen_load(scene)->demands;
    cluster_join(&scene->cluster, 1, 0);
    poll(scene);
    assert_int_equal(seen_load(scene)->demands[0].count, 999996);
    assert_int_equal(before[0].count, 1000000);
    assert_int_equal(seen_load(scene)->constraint_count, 1);
}

static void test_gangs_are_reported_as_ray_does(void **state)
{
    struct scene *scene = *state;
    add_gang(scene, GANG_STRICT_PACK, 1, 2, 1, LONG);
    add_gang(scene, GANG_STRICT_SPREAD, 2, 3, 1, LONG);
    add_gang(scene, GANG_PACK, 1, 4, 1, LONG);
    begin(scene, 1);
    run_until(scene, 0);
    poll(scene);
    const struct ray_load *load = seen_load(scene);
    assert_int_equal(cluster_pending(&scene->cluster), 2 + 6 + 4);
    assert_int_equal(load->demand_count, 0);
    assert_int_equal(load->gang_count, 4);
    assert_int_equal(load->gangs[0].request_count, 2);
    assert_int_equal(load->gangs[0].requests[1].placements[0].kind, PLACEMENT_AFFINITY);
    assert_int_equal(load->gangs[1].request_count, 3);
    const struct placement *first = load->gangs[1].requests[2].placements;
    const struct placement *second = load->gangs[2].requests[2].placements;
    assert_int_equal(first->kind, PLACEMENT_ANTI_AFFINITY);
    assert_int_not_equal(first->label.key, second->label.key);
    assert_int_equal(first->label.key, load->gangs[1].requests[0].placements->label.key);
    assert_str(intern_text(&scene->names, first->label.key), "_PG_1");
    assert_int_equal(load->gangs[3].request_count, 4);
    assert_int_equal(load->gangs[3].requests[0].placement_count, 0);
}

/* ---- everything together -------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, int64_t value)
{
    return (hash ^ (uint64_t)value) * UINT64_C(0x100000001b3);
}

/* A busy hour in which instances come and go; returns a hash of everything that happened. */
static uint64_t live_an_hour(void **state, uint64_t seed)
{
    struct scene *scene = *state;
    struct rng rng = {seed};
    uint64_t hash = 0;
    uint64_t instances = 0;
    int64_t running_now = 0;
    for (size_t i = 0; i < 3; i++) {
        struct work_class *work = i < 2 ? add_class(scene, 0, 1, 1 + (int64_t)i, MINUTE)
                                        : add_gang(scene, GANG_STRICT_SPREAD, 1, 3, 2, MINUTE);
        work->arrival = ARRIVAL_RANDOM;
        work->every = 3 * SECOND;
        work->count_most = 3;
        work->duration_least = SECOND;
    }
    scene->faults.is_on[FAULT_gcs_restart] = scene->faults.is_on[FAULT_gcs_away] = true;
    scene->faults.span[FAULT_gcs_restart] = scene->faults.span[FAULT_gcs_away] = 10 * MINUTE;
    scene->faults.length[FAULT_gcs_restart] = scene->faults.length[FAULT_gcs_away] = MINUTE;
    begin(scene, seed);
    for (int64_t at = 0; at < 60 * MINUTE; at += 5 * SECOND) {
        run_until(scene, at);
        uint64_t one = 1 + (uint64_t)rng_below(&rng, (int64_t)instances + 1);
        if (rng_chance(&rng, 300)) {
            cluster_join(&scene->cluster, ++instances, (uint32_t)rng_below(&rng, 2));
        } else if (rng_chance(&rng, 100)) {
            cluster_lose(&scene->cluster, one);
        } else if (rng_chance(&rng, 100)) {
            hash = mix(hash, cluster_drain(&scene->cluster, one, rng_chance(&rng, 500), at));
        }
        if (cluster_poll(&scene->cluster, scene->view, at, &scene->events, &scene->event_count)) {
            for (size_t i = 0; i < scene->event_count; i++) {
                hash = mix(hash, scene->events[i].kind == EVENT_RAY_NODE
                                     ? scene->events[i].ray_node.idle_since
                                     : (int64_t)scene->events[i].kind);
            }
        }
    }
    for (size_t i = 0; i < scene->cluster.node_count; i++) {
        const struct cluster_node *node = &scene->cluster.nodes[i];
        assert_true(!node->is_alive || node->free[0] >= 0);
        assert_true(!node->is_alive || (node->idle_since == NOT_IDLE) == (node->running > 0));
        running_now += (int64_t)node->running;
    }
    for (size_t i = 0; i < 3; i++) {
        const struct class_figures *figures = &scene->cluster.figures[i];
        int64_t pieces = i < 2 ? 1 : 3;
        running_now -= (figures->started - figures->finished - figures->lost) * pieces;
        hash = mix(mix(hash, figures->arrived), figures->finished);
        assert_true(figures->finished > 0 && figures->lost > 0);
    }
    assert_int_equal(running_now, 0);
    return hash;
}

static void test_a_seed_is_a_history(void **state)
{
    uint64_t hashes[3];
    for (size_t i = 0; i < 3; i++) {
        hashes[i] = live_an_hour(state, i < 2 ? 42 : 43);
        teardown(state);
        setup(state);
    }
    assert_int_equal(hashes[0], hashes[1]);
    assert_int_not_equal(hashes[0], hashes[2]);
    /* The same with every compiler and every option; changes if the cluster's behaviour changes. */
    assert_int_equal(hashes[0], UINT64_C(0x3756edf43464ac52));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(steady_arrivals_keep_time),
        TEST(random_arrivals_have_the_mean_and_the_spread),
        TEST(work_waits_first_in_first_out),
        TEST(a_node_is_filled_and_not_overfilled),
        TEST(selectors_choose_nodes),
        TEST(plain_work_keeps_off_gpus_while_it_can),
        TEST(implicit_resources_are_one_per_node),
        TEST(a_strictly_packed_gang_wants_one_node),
        TEST(a_strictly_spread_gang_wants_its_own_nodes),
        TEST(loose_gangs_take_what_there_is),
        TEST(a_gang_is_lost_as_a_whole),
        TEST(idle_since_the_last_task),
        TEST(the_head_is_in_no_figure),
        TEST(work_of_a_dead_node_goes_to_the_front),
        TEST(a_vanished_machine_is_noticed_late),
        TEST(a_raylet_can_be_started_again),
        TEST(a_new_raylet_does_not_leave_for_the_old_one),
        TEST(an_idle_node_accepts_a_drain_and_leaves),
        TEST(a_busy_node_refuses_a_drain),
        TEST(a_preempted_node_finishes_what_it_has),
        TEST(nobody_drains_what_is_not_there),
        TEST(a_drain_can_lose_the_race),
        TEST(without_the_gcs_tasks_go_on_and_gangs_wait),
        TEST(an_empty_gcs_is_found_by_and_by),
        TEST(a_raylet_remembers_its_drain),
        TEST(the_head_lives_through_every_restart),
        TEST(some_raylets_die_of_an_empty_gcs),
        TEST(the_gcs_goes_and_comes_as_often_as_the_faults_say),
        TEST(a_poll_tells_what_changed_and_no_more),
        TEST(what_a_poll_showed_stays_as_it_was),
        TEST(the_load_has_a_count_per_class_and_the_constraint),
        TEST(gangs_are_reported_as_ray_does),
        TEST(a_seed_is_a_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
