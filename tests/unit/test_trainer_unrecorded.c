/* test_trainer_unrecorded.c: a trainer that cannot write the record of its job, job.json. */
#include "app/train/trainer_internal.h"
#include "io/file.h"
#include "io/xalloc.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOT = 1 };

struct scene {
    struct trainer *trainer;
    struct trainer_setup setup;
    struct loop_timer *end;
    struct line_server *server; /* in place of the agent */
    char folder[40];
    char said[4000];
    char sent[4000]; /* to the agent */
};

static void add_line(char out[4000], struct str line)
{
    size_t used = strlen(out);
    snprintf(out + used, 4000 - used, "%.*s\n", STR_ARG(line));
}

static void say(void *context, struct str line)
{
    add_line(((struct scene *)context)->said, line);
}

static void agent_on_line(void *context, struct str line)
{
    add_line(((struct scene *)context)->sent, line);
}

static void agent_on_ended(void *context, const struct err *err)
{
    (void)context;
    (void)err;
}

static void on_agent(void *context, struct line_link *link)
{
    line_link_begin(link, &(struct line_link_hooks){
                              .context = context, .line = agent_on_line, .ended = agent_on_ended});
}

static void stop(void *context)
{
    loop_stop(((struct scene *)context)->trainer->loop);
}

static void run_for(struct scene *scene, int64_t ms)
{
    loop_timer_start(scene->end, ms);
    loop_run(scene->trainer->loop);
}

static int64_t no_need(void *context)
{
    (void)context;
    return 0;
}

static void ignore_text(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static const char *path_of(const struct scene *scene, const char *name)
{
    static char path[100];
    snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
    return path;
}

/* One replica trains, with generation 1. */
static void begin_job(struct scene *scene)
{
    struct trainer *trainer = scene->trainer;
    struct line_link_hooks hooks = {.context = scene, .ended = agent_on_ended};
    struct err err;
    train_job_init(&trainer->job, &scene->setup.settings);
    trainer->job.phase = TRAIN_RUNNING;
    trainer->job.generation = trainer->job.world = 1;
    trainer->job.slots[0] = (struct train_slot){
        .id = SLOT, .state = TRAIN_SLOT_RUNNING, .silent_at = -1, .deadline = -1};
    trainer->slots[0].slot = SLOT;
    snprintf(trainer->slots[0].host, sizeof(trainer->slots[0].host), "127.0.0.1");
    assert_true(line_server_open(trainer->loop, path_of(scene, "agent.sock"), NULL, on_agent, scene,
                                 &scene->server, &err));
    assert_true(line_link_open(trainer->loop, path_of(scene, "agent.sock"), NULL, &hooks,
                               &trainer->slots[0].link, &err));
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
    struct trainer *trainer = scene->trainer = HEAP_NEW(struct trainer);
    trainer->setup = &scene->setup;
    trainer->program = "true"; /* copies no checkpoint, and succeeds */
    assert_true(loop_open(&clock_of_machine, &trainer->loop, &err));
    scene->end = loop_timer_new(trainer->loop, stop, scene);
    trainer->pool = child_pool_new(trainer->loop, 1);
    trainer->demand = trainer_demand_open(
        &(struct trainer_demand_setup){.loop = trainer->loop,
                                       .socket = path_of(scene, "none.sock"),
                                       .job = "demo",
                                       .context = scene,
                                       .need = no_need,
                                       .leaving = no_need,
                                       .say = ignore_text});
    trainer_open_ctl(trainer);
    begin_job(scene);
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    struct err err;
    trainer_demand_close(trainer->demand);
    trainer_close_ctl(trainer);
    line_link_close(trainer->slots[0].link);
    line_server_close(scene->server);
    child_pool_free(trainer->pool);
    loop_timer_free(scene->end);
    loop_close(trainer->loop);
    free(trainer);
    assert_true(file_remove_folder(scene->folder, &err));
    free(scene);
    return 0;
}

/* A folder has the name of the record, so that it cannot be written. */
static void break_record(const struct scene *scene)
{
    assert_int_equal(mkdir(path_of(scene, "job.json"), 0700), 0);
}

static void repair_record(const struct scene *scene)
{
    assert_int_equal(rmdir(path_of(scene, "job.json")), 0);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

static void tick(struct scene *scene)
{
    trainer_event(scene->trainer, (struct train_event){.kind = TRAIN_TICK});
    run_for(scene, 20);
}

static void an_event_waits_until_it_can_be_recorded(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    break_record(scene);
    trainer_stop(trainer);
    tick(scene);
    tick(scene);
    assert_string_equal(scene->sent, "");
    assert_false(trainer->job.is_stopping);
    assert_int_equal(trainer->job.phase, TRAIN_RUNNING);
    assert_int_equal(trainer->waiting_count, 1); /* a tick does not wait: another one follows */
    assert_int_equal(count_of(scene->said, "cannot record the state of the job"), 1);
    repair_record(scene);
    for (int i = 0; i < 200 && scene->sent[0] == '\0'; i++) {
        tick(scene);
    }
    assert_int_equal(trainer->waiting_count, 0);
    assert_true(trainer->job.is_stopping);
    assert_int_equal(trainer->job.phase, TRAIN_SAVING);
    assert_int_equal(count_of(scene->sent, "{\"type\":\"save\",\"generation\":1}\n"), 1);
    assert_int_equal(file_stat(path_of(scene, "job.json")).kind, FILE_REGULAR);
}

/* Later events would contradict the record, and too many of them would not fit. */
static void events_wait_in_order_and_the_trainer_exits_at_their_limit(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    break_record(scene);
    trainer_stop(trainer);
    for (size_t i = 1; i < TRAINER_WAITING_MAX; i++) {
        trainer_event(trainer, (struct train_event){.kind = TRAIN_CHECKPOINT,
                                                    .slot = SLOT,
                                                    .value = 1000 + (int64_t)i});
    }
    assert_int_equal(trainer->waiting_count, TRAINER_WAITING_MAX);
    assert_int_equal(trainer->waiting[0].kind, TRAIN_STOP);
    assert_int_equal(trainer->waiting[TRAINER_WAITING_MAX - 1].value,
                     1000 + TRAINER_WAITING_MAX - 1);
    assert_int_equal(trainer->job.checkpoint, 0);
    assert_int_equal(count_of(scene->said, "the trainer exits"), 0);
    trainer_event(trainer, (struct train_event){.kind = TRAIN_CHECKPOINT, .slot = SLOT});
    assert_int_equal(count_of(scene->said, "the trainer exits"), 1);
    run_for(scene, 20); /* returns at once: the loop was stopped */
    assert_string_equal(scene->sent, "");
}

/* A training without its record goes on; only a restart would show an older step. */
static void progress_needs_no_record(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    break_record(scene);
    trainer->progress = (struct train_progress){.step = 7, .rate = 1, .has_rate = true};
    trainer_report_progress(trainer);
    trainer->sampled = 0;
    trainer_report_progress(trainer);
    assert_int_equal(count_of(scene->said, "cannot record the state of the job"), 1);
    assert_int_equal(trainer->job.phase, TRAIN_RUNNING);
    repair_record(scene);
    trainer->sampled = 0;
    trainer_report_progress(trainer);
    assert_int_equal(file_stat(path_of(scene, "job.json")).kind, FILE_REGULAR);
}

static void a_record_that_cannot_be_encoded_is_not_written(void **state)
{
    struct scene *scene = *state;
    const char *const words[] = {"train.py", "--name", "caf\xe9"};
    scene->setup.command = words;
    scene->setup.command_count = ARRAY_LEN(words);
    assert_false(trainer_save(scene->trainer));
    assert_int_equal(file_stat(path_of(scene, "job.json")).kind, FILE_MISSING);
    assert_int_equal(count_of(scene->said, "not UTF-8"), 1);
}

static void add_kept(const struct scene *scene, const char *name)
{
    struct err err;
    assert_true(file_make_private_folder(path_of(scene, name), &err));
}

static bool is_kept(const struct scene *scene, const char *name)
{
    return file_stat(path_of(scene, name)).kind == FILE_FOLDER;
}

static const char *ask_to_store(struct scene *scene)
{
    static char answer[1000];
    struct err err;
    int fd;
    ssize_t got = 0;
    assert_true(line_socket_connect(path_of(scene, TRAINER_SOCKET), &fd, &err));
    assert_int_equal(write(fd, "{\"request\":\"store\"}\n", 20), 20);
    for (int i = 0; i < 400 && got <= 0; i++) {
        run_for(scene, 5);
        got = recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
    }
    answer[got > 0 ? got : 0] = '\0';
    close(fd);
    return answer;
}

/* The record may name the oldest one: a trainer that is started again needs it. */
static void checkpoints_stay_until_the_record_names_a_newer_one(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    add_kept(scene, "kept/1001");
    add_kept(scene, "kept/1002");
    add_kept(scene, "kept/1003");
    trainer->job.checkpoint = trainer->job.slots[0].checkpoint = 1003;
    break_record(scene);
    assert_string_equal(ask_to_store(scene), "{\"stored\":1003}\n");
    assert_true(is_kept(scene, "kept/1001"));
    repair_record(scene);
    trainer->job.stored = 1002;
    assert_string_equal(ask_to_store(scene), "{\"stored\":1003}\n");
    assert_false(is_kept(scene, "kept/1001"));
    assert_true(is_kept(scene, "kept/1002"));
    assert_true(is_kept(scene, "kept/1003"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_waits_until_it_can_be_recorded, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(events_wait_in_order_and_the_trainer_exits_at_their_limit,
                                        open_scene, close_scene),
        cmocka_unit_test_setup_teardown(progress_needs_no_record, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_record_that_cannot_be_encoded_is_not_written, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(checkpoints_stay_until_the_record_names_a_newer_one,
                                        open_scene, close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
