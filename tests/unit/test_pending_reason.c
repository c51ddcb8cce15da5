/* test_pending_reason.c: the causes and texts of pending requests. */
#include "app/head/explain/pending_reason.h"
#include "core/resource.h"
#include "unit.h"

enum { CPU, GPU, BOTH };

/* Two types: cpu with 4 CPUs, gpu with 4 CPUs and a GPU; at most 6 workers. */
struct scene {
    struct arena arena;
    struct names names;
    struct capacity capacities[2];
    struct plan_type types[2];
    struct core_settings settings;
    struct amount amounts[2];
    struct request requests[3]; /* {CPU: 4}, {GPU: 1}, both */
};

static int setup(void **state)
{
    static struct scene scene;
    scene = (struct scene){0};
    arena_init(&scene.arena);
    intern_init(&scene.names, &scene.arena);
    uint32_t cpu = intern_add(&scene.names, STR("CPU"));
    uint32_t gpu = intern_add(&scene.names, STR("GPU"));
    scene.capacities[0] = (struct capacity){cpu, 4 * RESOURCE_UNIT, 0};
    scene.capacities[1] = (struct capacity){gpu, 1 * RESOURCE_UNIT, 0};
    scene.types[0] = (struct plan_type){
        .name = STR("cpu"), .max_nodes = 5, .capacities = scene.capacities, .capacity_count = 1};
    scene.types[1] = (struct plan_type){
        .name = STR("gpu"), .max_nodes = 4, .capacities = scene.capacities, .capacity_count = 2};
    scene.settings = (struct core_settings){
        .names = &scene.names, .types = scene.types, .type_count = 2, .max_workers = 6};
    scene.amounts[0] = (struct amount){cpu, 4 * RESOURCE_UNIT};
    scene.amounts[1] = (struct amount){gpu, 1 * RESOURCE_UNIT};
    scene.requests[CPU] = (struct request){.amounts = scene.amounts, .amount_count = 1};
    scene.requests[GPU] = (struct request){.amounts = scene.amounts + 1, .amount_count = 1};
    scene.requests[BOTH] = (struct request){.amounts = scene.amounts, .amount_count = 2};
    *state = &scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    arena_clear(&scene->arena);
    return 0;
}

static void refusals_have_causes_and_words(void **state)
{
    struct scene *scene = *state;
    static const struct {
        enum refusal_cause cause;
        enum pending_cause meaning;
        const char *words;
    } rows[] = {
        {REFUSED_TOO_LARGE, CAUSE_TOO_LARGE,
         "1x GPU: no node type has that much; the largest is "
         "gpu with 1"},
        {REFUSED_COMBINATION, CAUSE_COMBINATION, "1x GPU: no single node type has all of it"},
        {REFUSED_LABELS, CAUSE_LABELS,
         "1x GPU: node types that are large enough, such as gpu, lack the labels"},
        /* A limit that is reduced by terminating instances is reported as in the file. */
        {REFUSED_TYPE_LIMIT, CAUSE_TYPE_LIMIT,
         "1x GPU: every node type that fits is at its max_workers (gpu: 4)"},
        {REFUSED_CLUSTER_LIMIT, CAUSE_CLUSTER_LIMIT,
         "1x GPU: the cluster is at its max_workers of 6"},
        {REFUSED_TOGETHER, CAUSE_TOGETHER,
         "1x GPU: each request fits alone, but the group does "
         "not fit at once"},
        {REFUSED_UNAVAILABLE, CAUSE_UNAVAILABLE,
         "1x GPU: gpu would fit, but cannot be launched now; next try in 3 ms (no capacity)"},
        {REFUSED_PRICE_UNKNOWN, CAUSE_PRICE_UNKNOWN,
         "1x GPU: gpu would fit, but its price is unknown and max_hourly_cost is set"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct refusal refusal = {.cause = rows[i].cause,
                                  .request = &scene->requests[GPU],
                                  .resource = scene->amounts[1].name,
                                  .wanted = RESOURCE_UNIT,
                                  .offered = RESOURCE_UNIT,
                                  .type = 1,
                                  .limit = 3};
        struct pending_reason why = pending_refused(&scene->settings, &refusal, "no capacity",
                                                    &scene->arena);
        assert_int_equal(why.cause, rows[i].meaning);
        assert_str(why.text, rows[i].words);
    }
}

static void holds_have_causes_and_words(void **state)
{
    struct scene *scene = *state;
    static const struct {
        enum hold_cause cause;
        enum pending_cause meaning;
        const char *words;
    } rows[] = {
        {HOLD_PERMISSION, CAUSE_PASSING,
         "launches are paused: this service does not hold the cluster lease"},
        {HOLD_UNAVAILABLE, CAUSE_UNAVAILABLE, "gpu cannot be launched now: no capacity"},
        {HOLD_ROOM, CAUSE_PASSING, "terminating instances still count against max_workers"},
        {HOLD_RAMP, CAUSE_RAMP,
         "upscaling_speed: more gpu nodes are launched after the pending ones have joined"},
        {HOLD_PRICE, CAUSE_PRICE, "another gpu would cost more than max_hourly_cost allows"},
        {HOLD_PRICE_UNKNOWN, CAUSE_PRICE_UNKNOWN,
         "the price of gpu is unknown and max_hourly_cost is set"},
        {HOLD_TROUBLE, CAUSE_PASSING, "waits for another launch, or for cloud API errors to end"},
        {HOLD_STOPPED, CAUSE_STOPPED,
         "gpu: no more launches after 3 failures; fix what failed (shoal explain shows it) and run "
         "shoal up"},
        {HOLD_TRIAL, CAUSE_PASSING,
         "the setup of a gpu node failed; no further nodes of this type are launched until one is "
         "set up"},
    };
    assert_int_equal(ARRAY_LEN(rows), HOLD_CAUSE_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hold hold = {.type = 1, .count = 2, .cause = rows[i].cause, .limit = 3};
        struct pending_reason why = pending_held(&scene->settings, &hold, PERMIT_NO_LEASE,
                                                 "no capacity", &scene->arena);
        assert_int_equal(why.cause, rows[i].meaning);
        assert_str(why.text, rows[i].words);
    }
    struct hold hold = {.type = 0, .cause = HOLD_UNAVAILABLE};
    assert_str(pending_held(&scene->settings, &hold, PERMIT_OK, "", &scene->arena).text,
               "cpu cannot be launched now");
}

/* A hold on a node type that does not fit the request says nothing about the request. */
static void the_hold_that_matters_is_told(void **state)
{
    struct scene *scene = *state;
    const struct hold holds[] = {{0, 1, HOLD_PRICE}, {1, 1, HOLD_RAMP}};
    static const enum pending_cause causes[] = {
        [CPU] = CAUSE_PRICE, [GPU] = CAUSE_RAMP, [BOTH] = CAUSE_RAMP};
    for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
        struct pending_reason why = pending_held_back(&scene->settings, &scene->requests[i], holds,
                                                      2, PERMIT_OK, "", &scene->arena);
        assert_int_equal(why.cause, causes[i]);
    }
    struct pending_reason none = pending_held_back(&scene->settings, &scene->requests[GPU], holds,
                                                   1, PERMIT_OK, "", &scene->arena);
    assert_int_equal(none.cause, CAUSE_NONE);
    assert_int_equal(none.text.len, 0);
}

static void what_fits_goes_by_totals(void **state)
{
    struct scene *scene = *state;
    struct amount nothing = {scene->amounts[1].name, 0};
    struct request without = {.amounts = &nothing, .amount_count = 1};
    assert_true(pending_fits(scene->capacities, 2, &scene->requests[BOTH]));
    assert_false(pending_fits(scene->capacities, 1, &scene->requests[BOTH]));
    assert_true(pending_fits(scene->capacities, 1, &without)); /* some zones have none */
    scene->amounts[0].amount++;
    assert_false(pending_fits(scene->capacities, 2, &scene->requests[CPU]));
    scene->amounts[0].amount--;
}

static void stances_in_words(void **state)
{
    (void)state;
    assert_string_equal(permission_text(PERMIT_OK, false), "");
    assert_string_equal(permission_text(PERMIT_NO_LISTING, false),
                        "the instances have not been listed yet");
    assert_string_equal(permission_text(PERMIT_NO_LISTING, true),
                        "no recent state from the cloud or from Ray");
    assert_string_equal(permission_text(PERMIT_QUIET, true), ""); /* normal at a start */
    assert_string_equal(permission_text(PERMIT_HEAD_FAILED, false), "the setup of the head failed");
    for (unsigned i = PERMIT_NOT_STARTED; i < PERMIT_QUIET; i++) {
        assert_true(permission_text((enum permission)i, true)[0] != '\0');
    }
}

static void the_load_in_words(void **state)
{
    struct scene *scene = *state;
    const struct demand demands[] = {{scene->requests[CPU], 2},
                                     {scene->requests[GPU], 9},
                                     {scene->requests[BOTH], 2},
                                     {scene->requests[CPU], 0},
                                     {scene->requests[GPU], 1}};
    struct ray_load load = {.demands = demands, .demand_count = 5};
    assert_str(pending_load_text(&scene->names, &load, &scene->arena),
               "9 x {GPU: 1}, 2 x {CPU: 4}, 2 x {CPU: 4, GPU: 1}");
    load = (struct ray_load){.demands = demands, .demand_count = 1, .gang_count = 1};
    assert_str(pending_load_text(&scene->names, &load, &scene->arena),
               "2 x {CPU: 4}, 1 placement group");
    load = (struct ray_load){.gang_count = 3};
    assert_str(pending_load_text(&scene->names, &load, &scene->arena), "3 placement groups");
    load = (struct ray_load){0};
    assert_int_equal(pending_load_text(&scene->names, &load, &scene->arena).len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(refusals_have_causes_and_words, setup, teardown),
        cmocka_unit_test_setup_teardown(holds_have_causes_and_words, setup, teardown),
        cmocka_unit_test_setup_teardown(the_hold_that_matters_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(what_fits_goes_by_totals, setup, teardown),
        cmocka_unit_test(stances_in_words),
        cmocka_unit_test_setup_teardown(the_load_in_words, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
