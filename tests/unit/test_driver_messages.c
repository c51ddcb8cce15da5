/* test_driver_messages.c: messages to drivers, in Ray's words. */
#include "app/head/ray/driver_messages.h"
#include "base/buf.h"
#include "core/resource.h"
#include "unit.h"

enum { TOLD_BEFORE = 90 };

/* The node types head, cpu with 4 CPUs and gpu with 4 CPUs and a GPU, each in one zone. */
struct scene {
    struct arena arena;
    struct names names;
    struct capacity capacities[2];
    struct plan_type types[3];
    struct type_facts facts[3];
    struct offering offerings[3];
    struct core_settings settings;
    struct action actions[8];
    size_t action_count;
    struct buf told;
};

static bool is_told(void *context, uint64_t instance)
{
    (void)context;
    return instance == TOLD_BEFORE;
}

static void take(void *context, struct str line)
{
    struct scene *scene = context;
    buf_addf(&scene->told, "%.*s\n", STR_ARG(line));
}

static int setup(void **state)
{
    static const char *const names[] = {"head", "cpu", "gpu"};
    static struct scene scene;
    scene = (struct scene){0};
    arena_init(&scene.arena);
    buf_init(&scene.told, 4096);
    intern_init(&scene.names, &scene.arena);
    uint32_t cpu = intern_add(&scene.names, STR("CPU"));
    uint32_t gpu = intern_add(&scene.names, STR("GPU"));
    scene.capacities[0] = (struct capacity){cpu, 4 * RESOURCE_UNIT, 0};
    scene.capacities[1] = (struct capacity){gpu, 1 * RESOURCE_UNIT, 0};
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
        scene.facts[i].name = str_from(names[i]);
        scene.types[i] = (struct plan_type){
            .name = str_from(names[i]), .capacities = scene.capacities, .capacity_count = i};
        scene.offerings[i].type = i;
    }
    scene.settings = (struct core_settings){.names = &scene.names,
                                            .types = scene.types,
                                            .type_count = 3,
                                            .offerings = scene.offerings,
                                            .offering_count = 3};
    *state = &scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    buf_clear(&scene->told);
    arena_clear(&scene->arena);
    return 0;
}

static struct action *add(struct scene *scene, enum action_kind kind, enum reason_kind reason,
                          uint32_t offering)
{
    struct action *action = &scene->actions[scene->action_count++];
    *action = (struct action){
        .kind = kind, .reason = {.kind = (uint8_t)reason}, .offering = offering};
    action->instance = 10 + scene->action_count;
    return action;
}

/* All lines about added nodes. */
static const char *tell(struct scene *scene, bool is_any)
{
    struct driver_scene drivers = {.settings = &scene->settings,
                                   .facts = scene->facts,
                                   .is_told = is_told,
                                   .take = take,
                                   .context = scene};
    struct core_answer answer = {.actions = scene->actions, .action_count = scene->action_count};
    assert_int_equal(driver_lines(&drivers, &answer, &scene->arena), is_any);
    buf_add_char(&scene->told, '\0');
    return scene->told.ptr;
}

static void launches_of_a_type_are_one_line(void **state)
{
    struct scene *scene = *state;
    add(scene, ACTION_LAUNCH, REASON_NEEDED, 2)->count = 3;
    add(scene, ACTION_LAUNCH, REASON_NEEDED, 1)->count = 1;
    add(scene, ACTION_LAUNCH, REASON_NEEDED, 1)->count = 4;
    add(scene, ACTION_LAUNCH, REASON_REPEATED, 1)->count = 7; /* it was reported */
    assert_string_equal(tell(scene, true), "Adding 5 node(s) of type cpu.\n"
                                           "Adding 3 node(s) of type gpu.\n");
}

static void ends_are_told_by_type_and_reason(void **state)
{
    struct scene *scene = *state;
    add(scene, ACTION_TERMINATE, REASON_IDLE, 1);
    add(scene, ACTION_TERMINATE, REASON_TYPE_LIMIT, 1);
    add(scene, ACTION_TERMINATE, REASON_IDLE, 1);
    add(scene, ACTION_TERMINATE, REASON_IDLE, 1)->instance = TOLD_BEFORE;
    add(scene, ACTION_TERMINATE, REASON_CLUSTER_LIMIT, 2);
    add(scene, ACTION_TERMINATE, REASON_OUTDATED, 2);
    assert_string_equal(
        tell(scene, true),
        "Removing 2 nodes of type cpu (idle).\n"
        "Removing 1 nodes of type cpu (max number of worker nodes per type reached).\n"
        "Removing 1 nodes of type gpu (outdated).\n"
        "Removing 1 nodes of type gpu (max number of worker nodes reached).\n");
}

/* Ray's own autoscaler says nothing about those either. */
static void of_the_rest_nothing_is_said(void **state)
{
    struct scene *scene = *state;
    add(scene, ACTION_TERMINATE, REASON_SETUP_FAILED, 1);
    add(scene, ACTION_TERMINATE, REASON_NOTICE, 1);
    add(scene, ACTION_TERMINATE, REASON_DOWN, 1);
    add(scene, ACTION_DRAIN, REASON_IDLE, 1);
    add(scene, ACTION_SET_UP, REASON_CLOUD_RUNS_IT, 1);
    assert_string_equal(tell(scene, false), "");
}

static void the_size_counts_what_is_there_and_what_comes(void **state)
{
    struct scene *scene = *state;
    struct capacity seen = {scene->capacities[0].name, 16 * RESOURCE_UNIT, 0};
    struct node nodes[] = {
        {.state = NODE_READY, .offering = 1, .capacities = &seen, .capacity_count = 1},
        {.state = NODE_REQUESTED, .offering = 1},
        {.state = NODE_TERMINATING, .offering = 1},
        {.state = NODE_DRAINING, .offering = 1},
        {.state = NODE_IDLE, .offering = 77}, /* no longer in this file */
    };
    struct driver_size size;
    driver_size_begin(&size, &scene->settings);
    assert_str(driver_size_line(&size, &scene->arena), "Resized to 0 CPUs.");
    driver_size_add(&size, &(struct node){.state = NODE_READY}, true);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        driver_size_add(&size, &nodes[i], false);
    }
    assert_str(driver_size_line(&size, &scene->arena), "Resized to 20 CPUs.");
    driver_size_add(&size, &(struct node){.state = NODE_BOOTING, .offering = 2}, false);
    assert_str(driver_size_line(&size, &scene->arena), "Resized to 24 CPUs, 1 GPUs.");
}

static void what_can_run_nowhere(void **state)
{
    struct scene *scene = *state;
    struct pending_demand demand = {.shape = STR("{GPU: 8}"),
                                    .count = 2,
                                    .why = STR("no node type has that much; the largest is gpu "
                                               "with 1")};
    assert_str(driver_infeasible_line(&demand, &scene->arena),
               "No available node types can fulfill resource requests {GPU: 8}*2: no node type "
               "has that much; the largest is gpu with 1. Add suitable node types to this cluster "
               "to resolve this issue.");
    demand.source = DEMAND_PLACEMENT_GROUP;
    demand.labels = STR("zone in (a)");
    demand.count = 1;
    demand.why = STR("no");
    assert_str(driver_infeasible_line(&demand, &scene->arena),
               "No available node types can fulfill placement group requests {GPU: 8}*1 with "
               "labels zone in (a): no. Add suitable node types to this cluster to resolve this "
               "issue.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launches_of_a_type_are_one_line, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_are_told_by_type_and_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(of_the_rest_nothing_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(the_size_counts_what_is_there_and_what_comes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_can_run_nowhere, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
