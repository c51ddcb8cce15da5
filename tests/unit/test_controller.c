/* test_controller.c: what a controller does with its cloud, its journal and its lease. */
#include "app/type_zones.h"
#include "control_tally.h"

/* ---- tests ---- */

static size_t count_of(const struct buf *text, const char *needle)
{
    struct str rest = buf_str(text);
    size_t count = 0;
    for (size_t at = str_find(rest, needle); at != SIZE_MAX; at = str_find(rest, needle)) {
        count++;
        rest = str_sub(rest, at + 1, rest.len);
    }
    return count;
}

static void workers_are_launched_and_ended(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->sets_up = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_str(controller_lease(scene->controller)->uid, "0123456789abcdef0123456789abcdef");
    assert_int_equal(controller_lease(scene->controller)->epoch, 1);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 2);
    assert_int_equal(scene->cloud.counts[FAKE_PREFLIGHT], 1);
    assert_int_equal(scene->cloud.counts[FAKE_PREPARE], 1);
    assert_int_equal(controller_instance_of(scene->controller, STR("i-1")), HEAD_INSTANCE + 1);
    assert_false(controller_is_empty(scene->controller));
    controller_set_goal(scene->controller, GOAL_DOWN);
    assert_comes(scene, is_empty);
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    /* All launches of one turn in one call. */
    assert_int_equal(scene->cloud.counts[FAKE_TERMINATE], 1);
    assert_true(told(scene, "set up 2\n") && told(scene, "set up 4\n"));
    assert_false(told(scene, "trouble"));
    controller_release(scene->controller, on_released, scene);
    (void)runs_until(scene, NULL, 20);
    assert_true(scene->is_released);
    end(scene);
    scene_free(scene);
}

/* The intent is recorded before the call: the next process after a crash finds it. */
static void the_same_bytes_are_sent_again(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.is_mute[FAKE_LAUNCH] = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_launched);
    end(scene);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    struct str first = arena_str(&scene->fixture->arena, buf_str(&scene->cloud.sent));
    buf_clear(&scene->cloud.sent);
    buf_init(&scene->cloud.sent, 1 << 20);
    scene->cloud.is_mute[FAKE_LAUNCH] = false;
    scene->cloud.counts[FAKE_LAUNCH] = 0;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_comes(scene, has_launched);
    (void)runs_until(scene, NULL, 50);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    assert_true(str_eq(first, buf_str(&scene->cloud.sent)));
    assert_int_equal(controller_lease(scene->controller)->epoch, 2);
    end(scene);
    /* Again: now everything is settled, and nothing is sent. */
    scene->cloud.counts[FAKE_LAUNCH] = 0;
    begin(scene, "me pid 3 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    (void)runs_until(scene, NULL, 50);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    end(scene);
    scene_free(scene);
}

static void a_lost_answer_is_asked_for_again(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.next[FAKE_LAUNCH] = OUTCOME_UNKNOWN;
    scene->cloud.acts_anyway = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_true(told(scene, "trouble 1 launch 1.1: the cloud says no"));
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    end(scene);
    scene_free(scene);
}

static bool was_refused(struct scene *scene)
{
    return told(scene, "launch 1.1: ");
}

static void take_settled(void *context, const struct journal_intent *intent)
{
    *(size_t *)context += intent->is_settled;
}

static void a_refusal_is_told_and_settled(void **state)
{
    struct scene *scene = scene_new();
    size_t settled = 0;
    (void)state;
    scene->cloud.next[FAKE_LAUNCH] = OUTCOME_CAPACITY;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, was_refused);
    assert_comes(scene, has_launched);
    (void)runs_until(scene, NULL, 50);
    assert_true(journal_intents(scene->journal, take_settled, &settled, &scene->err));
    assert_int_equal(settled, 2);
    end(scene);
    scene_free(scene);
}

static bool was_told_of_other(struct scene *scene)
{
    return told(scene, "trouble 7 the cluster lease is held by other");
}

static void another_holder_is_waited_for(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.epoch = 1;
    scene->cloud.holder = STR("other");
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, was_told_of_other);
    assert_int_equal(scene->starts, 0);
    scene->cloud.is_released = true;
    assert_comes(scene, has_started);
    assert_int_equal(controller_lease(scene->controller)->epoch, 2);
    end(scene);
    scene_free(scene);
}

static void a_lease_can_be_broken(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.epoch = 4;
    scene->cloud.holder = STR("other");
    scene->take_from = 4;
    begin(scene, "me pid 1 up", GOAL_DOWN);
    assert_comes(scene, has_started);
    assert_true(told(scene, "started 5\n"));
    end(scene);
    scene_free(scene);
}

/* A `down` of this machine has ended, because a journal has one writer. */
static void the_lease_of_the_last_down_is_broken(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.epoch = 4;
    scene->cloud.holder = STR("shoal down, pid 7 of me@here");
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_true(journal_note(scene->journal, "down_holder", scene->cloud.holder, &scene->err));
    assert_comes(scene, has_started);
    assert_true(told(scene, "started 5\n"));
    end(scene);
    scene_free(scene);
}

static bool a_tag_was_set(struct scene *scene)
{
    return scene->cloud.counts[FAKE_TAG] >= 1;
}

static bool tags_were_set(struct scene *scene)
{
    return scene->cloud.counts[FAKE_TAG] >= 2;
}

/* Transitional states end by an event, by a timeout, or with the instance. */
static void a_passing_status_is_not_told(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    controller_tag(scene->controller, 2, STR("ray-node-status"), STR("waiting-for-ssh"), true);
    controller_tag(scene->controller, 2, STR("ray-node-status"), STR("up-to-date"), false);
    controller_tag(scene->controller, 3, STR("ray-node-status"), STR("setting-up"), true);
    assert_comes(scene, a_tag_was_set);
    (void)runs_until(scene, NULL, 50);
    struct str calls = buf_str(&scene->cloud.calls);
    assert_true(str_find(calls, "tag i-1 ray-node-status=up-to-date\n") != SIZE_MAX);
    assert_int_equal(scene->cloud.counts[FAKE_TAG], 1);
    controller_release(scene->controller, on_released, scene);
    (void)runs_until(scene, NULL, 20);
    calls = buf_str(&scene->cloud.calls);
    assert_true(str_find(calls, "tag i-2 ray-node-status=setting-up\n") != SIZE_MAX);
    assert_int_equal(scene->cloud.counts[FAKE_TAG], 2);
    end(scene);
    scene_free(scene);
}

static void tags_are_set_together(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    for (uint64_t i = 2; i <= 4; i++) {
        controller_tag(scene->controller, i, STR("ray-node-status"), STR("setting-up"), true);
        controller_tag(scene->controller, i, STR("a"), i == 4 ? STR("2") : STR("1"), false);
        controller_tag(scene->controller, i, STR("ray-node-status"), STR("up-to-date"), false);
    }
    assert_comes(scene, tags_were_set);
    struct str calls = buf_str(&scene->cloud.calls);
    assert_true(str_find(calls, "tag i-1 i-2 a=1 ray-node-status=up-to-date\n") != SIZE_MAX);
    assert_true(str_find(calls, "tag i-3 a=2 ray-node-status=up-to-date\n") != SIZE_MAX);
    (void)runs_until(scene, NULL, 20);
    assert_int_equal(scene->cloud.counts[FAKE_TAG], 2);
    end(scene);
    scene_free(scene);
}

/* While instances start, listings are frequent, at growing intervals. */
static void listings_back_off(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.boot_ms = 60 * 1000;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_launched);
    scene->cloud.counts[FAKE_LIST] = 0;
    (void)runs_until(scene, NULL, 900);
    assert_in_range(scene->cloud.counts[FAKE_LIST], 2, 5);
    scene->cloud.boot_ms = 0;
    controller_refresh(scene->controller);
    assert_comes(scene, are_booting);
    scene->cloud.counts[FAKE_LIST] = 0;
    (void)runs_until(scene, NULL, 100);
    assert_in_range(scene->cloud.counts[FAKE_LIST], 0, 2);
    end(scene);
    scene_free(scene);
}

static bool head_is_known(struct scene *scene)
{
    struct managed_node managed_node;
    return controller_find(scene->controller, HEAD_INSTANCE, &managed_node) &&
           managed_node.machine && managed_node.machine->state == MACHINE_RUNNING;
}

static void the_head_is_no_worker(void **state)
{
    struct scene *scene = scene_new();
    struct str token;
    struct str call;
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    struct launch_spec spec = {.config = scene->config,
                               .uid = controller_lease(scene->controller)->uid,
                               .secret = STR("0123456789abcdef0123456789abcdef"),
                               .launch = HEAD_LAUNCH(1, 0),
                               .zone = STR("us-west-2"),
                               .count = 1,
                               .is_head = true};
    struct machine machine = {.id = STR("i-9"), .state = MACHINE_PENDING};
    assert_true(launch_request_make(&spec, scene->provider, &scene->fixture->arena, &token, &call,
                                    &scene->err));
    struct machine_tag tag = {STR("ray-node-type"), STR("head")};
    machine.tags = &tag;
    machine.tag_count = 1;
    controller_learn(scene->controller, &machine, 1);
    assert_int_equal(controller_instance_of(scene->controller, STR("i-9")), HEAD_INSTANCE);
    assert_comes(scene, are_booting);
    machine.state = MACHINE_RUNNING;
    controller_learn(scene->controller, &machine, 1);
    assert_comes(scene, head_is_known);
    assert_int_equal(counter_of(scene).heads, 1);
    controller_set_goal(scene->controller, GOAL_DOWN);
    assert_comes(scene, is_empty);
    assert_true(str_find(buf_str(&scene->cloud.calls), "i-9") == SIZE_MAX);
    end(scene);
    scene_free(scene);
}

static bool are_ready(struct scene *scene)
{
    struct role_counts tally = counter_of(scene);
    return tally.by_state[NODE_READY] + tally.by_state[NODE_IDLE] == 3;
}

static void say_in_ray(struct scene *scene, const char *id, enum ray_status status)
{
    struct ray_node node = {.instance = controller_instance_of(scene->controller, str_from(id)),
                            .status = status,
                            .idle_since = NOT_IDLE};
    assert_int_not_equal(node.instance, INSTANCE_NONE);
    controller_ray_node(scene->controller, &node);
}

static void ray_says_who_has_joined(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    say_in_ray(scene, "i-1", RAY_ALIVE);
    say_in_ray(scene, "i-2", RAY_ALIVE);
    say_in_ray(scene, "i-3", RAY_ALIVE);
    controller_ray_seen(scene->controller, loop_now_ms(scene->session.loop));
    assert_comes(scene, are_ready);
    say_in_ray(scene, "i-3", RAY_ABSENT);
    controller_ray_seen(scene->controller, loop_now_ms(scene->session.loop));
    assert_int_equal(counter_of(scene).by_state[NODE_SETTING_UP], 1);
    end(scene);
    scene_free(scene);
}

static bool has_lost_lease(struct scene *scene)
{
    return told(scene, "deposed by other\n");
}

/* The next renewal is a third of a lease away; a change of the lease is applied at once. */
static void a_lost_lease_ends_it(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    scene->cloud.epoch = 2;
    scene->cloud.holder = STR("other");
    controller_renew(scene->controller);
    assert_comes(scene, has_lost_lease);
    controller_set_goal(scene->controller, GOAL_DOWN);
    (void)runs_until(scene, NULL, 100);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    end(scene);
    scene_free(scene);
}

static bool lease_was_lost_to_nobody(struct scene *scene)
{
    return told(scene, "deposed by nobody\n");
}

/* The cluster was removed for good: its former controller must not create it again. */
static void a_removed_cluster_stays_removed(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    scene->cloud.counts[FAKE_TAKE] = 0;
    scene->cloud.epoch = 0;
    controller_renew(scene->controller);
    assert_comes(scene, lease_was_lost_to_nobody);
    assert_int_equal(scene->cloud.counts[FAKE_TAKE], 0);
    end(scene);
    scene_free(scene);
}

/* Another process takes over the lease and terminates everything: nothing is launched in its
 * place. */
static void what_another_ends_is_not_launched_again(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    scene->cloud.counts[FAKE_LAUNCH] = 0;
    scene->cloud.epoch = 2;
    scene->cloud.holder = STR("other");
    for (size_t i = 0; i < scene->cloud.count; i++) {
        scene->cloud.machines[i].state = MACHINE_ENDING;
    }
    controller_refresh(scene->controller);
    assert_comes(scene, has_lost_lease);
    (void)runs_until(scene, NULL, 300);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    end(scene);
    scene_free(scene);
}

/* Instances that the cloud itself terminates are replaced. */
static void what_the_cloud_ends_is_launched_again(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    scene->cloud.machines[0].state = MACHINE_GONE;
    controller_refresh(scene->controller);
    (void)runs_until(scene, NULL, 100);
    assert_comes(scene, are_booting);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    assert_int_equal(scene->cloud.counts[FAKE_RENEW], 1);
    end(scene);
    scene_free(scene);
}

/* A lease that expired during a suspension is taken again if no other process took it. */
static void a_lease_that_ran_out_is_taken_again(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    scene->cloud.is_released = true;
    scene->cloud.next[FAKE_RENEW] = OUTCOME_MISMATCH;
    scene->cloud.hides_lease = true;
    controller_renew(scene->controller);
    (void)runs_until(scene, NULL, 50);
    assert_int_equal(controller_lease(scene->controller)->epoch, 2);
    assert_false(told(scene, "deposed"));
    controller_set_goal(scene->controller, GOAL_DOWN);
    assert_comes(scene, is_empty);
    end(scene);
    scene_free(scene);
}

/* Earlier launches are visible in a listing by now. */
static void let_launches_age(struct scene *scene)
{
    scene->core.settings.times.horizon = scene->core.settings.times.call_timeout = 1;
    usleep(20 * 1000);
}

/* A new cluster of the same name is another cluster: old journal records say nothing about it. */
static void another_cluster_is_not_the_old_one(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    end(scene);
    scene->cloud.count = 0;
    scene->cloud.epoch = 0;
    scene->cloud.uid = STR("ffffffffffffffffffffffffffffffff");
    let_launches_age(scene);
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    assert_int_equal(controller_instance_of(scene->controller, STR("i-1")), HEAD_INSTANCE + 1);
    end(scene);
    scene_free(scene);
}

/* But not while instances of the old cluster may still appear in a listing. */
static void another_cluster_waits_for_launches_of_the_old_one(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    end(scene);
    scene->cloud.epoch = 0;
    scene->cloud.uid = STR("ffffffffffffffffffffffffffffffff");
    unsigned launches = scene->cloud.counts[FAKE_LAUNCH];
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, lease_was_lost_to_nobody);
    assert_true(told(scene, "launched instances for the previous cluster (0123456789abcdef"));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], launches);
    end(scene);
    scene_free(scene);
}

/* `up` creates the lease object again for the cluster in the journal, whose instances still
 * exist. */
static void up_creates_a_lease_again_with_the_known_uid(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    uint64_t epoch = controller_lease(scene->controller)->epoch;
    end(scene);
    scene->cloud.has_no_lease = true;
    scene->cloud.uid = STR("ffffffffffffffffffffffffffffffff"); /* the uid of a new cluster */
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_str(controller_lease(scene->controller)->uid, "0123456789abcdef0123456789abcdef");
    assert_true(controller_lease(scene->controller)->epoch > epoch);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    end(scene);
    scene_free(scene);
}

/* A controller whose lease expired does not create the lease object: the cluster may have been
 * removed since. */
static void a_lease_that_ran_out_is_not_created_again(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    scene->cloud.has_no_lease = true;
    scene->cloud.hides_lease = true;
    scene->cloud.next[FAKE_RENEW] = OUTCOME_MISMATCH;
    controller_renew(scene->controller);
    assert_comes(scene, lease_was_lost_to_nobody);
    assert_true(scene->cloud.has_no_lease);
    end(scene);
    scene_free(scene);
}

static void copy_intent(void *context, const struct journal_intent *intent)
{
    struct journal *new = context;
    struct err err;
    assert_true(journal_intend(new, intent, &err));
    if (intent->is_settled) {
        assert_true(journal_settle(new, intent->launch, intent->outcome, &err));
    }
}

/* What another controller handed over: its intents and instances, but not which belong together. */
static void take_over(struct scene *scene, const char *folder)
{
    struct journal *old;
    struct journal *new;
    uint64_t number;
    assert_true(journal_open(scene->folder, NULL, &old, &scene->err));
    assert_true(journal_open(folder, "taker", &new, &scene->err));
    assert_true(journal_begin(new, &scene->err));
    assert_true(journal_set(new, "uid", scene->cloud.uid, &scene->err));
    assert_true(journal_set(new, "epoch", STR("1"), &scene->err));
    assert_true(journal_set(new, "sole_writer_epoch", STR("1"), &scene->err));
    assert_true(journal_number(new, STR("head"), &number, &scene->err));
    assert_true(journal_intents(old, copy_intent, new, &scene->err));
    assert_true(journal_commit(new, &scene->err));
    journal_close(new);
    journal_close(old);
    memcpy(scene->folder, folder, strlen(folder) + 1);
}

static bool has_started_again(struct scene *scene)
{
    return scene->starts == 3;
}

/* The listing does not show them yet: without the records there would be three more. */
static void what_was_handed_over_is_not_launched_anew(void **state)
{
    struct scene *scene = scene_new();
    char folder[96];
    (void)state;
    snprintf(folder, sizeof(folder), "%s/head", scene->scratch);
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_int_equal(count_of(&scene->cloud.calls, "take me pid 1 up, new\n"), 1);
    controller_stand_down(scene->controller);
    (void)runs_until(scene, NULL, 20);
    end(scene);
    assert_int_equal(scene->cloud.counts[FAKE_RELEASE], 0);
    take_over(scene, folder);
    scene->take_from = 1;
    scene->lease_object = "lt-1";
    scene->cloud.is_blind = true;
    scene->cloud.counts[FAKE_LAUNCH] = 0;
    begin(scene, "head service", GOAL_RUN);
    assert_comes(scene, has_launched);
    (void)runs_until(scene, NULL, 300);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 2);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    scene->cloud.is_blind = false;
    controller_refresh(scene->controller);
    assert_comes(scene, are_booting);
    assert_int_equal(controller_lease(scene->controller)->epoch, 2);
    end(scene);
    /* A handed-over lease can be taken once: if another process held one since, it must be
     * looked up. */
    begin(scene, "head service again", GOAL_RUN);
    assert_comes(scene, has_started_again);
    assert_int_equal(controller_lease(scene->controller)->epoch, 3);
    assert_int_equal(count_of(&scene->cloud.calls, "take head service, handed over\n"), 1);
    assert_int_equal(count_of(&scene->cloud.calls, "handed over\n"), 1);
    end(scene);
    scene_free(scene);
}

/* Everything may be called from a hook, this too. */
static void close_it(void *context, const struct cluster_lease *lease)
{
    struct scene *scene = context;
    (void)lease;
    scene->starts++;
    controller_close(scene->controller);
    scene->controller = NULL;
}

static void it_may_be_closed_by_a_hook(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->on_started = close_it;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    (void)runs_until(scene, NULL, 50); /* answers to its calls arrive after it is freed */
    end(scene);
    scene_free(scene);
}

static bool was_emptied(struct scene *scene)
{
    return told(scene, "emptied\n");
}

/* It is not known whether it took effect, so the controller waits, and the user gets a message. */
static void an_unanswered_launch_keeps_a_cluster_from_being_empty(void **state)
{
    struct scene *scene = scene_new();
    struct core_times *times = &scene->core.settings.times;
    (void)state;
    times->horizon = times->call_timeout = 300;
    scene->cloud.is_mute[FAKE_LAUNCH] = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_launched);
    end(scene);
    scene->cloud.count = 0; /* it never arrived */
    scene->cloud.is_mute[FAKE_LAUNCH] = false;
    scene->cloud.always[FAKE_LAUNCH] = OUTCOME_UNKNOWN;
    begin(scene, "me pid 2 down", GOAL_DOWN);
    int64_t start = loop_now_ms(scene->session.loop);
    assert_comes(scene, was_emptied);
    assert_true(loop_now_ms(scene->session.loop) - start >= 600);
    assert_true(controller_is_empty(scene->controller));
    assert_true(told(scene, "the cloud did not answer a launch request"));
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    end(scene);
    scene_free(scene);
}

/* The node types of the file change their order: launched instances keep their type. */
static void a_file_may_change(void **state)
{
    struct scene *scene = scene_new();
    struct core_setup *core = &scene->core;
    struct managed_node managed_node;
    (void)state;
    scene->cloud.is_mute[FAKE_LAUNCH] = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_launched);
    end(scene);
    scene->cloud.is_mute[FAKE_LAUNCH] = false;
    struct offering *offerings = ARENA_ARRAY(&scene->fixture->arena, 3, struct offering);
    offerings[0] = core->settings.offerings[2];
    offerings[1] = core->settings.offerings[1];
    offerings[2] = core->settings.offerings[0];
    core->settings.offerings = offerings;
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    (void)runs_until(scene, NULL, 50);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    uint64_t large = controller_instance_of(scene->controller, STR("i-3"));
    assert_true(controller_find(scene->controller, large, &managed_node));
    assert_int_equal(managed_node.node->offering, 0);
    end(scene);
    scene_free(scene);
}

static bool has_listed(struct scene *scene)
{
    return scene->cloud.counts[FAKE_LIST] >= 1;
}

/* A node type is renamed and another one changed: running instances count, and nothing extra is
 * launched. */
static void a_renamed_type_counts_and_is_outdated(void **state)
{
    struct scene *scene = scene_new();
    struct managed_node managed_node;
    struct diag_list diags;
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    end(scene);
    const struct value *tree = fixture_prepare(
        scene->fixture,
        "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"
        "auth: {ssh_user: ubuntu}\nmax_workers: 3\nhead_node_type: head\n"
        "available_node_types:\n"
        "  head: {node_config: {InstanceType: m5.large}, resources: {CPU: 2}}\n"
        "  cpu: {min_workers: 2, max_workers: 2, node_config: {InstanceType: m5.large}}\n"
        "  large: {max_workers: 1, node_config: {InstanceType: m5.4xlarge}}\n");
    scene->config = config_type(&scene->fixture->arena, tree);
    diag_list_init(&diags, &scene->fixture->arena);
    assert_true(core_setup_make(&scene->fixture->arena, scene->config, NULL, &diags, &scene->core,
                                &scene->err));
    price_table_read(STR("0 m5.large - 96000 4 1\n0 m5.2xlarge - 384000 4 1\n"), scene->core.region,
                     &scene->fixture->arena, &scene->core.book.table);
    scene->core.book.disks = STR("small\tnone 0\nlarge\tnone 0\n");
    fake_cloud_find(&scene->cloud, "i-3")->type = STR("m5.2xlarge");
    memset(scene->cloud.counts, 0, sizeof(scene->cloud.counts));
    begin(scene, "me pid 2 up", GOAL_RUN);
    assert_comes(scene, has_listed);
    (void)runs_until(scene, NULL, 50);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    uint64_t small = controller_instance_of(scene->controller, STR("i-1"));
    assert_true(controller_find(scene->controller, small, &managed_node));
    assert_non_null(managed_node.node);
    assert_true(managed_node.node->is_outdated);
    assert_int_equal(managed_node.node->offering, OFFERING_GONE);
    assert_int_equal(managed_node.node->price, 96000);
    uint64_t large = controller_instance_of(scene->controller, STR("i-3"));
    assert_true(controller_find(scene->controller, large, &managed_node));
    assert_true(managed_node.node->is_outdated);
    assert_int_equal(managed_node.node->offering, 2);
    assert_int_equal(managed_node.node->price, 384000); /* of the running instance */
    end(scene);
    scene->core.settings.keeps_outdated = true;
    begin(scene, "me pid 3 up", GOAL_RUN);
    assert_comes(scene, has_started);
    (void)runs_until(scene, NULL, 50);
    assert_true(controller_find(scene->controller, large, &managed_node));
    assert_false(managed_node.node->is_outdated);
    end(scene);
    scene_free(scene);
}

static bool has_two_lines(struct scene *scene)
{
    return count_of(&scene->told, "trouble") >= 2;
}

static void what_cannot_be_prepared_is_tried_again(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.next[FAKE_PREFLIGHT] = OUTCOME_DENIED;
    scene->cloud.next[FAKE_PREPARE] = OUTCOME_DENIED;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_two_lines);
    assert_comes(scene, are_booting);
    assert_true(told(
        scene,
        "trouble 5 cannot prepare the key pair, security group and IAM role: the cloud says no"));
    end(scene);
    scene_free(scene);
}

static bool was_found_unfit(struct scene *scene)
{
    return told(scene, "the cluster file does not fit the account: key pair \"x\" is missing");
}

/* On the head no user reads the findings of the preflight. */
static void an_error_of_the_preflight_is_reported_and_checked_again(void **state)
{
    struct scene *scene = scene_new();
    const struct finding findings[] = {
        {.level = FINDING_WARNING, .text = STR("small quota")},
        {.level = FINDING_ERROR, .text = STR("key pair \"x\" is missing")}};
    (void)state;
    scene->cloud.findings = findings;
    scene->cloud.finding_count = ARRAY_LEN(findings);
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, was_found_unfit);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_int_equal(scene->cloud.counts[FAKE_PREPARE], 0);
    scene->cloud.finding_count = 1;
    assert_comes(scene, are_booting);
    end(scene);
    scene_free(scene);
}

static bool large_is_refused(struct scene *scene)
{
    return told(scene, "the node type does not fit the account: image \"x\" is missing") &&
           fake_cloud_living(&scene->cloud) == 2;
}

static bool was_checked_again(struct scene *scene)
{
    return scene->cloud.counts[FAKE_PREFLIGHT] == 2 && scene->cloud.counts[FAKE_LAUNCH] == 2;
}

/* Only the launches of that type; the next launch checks the account again. */
static void an_error_about_one_type_stops_its_launches(void **state)
{
    struct scene *scene = scene_new();
    const struct finding findings[] = {
        {.level = FINDING_ERROR,
         .text = STR("image \"x\" is missing"),
         .path = STR("available_node_types.large.node_config.ImageId")}};
    (void)state;
    scene->cloud.findings = findings;
    scene->cloud.finding_count = ARRAY_LEN(findings);
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, large_is_refused);
    assert_int_equal(scene->cloud.counts[FAKE_PREFLIGHT], 1);
    scene->cloud.finding_count = 0;
    scene->cloud.machines[0].state = MACHINE_GONE; /* its replacement is the next launch */
    controller_refresh(scene->controller);
    assert_comes(scene, was_checked_again);
    end(scene);
    scene_free(scene);
}

static bool has_launched_thrice(struct scene *scene)
{
    return scene->cloud.counts[FAKE_LAUNCH] >= 3;
}

/* If the file names no zone, the zones of the preflight are used. */
static void no_room_in_one_zone_leads_to_the_next(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.zones[0] = "us-west-2b";
    scene->cloud.zones[1] = "us-west-2a";
    scene->cloud.next[FAKE_LAUNCH] = OUTCOME_CAPACITY;
    struct provider *provider = fake_provider_new(&scene->cloud, NULL);
    struct str zones = type_zones_ask(provider, scene->config, &scene->fixture->arena);
    provider->ops->close(provider);
    assert_str(zones, "head\tus-west-2b us-west-2a\nsmall\tus-west-2b us-west-2a\n"
                      "large\tus-west-2b us-west-2a\n");
    core_setup_place(&scene->fixture->arena, scene->config, zones, &scene->core);
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_launched_thrice);
    assert_comes(scene, are_booting);
    assert_int_equal(count_of(&scene->cloud.sent, "zone-us-west-2b"), 2);
    assert_int_equal(count_of(&scene->cloud.sent, "zone-us-west-2a"), 1);
    end(scene);
    scene_free(scene);
}

struct kept {
    size_t count;
    int64_t first;
};

static void take_kept(void *context, const struct journal_entry *entry)
{
    struct kept *kept = context;
    kept->first = kept->count++ == 0 ? entry->number : kept->first;
}

static bool has_short_history(struct scene *scene)
{
    struct kept kept = {0};
    size_t settled = 0;
    assert_true(journal_history(scene->journal, 0, take_kept, &kept, &scene->err));
    assert_true(journal_intents(scene->journal, take_settled, &settled, &scene->err));
    return kept.count == 3 && kept.first > 3 && settled == 0;
}

static void a_short_retention_trims_history_and_launches(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    setenv("SHOAL_TEST_TIMES", "keep_entries=3,keep_launch=1", 1);
    begin(scene, "me pid 1 up", GOAL_RUN);
    unsetenv("SHOAL_TEST_TIMES");
    assert_comes(scene, are_booting);
    assert_comes(scene, has_short_history);
    end(scene);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_are_launched_and_ended),
        cmocka_unit_test(the_same_bytes_are_sent_again),
        cmocka_unit_test(a_lost_answer_is_asked_for_again),
        cmocka_unit_test(a_refusal_is_told_and_settled),
        cmocka_unit_test(another_holder_is_waited_for),
        cmocka_unit_test(a_lease_can_be_broken),
        cmocka_unit_test(the_lease_of_the_last_down_is_broken),
        cmocka_unit_test(tags_are_set_together),
        cmocka_unit_test(a_passing_status_is_not_told),
        cmocka_unit_test(listings_back_off),
        cmocka_unit_test(the_head_is_no_worker),
        cmocka_unit_test(ray_says_who_has_joined),
        cmocka_unit_test(a_lost_lease_ends_it),
        cmocka_unit_test(a_removed_cluster_stays_removed),
        cmocka_unit_test(what_another_ends_is_not_launched_again),
        cmocka_unit_test(what_the_cloud_ends_is_launched_again),
        cmocka_unit_test(a_lease_that_ran_out_is_taken_again),
        cmocka_unit_test(another_cluster_is_not_the_old_one),
        cmocka_unit_test(another_cluster_waits_for_launches_of_the_old_one),
        cmocka_unit_test(up_creates_a_lease_again_with_the_known_uid),
        cmocka_unit_test(a_lease_that_ran_out_is_not_created_again),
        cmocka_unit_test(what_was_handed_over_is_not_launched_anew),
        cmocka_unit_test(an_unanswered_launch_keeps_a_cluster_from_being_empty),
        cmocka_unit_test(a_file_may_change),
        cmocka_unit_test(no_room_in_one_zone_leads_to_the_next),
        cmocka_unit_test(it_may_be_closed_by_a_hook),
        cmocka_unit_test(a_short_retention_trims_history_and_launches),
        cmocka_unit_test(a_renamed_type_counts_and_is_outdated),
        cmocka_unit_test(what_cannot_be_prepared_is_tried_again),
        cmocka_unit_test(an_error_of_the_preflight_is_reported_and_checked_again),
        cmocka_unit_test(an_error_about_one_type_stops_its_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
