/* test_price.c: small clusters whose cheapest launches are obvious; tests/diff/test_cost.py
 * compares the strategy with a proven bound on others. */
#include "plan_scene.h"

static const int64_t dollar = 1000000;

static uint32_t add_priced(struct scene *scene, const char *name, int64_t cpus, int64_t price)
{
    uint32_t type = add_type(scene, name, cpus, -1);
    scene->types[type].price = price;
    return type;
}

static struct str by_price(struct scene *scene)
{
    scene->input.strategy = PLAN_PRICE;
    scene->input.work_budget = PLAN_WORK_DEFAULT;
    decide(scene);
    return launches(scene);
}

static struct str as_ray(struct scene *scene)
{
    scene->input.strategy = PLAN_RAY;
    decide(scene);
    return launches(scene);
}

/* How many requests the plan says it has placed. */
static int64_t placed_count(const struct plan *plan)
{
    int64_t count = 0;
    for (size_t i = 0; i < plan->place_count; i++) {
        for (size_t j = 0; j < plan->places[i].placed_count; j++) {
            count += plan->places[i].times * plan->places[i].placed[j].count;
        }
    }
    return count;
}

static struct placement *apart(struct scene *scene, const char *key)
{
    struct placement *placement = ARENA_NEW(&scene->arena, struct placement);
    placement->kind = PLACEMENT_ANTI_AFFINITY;
    placement->label.key = intern_add(&scene->names, str_from(key));
    placement->label.value = intern_add(&scene->names, STR(""));
    return placement;
}

/* A selector of one rule with one value. */
static struct label_selector *selector(struct scene *scene, const char *key, const char *value)
{
    uint32_t *values = ARENA_NEW(&scene->arena, uint32_t);
    struct label_rule *rule = ARENA_NEW(&scene->arena, struct label_rule);
    struct label_selector *made = ARENA_NEW(&scene->arena, struct label_selector);
    *values = intern_add(&scene->names, str_from(value));
    *rule = (struct label_rule){intern_add(&scene->names, str_from(key)), LABEL_IN, values, 1};
    *made = (struct label_selector){rule, 1};
    return made;
}

/* ---- choosing ------------------------------------------------------------------------------ */

static void the_cheaper_mix_is_launched(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, 384000);
    add_priced(scene, "small", 4, 100000);
    add_demand(scene, 8, 1, -1);
    assert_str(as_ray(scene), "big=1");
    assert_str(by_price(scene), "small=2");
    assert_int_equal(scene->plan.saving, 184000);
    assert_int_equal(scene->plan.launches[0].price, 200000);
    assert_int_equal(placed_count(&scene->plan), 8);
    assert_str(plan_launch_text(&scene->input, &scene->plan.launches[0], &scene->arena),
               "2x small at $0.10/h: 2 for pending demand; all launches together cost $0.184/h "
               "less than with Ray's planner");
}

static void rays_launches_stay_when_nothing_is_cheaper(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, 2 * dollar);
    add_priced(scene, "small", 4, dollar);
    add_demand(scene, 8, 1, -1);
    assert_str(by_price(scene), "big=1");
    assert_int_equal(scene->plan.saving, 0);
    assert_int_equal(placed_count(&scene->plan), 8);
    assert_str(plan_launch_text(&scene->input, &scene->plan.launches[0], &scene->arena),
               "1x big at $2.00/h: 1 for pending demand");
}

static void without_work_it_is_rays_plan(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, 9 * dollar);
    add_priced(scene, "small", 4, dollar);
    add_demand(scene, 8, 1, -1);
    scene->input.strategy = PLAN_PRICE;
    scene->input.work_budget = 0;
    decide(scene);
    assert_str(launches(scene), "big=1");
    scene->input.work_budget = PLAN_NO_LIMIT;
    decide(scene);
    assert_str(launches(scene), "small=2");
    scene->input.work_budget = 1;
    assert_int_equal(decide(scene)->unmet_count, 0);
}

static void the_last_node_is_no_larger_than_needed(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 16, 1600000);
    add_priced(scene, "small", 2, 210000);
    add_demand(scene, 17, 1, -1);
    assert_str(by_price(scene), "big=1 small=1");
}

static void an_unknown_price_is_never_chosen(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, 9 * dollar);
    add_priced(scene, "mystery", 4, PRICE_UNKNOWN);
    add_demand(scene, 8, 1, -1);
    assert_str(by_price(scene), "big=1");
}

static void an_unknown_price_that_ray_chooses_stays(void **state)
{
    struct scene *scene = *state;
    uint32_t mystery = add_priced(scene, "mystery", 8, PRICE_UNKNOWN);
    add_priced(scene, "big", 6, 3 * dollar);
    add_priced(scene, "small", 3, dollar);
    scene->types[mystery].max_nodes = 1;
    add_demand(scene, 14, 1, -1);
    assert_str(as_ray(scene), "mystery=1 big=1");
    assert_str(by_price(scene), "mystery=1 small=2");
    assert_int_equal(placed_count(&scene->plan), 14);
    assert_str(plan_launch_text(&scene->input, &scene->plan.launches[0], &scene->arena),
               "1x mystery at an unknown price: 1 for pending demand; all launches together cost "
               "$1.00/h less than with Ray's planner");
}

static void what_costs_nothing_is_taken(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, dollar);
    uint32_t ours = add_priced(scene, "ours", 2, 0);
    scene->types[ours].max_nodes = 4;
    add_demand(scene, 8, 1, -1);
    assert_str(by_price(scene), "ours=4");
    scene->types[ours].max_nodes = 3;
    assert_str(by_price(scene), "big=1");
}

/* ---- limits and rules ---------------------------------------------------------------------- */

static void limits_hold(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, 9 * dollar);
    uint32_t small = add_priced(scene, "small", 4, dollar);
    add_demand(scene, 8, 1, -1);
    scene->types[small].max_nodes = 1;
    assert_str(by_price(scene), "big=1");
    scene->types[small].max_nodes = 9;
    scene->input.max_nodes = 1;
    assert_str(by_price(scene), "big=1");
    scene->input.max_nodes = 2;
    assert_str(by_price(scene), "small=2");
    scene->types[small].is_gone = true;
    assert_str(by_price(scene), "big=1");
}

static void min_workers_stay(void **state)
{
    struct scene *scene = *state;
    uint32_t big = add_priced(scene, "big", 8, 9 * dollar);
    add_priced(scene, "small", 4, dollar);
    scene->types[big].min_nodes = 1;
    add_demand(scene, 16, 1, -1);
    assert_str(by_price(scene), "big=1 small=2");
    assert_str(plan_launch_text(&scene->input, &scene->plan.launches[0], &scene->arena),
               "1x big at $9.00/h: 1 to keep min_workers; all launches together cost $7.00/h less "
               "than with Ray's planner");
}

static void a_spread_gang_stays_spread(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, 800000);
    add_priced(scene, "tiny", 1, 200000);
    add_spread_gang(scene, 3, 1);
    add_demand(scene, 5, 1, -1);
    by_price(scene);
    int64_t nodes = 0;
    for (size_t i = 0; i < scene->plan.launch_count; i++) {
        nodes += scene->plan.launches[i].count;
    }
    assert_true(nodes >= 3);
    assert_int_equal(scene->plan.unmet_gang_count, 0);
    assert_int_equal(placed_count(&scene->plan), 8);
    for (size_t i = 0; i < scene->plan.place_count; i++) {
        int64_t of_gang = 0;
        for (size_t j = 0; j < scene->plan.places[i].placed_count; j++) {
            const struct plan_placed *placed = &scene->plan.places[i].placed[j];
            of_gang += placed->cause == LAUNCH_GANGS ? placed->count : 0;
        }
        assert_true(of_gang <= 1);
    }
}

static void a_gang_that_is_refused_stays_refused(void **state)
{
    struct scene *scene = *state;
    uint32_t big = add_priced(scene, "big", 8, 9 * dollar);
    uint32_t small = add_priced(scene, "small", 4, dollar);
    scene->types[big].max_nodes = 1;
    scene->types[small].max_nodes = 2;
    add_spread_gang(scene, 4, 1);
    add_demand(scene, 8, 1, -1);
    assert_str(by_price(scene), "small=2");
    assert_int_equal(scene->plan.unmet_gang_count, 1);
}

static void the_constraint_is_met_more_cheaply(void **state)
{
    struct scene *scene = *state;
    struct demand wanted = {request(scene, 1, -1), 8};
    add_priced(scene, "big", 8, 9 * dollar);
    add_priced(scene, "small", 4, dollar);
    scene->input.constraint = &wanted;
    scene->input.constraint_count = 1;
    assert_str(by_price(scene), "small=2");
    assert_false(scene->plan.is_constraint_unmet);
    assert_int_equal(scene->plan.launches[0].count_by_cause[LAUNCH_CONSTRAINT], 2);
    /* Demand uses the room on the nodes that the constraint requires. */
    add_demand(scene, 8, 1, -1);
    assert_str(by_price(scene), "small=2");
}

static void labels_are_obeyed(void **state)
{
    struct scene *scene = *state;
    struct label zone = {intern_add(&scene->names, STR("zone")),
                         intern_add(&scene->names, STR("a"))};
    uint32_t big = add_priced(scene, "big", 8, 9 * dollar);
    uint32_t small = add_priced(scene, "small", 4, dollar);
    scene->types[big].labels = (struct label_set){&zone, 1};
    struct demand *demand = add_demand(scene, 8, 1, -1);
    demand->request.selectors = selector(scene, "zone", "a");
    demand->request.selector_count = 1;
    assert_str(by_price(scene), "big=1");
    scene->types[small].labels = (struct label_set){&zone, 1};
    assert_str(by_price(scene), "small=2");
}

static void labels_that_placing_adds_are_left_to_ray(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, 9 * dollar);
    add_priced(scene, "small", 4, dollar);
    struct demand *first = add_demand(scene, 1, 4, -1);
    first->request.placements = apart(scene, "mine");
    first->request.placement_count = 1;
    struct demand *second = add_demand(scene, 4, 1, -1);
    second->request.selectors = selector(scene, "mine", "");
    second->request.selector_count = 1;
    assert_str(as_ray(scene), "big=1");
    assert_str(by_price(scene), "big=1");
    /* Without such a selector it is not limited. */
    second->request.selector_count = 0;
    assert_str(by_price(scene), "small=2");
}

static void a_request_for_nothing_needs_a_node(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "big", 8, 9 * dollar);
    add_priced(scene, "small", 4, dollar);
    scene->demands[scene->input.demand_count++] = (struct demand){(struct request){0}, 1000000};
    by_price(scene);
    assert_str(launches(scene), "small=1");
    assert_int_equal(placed_count(&scene->plan), 1000000);
}

/* ---- existing nodes ------------------------------------------------------------------------ */

static void old_nodes_are_packed_better_before_new_ones_are_bought(void **state)
{
    struct scene *scene = *state;
    uint32_t ten = add_priced(scene, "ten", 10, dollar);
    add_running(scene, ten, 10);
    add_running(scene, ten, 10);
    add_demand(scene, 1, 5, -1);
    add_demand(scene, 2, 4, -1);
    add_demand(scene, 1, 3, -1);
    add_demand(scene, 2, 2, -1);
    assert_str(as_ray(scene), "ten=1");
    assert_str(by_price(scene), "");
    assert_int_equal(scene->plan.saving, dollar);
    assert_int_equal(placed_count(&scene->plan), 6);
}

static void idle_nodes_end_by_the_same_rules(void **state)
{
    struct scene *scene = *state;
    uint32_t big = add_priced(scene, "big", 8, 9 * dollar);
    add_priced(scene, "small", 4, dollar);
    scene->input.idle_timeout_ms = 300000;
    add_running(scene, big, 8)->idle_ms = 900000;
    add_running(scene, big, 1)->idle_ms = 900000;
    add_demand(scene, 16, 1, -1);
    by_price(scene);
    assert_str(launches(scene), "small=2");
    assert_int_equal(scene->plan.end_count, 0);
    scene->input.demand_count = 0;
    by_price(scene);
    assert_int_equal(scene->plan.end_count, 2);
}

static void the_same_input_gives_the_same_plan(void **state)
{
    struct scene *scene = *state;
    add_priced(scene, "a", 16, 770000);
    add_priced(scene, "b", 7, 330000);
    add_priced(scene, "c", 3, 150000);
    add_demand(scene, 13, 3, -1);
    add_demand(scene, 9, 2, -1);
    add_demand(scene, 21, 1, -1);
    struct str first = by_price(scene);
    size_t places = scene->plan.place_count;
    for (int i = 0; i < 3; i++) {
        assert_true(str_eq(by_price(scene), first));
        assert_int_equal(scene->plan.place_count, places);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(the_cheaper_mix_is_launched),
        PLAN_TEST(rays_launches_stay_when_nothing_is_cheaper),
        PLAN_TEST(without_work_it_is_rays_plan),
        PLAN_TEST(the_last_node_is_no_larger_than_needed),
        PLAN_TEST(an_unknown_price_is_never_chosen),
        PLAN_TEST(an_unknown_price_that_ray_chooses_stays),
        PLAN_TEST(what_costs_nothing_is_taken),
        PLAN_TEST(limits_hold),
        PLAN_TEST(min_workers_stay),
        PLAN_TEST(a_spread_gang_stays_spread),
        PLAN_TEST(a_gang_that_is_refused_stays_refused),
        PLAN_TEST(the_constraint_is_met_more_cheaply),
        PLAN_TEST(labels_are_obeyed),
        PLAN_TEST(labels_that_placing_adds_are_left_to_ray),
        PLAN_TEST(a_request_for_nothing_needs_a_node),
        PLAN_TEST(old_nodes_are_packed_better_before_new_ones_are_bought),
        PLAN_TEST(idle_nodes_end_by_the_same_rules),
        PLAN_TEST(the_same_input_gives_the_same_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
