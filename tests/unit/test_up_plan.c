/* test_up_plan.c: what `up` would do, and how it is printed. */
#include "app/launch/up_plan.h"

#include "app/control/launch_request.h"
#include "cli/plan_text.h"
#include "fixture.h"

#define FILE_TEXT                                                                                 \
    "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"                              \
    "auth: {ssh_user: ubuntu}\nmax_workers: 4\nhead_node_type: head\n"                            \
    "available_node_types:\n"                                                                     \
    "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"                      \
    "  cpu:\n    min_workers: 2\n    max_workers: 4\n    resources: {CPU: 2}\n    node_config:\n" \
    "      InstanceType: m5.large\n      InstanceMarketOptions: {MarketType: spot}\n"

enum { MACHINES_MAX = 8 };

struct scene {
    struct fixture *f;
    struct core_setup core;
    struct up_plan_input input;
    struct up_plan plan;
    struct machine machines[MACHINES_MAX];
    struct machine_tag tags[MACHINES_MAX][4];
    struct buf text;
};

static void open_scene(struct scene *scene, const char *yaml)
{
    struct diag_list diags;
    struct err err;
    *scene = (struct scene){.f = fixture_new()};
    struct arena *arena = &scene->f->arena;
    const struct config *config = config_type(arena, fixture_prepare(scene->f, yaml));
    diag_list_init(&diags, arena);
    assert_true(core_setup_make(arena, config, NULL, &diags, &scene->core, &err));
    price_table_read(STR("0 m5.large - 96000 4 1\n0 m5.xlarge - 192000 4 1\n"
                         "1 m5.large us-west-2 38400 5 1\n"
                         "1 m5.large - 38400 5 1\n"),
                     STR("us-west-2"), arena, &scene->core.book.table);
    scene->core.book.disks = STR("head\tnone 0\ncpu\tnone 0\nold\tnone 0\n");
    core_setup_place(arena, config, STR(""), &scene->core);
    scene->input = (struct up_plan_input){
        .config = config, .core = &scene->core, .machines = scene->machines};
    assert_true(launch_config_hashes(config, arena, &scene->input.config_hashes, &err));
    assert_true(
        launch_hash(config, config->head_type, arena, &scene->input.head_launch_hash, &err));
    buf_init(&scene->text, 1 << 16);
}

static void close_scene(struct scene *scene)
{
    buf_clear(&scene->text);
    fixture_free(&scene->f);
}

static struct machine *add(struct scene *scene, const char *kind, const char *type, struct str hash)
{
    size_t at = scene->input.machine_count++;
    struct machine_tag *tags = scene->tags[at];
    tags[0] = (struct machine_tag){STR("ray-node-type"), str_from(kind)};
    tags[1] = (struct machine_tag){STR("ray-user-node-type"), str_from(type)};
    tags[2] = (struct machine_tag){STR(TAG_NODE_CONFIG), hash};
    scene->machines[at] = (struct machine){.id = STR("i-1"),
                                           .type = STR("m5.large"),
                                           .state = MACHINE_RUNNING,
                                           .market = MARKET_ON_DEMAND,
                                           .tags = tags,
                                           .tag_count = 3};
    return &scene->machines[at];
}

static struct machine *add_head(struct scene *scene)
{
    return add(scene, "head", "head", scene->input.config_hashes[0]);
}

static struct machine *add_worker(struct scene *scene, const char *type, struct str hash)
{
    struct machine *machine = add(scene, "worker", type, hash);
    machine->market = MARKET_SPOT;
    return machine;
}

static void make(struct scene *scene)
{
    up_plan_make(&scene->input, &scene->f->arena, &scene->plan);
}

static struct str question(struct scene *scene)
{
    scene->text.len = 0;
    plan_text_question(&scene->text, &scene->plan);
    return buf_str(&scene->text);
}

static struct str listed(struct scene *scene)
{
    scene->text.len = 0;
    plan_text_list(&scene->text, &scene->plan);
    return buf_str(&scene->text);
}

static void a_new_cluster_is_launched(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, FILE_TEXT);
    make(&scene);
    assert_false(up_plan_is_empty(&scene.plan));
    assert_false(scene.plan.has_head);
    assert_int_equal(scene.plan.restarts, 0);
    assert_int_equal(scene.plan.price_now, 0);
    assert_str(question(&scene),
               "This will launch 3 instances: head m5.large ($0.096/h), 2 x m5.large spot "
               "($0.038/h each): $0.17/h.");
    assert_str(listed(&scene), "  + launch   head m5.large  $0.096/h\n"
                               "  + launch   2 x m5.large spot  (cpu)  $0.038/h each\n"
                               "Price: $0.00/h now, $0.17/h after.\n");
    close_scene(&scene);
}

static void what_is_as_the_file_says_needs_nothing(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, FILE_TEXT);
    add_head(&scene);
    add_worker(&scene, "cpu", scene.input.config_hashes[1]);
    add_worker(&scene, "cpu", STR("")); /* of an older version: not known, so not outdated */
    add_worker(&scene, "cpu", scene.input.config_hashes[1])->state = MACHINE_GONE;
    make(&scene);
    assert_true(up_plan_is_empty(&scene.plan));
    assert_str(question(&scene), "");
    assert_str(listed(&scene), "Nothing to do. Price: $0.17/h.\n");
    scene.input.is_update = true;
    make(&scene);
    assert_false(up_plan_is_empty(&scene.plan));
    assert_str(question(&scene), "The head gets the new configuration; Ray keeps running.");
    close_scene(&scene);
}

static void a_restart_names_nodes_and_jobs(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, FILE_TEXT);
    add_head(&scene);
    add_worker(&scene, "cpu", scene.input.config_hashes[1]);
    add_worker(&scene, "cpu", scene.input.config_hashes[1]);
    scene.input.is_update = scene.input.restarts_head = true;
    make(&scene);
    assert_str(question(&scene),
               "Ray will be restarted on 3 nodes; it is unknown whether jobs are running.");
    scene.plan.jobs = 1;
    assert_str(question(&scene), "Ray will be restarted on 3 nodes; 1 job is running.");
    scene.plan.jobs = 2;
    assert_str(question(&scene), "Ray will be restarted on 3 nodes; 2 jobs are running.");
    scene.plan.jobs = 0;
    assert_str(listed(&scene), "  ~ restart  Ray will be restarted on 3 nodes; no job is running.\n"
                               "Price: $0.17/h.\n");
    close_scene(&scene);
}

/* They are terminated when idle, count until then, and their replacements wait for room. */
static void outdated_workers_are_drained_and_replaced(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, FILE_TEXT);
    add_head(&scene);
    add_worker(&scene, "old", STR("x"));
    add_worker(&scene, "old", STR("x"));
    add_worker(&scene, "cpu", STR("changed"));
    make(&scene);
    assert_int_equal(scene.plan.step_count, 3);
    assert_int_equal(scene.plan.steps[0].kind, UP_DRAIN);
    assert_int_equal(scene.plan.steps[0].count, 2);
    assert_str(scene.plan.steps[0].why, "its node type is no longer in the file");
    assert_str(scene.plan.steps[1].why, "its node_config was changed in the file");
    assert_int_equal(scene.plan.steps[2].kind, UP_LAUNCH);
    assert_int_equal(scene.plan.steps[2].count, 1); /* room for one of the two */
    assert_int_equal(scene.plan.held, 1);
    assert_str(question(&scene),
               "This will launch 1 instance: 1 x m5.large spot ($0.038/h): $0.13/h for the whole "
               "cluster. 3 outdated workers will be drained, and terminated when idle. 1 worker "
               "required by min_workers cannot be launched yet: the cluster is at max_workers.");
    scene.core.settings.max_unavailable = 1;
    add_worker(&scene, "cpu", STR("changed"));
    make(&scene);
    assert_true(str_find(question(&scene), "At most 1 of a node type is replaced at a time.") !=
                SIZE_MAX);
    scene.core.settings.max_unavailable = 2;
    make(&scene);
    assert_true(str_find(question(&scene), "at a time") == SIZE_MAX);
    scene.input.machine_count--;
    scene.core.settings.keeps_outdated = true; /* provider.disable_launch_config_check */
    make(&scene);
    assert_int_equal(scene.plan.step_count, 1);
    assert_int_equal(scene.plan.steps[0].kind, UP_LAUNCH);
    close_scene(&scene);
}

static void the_room_is_shared_by_all_types(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, FILE_TEXT "  big: {min_workers: 2, max_workers: 4, resources: {CPU: 2},"
                                 " node_config: {InstanceType: m5.xlarge}}\n");
    add_head(&scene);
    add_worker(&scene, "old", STR("x")); /* counts until it is drained */
    make(&scene);
    assert_int_equal(scene.plan.step_count, 3);
    assert_int_equal(scene.plan.steps[1].kind, UP_LAUNCH);
    assert_int_equal(scene.plan.steps[1].count, 2);
    assert_int_equal(scene.plan.steps[2].kind, UP_LAUNCH);
    assert_int_equal(scene.plan.steps[2].count, 1);
    assert_int_equal(scene.plan.held, 1);
    close_scene(&scene);
}

static void a_changed_head_is_named(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, FILE_TEXT);
    struct machine *head = add(&scene, "head", "head", STR("other"));
    head->type = STR("m5.xlarge");
    make(&scene);
    assert_int_equal(scene.plan.steps[0].kind, UP_REPLACE);
    assert_int_equal(scene.plan.price_now, 192000); /* of the running instance */
    assert_str(listed(&scene),
               "  ! replace  head m5.xlarge  $0.19/h  the head runs m5.xlarge, the file says "
               "m5.large\n  + launch   2 x m5.large spot  (cpu)  $0.038/h each\n"
               "Price: $0.19/h now, $0.27/h after.\n");
    /* An older version set only Ray's tag. */
    scene.tags[0][2] = (struct machine_tag){STR("ray-launch-config"), STR("other")};
    assert_true(up_plan_head_differs(&scene.input, head));
    scene.tags[0][2].value = scene.input.head_launch_hash;
    assert_false(up_plan_head_differs(&scene.input, head));
    scene.tags[0][2] = (struct machine_tag){STR(TAG_NODE_CONFIG), STR("other")};
    assert_true(up_plan_head_differs(&scene.input, head));
    scene.core.settings.keeps_outdated = true;
    assert_false(up_plan_head_differs(&scene.input, head));
    close_scene(&scene);
}

static void a_stopped_head_is_started(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, FILE_TEXT);
    add_head(&scene)->state = MACHINE_STOPPED;
    add_worker(&scene, "cpu", scene.input.config_hashes[1])->state = MACHINE_STOPPED;
    make(&scene);
    assert_true(scene.plan.has_head);
    assert_int_equal(scene.plan.price_now, 0);
    assert_int_equal(scene.plan.steps[0].kind, UP_START);
    assert_int_equal(scene.plan.steps[1].count, 2);
    assert_int_equal(scene.plan.price_then, 172800);
    assert_like(question(&scene), "*The stopped head will be started.");
    close_scene(&scene);
}

static void a_price_that_nobody_knows_is_said(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, FILE_TEXT);
    add_head(&scene)->type = STR("z9.unheard");
    make(&scene);
    assert_int_equal(scene.plan.price_now, PRICE_UNKNOWN);
    assert_int_equal(scene.plan.price_then, PRICE_UNKNOWN);
    assert_str(listed(&scene), "  + launch   2 x m5.large spot  (cpu)  $0.038/h each\n"
                               "Price: price unknown.\n");
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_cluster_is_launched),
        cmocka_unit_test(what_is_as_the_file_says_needs_nothing),
        cmocka_unit_test(a_restart_names_nodes_and_jobs),
        cmocka_unit_test(outdated_workers_are_drained_and_replaced),
        cmocka_unit_test(the_room_is_shared_by_all_types),
        cmocka_unit_test(a_changed_head_is_named),
        cmocka_unit_test(a_stopped_head_is_started),
        cmocka_unit_test(a_price_that_nobody_knows_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
