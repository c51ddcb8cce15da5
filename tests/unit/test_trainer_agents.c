/* test_trainer_agents.c: what a trainer tells its agents. The test speaks for the agents. */
#include "app/train/trainer_internal.h"
#include "io/file.h"
#include "io/mac.h"
#include "io/xalloc.h"
#include "unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AGENTS_MAX = 4, LOOKS = 2000 };

static const char token[] = "0123456789abcdef0123456789abcdef";

/* The connection of one agent. */
struct agent {
    struct line_link *link;
    char heard[8000]; /* all lines of the trainer */
    char nonce[MAC_TEXT_SIZE];
    bool is_closed;
};

struct scene {
    struct trainer *trainer;
    struct trainer_setup setup;
    struct loop_timer *end;
    struct agent agents[AGENTS_MAX];
    size_t count;
    char folder[40];
    char said[4000];
};

static void add_line(char *out, size_t size, struct str line)
{
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%.*s\n", STR_ARG(line));
}

static void say(void *context, struct str line)
{
    struct scene *scene = context;
    add_line(scene->said, sizeof(scene->said), line);
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

/* ---- the scene ---- */

static int open_scene(void **state)
{
    struct scene *scene = HEAP_NEW(struct scene);
    struct err err;
    char path[60];
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/agents.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    scene->setup = (struct trainer_setup){.job = "demo",
                                          .folder = scene->folder,
                                          .ray = "127.0.0.1:8265",
                                          .gcs = "127.0.0.1:6379",
                                          .program = "shoal",
                                          .python = "python3",
                                          .script = "train.py",
                                          .directory = "/",
                                          .output = "/shared",
                                          .keep = 3,
                                          .line = say,
                                          .context = scene};
    train_settings_default(&scene->setup.settings);
    struct trainer *trainer = scene->trainer = HEAP_NEW(struct trainer);
    trainer->setup = &scene->setup;
    trainer->program = "true"; /* copies no checkpoint, and succeeds */
    snprintf(trainer->token, sizeof(trainer->token), "%s", token);
    arena_init(&trainer->arena);
    train_job_init(&trainer->job, &scene->setup.settings);
    assert_true(loop_open(&clock_of_machine, &trainer->loop, &err));
    scene->end = loop_timer_new(trainer->loop, stop, scene);
    trainer->tick = loop_timer_new(trainer->loop, stop, scene);
    trainer->pool = child_pool_new(trainer->loop, 1);
    snprintf(path, sizeof(path), "%s/none.sock", scene->folder);
    trainer->demand = trainer_demand_open(&(struct trainer_demand_setup){.loop = trainer->loop,
                                                                         .socket = path,
                                                                         .job = "demo",
                                                                         .context = scene,
                                                                         .need = no_need,
                                                                         .leaving = no_need,
                                                                         .say = ignore_text});
    assert_true(trainer_listen(trainer, &err));
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    struct err err;
    for (size_t i = 0; i < scene->count; i++) {
        line_link_close(scene->agents[i].link);
    }
    trainer_demand_close(trainer->demand);
    trainer_close_agents(trainer);
    child_pool_free(trainer->pool);
    loop_timer_free(scene->end);
    loop_timer_free(trainer->tick);
    loop_close(trainer->loop);
    arena_clear(&trainer->arena);
    free(trainer);
    assert_true(file_remove_folder(scene->folder, &err));
    free(scene);
    return 0;
}

/* A slot that Ray has started on this machine. */
static void add_slot(struct scene *scene, uint32_t id, enum train_slot_state state, int64_t rank)
{
    struct trainer *trainer = scene->trainer;
    struct slot_link *link = &trainer->slots[id - 1];
    trainer->job.slots[id - 1] = (struct train_slot){.id = id,
                                                     .state = state,
                                                     .since = loop_now_ms(trainer->loop),
                                                     .silent_at = -1,
                                                     .deadline = -1,
                                                     .rank = rank};
    link->slot = id;
    snprintf(link->host, sizeof(link->host), "127.0.0.1");
    snprintf(link->node, sizeof(link->node), "n%u", id);
}

/* ---- agents ---- */

static void agent_on_line(void *context, struct str line)
{
    struct agent *agent = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    json_t *message;
    add_line(agent->heard, sizeof(agent->heard), line);
    assert_true(json_line_read(line, "a message", &message, &err));
    struct str nonce = json_take_text(message, "nonce", &arena);
    if (nonce.len > 0) {
        snprintf(agent->nonce, sizeof(agent->nonce), "%.*s", STR_ARG(nonce));
    }
    json_decref(message);
}

static void agent_on_ended(void *context, const struct err *err)
{
    struct agent *agent = context;
    (void)err;
    agent->is_closed = true;
    line_link_close(agent->link);
    agent->link = NULL;
}

static bool heard(const struct agent *agent, const char *words)
{
    return strstr(agent->heard, words) != NULL;
}

static void await(struct scene *scene, const struct agent *agent, const char *words)
{
    for (int i = 0; i < LOOKS && !heard(agent, words) && !agent->is_closed; i++) {
        run_for(scene, 5);
    }
    if (!heard(agent, words)) {
        fail_msg("the trainer did not send %s, but:\n%s", words, agent->heard);
    }
}

/* What was sent before has arrived, and was answered. */
static void settle(struct scene *scene)
{
    run_for(scene, 50);
}

/* Says hello as slot `id`, with what the slot has (`rest`, more fields of JSON). */
static struct agent *greet(struct scene *scene, uint32_t id, const char *secret, const char *rest)
{
    struct agent *agent = &scene->agents[scene->count++];
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char mac[MAC_TEXT_SIZE];
    struct err err;
    assert_true(line_link_open_tcp(
        scene->trainer->loop, "127.0.0.1", scene->trainer->port, NULL,
        &(struct line_link_hooks){.context = agent, .line = agent_on_line, .ended = agent_on_ended},
        &agent->link, &err));
    await(scene, agent, "\"challenge\"");
    mac_sha256(str_from(secret), arena_printf(&arena, "agent %u %s", id, agent->nonce), mac);
    line_link_write(
        agent->link,
        arena_printf(&arena, "{\"type\":\"hello\",\"slot\":%u,\"mac\":\"%s\",\"nonce\":\"7\"%s}\n",
                     id, mac, rest));
    return agent;
}

static void send(const struct agent *agent, const char *line)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    line_link_write(agent->link, arena_printf(&arena, "%s\n", line));
}

/* ---- tests ---- */

/* Anyone can connect, and would get the user's files and checkpoints, or send others. */
static void an_agent_without_the_token_gets_nothing(void **state)
{
    struct scene *scene = *state;
    add_slot(scene, 1, TRAIN_SLOT_PENDING, -1);
    struct agent *agent = greet(scene, 1, "another token", ",\"checkpoint\":9,\"complete\":9");
    for (int i = 0; i < LOOKS && !agent->is_closed; i++) {
        run_for(scene, 5);
    }
    assert_true(agent->is_closed);
    assert_false(heard(agent, "welcome"));
    assert_null(scene->trainer->slots[0].link);
    assert_int_equal(scene->trainer->job.slots[0].state, TRAIN_SLOT_PENDING);
    assert_int_equal(scene->trainer->job.checkpoint, 0);
    assert_non_null(strstr(scene->said, "refused a connection"));
}

static void an_agent_with_the_token_is_welcome(void **state)
{
    struct scene *scene = *state;
    add_slot(scene, 1, TRAIN_SLOT_PENDING, -1);
    struct agent *agent = greet(scene, 1, token, ",\"checkpoint\":9,\"complete\":9");
    await(scene, agent, "\"welcome\"");
    assert_true(heard(agent, "\"output\":\"/shared\""));
    assert_false(heard(agent, "\"adopt\""));
    settle(scene);
    assert_int_equal(scene->trainer->job.slots[0].state, TRAIN_SLOT_PREPARING);
    assert_int_equal(scene->trainer->job.checkpoint, 9);
}

/* It would train, and save, at the same time as the current one. */
static void a_replica_of_an_old_generation_is_killed(void **state)
{
    struct scene *scene = *state;
    scene->trainer->job.generation = 5;
    add_slot(scene, 1, TRAIN_SLOT_READY, -1);
    struct agent *agent = greet(scene, 1, token, ",\"generation\":3,\"is_running\":true");
    await(scene, agent, "{\"type\":\"kill\",\"generation\":3}");
}

static void a_replica_of_this_generation_goes_on(void **state)
{
    struct scene *scene = *state;
    scene->trainer->job.phase = TRAIN_RUNNING;
    scene->trainer->job.generation = 5;
    scene->trainer->job.world = 1;
    add_slot(scene, 1, TRAIN_SLOT_RUNNING, 0);
    struct agent *agent = greet(scene, 1, token,
                                ",\"generation\":5,\"rank\":0,\"is_running\":true");
    await(scene, agent, "\"welcome\"");
    settle(scene);
    assert_false(heard(agent, "kill"));
    assert_int_equal(scene->trainer->job.phase, TRAIN_RUNNING);
}

static void get_save(const struct agent *agent, char ret_save[100])
{
    const char *at = strstr(agent->heard, "\"save\":\"");
    assert_non_null(at);
    snprintf(ret_save, 100, "%.*s", (int)strcspn(at + 8, "\""), at + 8);
}

/* Their parts of a save belong together; those of two generations do not. */
static void all_ranks_of_a_generation_get_one_save(void **state)
{
    struct scene *scene = *state;
    char first[100];
    char second[100];
    for (uint32_t id = 1; id <= 2; id++) {
        add_slot(scene, id, TRAIN_SLOT_RUNNING, id - 1);
        await(scene, greet(scene, id, token, ""), "\"welcome\"");
    }
    scene->trainer->job.world = 2;
    for (int64_t generation = 1; generation <= 2; generation++) {
        for (uint32_t id = 1; id <= 2; id++) {
            scene->agents[id - 1].heard[0] = '\0';
            trainer_start_replica(scene->trainer, &(struct train_action){.kind = TRAIN_START,
                                                                         .slot = id,
                                                                         .generation = generation,
                                                                         .rank = id - 1,
                                                                         .world = 2});
            await(scene, &scene->agents[id - 1], "\"start\"");
        }
        get_save(&scene->agents[1], second);
        if (generation == 2) {
            assert_string_not_equal(first, second);
        }
        get_save(&scene->agents[0], first);
        assert_string_equal(first, second);
        assert_int_equal(strlen(first), 16);
    }
}

/* Its report was lost with a connection, or a trainer: without it the job would begin at zero. */
static void a_slot_repeats_what_is_durable(void **state)
{
    struct scene *scene = *state;
    add_slot(scene, 1, TRAIN_SLOT_PENDING, -1);
    struct agent *agent = greet(scene, 1, token,
                                ",\"number\":2000000001,\"highest\":4000000001,"
                                "\"is_prepared\":true,\"port\":4711");
    await(scene, agent, "\"start\"");
    assert_true(heard(agent, "\"generation\":5"));
    assert_true(heard(agent, "\"checkpoint\":2000000001"));
    assert_true(heard(agent, "\"is_durable\":true"));
}

static const char foreign[] = "{\"type\":\"foreign\",\"what\":\"cannot use --output\",\"reason\":"
                              "\"/shared/demo: the checkpoints there belong to another job\"}";

/* It would begin at zero, or from what is not its own. */
static void a_job_that_has_not_begun_ends_if_its_output_is_anothers(void **state)
{
    struct scene *scene = *state;
    add_slot(scene, 1, TRAIN_SLOT_PENDING, -1);
    struct agent *agent = greet(scene, 1, token, "");
    await(scene, agent, "\"welcome\"");
    send(agent, foreign);
    await(scene, agent, "\"leave\"");
    assert_int_equal(scene->trainer->job.phase, TRAIN_STOPPED);
    assert_int_equal(scene->trainer->refusal.kind, ERR_EXISTS);
    assert_non_null(strstr(scene->trainer->refusal.text, "belong to another job"));
}

static void a_job_that_trains_goes_on_if_its_output_is_anothers(void **state)
{
    struct scene *scene = *state;
    scene->trainer->job.phase = TRAIN_RUNNING;
    scene->trainer->job.generation = scene->trainer->job.world = 1;
    add_slot(scene, 1, TRAIN_SLOT_RUNNING, 0);
    add_slot(scene, 2, TRAIN_SLOT_PENDING, -1);
    greet(scene, 1, token, ",\"generation\":1,\"is_running\":true");
    struct agent *agent = greet(scene, 2, token, "");
    await(scene, agent, "\"welcome\"");
    send(agent, foreign);
    for (int i = 0; i < LOOKS && !strstr(scene->said, "belong to another job"); i++) {
        run_for(scene, 5);
    }
    assert_non_null(strstr(scene->said, "slot 2: cannot use --output"));
    assert_int_equal(scene->trainer->job.phase, TRAIN_RUNNING);
    assert_int_equal(scene->trainer->refusal.kind, ERR_NONE);
}

/* Once: later, another job may have adopted them from this one. */
static void checkpoints_are_adopted_once(void **state)
{
    struct scene *scene = *state;
    scene->setup.is_adopting = true;
    add_slot(scene, 1, TRAIN_SLOT_PENDING, -1);
    add_slot(scene, 2, TRAIN_SLOT_PENDING, -1);
    struct agent *first = greet(scene, 1, token, "");
    await(scene, first, "\"adopt\":true");
    send(first, "{\"type\":\"durable\",\"number\":0,\"highest\":0}");
    settle(scene);
    struct agent *second = greet(scene, 2, token, "");
    await(scene, second, "\"welcome\"");
    assert_false(heard(second, "\"adopt\""));
}

/* ---- slots that leave ---- */

/* It may have the only copy of the newest checkpoint, which the job still needs. */
static void a_slot_that_was_given_up_keeps_its_checkpoint(void **state)
{
    struct scene *scene = *state;
    scene->trainer->job.phase = TRAIN_RUNNING;
    struct agent *agent = greet(scene, 1, token, ",\"checkpoint\":9,\"complete\":9");
    await(scene, agent, "\"leave\"");
    assert_true(heard(agent, "\"keep\":true"));
    scene->trainer->job.phase = TRAIN_SUCCEEDED;
    agent = greet(scene, 1, token, "");
    await(scene, agent, "\"leave\"");
    assert_false(heard(agent, "\"keep\""));
}

/* The slots remove their files when they leave: nothing would be left to continue from. */
static void a_stopped_job_copies_its_checkpoint_before_its_slots_leave(void **state)
{
    struct scene *scene = *state;
    struct trainer *trainer = scene->trainer;
    scene->setup.output = NULL;
    trainer->job.phase = TRAIN_RUNNING;
    trainer->job.generation = trainer->job.world = 1;
    add_slot(scene, 1, TRAIN_SLOT_RUNNING, 0);
    struct agent *agent = greet(scene, 1, token, ",\"generation\":1,\"is_running\":true");
    await(scene, agent, "\"welcome\"");
    trainer_stop(trainer);
    await(scene, agent, "\"save\"");
    send(agent, "{\"type\":\"returned\",\"generation\":1,\"code\":143,\"checkpoint\":1000000001}");
    await(scene, agent, "\"leave\"");
    assert_int_equal(trainer->job.phase, TRAIN_STOPPED);
    assert_int_equal(trainer->job.stored, 1000000001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_agent_without_the_token_gets_nothing, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(an_agent_with_the_token_is_welcome, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_replica_of_an_old_generation_is_killed, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_replica_of_this_generation_goes_on, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(all_ranks_of_a_generation_get_one_save, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_slot_repeats_what_is_durable, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_job_that_has_not_begun_ends_if_its_output_is_anothers,
                                        open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_job_that_trains_goes_on_if_its_output_is_anothers,
                                        open_scene, close_scene),
        cmocka_unit_test_setup_teardown(checkpoints_are_adopted_once, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_slot_that_was_given_up_keeps_its_checkpoint, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_stopped_job_copies_its_checkpoint_before_its_slots_leave,
                                        open_scene, close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
