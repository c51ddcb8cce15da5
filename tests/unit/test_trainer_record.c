/* test_trainer_record.c: what a trainer knows and says after it was restarted. */
#include "app/train/trainer_internal.h"
#include "io/file.h"
#include "io/xalloc.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scene {
    struct trainer *trainer;
    struct trainer_setup setup;
    char folder[40];
    char said[4000];
};

static void say(void *context, struct str line)
{
    struct scene *scene = context;
    size_t used = strlen(scene->said);
    snprintf(scene->said + used, sizeof(scene->said) - used, "%.*s\n", STR_ARG(line));
}

static int open_scene(void **state)
{
    struct scene *scene = HEAP_NEW(struct scene);
    struct err err;
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/record.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    scene->setup = (struct trainer_setup){.job = "demo",
                                          .folder = scene->folder,
                                          .ray = "127.0.0.1:8265",
                                          .gcs = "127.0.0.1:6379",
                                          .script = "train.py",
                                          .directory = "/",
                                          .line = say,
                                          .context = scene};
    train_settings_default(&scene->setup.settings);
    scene->trainer = HEAP_NEW(struct trainer);
    scene->trainer->setup = &scene->setup;
    arena_init(&scene->trainer->arena);
    train_job_init(&scene->trainer->job, &scene->setup.settings);
    assert_true(loop_open(&clock_of_machine, &scene->trainer->loop, &err));
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    struct err err;
    loop_close(scene->trainer->loop);
    arena_clear(&scene->trainer->arena);
    free(scene->trainer);
    assert_true(file_remove_folder(scene->folder, &err));
    free(scene);
    return 0;
}

/* The trainer before this one wrote `record`. */
static struct trainer *restart(struct scene *scene, const char *record)
{
    char path[80];
    struct err err;
    bool is_resumed;
    snprintf(path, sizeof(path), "%s/job.json", scene->folder);
    assert_true(file_write(path, str_from(record), 0600, &err));
    assert_true(trainer_load(scene->trainer, &is_resumed, &err));
    assert_true(is_resumed);
    return scene->trainer;
}

/* Rank 0 of the generation reports this many steps. */
static void count(struct trainer *trainer, int64_t steps)
{
    struct step_counts counts = {
        .steps = steps, .begun = 100, .first = 101, .last = 101 + (double)steps};
    trainer_report_counts(trainer, &counts, true);
    trainer_measure(trainer, &counts);
}

static void start(struct trainer *trainer, int64_t generation, int64_t world, int64_t checkpoint)
{
    trainer->job.generation = generation;
    trainer->job.world = world;
    trainer->job.checkpoint = checkpoint;
    trainer_report_action(trainer, &(struct train_action){.kind = TRAIN_START,
                                                          .generation = generation,
                                                          .world = world,
                                                          .checkpoint = checkpoint,
                                                          .cause = TRAIN_CAUSE_GROW});
}

static void the_old_size_survives_a_restart(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = restart(
        scene, "{\"phase\": 1, \"generation\": 4, \"world\": 2, \"checkpoint\": 3001, \"step\": 50,"
               " \"base_step\": 40, \"steps_done\": 50}");
    count(trainer, 12); /* its replicas kept running: this is not a new generation */
    assert_string_equal(scene->said, "");
    start(trainer, 5, 3, 3001);
    assert_string_equal(scene->said,
                        "2 -> 3 replicas: more slots are ready; from checkpoint 3001\n");
}

/* It had no replicas, and the time of its last step is not known. */
static void a_stopped_job_continues_without_a_pause(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = restart(
        scene, "{\"phase\": 6, \"generation\": 4, \"world\": 2, \"checkpoint\": 3001, "
               "\"stored\": 3001, \"step\": 50}");
    start(trainer, 5, 3, 3001);
    count(trainer, 1);
    assert_string_equal(scene->said, "training with 3 replicas, from checkpoint 3001\n");
}

static void steps_are_counted_once(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = restart(
        scene, "{\"phase\": 1, \"generation\": 4, \"world\": 2, \"step\": 50, "
               "\"base_step\": 40, \"steps_done\": 70}");
    assert_int_equal(trainer_steps_done(trainer), 70);
    count(trainer, 10); /* in the record already */
    assert_int_equal(trainer_steps_done(trainer), 70);
    count(trainer, 15);
    assert_int_equal(trainer_steps_done(trainer), 75);
    start(trainer, 5, 3, 0);
    count(trainer, 4);
    assert_int_equal(trainer_steps_done(trainer), 79);
}

static void scaled_steps_count_by_replicas(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    scene->setup.goal.is_scaled = true;
    start(trainer, 1, 2, 0);
    count(trainer, 10);
    start(trainer, 2, 3, 0);
    count(trainer, 10);
    assert_int_equal(trainer_steps_done(trainer), 50);
}

/* AdaptDL's rates are in steps with the initial batch size, so its steps are too. */
static void steps_of_adaptdl_count_by_progress(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    struct sched_hints hints = {.model = {{0.1, 0.01, 0.6, 0.05, 0.2, 0.02, 1}, {0, 20}, 100},
                                .limits = {.max_batch = 400, .atomic_min = 100, .atomic_max = 100},
                                .profiled = 4};
    start(trainer, 1, 4, 0);
    trainer_take_hints(trainer, &hints);
    count(trainer, 10); /* without a norm, four times the batch is four times the progress */
    assert_int_equal(trainer_steps_done(trainer), 40);
}

static void a_complete_job_begins_again_at_zero(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = restart(
        scene, "{\"phase\": 4, \"generation\": 4, \"world\": 2, \"step\": 1000, "
               "\"steps_done\": 1000}");
    assert_int_equal(trainer_steps_done(trainer), 0);
    assert_int_equal(trainer->progress.step, 0);
}

/* Their numbers come again: the next run would continue from what the last one left. */
static void a_complete_job_removes_its_old_checkpoints(void **state)
{
    struct scene *scene = *state;
    char path[100];
    struct err err;
    snprintf(path, sizeof(path), "%s/kept/3001", scene->folder);
    assert_true(file_make_private_folder(path, &err));
    restart(scene, "{\"phase\": 6, \"generation\": 4, \"checkpoint\": 3001, \"stored\": 3001}");
    assert_int_equal(file_stat(path).kind, FILE_FOLDER);
    restart(scene, "{\"phase\": 4, \"generation\": 4, \"checkpoint\": 3001, \"stored\": 3001}");
    assert_int_equal(file_stat(path).kind, FILE_MISSING);
}

/* What is in --output belongs to the job until it is complete: a run from the beginning does not
 * continue from it. */
static void a_complete_job_leaves_its_output(void **state)
{
    struct scene *scene = *state;
    const char *stopped = "{\"phase\": 6, \"id\": \"abc\", \"durable\": 3001, \"stored\": 3001}";
    assert_string_equal(restart(scene, stopped)->id, "abc");
    const char *complete = "{\"phase\": 4, \"id\": \"abc\", \"durable\": 3001, \"stored\": 3001}";
    struct trainer *trainer = restart(scene, complete);
    assert_int_equal(strlen(trainer->id), 64);
    assert_false(trainer->is_old_owner);
    assert_int_equal(trainer->job.durable, 0);
}

static void the_id_of_a_job_survives_a_restart(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    char id[TRAINER_TOKEN_SIZE];
    bool is_resumed;
    struct err err;
    assert_true(trainer_load(trainer, &is_resumed, &err));
    assert_int_equal(strlen(trainer->id), 64);
    memcpy(id, trainer->id, sizeof(id));
    trainer->job.phase = TRAIN_RUNNING;
    assert_true(trainer_save(trainer));
    trainer->id[0] = '\0';
    assert_true(trainer_load(trainer, &is_resumed, &err));
    assert_string_equal(trainer->id, id);
}

/* An earlier release stored its checkpoints without an owner. */
static void an_old_record_may_take_its_output(void **state)
{
    struct scene *scene = *state;
    assert_true(restart(scene, "{\"phase\": 1, \"durable\": 3001}")->is_old_owner);
    scene->trainer->is_old_owner = false;
    assert_false(restart(scene, "{\"phase\": 1, \"durable\": 0}")->is_old_owner);
    assert_int_equal(strlen(scene->trainer->id), 64);
}

/* Numbers that a broken script may report, or a damaged file may have. */
static void impossible_steps_do_not_overflow(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = restart(
        scene, "{\"phase\": 1, \"generation\": 4, \"world\": 2, \"step\": 9223372036854775807,"
               " \"base_step\": 9223372036854775807, \"steps_done\": 9223372036854775807}");
    count(trainer, INT64_MAX);
    assert_true(trainer_steps_done(trainer) <= TRAIN_STEPS_MAX);
    assert_true(trainer->progress.step <= 2 * TRAIN_STEPS_MAX);
}

/* Its event would be recorded at its first step. */
static void a_generation_without_a_step_is_reported(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    start(trainer, 1, 2, 0);
    start(trainer, 2, 1, 0);
    assert_string_equal(scene->said, "training with 2 replicas\n"
                                     "generation 1 (2 replicas) ended before its first step\n"
                                     "2 -> 1 replicas: more slots are ready; from checkpoint 0\n");
    count(trainer, 1);
    scene->said[0] = '\0';
    start(trainer, 3, 2, 0);
    assert_null(strstr(scene->said, "first step"));
    trainer_report_action(trainer, &(struct train_action){.kind = TRAIN_END});
    assert_non_null(strstr(scene->said, "generation 3 (2 replicas) ended before its first step"));
}

/* The disk has space. */
static void an_option_that_cannot_be_recorded_is_named(void **state)
{
    struct scene *scene = *state;
    const char *command[] = {"--prepare=\xff"};
    scene->setup.command = command;
    scene->setup.command_count = 1;
    assert_false(trainer_save(scene->trainer));
    assert_non_null(strstr(scene->said, "not UTF-8"));
    assert_non_null(strstr(scene->said, "other options"));
    assert_null(strstr(scene->said, "space"));
}

static void measured_speeds_survive_a_restart(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    bool is_resumed;
    struct err err;
    start(trainer, 1, 2, 0);
    count(trainer, 31);
    start(trainer, 2, 3, 0);
    count(trainer, 21);
    trainer->size.pause = 0.5;
    trainer->size.interruptions = 2;
    trainer->job.phase = TRAIN_RUNNING;
    assert_true(trainer_save(trainer));
    trainer->size = (struct trainer_size){0};
    assert_true(trainer_load(trainer, &is_resumed, &err));
    const struct trainer_size *size = &trainer->size;
    assert_true(size->samples.steps[2] == 30 && size->samples.seconds[2] == 31);
    assert_true(size->samples.steps[3] == 20 && size->samples.seconds[3] == 21);
    assert_true(size->pause == 0.5 && size->interruptions == 2);
    count(trainer, 31); /* ten more steps of the same generation */
    assert_true(size->samples.steps[3] == 30 && size->samples.seconds[3] == 31);
}

static void a_damaged_speed_is_ignored(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = restart(
        scene, "{\"phase\": 1, \"speeds\": {\"sizes\": [{\"replicas\": 2, \"steps\": 5}, "
               "{\"replicas\": 999, \"steps\": 5, \"seconds\": 1}, 7, "
               "{\"replicas\": 3, \"steps\": -1, \"seconds\": 1}]}}");
    for (int n = 0; n <= SIZE_MAX_REPLICAS; n++) {
        assert_true(trainer->size.samples.steps[n] == 0);
    }
}

static void add_slot(struct trainer *trainer, size_t i, const char *node)
{
    trainer->slots[i].slot = trainer->job.slots[i].id = (uint32_t)i + 1;
    trainer->job.slots[i].state = TRAIN_SLOT_RUNNING;
    snprintf(trainer->slots[i].node, sizeof(trainer->slots[i].node), "%s", node);
}

static void prices_come_from_the_nodes(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    add_slot(trainer, 0, "aa");
    add_slot(trainer, 1, "bb");
    add_slot(trainer, 2, "bb");
    assert_true(trainer_price(trainer) == 0);
    trainer_take_node(trainer, &(struct node_view){.ray_id = STR("aa"), .price = 300000});
    assert_true(trainer_price(trainer) == 0); /* one is unknown */
    trainer_take_node(trainer, &(struct node_view){.ray_id = STR("bb"), .price = 600000});
    assert_true(fabs(trainer_price(trainer) - 0.3) < 1e-9); /* two share a node */
    trainer_take_node(trainer, &(struct node_view){.ray_id = STR("bb"), .price = -1});
    assert_true(trainer_price(trainer) == 0);
    scene->setup.goal.price = 2;
    assert_true(trainer_price(trainer) == 2);
}

static void the_batch_is_known_or_not(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    struct sched_hints hints = {.model = {.init_batch = 48}, .profiled = 1};
    trainer->job.world = 5;
    assert_int_equal(trainer_batch(trainer), 0);
    trainer->size.hints = hints;
    assert_int_equal(trainer_batch(trainer), 50); /* ten per replica */
    trainer->size.hints.limits.max_batch = 256;   /* AdaptDL may choose another one */
    assert_int_equal(trainer_batch(trainer), 0);
    scene->setup.batch = 64;
    assert_int_equal(trainer_batch(trainer), 64);
    scene->setup.goal.is_scaled = true;
    assert_int_equal(trainer_batch(trainer), 320);
}

/* Another program may have the port by now. */
static void a_port_that_is_taken_is_replaced(void **state)
{
    struct scene *scene = *state;
    struct err err;
    struct http_serve *other;
    struct trainer *trainer = restart(
        scene, "{\"phase\": 6, \"port\": 4711, \"supervisor_port\": 4712, \"stored\": 1}");
    assert_int_equal(trainer->port, 0);
    assert_int_equal(trainer->supervisor_port, 0);
    scene->setup.kind = SCRIPT_ADAPTDL;
    assert_true(http_serve_open(trainer->loop, "0.0.0.0", 0, NULL, NULL, &other, &err));
    trainer->supervisor_port = http_serve_port(other);
    assert_true(trainer_open_supervisor(trainer, &err));
    assert_int_not_equal(trainer->supervisor_port, http_serve_port(other));
    assert_int_not_equal(trainer->supervisor_port, 0);
    http_serve_close(trainer->supervisor);
    http_serve_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_port_that_is_taken_is_replaced, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_generation_without_a_step_is_reported, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(an_option_that_cannot_be_recorded_is_named, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(measured_speeds_survive_a_restart, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_damaged_speed_is_ignored, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(prices_come_from_the_nodes, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(the_batch_is_known_or_not, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(steps_are_counted_once, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(scaled_steps_count_by_replicas, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(steps_of_adaptdl_count_by_progress, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_complete_job_leaves_its_output, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_complete_job_removes_its_old_checkpoints, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(the_id_of_a_job_survives_a_restart, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(an_old_record_may_take_its_output, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_complete_job_begins_again_at_zero, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(impossible_steps_do_not_overflow, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(the_old_size_survives_a_restart, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_stopped_job_continues_without_a_pause, open_scene,
                                        close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
