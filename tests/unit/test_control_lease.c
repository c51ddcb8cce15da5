/* test_control_lease.c: a controller that is suspended, loses its lease, or cannot write its
 * journal. */
#include "control_tally.h"

#include "app/control/timing.h"

static bool is_trouble(struct scene *scene)
{
    return told(scene, "trouble ");
}

static bool has_lost_lease(struct scene *scene)
{
    return told(scene, "deposed by ");
}

static bool has_asked_renewal(struct scene *scene)
{
    return scene->cloud.counts[FAKE_RENEW] > 0;
}

static void set_tag_of(struct fake_cloud *cloud, struct machine *machine, const char *key,
                       const char *value)
{
    struct machine_tag *tags = ARENA_ARRAY(&cloud->arena, machine->tag_count + 1,
                                           struct machine_tag);
    memcpy(tags, machine->tags, machine->tag_count * sizeof(*tags));
    tags[machine->tag_count] = (struct machine_tag){str_from(key), str_from(value)};
    machine->tags = tags;
    machine->tag_count++;
}

/* ---- the end of a lease ---- */

struct first_lease {
    int64_t at, until; /* ms */
};

/* "12.500" */
static int64_t seconds_in(struct str text)
{
    int64_t seconds = 0;
    int64_t milliseconds = 0;
    assert_true(str_to_i64(str_cut(&text, '.'), &seconds));
    assert_true(str_to_i64(text, &milliseconds));
    return seconds * 1000 + milliseconds;
}

/* "12.500 lease 7 held until 42.500" */
static void take_lease_event(void *context, const struct journal_entry *entry)
{
    static const char held[] = " held until ";
    struct first_lease *lease = context;
    struct str rest = entry->text;
    size_t place = str_find(rest, held);
    if (entry->kind == JOURNAL_EVENT && place != SIZE_MAX && lease->until == 0) {
        lease->until = seconds_in(str_sub(rest, place + strlen(held), SIZE_MAX));
        lease->at = seconds_in(str_cut(&rest, ' '));
    }
}

/* The core stops before the cloud would give the lease to another process. */
static void the_core_is_told_an_earlier_end(void **state)
{
    struct scene *scene = scene_new();
    struct first_lease lease = {0};
    struct err err;
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_true(journal_history(scene->journal, 0, take_lease_event, &lease, &err));
    assert_true(lease.until > 0);
    assert_true(lease.until <= lease.at + LEASE_MS - LEASE_MARGIN_MS);
    assert_true(lease.until > lease.at + LEASE_MS / 2);
    end(scene);
    scene_free(scene);
}

/* A laptop that was suspended stops and says so, because its information is old. */
static void a_command_stops_when_its_lease_ran_out(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->fails_if_held = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    unsigned launches = scene->cloud.counts[FAKE_LAUNCH];
    scene->cloud.hides_lease = true; /* no other process has taken it */
    scene->cloud.next[FAKE_RENEW] = OUTCOME_MISMATCH;
    scene->shift_ms = 3600 * 1000;
    assert_comes(scene, has_lost_lease);
    assert_true(told(scene, "deposed by nobody\n"));
    assert_true(told(scene, "trouble "));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], launches);
    assert_int_equal(scene->cloud.counts[FAKE_TAKE], 1);
    end(scene);
    scene_free(scene);
}

static bool was_refused(struct scene *scene)
{
    return told(scene, "deposed: ");
}

static bool has_trouble(struct scene *scene)
{
    return told(scene, "trouble ");
}

/* `up` without the permission exits with the reason; a service waits for the permission. */
static void a_command_that_may_not_take_the_lease_ends(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->fails_if_held = true;
    scene->cloud.always[FAKE_TAKE] = OUTCOME_DENIED;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, was_refused);
    assert_false(told(scene, "trouble "));
    (void)runs_until(scene, NULL, 100);
    assert_int_equal(scene->cloud.counts[FAKE_TAKE], 1);
    end(scene);
    scene->fails_if_held = false;
    begin(scene, "me pid 2 service", GOAL_RUN);
    assert_comes(scene, has_trouble);
    assert_true(told(scene, "cannot acquire the cluster lease: "));
    scene->cloud.always[FAKE_TAKE] = OUTCOME_DONE;
    assert_comes(scene, are_booting);
    end(scene);
    scene_free(scene);
}

/* The renewal timer ran on a clock that stood still: the renewal is sent at once, not in half a
 * minute. */
static void a_suspended_machine_looks_at_its_lease_at_once(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_int_equal(scene->cloud.counts[FAKE_RENEW], 0);
    scene->shift_ms = RENEW_MS;
    assert_comes(scene, has_asked_renewal);
    end(scene);
    scene_free(scene);
}

/* Launches that waited while the machine was suspended are not sent: another process may act by
 * now. */
static void launches_are_not_sent_after_the_end_of_the_lease(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.delay_ms[FAKE_PREPARE] = 300; /* they wait for the renewal */
    scene->cloud.delay_ms[FAKE_RENEW] = 3600 * 1000;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    scene->shift_ms = LEASE_MS;
    assert_false(runs_until(scene, has_launched, 1000));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    end(scene);
    scene_free(scene);
}

/* Also if the lease was confirmed again since: they were decided under the old lease. */
static void old_launches_are_not_sent_under_a_new_lease(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.delay_ms[FAKE_PREPARE] = 300;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    scene->shift_ms = LEASE_MS;
    controller_set_goal(scene->controller, GOAL_DOWN); /* the new decision contains no launch */
    assert_comes(scene, has_asked_renewal);
    assert_false(runs_until(scene, has_launched, 600));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    end(scene);
    scene_free(scene);
}

/* A virtual machine that was paused: the loop's clock did not count the time, and the wall clock
 * was set afterwards. */
static void a_wall_clock_that_jumps_leads_to_a_look(void **state)
{
    static const int64_t jumps[] = {3600 * 1000, -3600 * 1000};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        struct scene *scene = scene_new();
        scene->cloud.delay_ms[FAKE_PREPARE] = scene->cloud.delay_ms[FAKE_RENEW] = 300;
        begin(scene, "me pid 1 up", GOAL_RUN);
        assert_comes(scene, has_started);
        assert_int_equal(scene->cloud.counts[FAKE_RENEW], 0);
        scene->wall_shift_ms = jumps[i];
        assert_comes(scene, has_asked_renewal);
        assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
        assert_comes(scene, has_launched);
        assert_int_equal(scene->cloud.counts[FAKE_RENEW], 1);
        end(scene);
        scene_free(scene);
    }
}

/* The pause may have been before the cloud gave the lease, or after it. */
static void a_jump_while_the_lease_is_taken_leads_to_a_look(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.delay_ms[FAKE_TAKE] = scene->cloud.delay_ms[FAKE_RENEW] = 300;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_false(runs_until(scene, has_started, 100));
    scene->wall_shift_ms = 3600 * 1000;
    assert_comes(scene, has_asked_renewal);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_comes(scene, has_launched);
    end(scene);
    scene_free(scene);
}

/* The provider refuses to send: the lease is checked, and then the controller continues or
 * stops. */
static void a_launch_without_a_lease_leads_to_a_look(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.has_lapsed = true;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_asked_renewal);
    assert_true(told(scene, "trouble 9 launch 1."));
    assert_int_equal(fake_cloud_living(&scene->cloud), 0);
    scene->cloud.has_lapsed = false;
    assert_comes(scene, are_booting);
    assert_int_equal(fake_cloud_living(&scene->cloud), 3);
    end(scene);
    scene_free(scene);
}

static bool is_held(struct scene *scene)
{
    return told(scene, "cannot renew the lease");
}

/* What waited for a failed renewal is decided again, not sent when a later renewal succeeds. */
static void held_launches_are_given_back_when_a_renewal_fails(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.delay_ms[FAKE_PREPARE] = 300;
    scene->cloud.always[FAKE_RENEW] = OUTCOME_UNKNOWN;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    scene->shift_ms = 2 * CONFIRM_MS; /* not sure any more, but it is still ours */
    assert_comes(scene, is_held);
    controller_set_goal(scene->controller, GOAL_DOWN);
    scene->cloud.always[FAKE_RENEW] = OUTCOME_DONE;
    assert_false(runs_until(scene, has_launched, 1500));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    end(scene);
    scene_free(scene);
}

/* The cluster was removed and created again by another process in the meantime: it is not ours. */
static void a_cluster_made_anew_is_left_alone(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->core.settings.times.horizon = scene->core.settings.times.call_timeout = 1;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    unsigned launches = scene->cloud.counts[FAKE_LAUNCH];
    usleep(20 * 1000); /* no instance of ours can still appear */
    scene->cloud.uid = STR("ffffffffffffffffffffffffffffffff");
    scene->cloud.holder = STR("you pid 9 up");
    scene->cloud.count = 0;
    scene->cloud.is_released = true;
    scene->cloud.hides_lease = true;
    scene->cloud.next[FAKE_RENEW] = OUTCOME_MISMATCH;
    controller_renew(scene->controller);
    assert_comes(scene, has_lost_lease);
    assert_false(told(scene, "deposed by nobody"));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], launches);
    end(scene);
    scene_free(scene);
}

/* ---- the journal ---- */

static void launches_need_the_journal(void **state)
{
    struct scene *scene = scene_new();
    struct err err;
    (void)state;
    scene->cloud.delay_ms[FAKE_PREPARE] = 300;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_started);
    assert_true(journal_begin(scene->journal, &err)); /* from now on no other process can write */
    assert_comes(scene, is_trouble);
    assert_true(told(scene, "the journal cannot be written"));
    assert_false(runs_until(scene, has_launched, 500));
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    assert_false(journal_end(scene->journal, false, &err));
    assert_comes(scene, are_booting);
    end(scene);
    scene_free(scene);
}

static bool has_terminated(struct scene *scene)
{
    return scene->cloud.counts[FAKE_TERMINATE] > 0;
}

/* A full disk must not keep unneeded instances running. */
static void terminations_go_on_without_the_journal(void **state)
{
    struct scene *scene = scene_new();
    struct err err;
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_true(journal_begin(scene->journal, &err)); /* from now on no other process can write */
    controller_set_goal(scene->controller, GOAL_DOWN);
    assert_comes(scene, has_terminated);
    assert_false(journal_end(scene->journal, false, &err));
    end(scene);
    scene_free(scene);
}

static bool are_launching(struct scene *scene)
{
    return counter_of(scene).by_state[NODE_LAUNCHING] == 3;
}

static bool all_are_set_up(struct scene *scene)
{
    return told(scene, "set up 2\n") && told(scene, "set up 3\n") && told(scene, "set up 4\n");
}

/* A disk that is full for a short time must not cost the nodes that are booting. */
static void setups_are_not_lost_without_the_journal(void **state)
{
    struct scene *scene = scene_new();
    struct err err;
    (void)state;
    scene->sets_up = true;
    scene->cloud.boot_ms = 3600 * 1000;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_launching);
    assert_true(journal_begin(scene->journal, &err)); /* from now on no other process can write */
    scene->cloud.boot_ms = 0;
    assert_comes(scene, is_trouble);
    assert_false(journal_end(scene->journal, false, &err));
    assert_comes(scene, all_are_set_up);
    end(scene);
    scene_free(scene);
}

/* A launch that succeeded long after it was recorded: its instances may not be listed yet. */
static void a_late_success_is_fresh_after_a_restart(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.always[FAKE_LAUNCH] = OUTCOME_UNKNOWN;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_launched);
    scene->shift_ms = 10 * 60 * 1000;
    scene->cloud.always[FAKE_LAUNCH] = OUTCOME_DONE;
    assert_comes(scene, are_booting);
    end(scene);
    scene->cloud.is_blind = true;
    scene->cloud.counts[FAKE_LAUNCH] = 0;
    begin(scene, "me pid 2 up", GOAL_RUN);
    scene->starts = 0;
    assert_comes(scene, has_started);
    (void)runs_until(scene, NULL, 300);
    assert_int_equal(scene->cloud.counts[FAKE_LAUNCH], 0);
    end(scene);
    scene_free(scene);
}

static void count_settled(void *context, const struct journal_intent *intent)
{
    *(size_t *)context += intent->is_settled;
}

static bool has_answered_twice(struct scene *scene)
{
    return scene->cloud.counts[FAKE_LAUNCH] >= 4;
}

/* An earlier call without an answer may still create instances: a refusal does not settle it. */
static void a_refusal_does_not_settle_an_open_call(void **state)
{
    struct scene *scene = scene_new();
    struct err err;
    size_t settled = 0;
    (void)state;
    scene->cloud.always[FAKE_LAUNCH] = OUTCOME_UNKNOWN;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_launched);
    assert_comes(scene, is_trouble);
    scene->cloud.always[FAKE_LAUNCH] = OUTCOME_CAPACITY;
    assert_comes(scene, has_answered_twice);
    (void)runs_until(scene, NULL, 50);
    assert_true(journal_intents(scene->journal, count_settled, &settled, &err));
    assert_int_equal(settled, 0);
    end(scene);
    scene_free(scene);
}

/* If the wall clock is set while the program is down, open launches do not become old. */
static void a_wall_clock_that_jumps_drops_nothing(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    scene->cloud.is_blind = true; /* no listing shows them yet */
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_launched);
    (void)runs_until(scene, NULL, 100);
    end(scene);
    size_t living = fake_cloud_living(&scene->cloud);
    assert_int_equal(living, 3);
    scene->wall_shift_ms = 3 * 3600 * 1000;
    begin(scene, "me pid 2 up", GOAL_RUN);
    (void)runs_until(scene, NULL, 700);
    assert_int_equal(fake_cloud_living(&scene->cloud), living);
    end(scene);
    scene_free(scene);
}

/* ---- tags ---- */

static bool has_tagged(struct scene *scene)
{
    return scene->cloud.counts[FAKE_TAG] >= 2;
}

static void tags_that_failed_are_tried_once_more(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    scene->cloud.next[FAKE_TAG] = OUTCOME_UNKNOWN;
    controller_tag(scene->controller, HEAD_INSTANCE + 1, STR("ray-node-status"), STR("up-to-date"),
                   false);
    assert_comes(scene, has_tagged);
    end(scene);
    scene_free(scene);
}

/* ---- heads ---- */

static struct machine *add_head(struct scene *scene, const char *id, int64_t launched_at)
{
    struct fake_cloud *cloud = &scene->cloud;
    struct machine *machine = fake_cloud_add(cloud, "0123456789abcdef0123456789abcdef", "head",
                                             "1.2147483648");
    machine->id = str_from(id);
    machine->launched_at = launched_at;
    return machine;
}

static bool has_ended_one(struct scene *scene)
{
    return scene->cloud.counts[FAKE_TERMINATE] > 0;
}

static struct str head_of(struct scene *scene)
{
    struct managed_node head;
    return controller_find(scene->controller, HEAD_INSTANCE, &head) ? head.machine->id : STR("");
}

/* A launch of a suspended laptop arrived late: the known head is kept. */
static void a_second_head_is_terminated(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    struct machine *first = add_head(scene, "i-first", 100);
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    assert_str(head_of(scene), "i-first");
    (void)first;
    add_head(scene, "i-second", 200); /* younger: by age alone it would be the head */
    controller_refresh(scene->controller);
    assert_comes(scene, has_ended_one);
    assert_str(head_of(scene), "i-first");
    (void)runs_until(scene, NULL, 50);
    assert_true(told(scene, "i-second is a second head"));
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-first")->state, MACHINE_RUNNING);
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-second")->state, MACHINE_GONE);
    end(scene);
    scene_free(scene);
}

/* After the handover no other process would do it. The service knows which head is right: it
 * runs there, whatever a listing shows. */
static void a_service_terminates_a_second_head(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    struct machine *first = add_head(scene, "i-first", 100);
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    end(scene);
    scene->is_service = true;
    first->state = MACHINE_GONE; /* as if it were not listed */
    add_head(scene, "i-second", 200);
    begin(scene, "me pid 2 up", GOAL_RUN);
    (void)runs_until(scene, NULL, 500);
    assert_int_equal(scene->cloud.counts[FAKE_TERMINATE], 0);
    fake_cloud_find(&scene->cloud, "i-first")->state = MACHINE_RUNNING;
    scene->shift_ms += 10 * 1000; /* the lease was confirmed too long ago: it is renewed first */
    controller_refresh(scene->controller);
    assert_comes(scene, has_ended_one);
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-first")->state, MACHINE_RUNNING);
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-second")->state, MACHINE_GONE);
    end(scene);
    scene_free(scene);
}

/* Without a journal the head that is set up is kept. */
static void a_head_that_is_set_up_is_kept(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    struct machine *old = add_head(scene, "i-old", 100);
    set_tag_of(&scene->cloud, old, "ray-node-status", "up-to-date");
    add_head(scene, "i-young", 200);
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, has_ended_one);
    assert_str(head_of(scene), "i-old");
    assert_int_equal(fake_cloud_find(&scene->cloud, "i-young")->state, MACHINE_GONE);
    end(scene);
    scene_free(scene);
}

/* Two heads are set up: nothing shows which one is right, so neither is terminated. */
static void of_two_heads_at_work_none_is_terminated(void **state)
{
    struct scene *scene = scene_new();
    (void)state;
    set_tag_of(&scene->cloud, add_head(scene, "i-a", 100), "ray-node-status", "up-to-date");
    set_tag_of(&scene->cloud, add_head(scene, "i-b", 200), "ray-node-status", "up-to-date");
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    controller_refresh(scene->controller);
    (void)runs_until(scene, NULL, 500);
    assert_int_equal(scene->cloud.counts[FAKE_TERMINATE], 0);
    assert_true(told(scene, "i-a and i-b are both set up as the head of this cluster"));
    end(scene);
    scene_free(scene);
}

/* A head that was just launched is missing in a listing: it is too new, not gone. */
static void a_new_head_may_be_missing_in_a_listing(void **state)
{
    struct scene *scene = scene_new();
    struct managed_node head;
    (void)state;
    begin(scene, "me pid 1 up", GOAL_RUN);
    assert_comes(scene, are_booting);
    struct machine_tag tag = {STR("ray-node-type"), STR("head")};
    struct machine machine = {
        .id = STR("i-head"), .state = MACHINE_PENDING, .tags = &tag, .tag_count = 1};
    controller_learn(scene->controller, &machine, 1);
    unsigned listings = scene->cloud.counts[FAKE_LIST];
    controller_refresh(scene->controller);
    (void)runs_until(scene, NULL, 800);
    assert_true(scene->cloud.counts[FAKE_LIST] > listings + 1);
    assert_true(controller_find(scene->controller, HEAD_INSTANCE, &head));
    assert_int_equal(head.machine->state, MACHINE_PENDING);
    scene->shift_ms = scene->core.settings.times.horizon; /* now a listing would show it */
    scene->cloud.delay_ms[FAKE_RENEW] = 3600 * 1000;
    controller_refresh(scene->controller);
    (void)runs_until(scene, NULL, 800);
    assert_true(controller_find(scene->controller, HEAD_INSTANCE, &head));
    assert_int_equal(head.machine->state, MACHINE_GONE);
    end(scene);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_core_is_told_an_earlier_end),
        cmocka_unit_test(a_command_stops_when_its_lease_ran_out),
        cmocka_unit_test(a_command_that_may_not_take_the_lease_ends),
        cmocka_unit_test(a_suspended_machine_looks_at_its_lease_at_once),
        cmocka_unit_test(launches_are_not_sent_after_the_end_of_the_lease),
        cmocka_unit_test(old_launches_are_not_sent_under_a_new_lease),
        cmocka_unit_test(a_wall_clock_that_jumps_leads_to_a_look),
        cmocka_unit_test(a_jump_while_the_lease_is_taken_leads_to_a_look),
        cmocka_unit_test(a_launch_without_a_lease_leads_to_a_look),
        cmocka_unit_test(held_launches_are_given_back_when_a_renewal_fails),
        cmocka_unit_test(a_cluster_made_anew_is_left_alone),
        cmocka_unit_test(launches_need_the_journal),
        cmocka_unit_test(terminations_go_on_without_the_journal),
        cmocka_unit_test(setups_are_not_lost_without_the_journal),
        cmocka_unit_test(a_late_success_is_fresh_after_a_restart),
        cmocka_unit_test(a_refusal_does_not_settle_an_open_call),
        cmocka_unit_test(a_wall_clock_that_jumps_drops_nothing),
        cmocka_unit_test(tags_that_failed_are_tried_once_more),
        cmocka_unit_test(a_second_head_is_terminated),
        cmocka_unit_test(a_service_terminates_a_second_head),
        cmocka_unit_test(a_head_that_is_set_up_is_kept),
        cmocka_unit_test(of_two_heads_at_work_none_is_terminated),
        cmocka_unit_test(a_new_head_may_be_missing_in_a_listing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
