/* test_plan.c: small clusters whose plan can be checked by hand; tests/diff/test_plan.py
 * compares the planner with Ray on thousands of others. */
#include "plan_scene.h"

static struct str why_unmet(struct scene *scene)
{
    assert_int_equal(scene->plan.unmet_count, 1);
    return plan_reason_text(&scene->input, &scene->plan.unmet[0].refusal, &scene->arena);
}

/* ---- launching ----------------------------------------------------------------------------- */

static void nothing_asked_nothing_done(void **state)
{
    struct scene *scene = *state;
    const struct plan *plan = decide(scene);
    assert_int_equal(plan->launch_count + plan->end_count + plan->unmet_count, 0);
    add_type(scene, "cpu", 4, -1);
    assert_int_equal(decide(scene)->launch_count, 0);
}

static void free_room_is_used_before_launching(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    add_running(scene, cpu, 3);
    add_running(scene, cpu, 1);
    add_demand(scene, 9, 1, -1);
    decide(scene);
    assert_str(launches(scene), "cpu=2");
    assert_str(plan_launch_text(&scene->input, &scene->plan.launches[0], &scene->arena),
               "2x cpu: 2 for pending demand");
}

static void equal_types_take_turns(void **state)
{
    struct scene *scene = *state;
    add_type(scene, "b", 4, -1);
    add_type(scene, "a", 4, -1);
    add_demand(scene, 5, 4, -1);
    decide(scene);
    assert_str(launches(scene), "b=3 a=2");
}

static void gpu_nodes_are_kept_for_gpu_work(void **state)
{
    struct scene *scene = *state;
    add_type(scene, "gpu", 8, 1);
    add_type(scene, "cpu", 2, -1);
    add_demand(scene, 4, 1, -1);
    decide(scene);
    assert_str(launches(scene), "cpu=2");
    scene->input.conserves_gpus = false;
    decide(scene);
    assert_str(launches(scene), "cpu=2");
    add_demand(scene, 1, 1, 1);
    decide(scene);
    assert_str(launches(scene), "gpu=1");
}

static void min_nodes_are_launched_and_used(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    scene->types[cpu].min_nodes = 2;
    add_demand(scene, 3, 4, -1);
    decide(scene);
    assert_str(plan_launch_text(&scene->input, &scene->plan.launches[0], &scene->arena),
               "3x cpu: 2 to keep min_workers, 1 for pending demand");
}

static void pending_nodes_count_as_empty(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    scene->nodes[scene->input.node_count++] = (struct plan_node){.type = cpu,
                                                                 .launch_hash = NAME_NONE};
    add_demand(scene, 4, 1, -1);
    decide(scene);
    assert_int_equal(scene->plan.launch_count, 0);
}

static void the_constraint_is_held_against_totals(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    struct demand wanted = {request(scene, 4, -1), 2};
    add_running(scene, cpu, 0);
    scene->input.constraint = &wanted;
    scene->input.constraint_count = 1;
    decide(scene);
    assert_str(plan_launch_text(&scene->input, &scene->plan.launches[0], &scene->arena),
               "1x cpu: 1 for request_resources");
    wanted.count = 12;
    assert_true(decide(scene)->is_constraint_unmet);
    assert_int_equal(scene->plan.launch_count, 0);
    assert_str(plan_reason_text(&scene->input, &scene->plan.constraint_refusal, &scene->arena),
               "4x CPU: each request fits alone, but the group does not fit at once");
}

static void a_gang_is_placed_whole_or_not_at_all(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    add_running(scene, cpu, 4);
    add_spread_gang(scene, 3, 1);
    decide(scene);
    assert_str(launches(scene), "cpu=2");
    scene->types[cpu].max_nodes = 2;
    decide(scene);
    assert_int_equal(scene->plan.launch_count, 0);
    assert_int_equal(scene->plan.unmet_gang_count, 1);
    assert_str(plan_reason_text(&scene->input, &scene->plan.unmet_gangs[0].refusal, &scene->arena),
               "1x CPU, apart by _PG_1: each request fits alone, but the group does not fit at "
               "once");
}

/* ---- refusing ------------------------------------------------------------------------------ */

static void a_refusal_names_the_largest_type(void **state)
{
    struct scene *scene = *state;
    add_type(scene, "g5.xlarge", 4, 1);
    add_type(scene, "g5.12xlarge", 48, 4);
    add_demand(scene, 1, 1, 8);
    decide(scene);
    assert_str(why_unmet(scene), "8x GPU: no node type has that much; the largest is g5.12xlarge "
                                 "with 4");
}

static void a_refusal_tells_combination_from_size(void **state)
{
    struct scene *scene = *state;
    add_type(scene, "gpu", 4, 1);
    add_type(scene, "cpu", 64, -1);
    add_demand(scene, 2, 32, 1);
    decide(scene);
    assert_int_equal(scene->plan.unmet[0].count, 2);
    assert_str(why_unmet(scene), "32x CPU, 1x GPU: no single node type has all of it");
}

static void a_refusal_names_the_limit(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    add_demand(scene, 50, 4, -1);
    decide(scene);
    assert_str(launches(scene), "cpu=10");
    assert_str(why_unmet(scene), "4x CPU: every node type that fits is at its max_workers (cpu: "
                                 "10)");
    scene->types[cpu].max_nodes = 1000;
    scene->input.max_nodes = 20;
    decide(scene);
    assert_str(launches(scene), "cpu=20");
    assert_str(why_unmet(scene), "4x CPU: the cluster is at its limit of 20 nodes");
}

static void a_refusal_speaks_of_labels(void **state)
{
    struct scene *scene = *state;
    uint32_t value = intern_add(&scene->names, STR("eu"));
    struct label_rule rule = {intern_add(&scene->names, STR("zone")), LABEL_IN, &value, 1};
    struct label_selector selector = {&rule, 1};
    struct label label = {rule.key, value};
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    struct demand *demand = add_demand(scene, 1, 1, -1);
    demand->request.selectors = &selector;
    demand->request.selector_count = 1;
    decide(scene);
    assert_str(
        why_unmet(scene),
        "1x CPU with zone in (eu): node types that are large enough, such as cpu, lack the labels");
    scene->types[cpu].labels = (struct label_set){&label, 1};
    decide(scene);
    assert_str(launches(scene), "cpu=1");
}

/* ---- terminating --------------------------------------------------------------------------- */

static void idle_nodes_end_unless_needed(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    scene->input.idle_timeout_ms = 300000;
    add_running(scene, cpu, 4)->idle_ms = 400000;
    add_running(scene, cpu, 4)->idle_ms = 900000;
    add_running(scene, cpu, 4)->idle_ms = 300000;
    scene->types[cpu].min_nodes = 2;
    decide(scene);
    assert_int_equal(scene->plan.end_count, 1);
    assert_int_equal(scene->plan.ends[0].node, 1);
    assert_str(plan_end_text(&scene->input, &scene->plan.ends[0], &scene->arena),
               "cpu: idle for 900 s, longer than the limit of 300 s");
    add_demand(scene, 3, 4, -1);
    assert_int_equal(decide(scene)->end_count, 0);
}

static void too_many_nodes_end_but_never_the_head(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    add_running(scene, cpu, 4)->is_head = true;
    add_running(scene, cpu, 1);
    add_running(scene, cpu, 2);
    scene->input.max_nodes = 2;
    decide(scene);
    assert_int_equal(scene->plan.end_count, 1);
    assert_int_equal(scene->plan.ends[0].node, 2);
    assert_int_equal(scene->plan.ends[0].cause, END_MAX_NODES);
    scene->types[cpu].max_nodes = 0;
    decide(scene);
    assert_int_equal(scene->plan.end_count, 2);
    assert_str(plan_end_text(&scene->input, &scene->plan.ends[0], &scene->arena),
               "cpu: more nodes than its max_workers of 0");
}

static void outdated_nodes_end_when_asked(void **state)
{
    struct scene *scene = *state;
    uint32_t cpu = add_type(scene, "cpu", 4, -1);
    scene->types[cpu].launch_hash = intern_add(&scene->names, STR("new"));
    add_running(scene, cpu, 4)->launch_hash = intern_add(&scene->names, STR("old"));
    add_running(scene, cpu, 4)->launch_hash = scene->types[cpu].launch_hash;
    assert_int_equal(decide(scene)->end_count, 0);
    scene->input.checks_launch_hash = true;
    assert_int_equal(decide(scene)->end_count, 1);
    assert_int_equal(scene->plan.ends[0].node, 0);
    assert_int_equal(scene->plan.ends[0].cause, END_OUTDATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(nothing_asked_nothing_done),
        PLAN_TEST(free_room_is_used_before_launching),
        PLAN_TEST(equal_types_take_turns),
        PLAN_TEST(gpu_nodes_are_kept_for_gpu_work),
        PLAN_TEST(min_nodes_are_launched_and_used),
        PLAN_TEST(pending_nodes_count_as_empty),
        PLAN_TEST(the_constraint_is_held_against_totals),
        PLAN_TEST(a_gang_is_placed_whole_or_not_at_all),
        PLAN_TEST(a_refusal_names_the_largest_type),
        PLAN_TEST(a_refusal_tells_combination_from_size),
        PLAN_TEST(a_refusal_names_the_limit),
        PLAN_TEST(a_refusal_speaks_of_labels),
        PLAN_TEST(idle_nodes_end_unless_needed),
        PLAN_TEST(too_many_nodes_end_but_never_the_head),
        PLAN_TEST(outdated_nodes_end_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
