/* test_reuse.c: stopped instances, and launches that start them again. */
#include "app/control/reuse.h"

#include "control_tally.h"
#include "provider/machine_tags.h"

/* ---- the journal ---- */

static void what_is_written_is_read(void **state)
{
    struct arena arena;
    const struct str ids[] = {STR("i-1"), STR("i-22")};
    (void)state;
    arena_init(&arena);
    struct reuse two = {ids, 2, STR("Action=RunInstances&A=1")};
    struct str written = reuse_write(&two, &arena);
    assert_str(written, "start i-1 i-22\nAction=RunInstances&A=1");
    struct reuse back = reuse_read(written, &arena);
    assert_int_equal(back.count, 2);
    assert_str(back.ids[0], "i-1");
    assert_str(back.ids[1], "i-22");
    assert_str(back.call, "Action=RunInstances&A=1");
    struct reuse all = {ids, 1, STR("")};
    back = reuse_read(reuse_write(&all, &arena), &arena);
    assert_int_equal(back.count, 1);
    assert_int_equal(back.call.len, 0);
    struct reuse none = {NULL, 0, STR("Action=RunInstances&A=1")};
    back = reuse_read(reuse_write(&none, &arena), &arena);
    assert_int_equal(back.count, 0);
    assert_str(back.call, "Action=RunInstances&A=1");
    back = reuse_read(STR("start  i-1 \n"), &arena);
    assert_int_equal(back.count, 1);
    assert_int_equal(reuse_read(STR("start "), &arena).count, 0);
    assert_int_equal(reuse_read(STR(""), &arena).count, 0);
    arena_clear(&arena);
}

/* ---- a stopped cluster ---- */

static void ignore_machines(void *context, const struct provider_answer *answer,
                            const struct machine *machines, size_t count)
{
    (void)context;
    (void)answer;
    (void)machines;
    (void)count;
}

static void ignore(void *context, const struct provider_answer *answer)
{
    (void)context;
    (void)answer;
}

static void add_head(struct scene *scene)
{
    struct str token;
    struct str call;
    struct launch_spec spec = {.config = scene->config,
                               .type = scene->config->head_type,
                               .uid = controller_lease(scene->controller)->uid,
                               .secret = STR("0123456789abcdef0123456789abcdef"),
                               .launch = HEAD_LAUNCH(1, 0),
                               .count = 1,
                               .is_head = true};
    assert_true(launch_request_make(&spec, scene->provider, &scene->fixture->arena, &token, &call,
                                    &scene->err));
    scene->provider->ops->launch(scene->provider, call, ignore_machines, scene);
}

static size_t count_in(const struct scene *scene, enum machine_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->cloud.count; i++) {
        count += scene->cloud.machines[i].state == state;
    }
    return count;
}

static bool is_head(const struct machine *machine)
{
    return str_is(machine_tag_value(machine, "ray-node-type"), "head");
}

/* Head and workers ran, the workers were set up, and all of them were stopped. */
static struct scene *stopped_cluster(void)
{
    struct scene *scene = scene_new();
    const struct machine_tag status = {STR("ray-node-status"), STR("up-to-date")};
    scene->keeps_stopped = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    add_head(scene);
    assert_comes(scene, are_booting);
    for (size_t i = 0; i < scene->cloud.count; i++) {
        scene->provider->ops->tag(scene->provider, &scene->cloud.machines[i].id, 1, &status, 1,
                                  ignore, scene);
    }
    (void)runs_until(scene, NULL, 20);
    controller_set_goal(scene->controller, GOAL_DOWN);
    assert_comes(scene, is_empty);
    assert_int_equal(scene->cloud.counts[FAKE_STOP], 1);
    assert_int_equal(scene->cloud.counts[FAKE_TERMINATE], 0);
    assert_int_equal(count_in(scene, MACHINE_STOPPED), 3);
    for (size_t i = 0; i < scene->cloud.count; i++) {
        scene->cloud.machines[i].state = MACHINE_STOPPED; /* the head too */
    }
    end(scene);
    scene->cloud.counts[FAKE_LAUNCH] = 0;
    return scene;
}

static void stopped_machines_are_started(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    (void)runs_until(scene, NULL, 50);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_int_equal(scene->cloud.count, 4);
    assert_int_equal(count_in(scene, MACHINE_STOPPED), 1);
    for (size_t i = 0; i < scene->cloud.count; i++) {
        const struct machine *machine = &scene->cloud.machines[i];
        struct str number = machine_tag_value(machine, TAG_LAUNCH);
        assert_true(str_starts(number, is_head(machine) ? "1." : "2."));
    }
    assert_true(are_booting(scene));
    end(scene);
    scene_free(scene);
}

/* A repeated launch starts the same instances and no other. */
static void a_kill_in_between_neither_loses_nor_doubles(void **state)
{
    static const enum fake_verb verbs[] = {FAKE_TAG, FAKE_START};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        struct scene *scene = stopped_cluster();
        scene->cloud.is_mute[verbs[i]] = true;
        begin(scene, "me pid 2 up", GOAL_RUN);
        (void)runs_until(scene, NULL, 100);
        end(scene);
        scene->cloud.is_mute[verbs[i]] = false;
        begin(scene, "me pid 3 up", GOAL_RUN);
        assert_comes(scene, are_booting);
        (void)runs_until(scene, NULL, 100);
        assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
        assert_int_equal(scene->cloud.count, 4);
        assert_true(are_booting(scene));
        end(scene);
        scene_free(scene);
    }
}

static size_t known_nodes(struct scene *scene)
{
    struct role_counts tally = counter_of(scene);
    return tally.by_state[NODE_LAUNCHING] + tally.by_state[NODE_BOOTING] +
           tally.by_state[NODE_SETTING_UP];
}

/* The next process knows what was started, although its listings still show it as stopped. */
static void what_was_started_is_known_after_a_restart(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    end(scene);
    for (size_t i = 0; i < scene->cloud.count; i++) {
        scene->cloud.machines[i].state = MACHINE_STOPPED;
    }
    scene->cloud.counts[FAKE_START] = 0;
    begin(scene, "me pid 3 up", GOAL_RUN);
    scene->starts = 0;
    assert_comes(scene, has_started);
    (void)runs_until(scene, NULL, 300);
    assert_int_equal(scene->cloud.counts[FAKE_START], 0);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_int_equal(known_nodes(scene), 3);
    end(scene);
    scene_free(scene);
}

/* The first of its type. */
static struct machine *one_of(struct scene *scene, const char *type)
{
    size_t i = 0;
    while (!str_is(machine_tag_value(&scene->cloud.machines[i], "ray-user-node-type"), type)) {
        i++;
    }
    return &scene->cloud.machines[i];
}

/* One launch of two: one instance is started, the other is new. */
static void the_rest_is_launched(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    one_of(scene, "small")->state = MACHINE_GONE;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    (void)runs_until(scene, NULL, 50);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 1);
    assert_int_equal(scene->cloud.count, 5);
    assert_int_equal(fake_cloud_living(&scene->cloud), 4);
    assert_true(are_booting(scene));
    end(scene);
    scene_free(scene);
}

static bool has_launched_one(struct scene *scene)
{
    return scene->cloud.counts[FAKE_LAUNCH] >= 1 &&
           told(scene, "cannot start stopped instances (1)");
}

static void what_does_not_start_is_left_alone(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    one_of(scene, "small")->state = MACHINE_GONE;
    one_of(scene, "large")->state = MACHINE_GONE;
    scene->cloud.always[FAKE_START] = OUTCOME_CAPACITY;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, has_launched_one);
    (void)runs_until(scene, NULL, 50);
    assert_int_equal(scene->cloud.counts[FAKE_START], 1);
    assert_int_equal(count_in(scene, MACHINE_STOPPED), 2); /* and the head */
    end(scene);
    scene_free(scene);
}

static bool has_asked_for_the_rest(struct scene *scene)
{
    return scene->cloud.counts[FAKE_LAUNCH] >= 1;
}

static bool has_launched_the_rest(struct scene *scene)
{
    return scene->cloud.count >= 5;
}

/* Found by the simulator: the second try was refused, and what the first had started did not count
 * any more. */
static void what_an_earlier_try_started_counts(void **state)
{
    static const enum fake_verb refused[] = {FAKE_START, FAKE_TAG};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct scene *scene = stopped_cluster();
        one_of(scene, "small")->state = MACHINE_GONE;
        scene->cloud.next[FAKE_LAUNCH] = OUTCOME_THROTTLED;
        begin(scene, "me pid 2 up", GOAL_RUN);
        assert_comes(scene, has_asked_for_the_rest);
        assert_int_equal(count_in(scene, MACHINE_STOPPED), 1); /* the head */
        scene->cloud.is_mute[FAKE_LIST] = true;                /* no listing shows what runs */
        scene->cloud.always[refused[i]] = OUTCOME_CAPACITY;
        assert_comes(scene, has_launched_the_rest);
        (void)runs_until(scene, NULL, 300);
        assert_true(told(scene, "cannot start stopped instances (1)"));
        assert_int_equal(scene->cloud.count, 5);
        assert_int_equal(known_nodes(scene), 3);
        end(scene);
        scene_free(scene);
    }
}

static bool has_tried_twice(struct scene *scene)
{
    return scene->cloud.counts[FAKE_START] >= 4; /* two launches */
}

/* The lost call may take effect after the refusal. */
static void a_refusal_does_not_settle_what_may_still_start(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    scene->cloud.always[FAKE_START] = OUTCOME_UNKNOWN;
    begin(scene, "me pid 2 up", GOAL_RUN);
    (void)runs_until(scene, NULL, 100);
    scene->cloud.always[FAKE_START] = OUTCOME_CAPACITY;
    assert_comes(scene, has_tried_twice);
    (void)runs_until(scene, NULL, 300);
    assert_int_equal(counter_of(scene).by_state[NODE_REQUESTED], 3);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    end(scene);
    scene_free(scene);
}

/* The same for new instances of a launch that also starts some. */
static void a_refusal_does_not_settle_what_may_still_be_launched(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    one_of(scene, "small")->state = MACHINE_GONE;
    scene->cloud.next[FAKE_LAUNCH] = OUTCOME_UNKNOWN;
    scene->cloud.always[FAKE_LAUNCH] = OUTCOME_CAPACITY;
    begin(scene, "me pid 2 up", GOAL_RUN);
    (void)runs_until(scene, NULL, 400);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 2);
    assert_true(counter_of(scene).by_state[NODE_REQUESTED] > 0);
    end(scene);
    scene_free(scene);
}

/* An instance that another head has set up has a host key that this one does not know. */
static void those_of_another_head_stay(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    const struct machine_tag number = {STR(TAG_LAUNCH), STR("7.2147483648")};
    struct machine *head = one_of(scene, "head");
    begin(scene, "me pid 2 up", GOAL_RUN);
    scene->provider->ops->tag(scene->provider, &head->id, 1, &number, 1, ignore, scene);
    assert_comes(scene, are_booting);
    assert_int_equal(scene->cloud.counts[FAKE_START], 0);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 2);
    end(scene);
    scene_free(scene);
}

static bool has_ended_it(struct scene *scene)
{
    return scene->cloud.counts[FAKE_TERMINATE] >= 2 && count_in(scene, MACHINE_GONE) == 1;
}

/* A worker that shut itself down is not started: it is terminated, again if that fails. */
static void a_leftover_is_terminated(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    one_of(scene, "large")->is_left = true;
    scene->cloud.next[FAKE_TERMINATE] = OUTCOME_DENIED;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, has_ended_it);
    assert_true(told(scene, "cannot terminate a worker that shut itself down"));
    assert_int_equal(scene->cloud.counts[FAKE_TERMINATE], 2);
    end(scene);
    scene_free(scene);
}

static void without_the_wish_all_of_them_end(void **state)
{
    struct scene *scene = stopped_cluster();
    (void)state;
    scene->keeps_stopped = false;
    begin(scene, "me pid 2 down", GOAL_DOWN);
    assert_comes(scene, is_empty);
    assert_int_equal(count_in(scene, MACHINE_GONE), 3);
    assert_int_equal(count_in(scene, MACHINE_STOPPED), 1); /* the head, which is not the core's */
    end(scene);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(stopped_machines_are_started),
        cmocka_unit_test(a_kill_in_between_neither_loses_nor_doubles),
        cmocka_unit_test(what_was_started_is_known_after_a_restart),
        cmocka_unit_test(the_rest_is_launched),
        cmocka_unit_test(what_does_not_start_is_left_alone),
        cmocka_unit_test(what_an_earlier_try_started_counts),
        cmocka_unit_test(a_refusal_does_not_settle_what_may_still_start),
        cmocka_unit_test(a_refusal_does_not_settle_what_may_still_be_launched),
        cmocka_unit_test(those_of_another_head_stay),
        cmocka_unit_test(a_leftover_is_terminated),
        cmocka_unit_test(without_the_wish_all_of_them_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
