/* test_train_job.c: what an elastic training job does, one situation at a time. */
#include "core/train/job.h"

#include "train_scene.h"

static struct train_scene scene;

static void run(int64_t min, int64_t max, uint32_t count)
{
    struct train_settings settings = scene_settings(min, max);
    scene_run(&scene, &settings, count);
}

/* All replicas end after a request; slot 1 is rank 0 and has saved. */
static void save_all(uint32_t count, int64_t checkpoint)
{
    assert_int_equal(scene.job.phase, TRAIN_SAVING);
    for (uint32_t slot = count; slot >= 1; slot--) {
        scene_return(&scene, slot, 143, 0, slot == 1 ? checkpoint : 0);
    }
}

static void assert_start(uint32_t slot, int64_t rank, int64_t world, int64_t checkpoint)
{
    const struct train_action *found = scene_find(&scene, TRAIN_START, slot);
    struct train_action start = found ? *found : (struct train_action){.rank = -1};
    assert_int_equal(start.rank, rank);
    assert_int_equal(start.world, world);
    assert_int_equal(start.checkpoint, checkpoint);
    assert_int_equal(start.generation, scene.job.generation);
}

static void assert_quiet(void)
{
    assert_int_equal(scene.actions.count, 0);
}

/* ---- the first start ---- */

static void the_first_start_waits_for_slots_that_come(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 3);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 3);
    assert_int_equal(scene_count(&scene, TRAIN_SUBMIT), 3);
    scene_prepare(&scene, 1);
    scene_prepare(&scene, 2);
    assert_quiet();
    scene_tick(&scene, settings.rescale_timeout - 1);
    assert_quiet();
    scene_prepare(&scene, 3);
    assert_start(1, 0, 3, 0);
    assert_start(2, 1, 3, 0);
    assert_start(3, 2, 3, 0);
}

static void the_first_start_goes_on_without_those_that_are_late(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 3);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 3);
    scene_prepare(&scene, 1);
    scene_prepare(&scene, 2);
    scene_tick(&scene, settings.rescale_timeout);
    assert_start(1, 0, 2, 0);
    assert_start(2, 1, 2, 0);
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
}

static void fewer_than_the_minimum_never_start(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(2, 3);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    scene_prepare(&scene, 1);
    scene_tick(&scene, 3600 * SECOND);
    assert_quiet();
    assert_int_equal(scene.job.phase, TRAIN_WAITING);
}

static void a_slot_that_does_not_connect_is_replaced(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 1);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    scene_tick(&scene, settings.connect_timeout - 1);
    assert_quiet();
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    scene_tick(&scene, 1);
    assert_int_equal(scene_cause(&scene, TRAIN_LEAVE, 1), TRAIN_CAUSE_NO_CONNECT);
    assert_non_null(scene_find(&scene, TRAIN_SUBMIT, 2));
}

/* ---- changes of the size ---- */

static void a_job_grows_when_all_that_come_are_ready(void **state)
{
    (void)state;
    run(1, 4, 2);
    scene_send(&scene, TRAIN_ROOM, 0, 2);
    assert_int_equal(scene_count(&scene, TRAIN_SUBMIT), 2);
    scene_prepare(&scene, 3);
    scene_tick(&scene, 50 * SECOND);
    assert_quiet();
    scene_prepare(&scene, 4);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 2);
    assert_int_equal(scene_cause(&scene, TRAIN_SAVE, 1), TRAIN_CAUSE_GROW);
    save_all(2, 1001);
    assert_int_equal(scene_count(&scene, TRAIN_START), 4);
    assert_start(1, 0, 4, 1001);
    assert_start(4, 3, 4, 1001);
}

static void a_job_grows_with_what_is_ready_after_the_timeout(void **state)
{
    (void)state;
    run(1, 4, 2);
    scene_send(&scene, TRAIN_ROOM, 0, 2);
    scene_prepare(&scene, 3);
    scene_send(&scene, TRAIN_STEPPED, 1, 2);
    scene_tick(&scene, scene.job.settings.rescale_timeout - 1);
    scene_send(&scene, TRAIN_STEPPED, 1, 3);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 2);
    save_all(2, 1001);
    assert_int_equal(scene_count(&scene, TRAIN_START), 3);
}

static void a_job_shrinks_to_a_lower_target(void **state)
{
    (void)state;
    run(1, 3, 3);
    scene_send(&scene, TRAIN_TARGET, 0, 2);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 3);
    assert_int_equal(scene_cause(&scene, TRAIN_SAVE, 3), TRAIN_CAUSE_SHRINK);
    save_all(3, 1001);
    assert_start(1, 0, 2, 1001);
    assert_start(2, 1, 2, 1001);
    assert_null(scene_find(&scene, TRAIN_START, 3));
    scene_send(&scene, TRAIN_STEPPED, 1, 1);
    scene_tick(&scene, scene.job.settings.surplus_timeout);
    assert_int_equal(scene_cause(&scene, TRAIN_LEAVE, 3), TRAIN_CAUSE_SURPLUS);
    assert_null(train_job_slot(&scene.job, 3));
}

static void the_target_is_kept_within_the_limits(void **state)
{
    (void)state;
    run(2, 3, 3);
    scene_send(&scene, TRAIN_TARGET, 0, 9);
    assert_int_equal(train_job_wanted(&scene.job), 3);
    scene_send(&scene, TRAIN_TARGET, 0, 0);
    assert_int_equal(train_job_wanted(&scene.job), 2);
}

/* Rank 0 has saved: the others are killed, and need not be waited for. */
static void only_rank_0_is_waited_for(void **state)
{
    (void)state;
    run(1, 3, 3);
    scene_send(&scene, TRAIN_TARGET, 0, 2);
    scene_return(&scene, 2, 143, 0, 0);
    assert_quiet();
    scene_return(&scene, 1, 143, 0, 1001);
    assert_non_null(scene_find(&scene, TRAIN_KILL, 3));
    assert_null(scene_find(&scene, TRAIN_KILL, 1));
    assert_null(scene_find(&scene, TRAIN_KILL, 2));
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
}

static void with_shards_all_ranks_are_waited_for(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 3);
    settings.is_sharded = true;
    scene_run(&scene, &settings, 3);
    scene_send(&scene, TRAIN_TARGET, 0, 2);
    scene_return(&scene, 1, 143, 0, 1001);
    scene_return(&scene, 2, 143, 0, 1001);
    assert_quiet();
    scene_return(&scene, 3, 143, 0, 1001);
    assert_int_equal(scene_count(&scene, TRAIN_KILL), 0);
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
    assert_start(1, 0, 2, 1001);
}

/* ---- interruptions ---- */

static void a_notice_waits_for_a_replacement_and_swaps_once(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    scene_send(&scene, TRAIN_NOTICE, 1, scene.now + 120 * SECOND);
    assert_non_null(scene_find(&scene, TRAIN_SUBMIT, 3));
    assert_int_equal(scene.actions.count, 1);
    scene_connect(&scene, 3);
    scene_tick(&scene, 10 * SECOND);
    assert_int_equal(scene.job.phase, TRAIN_RUNNING);
    scene_send(&scene, TRAIN_PREPARED, 3, 0);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 2);
    assert_int_equal(scene_cause(&scene, TRAIN_SAVE, 1), TRAIN_CAUSE_NOTICE);
    save_all(2, 1001);
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
    assert_start(2, 0, 2, 1001);
    assert_start(3, 1, 2, 1001);
    assert_int_equal(scene.job.generation, 2);
    assert_null(scene_find(&scene, TRAIN_LEAVE, 1)); /* the others fetch the checkpoint from it */
    scene_send(&scene, TRAIN_STEPPED, 2, 1);
    assert_int_equal(scene_cause(&scene, TRAIN_LEAVE, 1), TRAIN_CAUSE_NOTICE);
    scene_tick(&scene, 600);
    assert_int_equal(scene.job.generation, 2);
    assert_int_equal(scene.job.phase, TRAIN_RUNNING);
}

static void a_notice_without_a_replacement_leaves_in_time(void **state)
{
    (void)state;
    run(1, 2, 2);
    int64_t deadline = scene.now + 50 * SECOND;
    scene_send(&scene, TRAIN_NOTICE, 1, deadline);
    scene_tick(&scene, deadline - 5 * SECOND - 1 - scene.now);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 2);
    save_all(2, 1001);
    assert_int_equal(scene_count(&scene, TRAIN_START), 1);
    assert_start(2, 0, 1, 1001);
}

static void the_margin_has_room_for_a_save(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_TARGET, 0, 1);
    scene.now += 4 * SECOND; /* the save takes that long */
    save_all(2, 1001);
    scene_send(&scene, TRAIN_STEPPED, 1, 1);
    int64_t deadline = scene.now + 40 * SECOND;
    scene_send(&scene, TRAIN_NOTICE, 2, deadline); /* not a member: leaves */
    assert_non_null(scene_find(&scene, TRAIN_LEAVE, 2));
    scene_send(&scene, TRAIN_NOTICE, 1, deadline);
    scene_tick(&scene, 40 * SECOND - 13 * SECOND - 1);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 0);
    scene_tick(&scene, 1);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 1);
}

static void no_member_is_silent_or_about_to_be_interrupted(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 4);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 4);
    scene_connect(&scene, 1);
    scene_prepare(&scene, 2);
    scene_prepare(&scene, 3);
    scene_send(&scene, TRAIN_NOTICE, 2, scene.now + 100 * SECOND);
    scene_prepare(&scene, 4);
    scene.now += settings.rescale_timeout - 1;
    scene_send(&scene, TRAIN_SILENT, 3, 0);
    scene_tick(&scene, 1);
    assert_int_equal(scene_count(&scene, TRAIN_START), 1);
    assert_start(4, 0, 1, 0);
}

/* ---- failures ---- */

static void after_a_kill_the_survivors_go_on_and_grow_later(void **state)
{
    (void)state;
    run(1, 3, 3);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    scene_send(&scene, TRAIN_CHECKPOINT, 2, 1002);
    scene_return(&scene, 3, 0, 9, 0);
    assert_int_equal(scene.job.phase, TRAIN_SETTLING);
    assert_int_equal(scene_count(&scene, TRAIN_KILL), 0);
    scene_send(&scene, TRAIN_LOST, 3, 0);
    scene_tick(&scene, scene.job.settings.settle);
    assert_int_equal(scene_count(&scene, TRAIN_KILL), 2);
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
    assert_start(2, 0, 2, 1002); /* it has the checkpoint */
    assert_start(1, 1, 2, 1002);
    scene_send(&scene, TRAIN_STEPPED, 1, 1);
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    assert_non_null(scene_find(&scene, TRAIN_SUBMIT, 4));
    scene_prepare(&scene, 4);
    assert_int_equal(scene_cause(&scene, TRAIN_SAVE, 1), TRAIN_CAUSE_GROW);
}

static void the_slot_of_a_killed_replica_is_used_again(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_return(&scene, 2, 0, 9, 0);
    scene_tick(&scene, 200);
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
    assert_int_equal(scene.job.cause, TRAIN_CAUSE_KILLED);
    assert_int_equal(scene.job.code, 9);
    assert_int_equal(scene.job.culprit, 2);
    assert_int_equal(scene.job.failures, 1);
}

static void a_lost_slot_fails_the_generation_but_is_no_failure(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    assert_int_equal(scene.job.phase, TRAIN_SETTLING);
    assert_int_equal(scene.job.cause, TRAIN_CAUSE_SLOT_LOST);
    scene_tick(&scene, 200);
    assert_int_equal(scene_count(&scene, TRAIN_START), 1);
    assert_int_equal(scene.job.failures, 0);
}

static void silence_is_a_loss_after_its_timeout(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_SILENT, 2, 0);
    scene_tick(&scene, 1999);
    scene_connect(&scene, 2);
    scene_send(&scene, TRAIN_ADOPTED, 2, 1);
    scene_tick(&scene, 10 * SECOND);
    assert_quiet();
    assert_int_equal(scene.job.phase, TRAIN_RUNNING);
    scene_send(&scene, TRAIN_SILENT, 2, 0);
    scene_tick(&scene, 2000);
    assert_int_equal(scene_cause(&scene, TRAIN_LEAVE, 2), TRAIN_CAUSE_SLOT_LOST);
    assert_int_equal(scene.job.phase, TRAIN_SETTLING);
}

static void fail_once(void)
{
    scene_return(&scene, 1, 1, 0, 0);
    scene_tick(&scene, 200);
}

static void too_many_failures_end_the_job(void **state)
{
    (void)state;
    run(1, 1, 1);
    for (int i = 0; i < 3; i++) {
        fail_once();
        assert_int_equal(scene_count(&scene, TRAIN_START), 1);
    }
    fail_once();
    assert_int_equal(scene.job.phase, TRAIN_FAILED);
    assert_int_equal(scene.job.cause, TRAIN_CAUSE_FAILURES);
    assert_non_null(scene_find(&scene, TRAIN_LEAVE, 1));
    assert_int_equal(scene_count(&scene, TRAIN_END), 1);
    scene_send(&scene, TRAIN_ROOM, 0, 5);
    assert_quiet();
}

static void a_new_checkpoint_resets_the_failures(void **state)
{
    (void)state;
    run(1, 1, 1);
    for (int i = 0; i < 12; i++) {
        if (i % 3 == 2) {
            scene_send(&scene, TRAIN_CHECKPOINT, 1, 1000 + i);
        }
        fail_once();
        assert_start(1, 0, 1, i >= 2 ? 1000 + i - (i + 1) % 3 : 0);
    }
    for (int i = 0; i < 3; i++) {
        scene_send(&scene, TRAIN_CHECKPOINT, 1, 1011); /* not a new one */
        fail_once();
    }
    assert_int_equal(scene.job.phase, TRAIN_FAILED);
}

/* The other replicas notice a lost node before the trainer does. */
static void a_loss_that_explains_a_failure_is_no_failure(void **state)
{
    (void)state;
    run(1, 4, 4);
    scene_return(&scene, 1, 1, 0, 0);
    assert_int_equal(scene.job.failures, 1);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    scene_send(&scene, TRAIN_LOST, 3, 0);
    assert_int_equal(scene.job.failures, 0);
    scene_tick(&scene, 200);
    assert_int_equal(scene.job.cause, TRAIN_CAUSE_SLOT_LOST);
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
}

/* ---- ends ---- */

static void the_job_succeeds_when_all_end_by_themselves(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_return(&scene, 2, 0, 0, 0);
    assert_quiet();
    scene_return(&scene, 1, 0, 0, 1001);
    assert_int_equal(scene.job.phase, TRAIN_SUCCEEDED);
    assert_int_equal(scene_count(&scene, TRAIN_LEAVE), 2);
    assert_int_equal(scene_cause(&scene, TRAIN_END, 0), TRAIN_CAUSE_DONE);
}

static void an_end_after_a_request_is_no_success(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_return(&scene, 2, 0, 0, 0);
    scene_send(&scene, TRAIN_TARGET, 0, 1);
    scene_return(&scene, 1, 0, 0, 1001);
    assert_int_equal(scene.job.phase, TRAIN_RUNNING);
    assert_start(1, 0, 1, 1001);
    assert_int_equal(scene.job.failures, 0);
}

static void a_script_that_saves_by_itself_makes_the_others_save(void **state)
{
    (void)state;
    run(1, 3, 3);
    scene_return(&scene, 3, 143, 0, 0);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 2);
    assert_int_equal(scene_cause(&scene, TRAIN_SAVE, 1), TRAIN_CAUSE_SCRIPT);
    assert_null(scene_find(&scene, TRAIN_SAVE, 3));
    scene_return(&scene, 1, 143, 0, 1001);
    assert_int_equal(scene_count(&scene, TRAIN_START), 3);
    assert_start(1, 0, 3, 1001);
}

static void a_late_save_is_killed_and_the_older_checkpoint_used(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    scene_send(&scene, TRAIN_TARGET, 0, 1);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 2);
    scene_return(&scene, 2, 143, 0, 0);
    scene_tick(&scene, scene.job.settings.checkpoint_timeout - 1);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_non_null(scene_find(&scene, TRAIN_KILL, 1));
    assert_start(1, 0, 1, 1001);
    assert_int_equal(scene.job.cause, TRAIN_CAUSE_SAVE_LATE);
    assert_int_equal(scene.job.save_ms, 0);
}

static void a_replica_that_fails_while_it_saves_is_a_failure(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_TARGET, 0, 1);
    scene_return(&scene, 1, 1, 0, 0);
    assert_int_equal(scene.job.phase, TRAIN_SETTLING);
    assert_int_equal(scene.job.failures, 1);
}

static void stop_saves_and_ends(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_STOP, 0, 0);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 2);
    assert_int_equal(scene_cause(&scene, TRAIN_SAVE, 1), TRAIN_CAUSE_STOP);
    scene_send(&scene, TRAIN_STOP, 0, 0);
    assert_quiet();
    scene_return(&scene, 1, 0, 0, 1001);
    assert_int_equal(scene.job.phase, TRAIN_STOPPED);
    assert_int_equal(scene.job.cause, TRAIN_CAUSE_STOP);
    assert_int_equal(scene_count(&scene, TRAIN_LEAVE), 2);
    assert_int_equal(scene_count(&scene, TRAIN_START), 0);
}

static void stop_before_the_start_ends_at_once(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 2);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 2);
    scene_send(&scene, TRAIN_STOP, 0, 0);
    assert_int_equal(scene.job.phase, TRAIN_STOPPED);
    assert_int_equal(scene_count(&scene, TRAIN_LEAVE), 2);
}

static void a_script_that_only_ends_is_not_restarted_for_ever(void **state)
{
    (void)state;
    run(1, 1, 1);
    for (int i = 0; i < 10; i++) {
        scene_return(&scene, 1, 143, 0, 1001 + i); /* has saved */
        assert_start(1, 0, 1, 1001 + i);
        assert_true(scene.job.failures <= 1);
    }
    for (int i = 0; i < 2; i++) {
        scene_return(&scene, 1, 143, 0, 0);
        assert_start(1, 0, 1, 1010);
    }
    scene_return(&scene, 1, 143, 0, 0);
    assert_int_equal(scene.job.phase, TRAIN_FAILED);
}

static void saves_that_never_end_fail_the_job(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 1);
    settings.checkpoint_every = 30 * SECOND;
    scene_run(&scene, &settings, 1);
    for (int i = 0; i <= settings.failures_max; i++) {
        assert_int_equal(scene.job.phase, TRAIN_RUNNING);
        scene_send(&scene, TRAIN_STEPPED, 1, 2);
        scene_tick(&scene, settings.checkpoint_every);
        assert_int_equal(scene_count(&scene, TRAIN_SAVE), 1);
        scene_tick(&scene, settings.checkpoint_timeout);
    }
    assert_int_equal(scene.job.phase, TRAIN_FAILED);
}

static void a_job_that_stops_submits_no_slot(void **state)
{
    (void)state;
    run(1, 3, 2);
    scene_send(&scene, TRAIN_STOP, 0, 0);
    scene_send(&scene, TRAIN_ROOM, 0, 5);
    assert_quiet();
}

/* ---- hangs ---- */

static void a_hang_prints_stacks_and_then_restarts(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_tick(&scene, scene.job.settings.hang_min - 1);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene_count(&scene, TRAIN_STACKS), 2);
    assert_int_equal(scene.actions.count, 2);
    scene_tick(&scene, 2999);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene.job.phase, TRAIN_SETTLING);
    scene_tick(&scene, 200);
    assert_int_equal(scene_count(&scene, TRAIN_KILL), 2);
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
    assert_int_equal(scene_cause(&scene, TRAIN_START, 1), TRAIN_CAUSE_HANG);
}

static void a_step_after_the_stacks_is_no_hang(void **state)
{
    (void)state;
    run(1, 1, 1);
    scene_tick(&scene, scene.job.settings.hang_min);
    assert_int_equal(scene_count(&scene, TRAIN_STACKS), 1);
    scene_send(&scene, TRAIN_STEPPED, 1, 2);
    scene_tick(&scene, 10 * SECOND);
    assert_quiet();
    assert_int_equal(scene.job.phase, TRAIN_RUNNING);
}

static void slow_steps_and_slow_starts_are_no_hang(void **state)
{
    (void)state;
    run(1, 1, 1);
    scene.now += 20 * SECOND;
    scene_send(&scene, TRAIN_STEPPED, 1, 2); /* 20 s for each step */
    scene_tick(&scene, 20 * 20 * SECOND - 1);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene_count(&scene, TRAIN_STACKS), 1);
    fail_once();
    scene_tick(&scene, scene.job.settings.hang_start - 1);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene_count(&scene, TRAIN_STACKS), 1);
}

static void before_the_first_step_of_all_nothing_is_a_hang(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 1);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    scene_prepare(&scene, 1);
    scene_tick(&scene, 100 * settings.hang_start);
    assert_quiet();
}

/* ---- checkpoints ---- */

static void a_checkpoint_is_made_at_the_interval(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 1);
    settings.checkpoint_every = 30 * SECOND;
    scene_run(&scene, &settings, 1);
    scene_tick(&scene, 20 * SECOND);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001); /* without a request */
    scene_send(&scene, TRAIN_STEPPED, 1, 2);
    scene_tick(&scene, 30 * SECOND - 1);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene_cause(&scene, TRAIN_SAVE, 1), TRAIN_CAUSE_INTERVAL);
    scene_return(&scene, 1, 143, 0, 1002);
    assert_start(1, 0, 1, 1002);
}

static void a_checkpoint_is_copied_to_a_second_slot(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    assert_int_equal(scene.actions.count, 1);
    assert_non_null(scene_find(&scene, TRAIN_REPLICATE, 2));
    assert_int_equal(scene.actions.items[0].checkpoint, 1001);
    scene_tick(&scene, 250);
    assert_quiet();
    scene_send(&scene, TRAIN_CHECKPOINT, 2, 1001);
    scene_send(&scene, TRAIN_LOST, 1, 0);
    scene_tick(&scene, 200);
    assert_start(2, 0, 1, 1001);
}

static void a_checkpoint_of_a_silent_slot_is_not_used(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1002);
    scene_send(&scene, TRAIN_SILENT, 1, 0);
    scene_return(&scene, 2, 1, 0, 1001);
    scene_tick(&scene, 200);
    assert_int_equal(scene_count(&scene, TRAIN_START), 0); /* it may come back */
    scene_tick(&scene, 2 * SECOND);
    assert_start(2, 0, 1, 1001);
}

/* Otherwise, a script that cannot save would be restarted after every first step. */
static void a_failed_save_is_repeated_only_after_the_interval(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 1);
    settings.checkpoint_every = 30 * SECOND;
    scene_run(&scene, &settings, 1);
    scene_tick(&scene, 30 * SECOND);
    scene_return(&scene, 1, 0, 15, 0);
    assert_start(1, 0, 1, 0);
    scene_tick(&scene, 5 * SECOND);
    scene_send(&scene, TRAIN_STEPPED, 1, 1);
    scene_tick(&scene, 25 * SECOND - 1);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene_cause(&scene, TRAIN_SAVE, 1), TRAIN_CAUSE_INTERVAL);
}

static void replicas_that_run_have_the_checkpoint_they_started_from(void **state)
{
    (void)state;
    run(1, 3, 3);
    scene_send(&scene, TRAIN_TARGET, 0, 2);
    save_all(3, 1001);
    assert_start(1, 0, 2, 1001);
    scene_send(&scene, TRAIN_STEPPED, 2, 0);
    scene_send(&scene, TRAIN_LOST, 1, 0); /* it made the checkpoint */
    scene_tick(&scene, 200);
    assert_start(2, 0, 2, 1001);
    assert_start(3, 1, 2, 1001);
}

static void a_checkpoint_that_lacks_a_part_is_not_used(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 3);
    settings.is_sharded = true;
    scene_run(&scene, &settings, 3);
    scene_send(&scene, TRAIN_TARGET, 0, 2);
    for (uint32_t slot = 1; slot <= 3; slot++) {
        assert_int_equal(scene.job.checkpoint, 0);
        scene_return(&scene, slot, 143, 0, 1001);
    }
    assert_start(1, 0, 2, 1001);
    assert_int_equal(scene_action_parts(&scene, TRAIN_START, 1), 3);
    scene_send(&scene, TRAIN_STEPPED, 1, 1);
    scene_send(&scene, TRAIN_STEPPED, 2, 1);
    scene_send(&scene, TRAIN_STOP, 0, 0);
    scene.job.is_stopping = false;
    scene_return(&scene, 1, 143, 0, 2001);
    scene_tick(&scene, settings.checkpoint_timeout);
    assert_start(1, 0, 2, 1001);
    assert_int_equal(scene_action_parts(&scene, TRAIN_START, 2), 0); /* both have loaded it */
}

/* ---- older generations ---- */

static void events_of_an_older_generation_change_nothing(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_return(&scene, 2, 1, 0, 0);
    scene_tick(&scene, 200);
    assert_int_equal(scene.job.generation, 2);
    struct train_job before = scene.job;
    struct train_event old[] = {
        {.kind = TRAIN_RETURNED, .slot = 1, .generation = 1, .code = 0},
        {.kind = TRAIN_RETURNED, .slot = 2, .generation = 1, .code = 143},
        {.kind = TRAIN_RETURNED, .slot = 2, .generation = 1, .signal = 9},
        {.kind = TRAIN_STEPPED, .slot = 1, .generation = 1, .value = 50},
        {.kind = TRAIN_ADOPTED, .slot = 1, .generation = 1, .value = 0},
    };
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        scene_step(&scene, old[i]);
        assert_quiet();
        assert_memory_equal(&scene.job, &before, sizeof(before));
    }
}

static void events_of_unknown_slots_change_nothing(void **state)
{
    (void)state;
    run(1, 1, 1);
    struct train_job before = scene.job;
    for (int kind = TRAIN_CONNECTED; kind <= TRAIN_RETURNED; kind++) {
        scene_send(&scene, (enum train_event_kind)kind, 77, 5);
        assert_quiet();
        assert_memory_equal(&scene.job, &before, sizeof(before));
    }
}

/* It was killed because the save took too long, but the save had just finished. */
static void a_checkpoint_of_an_older_generation_is_used(void **state)
{
    (void)state;
    run(1, 1, 1);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    fail_once();
    assert_start(1, 0, 1, 1001);
    scene_step(&scene, (struct train_event){
                           .kind = TRAIN_RETURNED, .slot = 1, .generation = 1, .value = 1002});
    assert_quiet();
    fail_once();
    assert_start(1, 0, 1, 1002);
}

static void a_slot_lost_after_its_success_does_not_matter(void **state)
{
    (void)state;
    run(1, 3, 3);
    scene_return(&scene, 2, 0, 0, 0);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    scene_return(&scene, 3, 0, 0, 0);
    assert_int_equal(scene.job.phase, TRAIN_RUNNING);
    scene_return(&scene, 1, 0, 0, 1001);
    assert_int_equal(scene.job.phase, TRAIN_SUCCEEDED);
}

static void a_lost_request_to_start_is_noticed(void **state)
{
    (void)state;
    run(1, 2, 2);
    fail_once();
    assert_int_equal(scene.job.generation, 2);
    scene_send(&scene, TRAIN_SILENT, 2, 0);
    scene_step(&scene, (struct train_event){.kind = TRAIN_CONNECTED, .slot = 2, .generation = 1});
    assert_int_equal(scene.job.phase, TRAIN_SETTLING);
    scene_tick(&scene, 200);
    assert_int_equal(scene_count(&scene, TRAIN_START), 2);
    assert_int_equal(scene.job.failures, 1); /* only that of the first generation */
}

static void a_replica_is_asked_to_save_again_after_a_new_connection(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_SILENT, 2, 0);
    scene_send(&scene, TRAIN_TARGET, 0, 1);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 1); /* there is no way to ask slot 2 */
    scene_send(&scene, TRAIN_SILENT, 1, 0);
    scene_tick(&scene, 250);
    assert_quiet();
    for (uint32_t slot = 1; slot <= 2; slot++) {
        scene_connect(&scene, slot);
        assert_int_equal(scene_cause(&scene, TRAIN_SAVE, slot), TRAIN_CAUSE_SHRINK);
        assert_int_equal(scene.actions.count, 1);
        scene_send(&scene, TRAIN_ADOPTED, slot, slot - 1);
        assert_quiet();
    }
    scene_tick(&scene, 250);
    assert_quiet();
}

/* ---- a new trainer ---- */

static void slots_that_connect_again_keep_the_generation(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene.now += 5 * SECOND;
    train_job_resume(&scene.job, scene.now);
    scene_tick(&scene, 250);
    assert_quiet();
    for (uint32_t slot = 1; slot <= 2; slot++) {
        scene.now += 10 * SECOND;
        scene_connect(&scene, slot);
        assert_quiet();
        scene_send(&scene, TRAIN_PREPARED, slot, 0);
        assert_quiet();
        scene_send(&scene, TRAIN_ADOPTED, slot, slot - 1);
        assert_quiet();
    }
    scene_send(&scene, TRAIN_STEPPED, 1, 70);
    scene_tick(&scene, 30 * SECOND);
    assert_quiet();
    assert_int_equal(scene.job.phase, TRAIN_RUNNING);
    assert_int_equal(scene.job.generation, 1);
}

static void slots_that_do_not_come_back_are_lost(void **state)
{
    (void)state;
    run(1, 2, 2);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    train_job_resume(&scene.job, scene.now);
    scene_connect(&scene, 1);
    scene_send(&scene, TRAIN_ADOPTED, 1, 0);
    scene_tick(&scene, 22 * SECOND - 1);
    assert_quiet();
    scene_tick(&scene, 1);
    assert_int_equal(scene_cause(&scene, TRAIN_LEAVE, 2), TRAIN_CAUSE_SLOT_LOST);
    scene_tick(&scene, 200);
    assert_int_equal(scene_count(&scene, TRAIN_START), 1);
    assert_start(1, 0, 1, 1001);
}

static void every_cause_has_a_text(void **state)
{
    (void)state;
    for (int cause = 0; cause < TRAIN_CAUSE_COUNT; cause++) {
        assert_non_null(train_cause_text((enum train_cause)cause));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_start_waits_for_slots_that_come),
        cmocka_unit_test(the_first_start_goes_on_without_those_that_are_late),
        cmocka_unit_test(fewer_than_the_minimum_never_start),
        cmocka_unit_test(a_slot_that_does_not_connect_is_replaced),
        cmocka_unit_test(a_job_grows_when_all_that_come_are_ready),
        cmocka_unit_test(a_job_grows_with_what_is_ready_after_the_timeout),
        cmocka_unit_test(a_job_shrinks_to_a_lower_target),
        cmocka_unit_test(the_target_is_kept_within_the_limits),
        cmocka_unit_test(only_rank_0_is_waited_for),
        cmocka_unit_test(with_shards_all_ranks_are_waited_for),
        cmocka_unit_test(a_notice_waits_for_a_replacement_and_swaps_once),
        cmocka_unit_test(a_notice_without_a_replacement_leaves_in_time),
        cmocka_unit_test(the_margin_has_room_for_a_save),
        cmocka_unit_test(no_member_is_silent_or_about_to_be_interrupted),
        cmocka_unit_test(after_a_kill_the_survivors_go_on_and_grow_later),
        cmocka_unit_test(the_slot_of_a_killed_replica_is_used_again),
        cmocka_unit_test(a_lost_slot_fails_the_generation_but_is_no_failure),
        cmocka_unit_test(silence_is_a_loss_after_its_timeout),
        cmocka_unit_test(too_many_failures_end_the_job),
        cmocka_unit_test(a_new_checkpoint_resets_the_failures),
        cmocka_unit_test(the_job_succeeds_when_all_end_by_themselves),
        cmocka_unit_test(an_end_after_a_request_is_no_success),
        cmocka_unit_test(a_script_that_saves_by_itself_makes_the_others_save),
        cmocka_unit_test(a_late_save_is_killed_and_the_older_checkpoint_used),
        cmocka_unit_test(a_replica_that_fails_while_it_saves_is_a_failure),
        cmocka_unit_test(stop_saves_and_ends),
        cmocka_unit_test(stop_before_the_start_ends_at_once),
        cmocka_unit_test(a_hang_prints_stacks_and_then_restarts),
        cmocka_unit_test(a_step_after_the_stacks_is_no_hang),
        cmocka_unit_test(slow_steps_and_slow_starts_are_no_hang),
        cmocka_unit_test(before_the_first_step_of_all_nothing_is_a_hang),
        cmocka_unit_test(a_checkpoint_is_made_at_the_interval),
        cmocka_unit_test(a_checkpoint_is_copied_to_a_second_slot),
        cmocka_unit_test(a_checkpoint_of_a_silent_slot_is_not_used),
        cmocka_unit_test(events_of_an_older_generation_change_nothing),
        cmocka_unit_test(events_of_unknown_slots_change_nothing),
        cmocka_unit_test(slots_that_connect_again_keep_the_generation),
        cmocka_unit_test(slots_that_do_not_come_back_are_lost),
        cmocka_unit_test(a_checkpoint_of_an_older_generation_is_used),
        cmocka_unit_test(a_slot_lost_after_its_success_does_not_matter),
        cmocka_unit_test(a_lost_request_to_start_is_noticed),
        cmocka_unit_test(a_replica_is_asked_to_save_again_after_a_new_connection),
        cmocka_unit_test(a_failed_save_is_repeated_only_after_the_interval),
        cmocka_unit_test(a_script_that_only_ends_is_not_restarted_for_ever),
        cmocka_unit_test(saves_that_never_end_fail_the_job),
        cmocka_unit_test(a_loss_that_explains_a_failure_is_no_failure),
        cmocka_unit_test(replicas_that_run_have_the_checkpoint_they_started_from),
        cmocka_unit_test(a_job_that_stops_submits_no_slot),
        cmocka_unit_test(a_checkpoint_that_lacks_a_part_is_not_used),
        cmocka_unit_test(every_cause_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
