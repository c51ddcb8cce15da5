/* test_core.c: the step function, one promise at a time. */
#include "core/core.h"
#include "unit.h"

#include <string.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HEAD = 1 };

/* One type of 4 CPUs in two zones, at most three workers, and a core that may act. */
struct scene {
    struct arena arena;
    struct arena scratch;
    struct names names;
    struct capacity capacity;
    struct capacity free;
    struct capacity full;
    struct plan_type type;
    struct offering offerings[2];
    struct core_settings settings;
    struct core *core;
    struct core_answer answer;
    struct amount amount;
    struct demand demand;
    int64_t now;
};

static void step(struct scene *scene, struct event event)
{
    event.at = scene->now;
    arena_clear(&scene->scratch);
    arena_init(&scene->scratch);
    core_step(scene->core, &event, &scene->scratch, &scene->answer);
}

static void lease(struct scene *scene, uint64_t epoch)
{
    step(scene, (struct event){.kind = EVENT_LEASE,
                               .lease = {.epoch = epoch, .until = scene->now + 600 * MINUTE}});
}

static void list(struct scene *scene, const struct listed *items, size_t count, bool is_complete)
{
    step(scene, (struct event){.kind = EVENT_LISTING,
                               .listing = {.asked_at = scene->now,
                                           .is_complete = is_complete,
                                           .items = items,
                                           .count = count}});
}

/* A complete listing that shows one running instance. */
static void list_one(struct scene *scene, uint64_t instance, uint64_t launch)
{
    struct listed listed = {.instance = instance, .launch = launch, .state = CLOUD_RUNNING};
    list(scene, &listed, 1, true);
}

static void see_ray(struct scene *scene)
{
    step(scene, (struct event){.kind = EVENT_RAY_SEEN, .asked_at = scene->now});
}

static void see_all(struct scene *scene)
{
    see_ray(scene);
    list(scene, NULL, 0, true);
}

static void load(struct scene *scene, int64_t count)
{
    scene->demand.count = count;
    step(scene, (struct event){.kind = EVENT_RAY_LOAD,
                               .ray_load = {.demands = &scene->demand, .demand_count = 1}});
}

static void node(struct scene *scene, uint64_t instance, enum ray_status status, int64_t idle_since)
{
    const struct capacity *capacity = idle_since == NOT_IDLE ? &scene->full : &scene->free;
    step(scene, (struct event){.kind = EVENT_RAY_NODE,
                               .ray_node = {.instance = instance,
                                            .status = status,
                                            .idle_since = idle_since,
                                            .capacities = capacity,
                                            .capacity_count = 1}});
}

static void tick(struct scene *scene)
{
    step(scene, (struct event){.kind = EVENT_TICK});
}

static void launch_reply(struct scene *scene, uint64_t launch, enum outcome outcome)
{
    step(scene, (struct event){.kind = EVENT_LAUNCH_REPLY,
                               .launch_reply = {.launch = launch, .outcome = outcome}});
}

static void launched(struct scene *scene, uint64_t launch, uint64_t instance)
{
    step(scene, (struct event){.kind = EVENT_LAUNCHED,
                               .launched = {.launch = launch, .instance = instance}});
}

static enum node_state state_of(struct scene *scene, uint64_t instance)
{
    const struct node *it = core_find(scene->core, instance);
    return it ? (enum node_state)it->state : NODE_GONE;
}

/* The only action of the last answer. */
static const struct action *only(struct scene *scene, enum action_kind kind)
{
    assert_int_equal(scene->answer.action_count, 1);
    assert_int_equal(scene->answer.actions[0].kind, kind);
    return &scene->answer.actions[0];
}

static void nothing(struct scene *scene)
{
    assert_int_equal(scene->answer.action_count, 0);
}

static void open_scene(struct scene *scene)
{
    *scene = (struct scene){.now = 1000 * SECOND};
    arena_init(&scene->arena);
    arena_init(&scene->scratch);
    names_init(&scene->names, &scene->arena);
    uint32_t cpu = names_add(&scene->names, STR("CPU"));
    scene->capacity = (struct capacity){cpu, 40000, 0};
    scene->free = (struct capacity){cpu, 40000, 40000};
    scene->full = (struct capacity){cpu, 40000, 0};
    scene->type = (struct plan_type){.name = STR("worker"),
                                     .max_nodes = 3,
                                     .capacities = &scene->capacity,
                                     .capacity_count = 1,
                                     .idle_timeout_ms = PLAN_NO_LIMIT,
                                     .launch_hash = NAME_NONE,
                                     .recoverable = 1.0,
                                     .availability = 1.0};
    scene->offerings[0] = (struct offering){.zone = names_add(&scene->names, STR("a"))};
    scene->offerings[1] = (struct offering){.zone = names_add(&scene->names, STR("b"))};
    scene->settings = (struct core_settings){.names = &scene->names,
                                             .types = &scene->type,
                                             .type_count = 1,
                                             .offerings = scene->offerings,
                                             .offering_count = 2,
                                             .max_workers = 3,
                                             .max_price = PLAN_NO_LIMIT,
                                             .idle_timeout = 5 * MINUTE,
                                             .upscaling_permille = PLAN_NO_LIMIT,
                                             .max_per_call = 100,
                                             .node_capacity = 16};
    core_times_default(&scene->settings.times);
    scene->amount = (struct amount){cpu, 40000};
    scene->demand = (struct demand){.request = {.amounts = &scene->amount, .amount_count = 1}};
    scene->core = core_new(&scene->settings, &scene->arena);
}

static void start(struct scene *scene)
{
    step(scene, (struct event){.kind = EVENT_START});
    lease(scene, 1);
    step(scene, (struct event){.kind = EVENT_RECORDS_END, .reign = 1});
    see_all(scene);
}

static void close_scene(struct scene *scene)
{
    arena_clear(&scene->arena);
    arena_clear(&scene->scratch);
}

/* Brings instance 7 of a new launch into Ray. */
static void bring_up(struct scene *scene)
{
    load(scene, 1);
    tick(scene);
    uint64_t launch = only(scene, ACTION_LAUNCH)->launch;
    launched(scene, launch, 7);
    launch_reply(scene, launch, OUTCOME_DONE);
    list_one(scene, 7, launch);
    tick(scene);
    only(scene, ACTION_SET_UP);
    node(scene, 7, RAY_ALIVE, NOT_IDLE);
    load(scene, 0);
    see_ray(scene);
}

static void test_asks_for_all_at_once_and_not_twice(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 2);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    assert_int_equal(scene.answer.actions[0].count_by_cause[LAUNCH_DEMAND], 2);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

static void test_limits_count_launches_without_an_answer(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 2);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    load(&scene, 50);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    close_scene(&scene);
}

static void test_a_lost_answer_is_asked_for_again_as_the_same_launch(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launch_reply(&scene, launch, OUTCOME_UNKNOWN);
    tick(&scene);
    nothing(&scene); /* not at once */
    scene.now += 2 * SECOND;
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    assert_int_equal(scene.answer.actions[0].offering, 0);
    assert_int_equal(scene.answer.actions[0].reason.kind, REASON_REPEATED);
    close_scene(&scene);
}

static void test_a_refusal_tries_the_next_zone_at_once(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launch_reply(&scene, launch, OUTCOME_CAPACITY);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->offering, 1);
    assert_int_not_equal(scene.answer.actions[0].launch, launch);
    close_scene(&scene);
}

static void test_nothing_without_a_lease(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    step(&scene, (struct event){.kind = EVENT_LEASE, .lease = {.epoch = 1, .until = 0}});
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.launching, STANCE_NO_LEASE);
    close_scene(&scene);
}

static void test_an_idle_node_ends_only_with_its_consent(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    scene.now += 2 * MINUTE;
    node(&scene, 7, RAY_ALIVE, scene.now);
    scene.now += 6 * MINUTE;
    see_ray(&scene);
    list_one(&scene, 7, 1);
    tick(&scene);
    assert_true(only(&scene, ACTION_DRAIN)->is_rejectable);
    step(&scene, (struct event){.kind = EVENT_DRAIN_REPLY,
                                .drain_reply = {.instance = 7, .answer = DRAIN_UNKNOWN}});
    tick(&scene);
    nothing(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_IDLE);
    scene.now += 11 * SECOND;
    tick(&scene);
    only(&scene, ACTION_DRAIN);
    step(&scene, (struct event){.kind = EVENT_DRAIN_REPLY,
                                .drain_reply = {.instance = 7, .answer = DRAIN_ACCEPTED}});
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_IDLE);
    close_scene(&scene);
}

static void test_nothing_ends_while_ray_is_out_of_sight(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    node(&scene, 7, RAY_ALIVE, scene.now);
    see_ray(&scene);
    scene.now += 20 * MINUTE;
    list_one(&scene, 7, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.ending, STANCE_NO_LISTING);
    close_scene(&scene);
}

static void test_absence_counts_after_the_horizon_and_from_a_complete_listing(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    scene.now += 1 * MINUTE;
    see_all(&scene); /* does not show 7 */
    assert_int_equal(state_of(&scene, 7), NODE_READY);
    scene.now += 5 * MINUTE;
    list(&scene, NULL, 0, false);
    assert_int_equal(state_of(&scene, 7), NODE_READY);
    see_all(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_GONE);
    close_scene(&scene);
}

static void test_a_notice_brings_a_replacement_from_elsewhere_at_once(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.type.min_nodes = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    bring_up(&scene);
    step(&scene, (struct event){.kind = EVENT_NOTICE,
                                .notice = {.instance = 7, .until = scene.now + 2 * MINUTE}});
    tick(&scene);
    assert_int_equal(scene.answer.action_count, 2);
    const struct action *drain = &scene.answer.actions[0];
    const struct action *launch = &scene.answer.actions[1];
    assert_int_equal(drain->kind, ACTION_DRAIN);
    assert_false(drain->is_rejectable);
    assert_int_equal(launch->kind, ACTION_LAUNCH);
    assert_int_equal(launch->offering, 1);
    close_scene(&scene);
}

/* A drain that nobody ordered is the notice; with nothing else to be had, the same is asked. */
static void test_a_drain_by_others_brings_a_replacement_at_once(void **state)
{
    for (size_t offerings = 1; offerings <= 2; offerings++) {
        struct scene scene;
        (void)state;
        open_scene(&scene);
        scene.type.min_nodes = 1;
        scene.offerings[0].market = MARKET_SPOT;
        scene.settings.offering_count = offerings;
        scene.core = core_new(&scene.settings, &scene.arena);
        start(&scene);
        bring_up(&scene);
        node(&scene, 7, RAY_DRAINING, NOT_IDLE);
        see_ray(&scene);
        tick(&scene);
        assert_int_equal(only(&scene, ACTION_LAUNCH)->offering, offerings - 1);
        assert_int_equal(state_of(&scene, 7), NODE_DRAINING);
        scene.now += 2 * MINUTE;
        list_one(&scene, 7, 0);
        node(&scene, 7, RAY_DEAD, NOT_IDLE);
        see_ray(&scene);
        assert_int_equal(core_find(scene.core, 7)->reason.kind, REASON_NOTICE);
        tick(&scene);
        assert_int_equal(state_of(&scene, 7), NODE_TERMINATING);
        close_scene(&scene);
    }
}

static void work_and_rest(struct scene *scene)
{
    scene->settings.idle_timeout = 6 * SECOND;
    scene->core = core_new(&scene->settings, &scene->arena);
    start(scene);
    scene->now += 2 * MINUTE;
    see_all(scene);
    bring_up(scene);
    scene->now += SECOND;
    node(scene, 7, RAY_ALIVE, scene->now);
    see_ray(scene);
    scene->now += 7 * SECOND;
    see_ray(scene);
    tick(scene);
}

static void test_who_has_worked_may_go_as_soon_as_it_is_idle_for_long(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    work_and_rest(&scene);
    assert_true(only(&scene, ACTION_DRAIN)->is_rejectable);
    /* Its raylet exits, and that is seen before its answer. */
    node(&scene, 7, RAY_DEAD, NOT_IDLE);
    assert_int_equal(core_find(scene.core, 7)->reason.kind, REASON_IDLE);
    close_scene(&scene);
}

static void test_after_ray_began_anew_nothing_ends_for_a_while(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.idle_timeout = 6 * SECOND;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    scene.now += 2 * MINUTE;
    see_all(&scene);
    bring_up(&scene);
    node(&scene, 7, RAY_ALIVE, scene.now);
    step(&scene, (struct event){.kind = EVENT_RAY_ANEW});
    for (int64_t waited = 0; waited < scene.settings.times.quiet_start; waited += SECOND) {
        see_ray(&scene);
        tick(&scene);
        nothing(&scene);
        scene.now += SECOND;
    }
    see_ray(&scene);
    tick(&scene);
    only(&scene, ACTION_DRAIN);
    close_scene(&scene);
}

static void test_a_type_of_unknown_price_is_not_launched_under_a_limit(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_price = 1000000;
    scene.offerings[0].price = scene.offerings[1].price = PRICE_UNKNOWN;
    scene.type.min_nodes = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_true(scene.answer.is_decision);
    assert_int_equal(scene.answer.plan.unmet_count, 1);
    assert_int_equal(scene.answer.plan.unmet[0].refusal.cause, REFUSED_PRICE_UNKNOWN);
    assert_int_equal(scene.answer.hold_count, 1);
    assert_int_equal(scene.answer.holds[0].cause, HOLD_PRICE_UNKNOWN);
    close_scene(&scene);
}

static void test_what_is_not_launched_says_why(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_price = 1500000;
    scene.offerings[0].price = 1000000;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    load(&scene, 2);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    assert_int_equal(scene.answer.hold_count, 1);
    assert_int_equal(scene.answer.holds[0].cause, HOLD_PRICE);
    assert_int_equal(scene.answer.holds[0].count, 1);
    close_scene(&scene);
}

static void test_a_refused_type_is_named_as_such(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.offering_count = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    launch_reply(&scene, only(&scene, ACTION_LAUNCH)->launch, OUTCOME_CAPACITY);
    tick(&scene);
    assert_int_equal(scene.answer.plan.unmet_count, 1);
    assert_int_equal(scene.answer.plan.unmet[0].refusal.cause, REFUSED_UNAVAILABLE);
    assert_true(scene.answer.plan.unmet[0].refusal.limit >= 2 * MINUTE);
    close_scene(&scene);
}

/* What runs there is no demand yet, and a place takes longer to come than the notice lasts. */
static void test_what_runs_on_a_machine_that_is_taken_gets_a_place_at_once(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    tick(&scene);
    nothing(&scene);
    node(&scene, 7, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    const struct action *launch = only(&scene, ACTION_LAUNCH);
    assert_int_equal(launch->count, 1);
    assert_int_equal(scene.answer.plan.unmet_count, 0);
    launched(&scene, launch->launch, 8);
    node(&scene, 8, RAY_ALIVE, scene.now);
    see_ray(&scene);
    tick(&scene);
    for (size_t i = 0; i < scene.answer.action_count; i++) {
        assert_int_not_equal(scene.answer.actions[i].kind, ACTION_LAUNCH);
    }
    close_scene(&scene);
}

static void test_nothing_comes_for_a_machine_that_is_taken_while_it_has_no_work(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    scene.full.free = scene.full.total;
    node(&scene, 7, RAY_DRAINING, NOT_IDLE); /* Ray does not say how long a draining one is idle */
    see_ray(&scene);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

/* No place for it, and nobody is told of a demand that Ray does not know. */
static void test_limits_hold_for_replacements(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.max_workers = 1;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    bring_up(&scene);
    node(&scene, 7, RAY_DRAINING, NOT_IDLE);
    see_ray(&scene);
    tick(&scene);
    nothing(&scene);
    assert_true(scene.answer.is_decision);
    assert_int_equal(scene.answer.plan.unmet_count, 0);
    close_scene(&scene);
}

/* After a restart Ray says it before the cloud does, or while it is still to be set up again. */
static void test_a_drain_of_others_is_seen_after_a_restart(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    node(&scene, 9, RAY_DRAINING, NOT_IDLE);
    list_one(&scene, 9, 0);
    assert_int_equal(state_of(&scene, 9), NODE_DRAINING);
    struct listed both[] = {{.instance = 9, .state = CLOUD_RUNNING},
                            {.instance = 10, .state = CLOUD_RUNNING}};
    list(&scene, both, 2, true);
    assert_int_equal(state_of(&scene, 10), NODE_BOOTING);
    node(&scene, 10, RAY_DRAINING, NOT_IDLE);
    assert_int_equal(state_of(&scene, 10), NODE_DRAINING);
    close_scene(&scene);
}

static void test_a_take_over_waits_for_a_listing_that_shows_everything(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    step(&scene, (struct event){.kind = EVENT_START});
    lease(&scene, 5);
    step(&scene, (struct event){.kind = EVENT_RECORDS_END, .reign = 5});
    see_all(&scene);
    load(&scene, 1);
    tick(&scene);
    nothing(&scene);
    assert_int_equal(scene.answer.launching, STANCE_NO_LISTING);
    scene.now += scene.settings.times.horizon + scene.settings.times.call_timeout;
    see_all(&scene);
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

static void test_records_of_an_earlier_run_are_taken_up(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    step(&scene, (struct event){.kind = EVENT_START});
    uint64_t launch = (uint64_t)1 << 32 | 4;
    step(&scene, (struct event){.kind = EVENT_INTENT, .intent = {.launch = launch, .count = 2}});
    lease(&scene, 2);
    step(&scene, (struct event){.kind = EVENT_RECORDS_END, .reign = 1});
    see_all(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    assert_int_equal(scene.answer.actions[0].count, 2);
    /* A refusal is not the last word: the call of the earlier run may be under way. */
    launch_reply(&scene, launch, OUTCOME_CAPACITY);
    load(&scene, 3);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    assert_int_equal(scene.answer.actions[0].offering, 1);
    scene.now += scene.settings.times.call_timeout;
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    close_scene(&scene);
}

static void test_down_ends_everything(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    step(&scene, (struct event){.kind = EVENT_GOAL, .goal = GOAL_DOWN});
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_DOWN);
    step(&scene, (struct event){.kind = EVENT_TERMINATE_REPLY,
                                .terminate_reply = {.instance = 7, .outcome = OUTCOME_DONE}});
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

static void test_only_a_written_upscaling_speed_makes_a_ramp(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.upscaling_permille = 1000;
    start(&scene);
    load(&scene, 3);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 1);
    close_scene(&scene);
}

static void test_no_ramp_for_what_was_asked_for_outright(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.upscaling_permille = 250;
    scene.type.min_nodes = 2;
    start(&scene);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    close_scene(&scene);
}

static void test_a_head_of_the_same_type_takes_no_worker_away(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.head_instance = HEAD;
    scene.core = core_new(&scene.settings, &scene.arena);
    start(&scene);
    node(&scene, HEAD, RAY_ALIVE, NOT_IDLE);
    load(&scene, 9);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 3);
    close_scene(&scene);
}

static void test_the_price_limit_is_never_passed(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.offerings[0].price = 400000;
    scene.offerings[1].price = PRICE_UNKNOWN;
    scene.settings.max_price = 900000;
    start(&scene);
    load(&scene, 3);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    /* What it would cost elsewhere nobody knows, so it is not asked for. */
    launch_reply(&scene, scene.answer.actions[0].launch, OUTCOME_CAPACITY);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

static void test_a_refused_type_opens_again_after_a_while(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    scene.settings.offering_count = 1;
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    launch_reply(&scene, only(&scene, ACTION_LAUNCH)->launch, OUTCOME_CAPACITY);
    tick(&scene);
    nothing(&scene);
    assert_in_range(scene.answer.wake_at, scene.now + 3 * MINUTE, scene.now + 4 * MINUTE);
    scene.now = scene.answer.wake_at;
    see_ray(&scene);
    tick(&scene);
    only(&scene, ACTION_LAUNCH);
    close_scene(&scene);
}

/* Found by the yard: the launch waited for the answer to the one call that was under way. */
static void test_a_launch_that_waited_for_a_probe_is_not_forgotten(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launch_reply(&scene, launch, OUTCOME_UNKNOWN);
    scene.now += 2 * SECOND;
    tick(&scene); /* the probe */
    assert_int_equal(only(&scene, ACTION_LAUNCH)->launch, launch);
    load(&scene, 2);
    tick(&scene);
    nothing(&scene);
    launch_reply(&scene, launch, OUTCOME_UNKNOWN);
    scene.now += 10 * SECOND;
    tick(&scene);
    launch_reply(&scene, only(&scene, ACTION_LAUNCH)->launch, OUTCOME_DONE);
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_LAUNCH)->count, 2);
    close_scene(&scene);
}

/* Found by the yard: given up here, then brought to life by another controller. */
static void test_an_old_verdict_does_not_outlive_a_reign(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    load(&scene, 1);
    tick(&scene);
    uint64_t launch = only(&scene, ACTION_LAUNCH)->launch;
    launched(&scene, launch, 7);
    launch_reply(&scene, launch, OUTCOME_DONE);
    list_one(&scene, 7, launch);
    tick(&scene);
    only(&scene, ACTION_SET_UP);
    scene.now += 20 * MINUTE; /* no word from its sshd */
    see_ray(&scene);
    list_one(&scene, 7, launch);
    tick(&scene);
    assert_int_equal(state_of(&scene, 7), NODE_TERMINATING);
    step(&scene, (struct event){.kind = EVENT_TERMINATE_REPLY,
                                .terminate_reply = {.instance = 7, .outcome = OUTCOME_THROTTLED}});
    node(&scene, 7, RAY_ALIVE, NOT_IDLE);
    assert_int_equal(state_of(&scene, 7), NODE_READY); /* in the same reign, too */
    close_scene(&scene);
}

static void test_a_take_over_asks_again_what_nodes_are(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    step(&scene, (struct event){.kind = EVENT_GOAL, .goal = GOAL_DOWN});
    tick(&scene);
    only(&scene, ACTION_TERMINATE);
    step(&scene, (struct event){.kind = EVENT_GOAL, .goal = GOAL_RUN});
    lease(&scene, 5);
    assert_int_equal(state_of(&scene, 7), NODE_READY);
    close_scene(&scene);
}

static void test_three_failed_set_ups_pause_a_type(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    scene.now += 2 * MINUTE; /* nothing ends right after a start */
    load(&scene, 1);
    for (uint64_t instance = 7; instance < 10; instance++) {
        see_all(&scene);
        tick(&scene);
        const struct action *action = &scene.answer.actions[scene.answer.action_count - 1];
        assert_int_equal(action->kind, ACTION_LAUNCH);
        uint64_t launch = action->launch;
        launched(&scene, launch, instance);
        launch_reply(&scene, launch, OUTCOME_DONE);
        list_one(&scene, instance, launch);
        tick(&scene);
        step(&scene,
             (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {instance, SETUP_FAILED}});
    }
    tick(&scene);
    assert_int_equal(only(&scene, ACTION_TERMINATE)->reason.kind, REASON_SETUP_FAILED);
    tick(&scene);
    nothing(&scene);
    close_scene(&scene);
}

/* Out of Ray because it is set up again: the time of a set-up, then that of joining. */
static void test_a_node_that_is_set_up_again_has_its_time(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    uint64_t instance = 7;
    bring_up(&scene);
    node(&scene, instance, RAY_ABSENT, NOT_IDLE);
    assert_int_equal(state_of(&scene, instance), NODE_SETTING_UP);
    step(&scene,
         (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {instance, SETUP_CONTACT}});
    scene.now += 25 * MINUTE;
    see_ray(&scene);
    tick(&scene);
    assert_int_equal(state_of(&scene, instance), NODE_SETTING_UP);
    step(&scene, (struct event){.kind = EVENT_SETUP_REPLY, .setup_reply = {instance, SETUP_DONE}});
    for (int64_t waited = 0; waited < 15 * MINUTE; waited += 20 * SECOND) {
        see_ray(&scene);
        tick(&scene);
        assert_int_equal(state_of(&scene, instance), NODE_SETTING_UP);
        scene.now += 20 * SECOND;
    }
    see_ray(&scene);
    tick(&scene);
    assert_int_not_equal(state_of(&scene, instance), NODE_SETTING_UP);
    close_scene(&scene);
}

static void test_a_tick_without_news_does_not_plan(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene);
    start(&scene);
    bring_up(&scene);
    tick(&scene);
    scene.now += 5 * SECOND;
    see_ray(&scene);
    tick(&scene);
    assert_false(scene.answer.is_decision);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asks_for_all_at_once_and_not_twice),
        cmocka_unit_test(test_limits_count_launches_without_an_answer),
        cmocka_unit_test(test_a_lost_answer_is_asked_for_again_as_the_same_launch),
        cmocka_unit_test(test_a_refusal_tries_the_next_zone_at_once),
        cmocka_unit_test(test_nothing_without_a_lease),
        cmocka_unit_test(test_an_idle_node_ends_only_with_its_consent),
        cmocka_unit_test(test_nothing_ends_while_ray_is_out_of_sight),
        cmocka_unit_test(test_absence_counts_after_the_horizon_and_from_a_complete_listing),
        cmocka_unit_test(test_a_notice_brings_a_replacement_from_elsewhere_at_once),
        cmocka_unit_test(test_a_drain_by_others_brings_a_replacement_at_once),
        cmocka_unit_test(test_what_runs_on_a_machine_that_is_taken_gets_a_place_at_once),
        cmocka_unit_test(test_nothing_comes_for_a_machine_that_is_taken_while_it_has_no_work),
        cmocka_unit_test(test_limits_hold_for_replacements),
        cmocka_unit_test(test_a_drain_of_others_is_seen_after_a_restart),
        cmocka_unit_test(test_who_has_worked_may_go_as_soon_as_it_is_idle_for_long),
        cmocka_unit_test(test_after_ray_began_anew_nothing_ends_for_a_while),
        cmocka_unit_test(test_a_type_of_unknown_price_is_not_launched_under_a_limit),
        cmocka_unit_test(test_what_is_not_launched_says_why),
        cmocka_unit_test(test_a_refused_type_is_named_as_such),
        cmocka_unit_test(test_a_take_over_waits_for_a_listing_that_shows_everything),
        cmocka_unit_test(test_records_of_an_earlier_run_are_taken_up),
        cmocka_unit_test(test_down_ends_everything),
        cmocka_unit_test(test_only_a_written_upscaling_speed_makes_a_ramp),
        cmocka_unit_test(test_no_ramp_for_what_was_asked_for_outright),
        cmocka_unit_test(test_a_head_of_the_same_type_takes_no_worker_away),
        cmocka_unit_test(test_the_price_limit_is_never_passed),
        cmocka_unit_test(test_a_refused_type_opens_again_after_a_while),
        cmocka_unit_test(test_a_launch_that_waited_for_a_probe_is_not_forgotten),
        cmocka_unit_test(test_an_old_verdict_does_not_outlive_a_reign),
        cmocka_unit_test(test_a_take_over_asks_again_what_nodes_are),
        cmocka_unit_test(test_three_failed_set_ups_pause_a_type),
        cmocka_unit_test(test_a_node_that_is_set_up_again_has_its_time),
        cmocka_unit_test(test_a_tick_without_news_does_not_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
