/*
 * test_agent_runner.c: the agent of a slot when its Python process or its trainer is gone.
 *
 * This program is also the agent ("agent"), which runs it in place of `shoal` to load checkpoints
 * ("node"). The test is the trainer. A shell script takes the place of Python.
 */
#include "app/train/agent.h"
#include "app/train/slot_folder.h"
#include "core/train/job.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/json_line.h"
#include "io/line_socket.h"
#include "io/lock.h"
#include "io/loop.h"
#include "io/mac.h"
#include "io/xalloc.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOT = 7, SLOW_CHECKPOINT = 2001, WAIT_MS = 20 * 1000, LOAD_MS = 400 };

static const char token[] = "0123456789abcdef0123456789abcdef";

/* Reports its own process as the replica, so that the test can kill it. */
static const char python[] =
    "#!/bin/sh\n"
    "echo $$ >> \"${0%/*}/pids\"\n"
    "echo '{\"event\":\"ready\",\"warm\":true,\"seconds\":0}'\n"
    "while read -r line; do\n"
    "  echo \"$line\" >> \"${0%/*}/lines\"\n"
    "  case $line in *'\"signal\":15'*) [ -e \"${0%/*}/state\" ] && {\n"
    "    echo saved > \"${0%/*}/state/model\"\n"
    "    echo '{\"event\":\"returned\",\"generation\":1,\"code\":143}'; };;\n"
    "  esac\n"
    "  case $line in *'\"start\"'*)\n"
    "    generation=${line#*generation\\\":}; generation=${generation%%,*}\n"
    "    echo \"{\\\"event\\\":\\\"started\\\",\\\"generation\\\":$generation,\\\"pid\\\":$$}\";;\n"
    "  esac\n"
    "done\n";

struct scene {
    struct loop *loop;
    struct loop_timer *end;
    struct line_server *server;
    struct line_link *link;
    struct slot_folder slot;
    const char *awaited; /* type of a message */
    json_t *found;
    char folder[40];
    char job[40];
    const char *id; /* of the job; empty: none */
    int slot_number;
    bool is_false; /* the trainer does not know the token */
    pid_t agent;
};

/* ---- the clock of an agent ---- */

/* The machine's time plus what the test wrote to a file. */
static int64_t skipped_ms(void)
{
    AUTO_BUF struct buf text;
    struct err err;
    int64_t ms = 0;
    buf_init(&text, 100);
    bool is_read = file_read(getenv("TEST_CLOCK"), &text, &err) && str_to_i64(buf_str(&text), &ms);
    return is_read ? ms : 0;
}

static int64_t skip_monotonic(void *context)
{
    return clock_of_machine.monotonic_ms(context) + skipped_ms();
}

static int64_t skip_wall(void *context)
{
    return clock_of_machine.wall_ms(context) + skipped_ms();
}

static const struct clock skip_clock = {.monotonic_ms = skip_monotonic, .wall_ms = skip_wall};

static void jump(const struct scene *scene, const char *ms)
{
    char path[60];
    struct err err;
    snprintf(path, sizeof(path), "%s/clock", scene->folder);
    assert_true(file_write(path, str_from(ms), 0600, &err));
}

/* ---- the trainer ---- */

static void scene_send(struct scene *scene, json_t *message)
{
    AUTO_BUF struct buf line;
    buf_init(&line, 10000);
    json_put_out(message, true, &line);
    line_link_write(scene->link, buf_str(&line));
}

static json_t *new_message(const char *type)
{
    json_t *message = json_object();
    json_put_text(message, "type", str_from(type));
    return message;
}

static void send_welcome(struct scene *scene, const json_t *hello)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char mac[MAC_TEXT_SIZE];
    struct str nonce = json_take_text(hello, "nonce", &arena);
    mac_sha256(scene->is_false ? STR("another token") : str_from(token),
               arena_printf(&arena, "trainer %d %.*s", scene->slot_number, STR_ARG(nonce)), mac);
    json_t *welcome = new_message("welcome");
    json_put_text(welcome, "mac", str_from(mac));
    json_put_text(welcome, "kind", STR("plain"));
    json_put_text(welcome, "python", arena_printf(&arena, "%s/python", scene->folder));
    json_put_text(welcome, "script", STR("train.py"));
    json_put_text(welcome, "code", STR("127.0.0.1:1"));
    scene_send(scene, welcome);
}

static void trainer_on_line(void *context, struct str line)
{
    struct scene *scene = context;
    json_t *message;
    struct err err;
    assert_true(json_line_read(line, "a message", &message, &err));
    const char *type = json_string_value(json_object_get(message, "type"));
    if (strcmp(type, "hello") == 0) {
        send_welcome(scene, message);
    }
    if (scene->awaited && strcmp(type, scene->awaited) == 0) {
        scene->awaited = NULL;
        json_decref(scene->found);
        scene->found = json_incref(message);
        loop_stop(scene->loop);
    }
    json_decref(message);
}

static void trainer_on_ended(void *context, const struct err *err)
{
    struct scene *scene = context;
    (void)err;
    line_link_close(scene->link);
    scene->link = NULL;
    loop_stop(scene->loop);
}

static void trainer_on_agent(void *context, struct line_link *link)
{
    struct scene *scene = context;
    scene->link = link;
    line_link_begin(link, &(struct line_link_hooks){.context = scene,
                                                    .line = trainer_on_line,
                                                    .ended = trainer_on_ended});
    json_t *challenge = new_message("challenge");
    json_put_text(challenge, "nonce", STR("1"));
    scene_send(scene, challenge);
}

static void stop(void *context)
{
    loop_stop(((struct scene *)context)->loop);
}

/* The next message of this type. Fails if the agent ends. */
static const json_t *await(struct scene *scene, const char *type)
{
    scene->awaited = type;
    loop_timer_start(scene->end, WAIT_MS);
    loop_run(scene->loop);
    if (scene->awaited) {
        fail_msg("the agent did not send \"%s\"%s", type, scene->link ? "" : ": it has ended");
    }
    return scene->found;
}

static int64_t number_of(const json_t *message, const char *name)
{
    return json_take_number(message, name, 0, INT64_MAX);
}

static void start(struct scene *scene, int64_t generation, int64_t checkpoint)
{
    json_t *message = new_message("start");
    json_put_number(message, "generation", generation);
    json_put_number(message, "world", 1);
    json_put_number(message, "checkpoint", checkpoint);
    scene_send(scene, message);
}

/* ---- the scene ---- */

/* The name of a slot's folder. */
static void name_of(const struct scene *scene, int slot, char ret_name[100])
{
    snprintf(ret_name, 100, "%s%s%.8s-%d", scene->job, scene->id[0] != '\0' ? "-" : "", scene->id,
             slot);
}

/* An earlier agent of the slot has left a checkpoint. */
static void add_checkpoint(struct scene *scene)
{
    char name[100];
    char path[SLOT_PATH_MAX];
    struct err err;
    name_of(scene, SLOT, name);
    assert_true(slot_folder_open(&scene->slot, name, &err));
    slot_folder_path(&scene->slot, "state/model", path);
    assert_true(file_write(path, STR("weights"), 0600, &err));
    assert_true(slot_folder_keep(&scene->slot, 1001, 0, &err));
}

static bool has_checkpoint(const struct scene *scene)
{
    AUTO_BUF struct buf text;
    char path[SLOT_PATH_MAX];
    struct err err;
    buf_init(&text, 100);
    slot_folder_path(&scene->slot, "kept/1001/model", path);
    return file_read(path, &text, &err) && str_is(buf_str(&text), "weights");
}

static void start_agent(struct scene *scene, int slot)
{
    char number[16];
    char port[16];
    char path[60];
    scene->slot_number = slot;
    snprintf(path, sizeof(path), "%s/clock", scene->folder);
    snprintf(number, sizeof(number), "%d", slot);
    snprintf(port, sizeof(port), "%u", line_server_port(scene->server));
    scene->agent = fork();
    if (scene->agent == 0) {
        setenv("SHOAL_TRAIN_HOST", "127.0.0.1", 1);
        setenv("SHOAL_TRAIN_PORT", port, 1);
        setenv("SHOAL_TRAIN_TOKEN", token, 1);
        setenv("SHOAL_TRAIN_JOB", scene->job, 1);
        setenv("SHOAL_TRAIN_SLOT", number, 1);
        setenv("SHOAL_TRAIN_ID", scene->id, 1);
        setenv("TEST_CLOCK", path, 1);
        execl("/proc/self/exe", "test_agent_runner", "agent", (char *)NULL);
        _exit(127);
    }
    assert_true(scene->agent > 0);
}

static void listen_for_agents(struct scene *scene)
{
    struct err err;
    assert_true(line_server_open_tcp(scene->loop, "127.0.0.1", 0, NULL, trainer_on_agent, scene,
                                     &scene->server, &err));
}

static int open_with_id(void **state, const char *id)
{
    struct scene *scene = HEAP_NEW(struct scene);
    char path[60];
    struct err err;
    scene->id = id;
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/runner.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->job, sizeof(scene->job), "unit-runner-%d", (int)getpid());
    snprintf(path, sizeof(path), "%s/python", scene->folder);
    assert_true(file_write(path, str_from(python), 0700, &err));
    add_checkpoint(scene);
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    scene->end = loop_timer_new(scene->loop, stop, scene);
    listen_for_agents(scene);
    start_agent(scene, SLOT);
    *state = scene;
    return 0;
}

static int open_scene(void **state)
{
    return open_with_id(state, "");
}

static int open_job(void **state)
{
    return open_with_id(state, "a0b1c2d3e4f5");
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    struct slot_folder next = scene->slot;
    struct err err;
    if (scene->agent > 0) {
        kill(scene->agent, SIGKILL);
        waitpid(scene->agent, NULL, 0);
    }
    next.root[strlen(next.root) - 1] = '8';
    slot_folder_remove(&next);
    line_server_close(scene->server);
    loop_timer_free(scene->end);
    loop_close(scene->loop);
    json_decref(scene->found);
    slot_folder_remove(&scene->slot);
    assert_true(file_remove_folder(scene->folder, &err));
    free(scene);
    return 0;
}

/* The process that runs in place of Python now. */
static pid_t find_python(const struct scene *scene)
{
    AUTO_BUF struct buf text;
    char path[60];
    struct err err;
    int64_t pid = 0;
    buf_init(&text, 1000);
    snprintf(path, sizeof(path), "%s/pids", scene->folder);
    assert_true(file_read(path, &text, &err));
    struct str rest = buf_str(&text);
    while (rest.len > 0) { /* the last one */
        assert_true(str_to_i64(str_cut(&rest, '\n'), &pid));
    }
    return (pid_t)pid;
}

/* How many lines with these words Python got so far. */
static size_t told_python(const struct scene *scene, const char *words)
{
    AUTO_BUF struct buf text;
    char path[60];
    struct err err;
    size_t count = 0;
    buf_init(&text, 10000);
    snprintf(path, sizeof(path), "%s/lines", scene->folder);
    if (!file_read(path, &text, &err)) {
        return 0;
    }
    struct str rest = buf_str(&text);
    while (rest.len > 0) {
        count += str_find(str_cut(&rest, '\n'), words) != SIZE_MAX;
    }
    return count;
}

static void send_leave(struct scene *scene, bool is_kept)
{
    json_t *message = new_message("leave");
    json_put_flag(message, "keep", is_kept);
    scene_send(scene, message);
}

static void send_save(struct scene *scene, int64_t generation)
{
    json_t *message = new_message("save");
    json_put_number(message, "generation", generation);
    scene_send(scene, message);
}

/* Asks for stack traces and waits until Python got the request, for the n-th time. */
static void await_stacks(struct scene *scene, size_t times)
{
    scene_send(scene, new_message("stacks"));
    for (int i = 0; i < WAIT_MS / 20 && told_python(scene, "\"signal\":12") < times; i++) {
        loop_timer_start(scene->end, 20);
        loop_run(scene->loop);
    }
    assert_int_equal(told_python(scene, "\"signal\":12"), times);
}

/* ---- tests ---- */

/* The request of an old generation may come late, after a new connection for example. */
static void an_old_request_to_save_does_not_stop_the_new_replica(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    start(scene, 2, 0);
    await(scene, "started");
    send_save(scene, 1);
    await_stacks(scene, 1); /* in order */
    assert_int_equal(told_python(scene, "\"signal\":15"), 0);
    send_save(scene, 2);
    send_save(scene, 2); /* repeated after a new connection */
    await_stacks(scene, 2);
    assert_int_equal(told_python(scene, "\"signal\":15"), 1);
}

static void a_dead_runner_is_started_again(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(number_of(await(scene, "hello"), "complete"), 1001);
    await(scene, "prepared");
    start(scene, 1, 1001);
    assert_int_equal(number_of(await(scene, "started"), "generation"), 1);
    pid_t first = find_python(scene);
    assert_int_equal(kill(first, SIGKILL), 0);
    const json_t *returned = await(scene, "returned");
    assert_int_equal(number_of(returned, "signal"), SIGKILL);
    assert_int_equal(number_of(returned, "checkpoint"), 1001);
    assert_int_equal(number_of(returned, "complete"), 1001);
    start(scene, 2, 1001); /* waits for the new one */
    assert_int_equal(number_of(await(scene, "started"), "generation"), 2);
    assert_int_not_equal(find_python(scene), first);
    assert_true(has_checkpoint(scene));
}

/* The load does not need Python, but its result does. */
static void a_runner_that_dies_during_a_load_is_started_again(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    start(scene, 3, SLOW_CHECKPOINT);
    loop_timer_start(scene->end, LOAD_MS / 4);
    loop_run(scene->loop);
    assert_int_equal(kill(find_python(scene), SIGKILL), 0);
    const json_t *returned = await(scene, "returned");
    assert_int_equal(number_of(returned, "generation"), 3);
    assert_int_equal(number_of(returned, "signal"), SIGKILL);
    await(scene, "prepared");
    start(scene, 4, 1001);
    assert_int_equal(number_of(await(scene, "started"), "generation"), 4);
    assert_true(has_checkpoint(scene));
}

/* ---- without a trainer ---- */

static void lose_trainer(struct scene *scene)
{
    line_link_close(scene->link);
    scene->link = NULL;
    line_server_close(scene->server);
    scene->server = NULL;
}

static int await_end(struct scene *scene)
{
    int status = -1;
    for (int i = 0; i < WAIT_MS / 20 && waitpid(scene->agent, &status, WNOHANG) == 0; i++) {
        loop_timer_start(scene->end, 20);
        loop_run(scene->loop);
    }
    if (status == -1) {
        fail_msg("the agent did not end");
    }
    scene->agent = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static bool has_saved(const struct slot_folder *slot)
{
    AUTO_BUF struct buf text;
    char path[SLOT_PATH_MAX];
    struct err err;
    buf_init(&text, 100);
    slot_folder_path(slot, "kept/1000000001/model", path);
    return file_read(path, &text, &err) && str_is(buf_str(&text), "saved\n");
}

static bool is_there(const struct scene *scene)
{
    return file_stat(scene->slot.root).kind == FILE_FOLDER;
}

/* Python saves there when it gets SIGTERM. */
static void let_it_save(struct scene *scene)
{
    char path[60];
    char state_folder[SLOT_PATH_MAX];
    snprintf(path, sizeof(path), "%s/state", scene->folder);
    slot_folder_path(&scene->slot, "state", state_folder);
    assert_int_equal(symlink(state_folder, path), 0);
}

/* Another slot of the job starts on this machine. Returns the newest checkpoint that it reports. */
static int64_t start_next_slot(struct scene *scene)
{
    char path[SLOT_PATH_MAX];
    slot_folder_path(&scene->slot, "agent.lock", path);
    for (int i = 0; i < WAIT_MS / 20 && lock_is_held(path); i++) {
        loop_timer_start(scene->end, 20); /* a killed agent's children end a moment later */
        loop_run(scene->loop);
    }
    if (!scene->server) {
        listen_for_agents(scene);
    }
    start_agent(scene, SLOT + 1);
    return number_of(await(scene, "hello"), "complete");
}

/* The nodes are fine, and have the only copies: the trainer was killed, and the user is away. */
static void ten_minutes_without_a_trainer_lose_nothing(void **state)
{
    struct scene *scene = *state;
    struct slot_folder next = scene->slot;
    await(scene, "prepared");
    let_it_save(scene);
    start(scene, 1, 1001);
    await(scene, "started");
    lose_trainer(scene);
    jump(scene, "590000");
    loop_timer_start(scene->end, 700); /* it tries again twice a second */
    loop_run(scene->loop);
    assert_int_equal(waitpid(scene->agent, NULL, WNOHANG), 0);
    assert_int_equal(told_python(scene, "\"signal\":15"), 0);
    jump(scene, "1200000"); /* it may have missed the trainer only after the first jump */
    assert_int_equal(await_end(scene), 1);
    assert_int_equal(told_python(scene, "\"signal\":15"), 1);
    assert_true(has_saved(&scene->slot));
    assert_false(has_checkpoint(scene)); /* a newer one is complete */
    assert_int_equal(start_next_slot(scene), TRAIN_SAVES_PER_GENERATION + 1);
    next.root[strlen(next.root) - 1] = '8';
    assert_true(has_saved(&next));
    assert_false(is_there(scene));
}

/* It hangs, or does not handle SIGTERM. */
static void a_script_that_does_not_save_costs_no_checkpoint(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    start(scene, 1, 1001);
    await(scene, "started");
    lose_trainer(scene);
    jump(scene, "610000");
    for (int i = 0; i < WAIT_MS / 20 && told_python(scene, "\"signal\":15") == 0; i++) {
        if (i == 50) {
            jump(scene, "1220000"); /* it missed the trainer only after the first jump */
        }
        loop_timer_start(scene->end, 20);
        loop_run(scene->loop);
    }
    jump(scene, "1350000");
    assert_int_equal(await_end(scene), 1);
    assert_true(has_checkpoint(scene));
    assert_int_equal(start_next_slot(scene), 1001);
    assert_false(is_there(scene));
}

static void the_checkpoints_of_a_killed_agent_stay(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    assert_int_equal(kill(scene->agent, SIGKILL), 0);
    assert_int_equal(await_end(scene), 1000 + SIGKILL);
    assert_true(has_checkpoint(scene));
    scene->link = NULL;
    assert_int_equal(start_next_slot(scene), 1001);
}

/* A new job of this name begins on the machine: what it finds there is not its own. */
static void another_job_of_the_name_finds_nothing(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    assert_int_equal(kill(scene->agent, SIGKILL), 0);
    await_end(scene);
    scene->id = "ffffffffffff";
    start_agent(scene, SLOT);
    assert_int_equal(number_of(await(scene, "hello"), "complete"), 0);
    assert_true(has_checkpoint(scene));
    send_leave(scene, false);
    assert_int_equal(await_end(scene), 0);
}

static void a_slot_that_is_not_needed_removes_its_folder(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    send_leave(scene, false);
    assert_int_equal(await_end(scene), 0);
    assert_false(is_there(scene));
}

/* The trainer gave it up while it had no connection: it may have the only copy. */
static void a_slot_that_was_given_up_keeps_its_checkpoint(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    send_leave(scene, true);
    assert_int_equal(await_end(scene), 0);
    assert_true(has_checkpoint(scene));
}

/* The port of the trainer may belong to another process by now. */
static void a_trainer_without_the_token_is_not_obeyed(void **state)
{
    struct scene *scene = *state;
    scene->is_false = true;
    await(scene, "hello");
    send_leave(scene, false);
    start(scene, 1, 0);
    loop_timer_start(scene->end, 300);
    loop_run(scene->loop);
    assert_int_equal(waitpid(scene->agent, NULL, WNOHANG), 0);
    assert_true(has_checkpoint(scene));
    assert_int_equal(file_stat(scene->folder).kind, FILE_FOLDER);
    line_link_close(scene->link); /* it connects again */
    scene->link = NULL;
    scene->is_false = false;
    await(scene, "prepared");
    assert_int_equal(told_python(scene, "\"start\""), 0);
}

/* In place of `shoal node train-load`: loads nothing, and some checkpoints slowly. */
static int load(int count, char **words)
{
    char slow[16];
    snprintf(slow, sizeof(slow), "%d", SLOW_CHECKPOINT);
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], slow) == 0) {
            nanosleep(&(struct timespec){.tv_nsec = LOAD_MS * 1000000L}, NULL);
        }
    }
    return 0;
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_old_request_to_save_does_not_stop_the_new_replica,
                                        open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_dead_runner_is_started_again, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_runner_that_dies_during_a_load_is_started_again,
                                        open_scene, close_scene),
        cmocka_unit_test_setup_teardown(ten_minutes_without_a_trainer_lose_nothing, open_job,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_script_that_does_not_save_costs_no_checkpoint, open_job,
                                        close_scene),
        cmocka_unit_test_setup_teardown(the_checkpoints_of_a_killed_agent_stay, open_job,
                                        close_scene),
        cmocka_unit_test_setup_teardown(another_job_of_the_name_finds_nothing, open_job,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_slot_that_is_not_needed_removes_its_folder, open_job,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_slot_that_was_given_up_keeps_its_checkpoint, open_job,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_trainer_without_the_token_is_not_obeyed, open_job,
                                        close_scene),
    };
    if (count > 1 && strcmp(words[1], "agent") == 0) {
        return agent_main(&skip_clock);
    }
    if (count > 1 && strcmp(words[1], "node") == 0) {
        return load(count, words);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
