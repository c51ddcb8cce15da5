/* test_train_safety.c: where the newest checkpoint of a job is, and what survives a loss. */
#include "core/train/job.h"

#include "train_scene.h"

static struct train_scene scene;

static void run(int64_t max, bool is_sharded)
{
    struct train_settings settings = scene_settings(1, max);
    settings.is_sharded = is_sharded;
    scene_run(&scene, &settings, (uint32_t)max);
}

/* A checkpoint of a generation. */
static int64_t made_in(int64_t generation, int64_t order)
{
    return generation * TRAIN_SAVES_PER_GENERATION + order;
}

static int64_t start_from(uint32_t slot)
{
    const struct train_action *start = scene_find(&scene, TRAIN_START, slot);
    return start ? start->checkpoint : -1;
}

static int64_t stored_now(void)
{
    const struct train_action *store = scene_find(&scene, TRAIN_STORE, 0);
    return store ? store->checkpoint : -1;
}

static void place(uint32_t count, const int64_t nodes[])
{
    for (uint32_t slot = 1; slot <= count; slot++) {
        scene_send(&scene, TRAIN_PLACED, slot, nodes[slot - 1]);
    }
}

/* ---- sharded checkpoints ---- */

/* All three end with their parts of 1001, and load it together. */
static void run_sharded(void)
{
    run(3, true);
    scene_send(&scene, TRAIN_STOP, 0, 0);
    scene.job.is_stopping = false;
    for (uint32_t slot = 1; slot <= 3; slot++) {
        scene_return(&scene, slot, 143, 0, 1001);
    }
    assert_int_equal(start_from(1), 1001);
    assert_int_equal(scene_action_parts(&scene, TRAIN_START, 1), 3);
}

static void a_part_that_is_lost_makes_the_older_checkpoint_the_newest(void **state)
{
    (void)state;
    run_sharded();
    for (uint32_t slot = 1; slot <= 3; slot++) {
        scene_send(&scene, TRAIN_STEPPED, slot, 1);
    }
    scene_send(&scene, TRAIN_STOP, 0, 0);
    scene_return(&scene, 1, 143, 0, 2001);
    scene_return(&scene, 2, 143, 0, 2001);
    scene.job.is_stopping = false;
    scene_send(&scene, TRAIN_LOST, 3, 0); /* before it saved */
    scene_tick(&scene, 200);
    assert_int_equal(start_from(1), 1001);
    assert_int_equal(scene_action_parts(&scene, TRAIN_START, 1), 0);
}

static void a_part_that_is_lost_before_the_others_merged_it_is_missed(void **state)
{
    (void)state;
    run_sharded();
    assert_int_equal(scene.job.checkpoint, 1001);
    scene_send(&scene, TRAIN_LOST, 2, 0); /* while all three load */
    scene_tick(&scene, 200);
    assert_int_equal(start_from(1), 0);           /* there was no older one */
    assert_int_equal(scene.job.checkpoint, 1001); /* the loss is reported by the difference */
}

static void a_slot_that_has_merged_the_parts_is_enough(void **state)
{
    (void)state;
    run_sharded();
    scene_step(&scene, (struct train_event){.kind = TRAIN_CHECKPOINT, .slot = 3, .value = 1001});
    scene_send(&scene, TRAIN_LOST, 2, 0);
    scene_tick(&scene, 200);
    assert_int_equal(start_from(1), 1001);
    assert_int_equal(scene_action_parts(&scene, TRAIN_START, 1), 0);
}

static void a_silent_slot_with_a_part_is_awaited(void **state)
{
    (void)state;
    run_sharded();
    scene_return(&scene, 1, 1, 0, 0);
    scene_send(&scene, TRAIN_SILENT, 2, 0);
    scene_tick(&scene, 200);
    assert_int_equal(start_from(1), -1);
    scene_step(&scene, (struct train_event){.kind = TRAIN_CONNECTED, .slot = 2, .generation = 2});
    assert_int_equal(start_from(1), 1001);
}

/* ---- copies ---- */

static void a_second_copy_is_on_another_node(void **state)
{
    (void)state;
    run(3, false);
    place(3, (int64_t[]){7, 9, 7});
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    assert_non_null(scene_find(&scene, TRAIN_REPLICATE, 2));
    assert_int_equal(stored_now(), -1);
}

static void without_another_node_the_trainer_has_the_second_copy(void **state)
{
    (void)state;
    run(2, false);
    place(2, (int64_t[]){7, 7});
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    assert_int_equal(scene_count(&scene, TRAIN_REPLICATE), 0);
    assert_int_equal(stored_now(), 1001);
    scene_send(&scene, TRAIN_STORED, 0, 1001);
    assert_int_equal(scene.actions.count, 0);
    scene_tick(&scene, 10 * SECOND);
    assert_int_equal(scene.actions.count, 0);
}

static void a_copy_that_failed_is_tried_again(void **state)
{
    (void)state;
    run(2, false);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    assert_non_null(scene_find(&scene, TRAIN_REPLICATE, 2));
    scene_tick(&scene, 40 * SECOND); /* a large one takes long */
    assert_int_equal(scene_count(&scene, TRAIN_REPLICATE), 0);
    scene_send(&scene, TRAIN_NOT_COPIED, 2, 1001);
    scene_tick(&scene, 4 * SECOND);
    assert_int_equal(scene_count(&scene, TRAIN_REPLICATE), 0);
    scene_tick(&scene, SECOND);
    assert_non_null(scene_find(&scene, TRAIN_REPLICATE, 2));
    scene_send(&scene, TRAIN_CHECKPOINT, 2, 1001);
    scene_tick(&scene, 10 * SECOND);
    assert_int_equal(scene_count(&scene, TRAIN_REPLICATE), 0);
}

static void a_copy_is_requested_again_after_a_new_connection(void **state)
{
    (void)state;
    run(3, false);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    assert_non_null(scene_find(&scene, TRAIN_REPLICATE, 3));
    scene_send(&scene, TRAIN_SILENT, 3, 0);
    scene_send(&scene, TRAIN_CONNECTED, 3, 0);
    assert_non_null(scene_find(&scene, TRAIN_REPLICATE, 3));
}

/* Both nodes have it in memory only, and keep it for a limited time if the trainer is gone. */
static void the_trainer_gets_a_copy_every_few_minutes(void **state)
{
    (void)state;
    run(2, false);
    place(2, (int64_t[]){7, 9});
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    scene_send(&scene, TRAIN_CHECKPOINT, 2, 1001);
    scene_tick(&scene, 179 * SECOND);
    assert_int_equal(stored_now(), -1);
    scene_tick(&scene, SECOND);
    assert_int_equal(stored_now(), 1001);
    scene_tick(&scene, 60 * SECOND); /* it takes a minute */
    scene_send(&scene, TRAIN_STORED, 0, 1001);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1002);
    scene_send(&scene, TRAIN_CHECKPOINT, 2, 1002);
    scene_tick(&scene, 539 * SECOND);
    assert_int_equal(stored_now(), -1);
    scene_tick(&scene, SECOND);
    assert_int_equal(stored_now(), 1002); /* a tenth of the time at most */
    scene_send(&scene, TRAIN_STORED, 0, 0);
    scene_tick(&scene, 10 * SECOND);
    assert_int_equal(stored_now(), -1);
    scene_tick(&scene, 170 * SECOND);
    assert_int_equal(stored_now(), 1002);
}

/* All slots were lost. The next slot on a node finds what the one before it has kept there. */
static void a_slot_that_may_have_the_newest_checkpoint_is_awaited(void **state)
{
    (void)state;
    run(2, false);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    scene_send(&scene, TRAIN_LOST, 1, 0);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    scene_tick(&scene, 200);
    scene_send(&scene, TRAIN_ROOM, 0, 2);
    scene_prepare(&scene, 3);
    assert_int_equal(start_from(3), -1);
    scene_send(&scene, TRAIN_CONNECTED, 4, 1001);
    assert_int_equal(start_from(3), 1001);
    assert_int_equal(scene.job.generation, 2);
}

/* But not for long. */
static void a_lost_checkpoint_is_not_awaited_for_ever(void **state)
{
    (void)state;
    run(2, false);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    scene_send(&scene, TRAIN_LOST, 1, 0);
    scene_send(&scene, TRAIN_LOST, 2, 0);
    scene_tick(&scene, 200);
    scene_send(&scene, TRAIN_ROOM, 0, 2);
    scene_prepare(&scene, 3);
    scene_connect(&scene, 4); /* and never becomes ready */
    scene_tick(&scene, 59 * SECOND);
    assert_int_equal(start_from(3), -1);
    scene_tick(&scene, SECOND);
    assert_int_equal(start_from(3), 0);
}

/* ---- nodes that are about to be interrupted ---- */

static void the_trainer_fetches_what_only_draining_nodes_have(void **state)
{
    (void)state;
    run(2, false);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    scene_send(&scene, TRAIN_CHECKPOINT, 2, 1001);
    assert_int_equal(stored_now(), -1);
    scene_send(&scene, TRAIN_NOTICE, 1, scene.now + 30 * SECOND);
    assert_int_equal(stored_now(), 1001);   /* one copy is left */
    scene_send(&scene, TRAIN_STORED, 0, 0); /* it failed */
    scene_tick(&scene, 4 * SECOND);
    assert_int_equal(stored_now(), -1);
    scene_send(&scene, TRAIN_NOTICE, 2, scene.now + 30 * SECOND);
    scene_tick(&scene, SECOND);
    assert_int_equal(stored_now(), 1001);
}

static void the_last_save_of_draining_nodes_is_fetched_too(void **state)
{
    (void)state;
    run_sharded();
    for (uint32_t slot = 1; slot <= 3; slot++) {
        scene_send(&scene, TRAIN_STEPPED, slot, 1);
        scene_send(&scene, TRAIN_NOTICE, slot, scene.now + 20 * SECOND);
    }
    scene_send(&scene, TRAIN_STORED, 0, 1001);
    scene_tick(&scene, 15 * SECOND);
    assert_int_equal(scene_count(&scene, TRAIN_SAVE), 3);
    scene_return(&scene, 1, 143, 0, 2001);
    scene_return(&scene, 2, 143, 0, 2001);
    assert_int_equal(stored_now(), -1);
    scene_return(&scene, 3, 143, 0, 2001);
    assert_int_equal(stored_now(), 2001);
    assert_int_equal(scene_action_parts(&scene, TRAIN_STORE, 0), 3);
    scene_send(&scene, TRAIN_STORED, 0, 2001);
    for (uint32_t slot = 1; slot <= 3; slot++) {
        scene_send(&scene, TRAIN_LOST, slot, 0);
    }
    scene_send(&scene, TRAIN_ROOM, 0, 3);
    scene_prepare(&scene, 4);
    assert_int_equal(start_from(4), 2001);
}

/* ---- the durable store ---- */

static void open_with_store(int64_t newest, int64_t highest)
{
    struct train_settings settings = scene_settings(1, 1);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    scene_connect(&scene, 1);
    scene_step(&scene,
               (struct train_event){.kind = TRAIN_DURABLE, .value = newest, .highest = highest});
    scene_send(&scene, TRAIN_PREPARED, 1, 0);
}

static void a_new_job_continues_from_the_durable_store(void **state)
{
    (void)state;
    open_with_store(made_in(5, 3), made_in(5, 3));
    assert_int_equal(start_from(1), made_in(5, 3));
    assert_int_equal(scene.job.generation, 6); /* its checkpoints are newer */
    assert_int_equal(scene.job.checkpoint, made_in(5, 3));
}

/* An earlier release counted to a thousand in each generation. */
static void checkpoints_of_earlier_releases_are_older(void **state)
{
    (void)state;
    open_with_store(5003, 5003);
    assert_int_equal(start_from(1), 5003);
    assert_int_equal(scene.job.checkpoint, 5003);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, made_in(scene.job.generation, 1));
    assert_int_equal(scene.job.checkpoint, made_in(1, 1));
}

/* The generation that left an incomplete one there is gone: its parts must not get others. */
static void new_numbers_are_above_incomplete_checkpoints(void **state)
{
    (void)state;
    open_with_store(made_in(1, 1), made_in(2, 1));
    assert_int_equal(start_from(1), made_in(1, 1));
    assert_int_equal(scene.job.generation, 3);
}

/* A slot that joins lists the store while the others train. */
static void a_listing_does_not_change_the_running_generation(void **state)
{
    (void)state;
    run(1, false);
    int64_t now = scene.job.generation;
    scene_step(&scene, (struct train_event){.kind = TRAIN_DURABLE, .highest = made_in(9, 1)});
    assert_int_equal(scene.job.generation, now);
    scene_return(&scene, 1, 1, 0, 0);
    scene_tick(&scene, 200);
    assert_int_equal(scene.job.generation, 10);
}

/* A script that saves every second for days stays in one generation. */
static void a_generation_has_as_many_checkpoints_as_it_needs(void **state)
{
    (void)state;
    run(1, false);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, made_in(1, 10 * 1000 * 1000));
    assert_int_equal(scene.job.checkpoint, made_in(1, 10 * 1000 * 1000));
    scene_return(&scene, 1, 1, 0, 0);
    scene_tick(&scene, 200);
    assert_int_equal(scene.job.generation, 2);
    assert_true(made_in(2, 1) > scene.job.checkpoint);
    assert_true(TRAIN_CHECKPOINT_MAX / TRAIN_SAVES_PER_GENERATION == TRAIN_GENERATION_MAX);
}

static void a_durable_checkpoint_needs_no_other_copy(void **state)
{
    (void)state;
    run(1, false);
    scene_step(&scene, (struct train_event){.kind = TRAIN_DURABLE, .value = 1001});
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1001);
    assert_int_equal(stored_now(), -1);
    scene_send(&scene, TRAIN_CHECKPOINT, 1, 1002);
    assert_int_equal(stored_now(), 1002);
}

static void a_damaged_durable_checkpoint_is_not_used_again(void **state)
{
    (void)state;
    struct train_settings settings = scene_settings(1, 1);
    scene_open(&scene, &settings);
    scene_send(&scene, TRAIN_ROOM, 0, 1);
    scene_connect(&scene, 1);
    scene_send(&scene, TRAIN_DURABLE, 0, 5003);
    scene_send(&scene, TRAIN_PREPARED, 1, 0);
    scene_step(&scene, (struct train_event){.kind = TRAIN_DURABLE, .value = 4001, .bad = 5003});
    scene_return(&scene, 1, 1, 0, 0);
    scene_send(&scene, TRAIN_DURABLE, 0, 5003); /* another slot has only listed it */
    scene_tick(&scene, 200);
    assert_int_equal(start_from(1), 4001);
    scene_send(&scene, TRAIN_DURABLE, 0, 7001);
    assert_int_equal(scene.job.durable, 7001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_that_is_lost_makes_the_older_checkpoint_the_newest),
        cmocka_unit_test(a_part_that_is_lost_before_the_others_merged_it_is_missed),
        cmocka_unit_test(a_slot_that_has_merged_the_parts_is_enough),
        cmocka_unit_test(a_silent_slot_with_a_part_is_awaited),
        cmocka_unit_test(a_second_copy_is_on_another_node),
        cmocka_unit_test(without_another_node_the_trainer_has_the_second_copy),
        cmocka_unit_test(a_copy_that_failed_is_tried_again),
        cmocka_unit_test(a_copy_is_requested_again_after_a_new_connection),
        cmocka_unit_test(the_trainer_fetches_what_only_draining_nodes_have),
        cmocka_unit_test(the_last_save_of_draining_nodes_is_fetched_too),
        cmocka_unit_test(a_new_job_continues_from_the_durable_store),
        cmocka_unit_test(a_durable_checkpoint_needs_no_other_copy),
        cmocka_unit_test(a_damaged_durable_checkpoint_is_not_used_again),
        cmocka_unit_test(checkpoints_of_earlier_releases_are_older),
        cmocka_unit_test(new_numbers_are_above_incomplete_checkpoints),
        cmocka_unit_test(a_listing_does_not_change_the_running_generation),
        cmocka_unit_test(a_generation_has_as_many_checkpoints_as_it_needs),
        cmocka_unit_test(the_trainer_gets_a_copy_every_few_minutes),
        cmocka_unit_test(a_slot_that_may_have_the_newest_checkpoint_is_awaited),
        cmocka_unit_test(a_lost_checkpoint_is_not_awaited_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
