/*
 * test_agent_runner.c: the agent of a slot when its Python process or its trainer is gone, when Ray
 * stops it, and when it stores checkpoints.
 *
 * This program is also the agent ("agent"), which runs it in place of `shoal` to load and store
 * checkpoints ("node"). The test is the trainer. A shell script takes the place of Python.
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

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOT = 7, SLOW_CHECKPOINT = 2001, WAIT_MS = 20 * 1000, LOAD_MS = 400, REFUSALS_MAX = 8 };

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
    "    code=$(cat \"${0%/*}/code\" 2>/dev/null || echo 143)\n"
    "    echo \"{\\\"event\\\":\\\"returned\\\",\\\"generation\\\":1,\\\"code\\\":$code}\"; };;\n"
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
    bool stores;   /* the job has --output */
    bool refuses;  /* another program has the trainer's port, and closes each connection */
    int refusals;
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

static void write_text(const struct scene *scene, const char *name, const char *text)
{
    char path[60];
    struct err err;
    snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
    assert_true(file_write(path, str_from(text), 0600, &err));
}

static void jump(const struct scene *scene, const char *ms)
{
    write_text(scene, "clock", ms);
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
    json_put_text(welcome, "output", scene->stores ? STR("/shared") : STR(""));
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
    if (scene->refuses) {
        scene->refusals++;
        loop_stop(scene->loop);
        return; /* it is closed */
    }
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
        setenv("TEST_FOLDER", scene->folder, 1);
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
    for (int i = 0; i < WAIT_MS / 20 && scene->refusals < REFUSALS_MAX &&
                    waitpid(scene->agent, &status, WNOHANG) == 0;
         i++) {
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

/* Fails if the agent does not connect. */
static void await_refusals(struct scene *scene, int count)
{
    int wanted = scene->refusals + count;
    loop_timer_start(scene->end, WAIT_MS);
    for (int i = 0; i < count; i++) {
        loop_run(scene->loop);
    }
    assert_int_equal(scene->refusals, wanted);
}

/* The ten minutes begin when the connection is lost, not when the agent last tried to connect. */
static void failed_connections_do_not_prolong_the_ten_minutes(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    scene->refuses = true;
    line_link_close(scene->link);
    scene->link = NULL;
    await_refusals(scene, 1);
    jump(scene, "360000");
    await_refusals(scene, 2); /* the first may be from before the jump */
    jump(scene, "720000");
    assert_int_equal(await_end(scene), 1);
    assert_true(has_checkpoint(scene));
}

/* ---- the end of a script ---- */

/* Many scripts end with 0 on SIGTERM. The job would count as complete, although it is not. */
static void a_script_of_a_stopped_slot_is_not_complete(void **state)
{
    struct scene *scene = *state;
    await(scene, "prepared");
    let_it_save(scene);
    write_text(scene, "code", "0");
    start(scene, 1, 0);
    await(scene, "started");
    assert_int_equal(kill(scene->agent, SIGTERM), 0); /* by Ray */
    await(scene, "leaving");
    send_save(scene, 1);
    const json_t *returned = await(scene, "returned");
    assert_int_equal(number_of(returned, "code"), 143);
    assert_int_equal(number_of(returned, "checkpoint"), TRAIN_SAVES_PER_GENERATION + 1);
    send_leave(scene, true);
    assert_int_equal(await_end(scene), 0); /* also Python, which writes there */
}

/* ---- the durable copy ---- */

static void make_checkpoint(struct scene *scene, const char *text)
{
    char path[SLOT_PATH_MAX];
    struct err err;
    slot_folder_path(&scene->slot, "state/model", path);
    assert_true(file_write(path, str_from(text), 0600, &err));
    await(scene, "checkpoint");
}

/* The script saves faster than the store takes: the last one would never be stored. */
static void a_checkpoint_that_came_during_a_store_is_stored(void **state)
{
    struct scene *scene = *state;
    AUTO_BUF struct buf text;
    char path[60];
    struct err err;
    scene->stores = true;
    buf_init(&text, 100);
    snprintf(path, sizeof(path), "%s/gate", scene->folder);
    int gate = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(gate, LOCK_EX), 0);
    await(scene, "prepared");
    start(scene, 1, 0);
    await(scene, "started");
    make_checkpoint(scene, "first");
    make_checkpoint(scene, "second");
    close(gate);
    assert_int_equal(number_of(await(scene, "durable"), "number"), TRAIN_SAVES_PER_GENERATION + 1);
    send_leave(scene, true); /* once the last one is stored */
    assert_int_equal(await_end(scene), 0);
    snprintf(path, sizeof(path), "%s/stored", scene->folder);
    assert_true(file_read(path, &text, &err));
    assert_str(buf_str(&text), "1000000001\n1000000002\n");
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

/* In place of `shoal node train-store`: notes the number, and waits until the test opens the
 * gate. */
static int store(const char *number)
{
    char path[100];
    char line[40];
    struct err err;
    int status = 0;
    if (strcmp(number, "0") != 0) { /* else it only looks what is there */
        snprintf(path, sizeof(path), "%s/stored", getenv("TEST_FOLDER"));
        snprintf(line, sizeof(line), "%s\n", number);
        status = file_append(path, str_from(line), 0600, &err) ? 0 : 1;
        snprintf(path, sizeof(path), "%s/gate", getenv("TEST_FOLDER"));
        int gate = open(path, O_RDWR | O_CLOEXEC);
        flock(gate, LOCK_EX);
        close(gate);
    }
    printf("%s %s\n", number, number);
    return status;
}

/* In place of `shoal node`. */
static int run_node(int count, char **words)
{
    bool stores = count > 2 && strcmp(words[2], "train-store") == 0;
    for (int i = 3; stores && i + 1 < count; i++) {
        if (strcmp(words[i], "--checkpoint") == 0) {
            return store(words[i + 1]);
        }
    }
    return load(count, words);
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
        cmocka_unit_test_setup_teardown(failed_connections_do_not_prolong_the_ten_minutes, open_job,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_script_of_a_stopped_slot_is_not_complete, open_job,
                                        close_scene),
        cmocka_unit_test_setup_teardown(a_checkpoint_that_came_during_a_store_is_stored, open_job,
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
        return run_node(count, words);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
