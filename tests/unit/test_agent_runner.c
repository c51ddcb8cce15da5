/*
 * test_agent_runner.c: the Python process of a slot dies, and the agent starts it again.
 *
 * This program is also the agent ("agent"), which runs it in place of `shoal` to load checkpoints
 * ("node"). The test is the trainer. A shell script takes the place of Python.
 */
#include "app/train/agent.h"
#include "app/train/slot_folder.h"
#include "io/file.h"
#include "io/json_line.h"
#include "io/line_socket.h"
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
    pid_t agent;
};

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
    mac_sha256(str_from(token), arena_printf(&arena, "trainer %d %.*s", SLOT, STR_ARG(nonce)), mac);
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

/* An earlier agent of the slot has left a checkpoint. */
static void add_checkpoint(struct scene *scene)
{
    char name[60];
    char path[SLOT_PATH_MAX];
    struct err err;
    snprintf(name, sizeof(name), "%s-%d", scene->job, SLOT);
    assert_true(slot_folder_open(&scene->slot, name, &err));
    slot_folder_path(&scene->slot, "state/model", path);
    assert_true(file_write(path, STR("weights"), 0600, &err));
    assert_true(slot_folder_keep(&scene->slot, 1001, false, &err));
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

static void start_agent(struct scene *scene)
{
    char number[16];
    char port[16];
    snprintf(number, sizeof(number), "%d", SLOT);
    snprintf(port, sizeof(port), "%u", line_server_port(scene->server));
    scene->agent = fork();
    if (scene->agent == 0) {
        setenv("SHOAL_TRAIN_HOST", "127.0.0.1", 1);
        setenv("SHOAL_TRAIN_PORT", port, 1);
        setenv("SHOAL_TRAIN_TOKEN", token, 1);
        setenv("SHOAL_TRAIN_JOB", scene->job, 1);
        setenv("SHOAL_TRAIN_SLOT", number, 1);
        execl("/proc/self/exe", "test_agent_runner", "agent", (char *)NULL);
        _exit(127);
    }
    assert_true(scene->agent > 0);
}

static int open_scene(void **state)
{
    struct scene *scene = HEAP_NEW(struct scene);
    char path[60];
    struct err err;
    snprintf(scene->folder, sizeof(scene->folder), "/tmp/runner.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->job, sizeof(scene->job), "unit-runner-%d", (int)getpid());
    snprintf(path, sizeof(path), "%s/python", scene->folder);
    assert_true(file_write(path, str_from(python), 0700, &err));
    add_checkpoint(scene);
    assert_true(loop_open(&clock_of_machine, &scene->loop, &err));
    scene->end = loop_timer_new(scene->loop, stop, scene);
    assert_true(line_server_open_tcp(scene->loop, "127.0.0.1", 0, NULL, trainer_on_agent, scene,
                                     &scene->server, &err));
    start_agent(scene);
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    struct err err;
    kill(scene->agent, SIGKILL);
    waitpid(scene->agent, NULL, 0);
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

/* ---- tests ---- */

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
        cmocka_unit_test_setup_teardown(a_dead_runner_is_started_again, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_runner_that_dies_during_a_load_is_started_again,
                                        open_scene, close_scene),
    };
    if (count > 1 && strcmp(words[1], "agent") == 0) {
        return agent_main();
    }
    if (count > 1 && strcmp(words[1], "node") == 0) {
        return load(count, words);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
