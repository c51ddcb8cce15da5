/* test_service_training.c: nodes that training jobs request from the service of a head. */
#include "service_scene.h"

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
    return fake_cloud_living(&scene->cloud) == 1;
}

/* It may act, and its one worker runs as an instance. */
static void begin(struct service_scene *scene)
{
    service_scene_begin(scene);
    assert_service(scene, is_leading);
    assert_service(scene, has_worker);
}

#define SESSION "session_2026-11-15_12-00-00_000000_1"

/* The job needs room for this many replicas, each of which fills a node. */
static bool train_asks(struct service_scene *scene, int64_t count, struct str session,
                       struct str *ret_why)
{
    static const struct ray_quantity amounts[] = {{{"CPU", 3}, 2}};
    struct gcs_bundle bundle = {amounts, 1, count};
    struct ctl_request request = {.what = STR("train-demand"),
                                  .job = STR("ddp"),
                                  .session = session,
                                  .bundles = &bundle,
                                  .bundle_count = count > 0};
    struct ctl_server_hooks hooks = {.context = &scene->service};
    service_answers(&hooks);
    *ret_why = STR("");
    return hooks.train_demand(&scene->service, &request, &scene->fixture->arena, ret_why,
                              &scene->err);
}

/* The head and `count` workers, all of them in use. */
static void ray_is_full(struct service_scene *scene, uint64_t count)
{
    reply_add_node(&scene->state, &(struct reply_node){.number = FIRST_HEAD,
                                                       .instance = "i-head",
                                                       .status = RAY_NODE_RUNNING,
                                                       .amounts = {{"CPU", 2, 0}},
                                                       .is_head = true});
    for (uint64_t i = 1; i <= count; i++) {
        char id[20];
        snprintf(id, sizeof(id), "i-%d", (int)i);
        ray_has_worker(scene, i, id, RAY_NODE_RUNNING);
    }
    ray_answers(scene);
}

static bool has_two_machines(struct service_scene *scene)
{
    return fake_cloud_living(&scene->cloud) == 2;
}

static int64_t train_waits(struct service_scene *scene)
{
    struct cluster_status status;
    decision_cluster_status(scene->service.decision, &scene->fixture->arena, &status);
    for (size_t i = 0; i < status.demand_count; i++) {
        if (status.demands[i].source == DEMAND_TRAINING) {
            assert_str(status.demands[i].job, "ddp");
            assert_str(status.demands[i].shape, "{CPU: 2}");
            return status.demands[i].count;
        }
    }
    return 0;
}

/* As many as requested, and no more while they boot, even if the request is repeated. */
static void a_training_job_gets_as_many_nodes_as_it_needs(void **state)
{
    struct service_scene *scene = *state;
    struct str why;
    begin(scene);
    ray_is_full(scene, 1);
    assert_int_equal(fake_cloud_living(&scene->cloud), 1);
    assert_true(train_asks(scene, 1, STR(SESSION), &why));
    ray_is_full(scene, 1);
    assert_service(scene, has_two_machines);
    assert_int_equal(train_waits(scene), 1);
    for (int i = 0; i < 20; i++) {
        assert_true(train_asks(scene, 1, STR(SESSION), &why));
        assert_str(why, "");
        ray_is_full(scene, 1);
        (void)service_runs_until(scene, NULL, 10);
    }
    ray_has_worker(scene, 2, "i-2", RAY_NODE_IDLE); /* it joined, and no slot uses it yet */
    ray_is_full(scene, 1);
    (void)service_runs_until(scene, NULL, 50);
    assert_true(train_asks(scene, 0, STR(SESSION), &why)); /* a slot was submitted */
    ray_has_worker(scene, 2, "i-2", RAY_NODE_IDLE);        /* Ray's report lags */
    ray_is_full(scene, 1);
    assert_int_equal(train_waits(scene), 0);
    (void)service_runs_until(scene, NULL, 50);
    ray_is_full(scene, 2); /* it uses the node */
    (void)service_runs_until(scene, NULL, 50);
    assert_int_equal(fake_cloud_living(&scene->cloud), 2);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 2);
    service_scene_end(scene);
}

static void a_training_job_hears_why_it_gets_no_more_nodes(void **state)
{
    struct service_scene *scene = *state;
    struct str why;
    begin(scene);
    assert_false(train_asks(scene, 9, STR(SESSION), &why));
    assert_string_equal(scene->err.text, "the autoscaler has not seen Ray yet");
    ray_is_full(scene, 1);
    assert_false(train_asks(scene, 9, STR("session_of_another"), &why));
    assert_string_equal(scene->err.text, "this autoscaler manages another Ray cluster");
    assert_false(train_asks(scene, 100000, STR(SESSION), &why));
    assert_int_equal(train_waits(scene), 0);
    assert_true(train_asks(scene, 9, STR(SESSION), &why));
    assert_str(why, ""); /* not decided yet */
    ray_is_full(scene, 1);
    (void)service_runs_until(scene, NULL, 100);
    assert_true(train_asks(scene, 9, STR(SESSION), &why));
    if (str_find(why, "max_workers") == SIZE_MAX) {
        fail_msg("the reason is \"%.*s\"", STR_ARG(why));
    }
    service_scene_end(scene);
}

static void a_training_job_that_is_gone_needs_nothing(void **state)
{
    struct service_scene *scene = *state;
    struct str why;
    begin(scene);
    assert_true(train_asks(scene, 1, STR(""), &why));
    ray_is_full(scene, 1);
    assert_int_equal(train_waits(scene), 1);
    ray_is_full(scene, 1); /* a trainer that restarts changes nothing */
    assert_int_equal(train_waits(scene), 1);
    scene->service.training->jobs[0].until = loop_now_ms(scene->service.head.session.loop);
    ray_is_full(scene, 1);
    assert_int_equal(train_waits(scene), 0);
    service_scene_end(scene);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(a_training_job_gets_as_many_nodes_as_it_needs),
        TEST(a_training_job_hears_why_it_gets_no_more_nodes),
        TEST(a_training_job_that_is_gone_needs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
