/* agent.c: connects to the trainer, prepares the slot, and dispatches the trainer's messages. */
#include "app/train/agent.h"

#include "app/program.h"
#include "app/train/agent_internal.h"
#include "app/train/slot_sweep.h"
#include "app/train/state_server.h"
#include "config/embedded_data.h"
#include "io/file.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum {
    DIAL_MS = 500,
    RUNNER_AGAIN_MS = 500,        /* doubled each time */
    AWAY_MAX_MS = 10 * 60 * 1000, /* without a trainer */
    TICK_MS = 100,
    SAVE_TICK_MS = 20,
    CHILDREN_MAX = 8,
    LINE_BYTES = 1 << 20,
    OUTPUT_BYTES = 64 * 1024,
};

/* runner.py and what it imports. */
extern const struct embedded_file train_scripts[];
extern const size_t train_script_count;

/* ---- messages to the trainer ---- */

json_t *agent_message(const char *type)
{
    json_t *message = json_object();
    json_put_text(message, "type", str_from(type));
    return message;
}

void agent_send(struct agent *agent, json_t *message)
{
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_BYTES);
    json_put_out(message, true, &line);
    if (agent->link && agent->is_greeted && !line.is_full) {
        line_link_write(agent->link, buf_str(&line));
    }
}

void agent_prepare(struct agent *agent)
{
    if (agent->has_code && agent->is_warm && agent->has_output && agent->has_node) {
        agent->is_prepared = true;
        agent_send(agent, agent_message("prepared"));
    }
}

void agent_end(struct agent *agent, int status)
{
    agent->status = status;
    loop_stop(agent->loop);
}

/* ---- preparing the slot ---- */

static bool write_scripts(struct agent *agent, char ret_runner[SLOT_PATH_MAX], struct err *err)
{
    char path[SLOT_PATH_MAX];
    for (size_t i = 0; i < train_script_count; i++) {
        char part[128];
        snprintf(part, sizeof(part), "python/%s", train_scripts[i].name);
        slot_folder_path(&agent->folder, part, path);
        struct str text = {(const char *)train_scripts[i].bytes, train_scripts[i].size};
        if (!file_write(path, text, 0600, err)) {
            return false;
        }
    }
    slot_folder_path(&agent->folder, "python/runner.py", ret_runner);
    return true;
}

static void open_runner(struct agent *agent)
{
    char runner[SLOT_PATH_MAX];
    struct err err;
    struct runner_hooks hooks = agent_runner_hooks;
    hooks.context = agent;
    if (!write_scripts(agent, runner, &err)) {
        fprintf(stderr, "shoal: %s\n", err.text);
        agent_end(agent, 1);
        return;
    }
    agent->runner = runner_open(&(struct runner_setup){
        .pool = agent->pool,
        .python = agent->job.python.ptr,
        .program = runner,
        .preload = script_traits[agent->job.kind].preload,
        .is_cuda_warm = agent->job.is_cuda_warm,
        .hooks = hooks,
    });
}

static void on_runner_again(void *context)
{
    struct agent *agent = context;
    open_runner(agent);
    agent_continue(agent);
}

void agent_open_runner_again(struct agent *agent)
{
    agent->runner_ends++;
    runner_close(agent->runner);
    agent->runner = NULL;
    agent->is_warm = false;
    int64_t wait = (int64_t)RUNNER_AGAIN_MS << (agent->runner_ends < 5 ? agent->runner_ends : 5);
    loop_timer_start(agent->runner_again, wait);
}

static void on_code(void *context, const struct child_result *result)
{
    struct agent *agent = context;
    agent->fetching_code = NULL;
    if (!child_was_fine(result)) {
        fprintf(stderr, "shoal: cannot fetch the working directory: %.*s\n",
                STR_ARG(str_trim(result->output[CHILD_STDERR])));
        agent_end(agent, 1);
        return;
    }
    agent->has_code = true;
    agent_begin_output(agent); /* the command of --prepare may be a file of the user */
    agent_prepare(agent);
}

static void fetch_code(struct agent *agent, const char *source)
{
    const char *argv[] = {agent->program, "node",   "train-load", "--folder", agent->folder.root,
                          "--code",       "--from", source,       NULL};
    agent->fetching_code = child_start(
        agent->pool, &(struct child_spec){
                         .argv = argv,
                         .env_names = (const char *const[]){"SHOAL_TRAIN_TOKEN", "PATH", NULL},
                         .output = {{OUTPUT_BYTES}, {OUTPUT_BYTES}},
                         .done = on_code,
                         .context = agent,
                     });
}

static void take_welcome(struct agent *agent, const struct trainer_order *order)
{
    struct agent_job *job = &agent->job;
    if (job->is_known) {
        return; /* after a new connection */
    }
    if (!script_kind_read(order->script_kind, &job->kind)) {
        fprintf(stderr,
                "shoal: the trainer sent an unknown kind of script, \"%.*s\"; "
                "use the same release on all nodes\n",
                STR_ARG(order->script_kind));
        agent_end(agent, 1);
        return;
    }
    job->is_known = true;
    job->python = arena_str(&agent->arena, order->python);
    job->script = arena_str(&agent->arena, order->script);
    job->args = ARENA_ARRAY(&agent->arena, order->arg_count + 1, const char *);
    for (size_t i = 0; i < order->arg_count; i++) {
        job->args[job->arg_count++] = arena_str(&agent->arena, str_from(order->args[i])).ptr;
    }
    job->output = arena_str(&agent->arena, order->output);
    job->keep = order->keep;
    job->is_cuda_warm = order->is_cuda_warm;
    job->is_adopting = order->is_adopting;
    job->prepare = arena_str(&agent->arena, order->prepare);
    fetch_code(agent, order->code.ptr);
    agent_begin_output(agent);
    open_runner(agent);
}

/* ---- the connection ---- */

static void send_hello(struct agent *agent, struct str nonce)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char mac[MAC_TEXT_SIZE];
    struct str text = arena_printf(&arena, "agent %u %.*s", agent->setup->slot, STR_ARG(nonce));
    mac_sha256(str_from(agent->setup->token), text, mac);
    mac_random(agent->nonce);
    json_t *hello = agent_message("hello");
    json_put_text(hello, "mac", str_from(mac));
    json_put_text(hello, "nonce", str_from(agent->nonce));
    json_put_number(hello, "slot", agent->setup->slot);
    json_put_number(hello, "state_port", agent->server_port);
    json_put_flag(hello, "is_prepared", agent->is_prepared);
    json_put_number(hello, "number", agent->durable); /* the report may be lost */
    json_put_number(hello, "highest", agent->durable_highest);
    agent_add_replica(agent, hello);
    agent->is_greeted = true;
    agent->away_since = -1;
    agent_send(agent, hello);
}

/* The first message after our hello proves it. */
static bool is_genuine(const struct agent *agent, struct str proof)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char mac[MAC_TEXT_SIZE];
    struct str text = arena_printf(&arena, "trainer %u %s", agent->setup->slot, agent->nonce);
    mac_sha256(str_from(agent->setup->token), text, mac);
    return mac_is_equal(str_from(mac), proof);
}

static void agent_obey(struct agent *agent, const struct trainer_order *order)
{
    switch (order->kind) {
    case ORDER_WELCOME:
        take_welcome(agent, order);
        break;
    case ORDER_START:
        agent_start(agent, order);
        break;
    case ORDER_SAVE:
        agent_stop(agent, order);
        break;
    case ORDER_KILL:
        agent_kill(agent, order->generation);
        break;
    case ORDER_REPLICATE:
        agent_replicate(agent, order);
        break;
    case ORDER_STACKS:
        agent_stacks(agent);
        break;
    case ORDER_LEAVE:
        agent->is_dismissed = !order->is_kept;
        agent_leave(agent);
        break;
    case ORDER_UNKNOWN:
    case ORDER_CHALLENGE:
    case TRAINER_ORDER_KINDS:
        break;
    }
}

static void agent_take(struct agent *agent, const struct trainer_order *order)
{
    if (agent->is_greeted && !agent->is_trusted) {
        agent->is_trusted = is_genuine(agent, order->mac);
    }
    if (!agent->is_greeted && order->kind == ORDER_CHALLENGE) {
        send_hello(agent, order->nonce);
    } else if (!agent->is_trusted) {
        fprintf(stderr, "shoal: refused a trainer that does not know the job's token\n");
    } else {
        agent_obey(agent, order);
    }
}

static void agent_on_line(void *context, struct str line)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct trainer_order order;
    struct err err;
    if (trainer_order_read(line, &arena, &order, &err)) {
        agent_take(context, &order);
    }
}

static void agent_on_ended(void *context, const struct err *err)
{
    struct agent *agent = context;
    (void)err; /* the agent connects again after any error */
    line_link_close(agent->link);
    agent->link = NULL;
    agent->is_greeted = false;
    agent->is_trusted = false;
    if (agent->away_since < 0) {
        agent->away_since = loop_now_ms(agent->loop);
    }
    loop_timer_start(agent->dial, DIAL_MS);
}

static void agent_dial(void *context)
{
    struct agent *agent = context;
    struct line_link_hooks hooks = {
        .context = agent, .line = agent_on_line, .ended = agent_on_ended};
    struct err err;
    if (agent->has_given_up) {
        fprintf(stderr, "shoal: the script did not save in time\n");
        agent_end(agent, 1);
    } else if (agent->away_since >= 0 &&
               loop_now_ms(agent->loop) - agent->away_since > AWAY_MAX_MS) {
        fprintf(stderr, "shoal: the trainer did not answer for ten minutes. This slot saves and "
                        "ends; its newest checkpoint stays on this node for a day, and `shoal "
                        "train resume` on the head continues from it\n");
        agent_give_up(agent);
    } else if (!line_link_open_tcp(agent->loop, agent->setup->host, agent->setup->port, NULL,
                                   &hooks, &agent->link, &err)) {
        fprintf(stderr, "shoal: %s\n", err.text);
        agent_end(agent, 1);
    }
}

static void agent_tick(void *context)
{
    struct agent *agent = context;
    agent_look(agent);
    loop_timer_start(agent->tick, agent_is_waiting_for_save(agent) ? SAVE_TICK_MS : TICK_MS);
}

/* Ray stops the slot. The replica got the signal too; the trainer decides what follows. */
static void agent_on_term(void *context, int number)
{
    struct agent *agent = context;
    (void)number;
    agent->is_leaving = true;
    agent_send(agent, agent_message("leaving"));
}

/* ---- main ---- */

static bool agent_open(struct agent *agent, const struct clock *clock, struct err *err)
{
    char name[256];
    char kept[SLOT_PATH_MAX];
    struct str program;
    bool has_id = agent->setup->id[0] != '\0';
    snprintf(name, sizeof(name), "%.100s%s%.8s-%u", agent->setup->job, has_id ? "-" : "",
             agent->setup->id, agent->setup->slot);
    if (!program_path(&agent->arena, &program, err) ||
        !slot_folder_open(&agent->folder, name, err) ||
        !slot_sweep_hold(&agent->folder, agent->setup->id, &agent->lock, err)) {
        return false;
    }
    struct slot_sweep_rules rules = slot_sweep_usual(&agent->folder, agent->setup->id);
    slot_sweep(&agent->folder, &rules);
    agent->program = program.ptr;
    slot_folder_path(&agent->folder, "kept", kept);
    if (!state_server_start(kept, str_from(agent->setup->token), &agent->server_pid,
                            &agent->server_port, err) ||
        !loop_open(clock, &agent->loop, err)) {
        return false;
    }
    agent->pool = child_pool_new(agent->loop, CHILDREN_MAX);
    agent->dial = loop_timer_new(agent->loop, agent_dial, agent);
    agent->tick = loop_timer_new(agent->loop, agent_tick, agent);
    agent->runner_again = loop_timer_new(agent->loop, on_runner_again, agent);
    agent_open_output(agent);
    return loop_signal_new(agent->loop, SIGTERM, agent_on_term, agent, &agent->term, err);
}

static void agent_close(struct agent *agent)
{
    runner_close(agent->runner);
    arena_clear(&agent->next_arena);
    step_counter_close(&agent->steps);
    if (agent->loop) {
        line_link_close(agent->link);
        child_pool_free(agent->pool);
        loop_timer_free(agent->dial);
        loop_timer_free(agent->tick);
        loop_timer_free(agent->runner_again);
        agent_close_output(agent);
        loop_signal_free(agent->term);
        loop_close(agent->loop);
    }
    if (agent->server_pid > 0) {
        kill(agent->server_pid, SIGKILL);
        waitpid(agent->server_pid, NULL, 0); /* it shares the lock */
    }
    buf_clear(&agent->tail);
    arena_clear(&agent->arena);
}

/* Only what the trainer does not need any more is removed: it may be the newest checkpoint of the
 * job. */
static void leave_folder(const struct agent *agent)
{
    struct slot_sweep_rules rules = slot_sweep_usual(&agent->folder, agent->setup->id);
    if (agent->is_dismissed) {
        rules.may_take = false;
        slot_sweep(&agent->folder, &rules);
        slot_folder_remove(&agent->folder);
    } else {
        slot_sweep_leave(&agent->folder);
    }
}

/* What the slot has, or what another one of the job has left on this machine. */
static void find_checkpoints(struct agent *agent)
{
    struct slot_kept kept = slot_folder_kept_now(&agent->folder);
    agent->replica.complete = kept.complete;
    agent->replica.checkpoint = kept.part > 0 ? kept.part : kept.complete;
    agent->replica.parts = kept.parts;
}

static int agent_run(const struct agent_setup *setup, const struct clock *clock)
{
    struct agent agent = {.setup = setup, .away_since = -1};
    struct err err;
    arena_init(&agent.arena);
    arena_init(&agent.next_arena);
    buf_init(&agent.tail, AGENT_TAIL_BYTES);
    if (!agent_open(&agent, clock, &err)) {
        fprintf(stderr, "shoal: %s\n", err.text);
        agent_close(&agent);
        lock_drop(agent.lock);
        return 1;
    }
    find_checkpoints(&agent);
    agent_dial(&agent);
    loop_timer_start(agent.tick, TICK_MS);
    loop_run(agent.loop);
    agent_close(&agent);
    leave_folder(&agent);
    lock_drop(agent.lock);
    return agent.has_given_up ? 1 : agent.status;
}

int agent_main(const struct clock *clock)
{
    struct agent_setup setup = {
        .host = getenv("SHOAL_TRAIN_HOST"),
        .token = getenv("SHOAL_TRAIN_TOKEN"),
        .job = getenv("SHOAL_TRAIN_JOB"),
        .id = getenv("SHOAL_TRAIN_ID"),
    };
    uint32_t port = 0;
    if (!setup.host || !setup.token || !setup.job ||
        !str_to_u32(str_from(getenv("SHOAL_TRAIN_PORT")), &port) || port > UINT16_MAX ||
        !str_to_u32(str_from(getenv("SHOAL_TRAIN_SLOT")), &setup.slot)) {
        fprintf(stderr, "shoal: only `shoal train` starts this command, through Ray\n");
        return 2;
    }
    setup.port = (uint16_t)port;
    setup.id = setup.id ? setup.id : "";
    return agent_run(&setup, clock);
}
