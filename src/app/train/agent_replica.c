/*
 * agent_replica.c: the replica of a slot, from its start to the checkpoint that it leaves.
 *
 * Order of a start: the old process is gone, the checkpoint is complete in kept/, a copy of it is
 * in state/, then the script starts. Order of an end: the script's code has ended (or, if it
 * continues after a save, its file is complete), state/ becomes a checkpoint by a rename, then the
 * trainer is notified, then the process is killed.
 */
#include "app/train/agent_internal.h"
#include "base/require.h"
#include "core/train/job.h"
#include "io/file.h"

#include <dirent.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PORT_FIRST = 20000, /* below the range that Linux gives to outgoing connections */
    PORT_COUNT = 12000,
    PORT_TRIES = 50,
    OUTPUT_BYTES = 64 * 1024,
    EXIT_SAVED = 143,
    LOOK_MS = 500,
    GIVE_UP_MS = 120 * 1000, /* for the script to save; as the default of --checkpoint-timeout */
};

static void replica_next(struct agent *agent);

/* ---- ports ---- */

static bool port_is_free(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = probe >= 0 && bind(probe, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (probe >= 0) {
        close(probe);
    }
    return is_free;
}

/* For the process group of the next generation, if this slot has rank 0. Differs by slot, so that
 * agents on one machine do not choose the same one. */
static int64_t choose_port(const struct agent *agent)
{
    uint64_t seed = str_hash(str_from(agent->setup->job)) + agent->setup->slot * 7919u +
                    (uint64_t)agent->replica.generation * 101u;
    for (uint64_t i = 0; i < PORT_TRIES; i++) {
        uint16_t port = (uint16_t)(PORT_FIRST + (seed + i * 13) % PORT_COUNT);
        if (port_is_free(port)) {
            return port;
        }
    }
    return 0;
}

/* ---- reports ---- */

static void add_counts(const struct agent *agent, json_t *message)
{
    struct step_counts counts = step_counter_read(&agent->steps);
    json_put_number(message, "steps", counts.steps);
    json_object_set_new(message, "first", json_real(counts.first));
    json_object_set_new(message, "last", json_real(counts.last));
    json_object_set_new(message, "begun", json_real(counts.begun));
    json_object_set_new(message, "joined", json_real(counts.joined));
}

void agent_add_replica(struct agent *agent, json_t *message)
{
    const struct replica *replica = &agent->replica;
    json_put_number(message, "generation", replica->generation);
    json_put_number(message, "rank", replica->rank);
    json_put_number(message, "checkpoint", replica->checkpoint);
    json_put_number(message, "parts", replica->parts);
    json_put_number(message, "complete", replica->complete);
    json_put_number(message, "port", choose_port(agent));
    json_put_number(message, "load_ms", replica->load_ms);
    json_put_flag(message, "is_running",
                  replica->state != REPLICA_NONE && replica->state != REPLICA_RETURNED);
    json_put_flag(message, "is_returned", replica->state == REPLICA_RETURNED);
    json_put_number(message, "code", replica->code);
    json_put_number(message, "signal", replica->signal);
    add_counts(agent, message);
}

static void send_returned(struct agent *agent)
{
    json_t *message = agent_message("returned");
    agent_add_replica(agent, message);
    if (!agent->replica.is_stopping) {
        json_put_text(message, "tail", buf_str(&agent->tail));
    }
    agent_send(agent, message);
}

/* ---- checkpoints ---- */

static int64_t next_number(const struct replica *replica)
{
    return replica->generation * TRAIN_SAVES_PER_GENERATION + replica->saves + 1;
}

/* Rank 0 has the whole state, or every rank a part of it. */
static bool saves_state(const struct agent *agent)
{
    return agent->replica.rank == 0 || script_traits[agent->job.kind].is_sharded;
}

/* What the script left in state/ becomes a checkpoint, if it changed anything. */
static void keep_state(struct agent *agent)
{
    struct replica *replica = &agent->replica;
    int64_t parts = script_traits[agent->job.kind].is_sharded ? replica->world : 0;
    uint64_t mark = slot_folder_mark(&agent->folder);
    struct err err;
    if (!saves_state(agent) || mark == 0 || mark == replica->mark) {
        return;
    }
    int64_t number = next_number(replica);
    if (slot_folder_keep(&agent->folder, number, parts, &err)) {
        replica->saves++;
        replica->checkpoint = number;
        replica->parts = parts;
        replica->complete = parts > 0 ? replica->complete : number;
        replica->mark = 0;
        agent_store(agent);
    } else {
        fprintf(stderr, "shoal: %s\n", err.text);
    }
}

static void on_snapped(void *context, const struct child_result *result)
{
    struct agent *agent = context;
    struct replica *replica = &agent->replica;
    agent->snapping = NULL;
    if (!child_was_fine(result) || replica->generation != agent->snap_generation ||
        replica->checkpoint > agent->snap_number) {
        return; /* it changed while it was copied: the next look tries again */
    }
    replica->checkpoint = replica->complete = agent->snap_number;
    replica->parts = 0;
    replica->mark = agent->snap_mark;
    agent_store(agent);
    json_t *message = agent_message("checkpoint");
    json_put_number(message, "number", replica->checkpoint);
    agent_send(agent, message);
}

/* Keeps a checkpoint that the script made by itself, once it is the same in two looks. */
static void look_at_state(struct agent *agent)
{
    struct replica *replica = &agent->replica;
    char number[32];
    /* All parts of a checkpoint must have the same number, so parts are kept only when all replicas
     * end together. */
    bool is_sharded = script_traits[agent->job.kind].is_sharded;
    if (is_sharded || replica->rank != 0 || replica->state != REPLICA_RUNNING ||
        replica->is_stopping || agent->snapping) {
        return;
    }
    uint64_t mark = slot_folder_mark(&agent->folder);
    bool is_stable = mark == replica->seen;
    replica->seen = mark;
    if (mark == 0 || mark == replica->mark || !is_stable) {
        return;
    }
    agent->snap_generation = replica->generation;
    agent->snap_number = next_number(replica);
    agent->snap_mark = mark;
    replica->saves++; /* the number is taken, whatever happens */
    snprintf(number, sizeof(number), "%" PRId64, agent->snap_number);
    const char *argv[] = {agent->program,     "node",         "train-snapshot", "--folder",
                          agent->folder.root, "--checkpoint", number,           NULL};
    agent->snapping = child_start(agent->pool, &(struct child_spec){
                                                   .argv = argv,
                                                   .env_names = child_usual_env,
                                                   .output = {{OUTPUT_BYTES}, {OUTPUT_BYTES}},
                                                   .done = on_snapped,
                                                   .context = agent,
                                               });
}

/* ---- the end of a replica ---- */

/* Fences the process: nothing that it still does has an effect on a checkpoint. */
static void replica_return(struct agent *agent, int code, int signal)
{
    struct replica *replica = &agent->replica;
    if (replica->state == REPLICA_RETURNED || replica->state == REPLICA_NONE) {
        return;
    }
    if (agent->is_leaving && signal == 0 && code == 0) {
        code = EXIT_SAVED; /* it was asked to end, so it is not complete */
    }
    bool is_saved = replica->state == REPLICA_RUNNING && signal == 0 &&
                    (code == 0 || code == EXIT_SAVED);
    replica->state = REPLICA_RETURNED;
    replica->code = code;
    replica->signal = signal;
    if (is_saved) {
        keep_state(agent);
    }
    send_returned(agent);
    if (replica->is_stopping && agent->runner) {
        runner_kill(agent->runner, replica->generation);
    }
    if (agent->has_given_up) {
        loop_timer_stop(agent->dial);
        agent_leave(agent);
    }
}

static void replica_on_started(void *context, int64_t generation, int pid)
{
    struct agent *agent = context;
    struct replica *replica = &agent->replica;
    if (generation != replica->generation) {
        return;
    }
    replica->pid = pid;
    replica->is_alive = true;
    replica->state = REPLICA_RUNNING;
    json_t *message = agent_message("started");
    agent_add_replica(agent, message);
    agent_send(agent, message);
}

static void replica_on_returned(void *context, int64_t generation, int code)
{
    struct agent *agent = context;
    if (generation == agent->replica.generation) {
        replica_return(agent, code, 0);
    }
}

static void replica_on_exited(void *context, int64_t generation, int code, int signal)
{
    struct agent *agent = context;
    if (generation != agent->replica.generation) {
        return;
    }
    agent->replica.is_alive = false;
    replica_return(agent, code, signal);
    replica_next(agent);
}

/* Lightning: the file is complete when the process has closed it. */
static bool file_is_open(int pid, const char *name)
{
    char path[64];
    char link[PATH_MAX];
    char target[PATH_MAX];
    bool is_open = false;
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    if (!folder) {
        return false;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
        ssize_t length = readlink(link, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        const char *slash = strrchr(target, '/');
        is_open = is_open || (slash && strcmp(slash + 1, name) == 0);
    }
    closedir(folder);
    return is_open;
}

struct save_search {
    const struct agent *agent;
    const char *prefix;
    bool is_found;
};

/* Written after the request: an older one was there when the script started. */
static bool file_is_newer(const struct save_search *search, const char *name)
{
    char path[SLOT_PATH_MAX + 300];
    struct stat status;
    snprintf(path, sizeof(path), "%s/state/%s", search->agent->folder.root, name);
    return stat(path, &status) == 0 &&
           (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000 >=
               search->agent->replica.stop_ms;
}

static void search_saved(void *context, const struct file_entry *entry)
{
    struct save_search *search = context;
    char name[256];
    snprintf(name, sizeof(name), "%.*s", STR_ARG(entry->name));
    if (str_starts(entry->name, search->prefix) && file_is_newer(search, name) &&
        !file_is_open(search->agent->replica.pid, name)) {
        search->is_found = true;
    }
}

/* For scripts that continue after they saved. */
static void look_for_save(struct agent *agent)
{
    const struct script_traits *traits = &script_traits[agent->job.kind];
    struct replica *replica = &agent->replica;
    char state[SLOT_PATH_MAX];
    if (!agent_is_waiting_for_save(agent)) {
        return;
    }
    uint64_t mark = slot_folder_mark(&agent->folder);
    struct save_search search = {agent, traits->prefix, false};
    slot_folder_path(&agent->folder, "state", state);
    file_list(state, search_saved, &search);
    bool is_new = mark != replica->mark && mark == replica->seen;
    replica->seen = mark;
    if (is_new && search.is_found) {
        replica_return(agent, EXIT_SAVED, 0);
    }
}

bool agent_is_waiting_for_save(const struct agent *agent)
{
    return script_traits[agent->job.kind].continues && agent->replica.is_stopping &&
           agent->replica.state == REPLICA_RUNNING;
}

void agent_look(struct agent *agent)
{
    int64_t now = loop_now_ms(agent->loop);
    look_for_save(agent);
    if (now - agent->looked_at < LOOK_MS) {
        return;
    }
    agent->looked_at = now;
    look_at_state(agent);
    if (agent->replica.state == REPLICA_RUNNING) {
        json_t *message = agent_message("steps");
        json_put_number(message, "generation", agent->replica.generation);
        add_counts(agent, message);
        agent_send(agent, message);
    }
}

/* ---- the start of a replica ---- */

static void next_clear(struct agent *agent)
{
    arena_clear(&agent->next_arena);
    agent->next = NULL;
}

static void next_set(struct agent *agent, const struct trainer_order *order)
{
    struct trainer_order *next = &agent->next_order;
    next_clear(agent);
    *next = *order;
    next->master_host = arena_str(&agent->next_arena, order->master_host);
    next->supervisor = arena_str(&agent->next_arena, order->supervisor);
    next->sources = arena_str(&agent->next_arena, order->sources);
    next->save = arena_str(&agent->next_arena, order->save);
    agent->next = next;
}

static void replica_run(struct agent *agent)
{
    struct replica *replica = &agent->replica;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct replica_variable variables[REPLICA_VARIABLES_MAX];
    char steps[SLOT_PATH_MAX];
    char code[SLOT_PATH_MAX];
    char state[SLOT_PATH_MAX];
    struct err err;
    slot_folder_path(&agent->folder, "steps", steps);
    slot_folder_path(&agent->folder, "code", code);
    slot_folder_path(&agent->folder, "state", state);
    if (!step_counter_open(&agent->steps, steps, &err)) {
        fprintf(stderr, "shoal: %s\n", err.text);
    }
    struct replica_place place = {
        .kind = agent->job.kind,
        .job = str_from(agent->setup->job),
        .generation = replica->generation,
        .rank = replica->rank,
        .world = replica->world,
        .local_rank = agent->next->local_rank,
        .local_world = agent->next->local_world,
        .node_rank = agent->next->node_rank,
        .nodes = agent->next->nodes,
        .master_host = agent->next->master_host,
        .master_port = agent->next->master_port,
        .state_folder = str_from(state),
        .supervisor = agent->next->supervisor,
    };
    size_t count = replica_env(&place, &arena, variables);
    replica->mark = replica->seen = slot_folder_mark(&agent->folder);
    replica->state = REPLICA_STARTING;
    agent->tail.len = 0;
    runner_start(agent->runner,
                 &(struct runner_start){
                     .generation = replica->generation,
                     .script = arena_printf(&arena, "%s/%.*s", code, STR_ARG(agent->job.script)),
                     .args = agent->job.args,
                     .arg_count = agent->job.arg_count,
                     .folder = str_from(code),
                     .steps = str_from(steps),
                     .variables = variables,
                     .variable_count = count,
                 });
    next_clear(agent);
}

static void on_loaded(void *context, const struct child_result *result)
{
    struct agent *agent = context;
    struct replica *replica = &agent->replica;
    agent->loading = NULL;
    replica->load_ms = result->ran_ms;
    if (!agent->next) {
        return; /* killed while it was loaded */
    }
    if (!child_was_fine(result)) {
        agent->tail.len = 0;
        buf_addf(&agent->tail, "cannot load the checkpoint: %s: %.*s\n", result->err.text,
                 STR_ARG(str_trim(result->output[CHILD_STDERR])));
        next_clear(agent);
        replica_return(agent, 1, 0);
        return;
    }
    int64_t number = agent->next->checkpoint;
    if (number > 0) {
        replica->checkpoint = replica->complete = number;
        replica->parts = 0;
    }
    replica_run(agent);
}

static struct child *load_start(struct agent *agent, const struct trainer_order *order,
                                bool is_installed, child_done_fn *done);

/* It is in kept/ now, as if it had been fetched from another slot. */
static void on_restored(void *context, const struct child_result *result)
{
    struct agent *agent = context;
    if (!child_was_fine(result) || !agent->next) {
        agent_report_damage(agent, result);
        on_loaded(context, result);
        return;
    }
    agent->loading = load_start(agent, agent->next, true, on_loaded);
}

static struct child *load_start(struct agent *agent, const struct trainer_order *order,
                                bool is_installed, child_done_fn *done)
{
    char number[32];
    char part_count[32];
    const char *argv[16] = {agent->program,     "node",         "train-load", "--folder",
                            agent->folder.root, "--checkpoint", number};
    size_t count = 7;
    snprintf(number, sizeof(number), "%" PRId64, order->checkpoint);
    if (order->sources.len > 0) {
        argv[count++] = "--from";
        argv[count++] = order->sources.ptr;
    }
    if (order->parts > 0) {
        snprintf(part_count, sizeof(part_count), "%" PRId64, order->parts);
        argv[count++] = "--parts";
        argv[count++] = part_count;
    }
    if (is_installed) {
        argv[count++] = "--install";
    }
    require(count < ARRAY_LEN(argv), "the arguments fit");
    return child_start(agent->pool,
                       &(struct child_spec){
                           .argv = argv,
                           .env_names = (const char *const[]){"SHOAL_TRAIN_TOKEN", "PATH", NULL},
                           .output = {{OUTPUT_BYTES}, {OUTPUT_BYTES}},
                           .done = done,
                           .context = agent,
                       });
}

/* Continues a start when the old process is gone. */
static void replica_next(struct agent *agent)
{
    struct replica *replica = &agent->replica;
    if (!agent->next || replica->is_alive || agent->loading || !agent->runner) {
        return;
    }
    step_counter_close(&agent->steps); /* its counts are those of the old replica */
    *replica = (struct replica){
        .state = REPLICA_LOADING,
        .generation = agent->next->generation,
        .rank = agent->next->rank,
        .world = agent->next->world,
        .checkpoint = replica->checkpoint,
        .parts = replica->parts,
        .complete = replica->complete,
    };
    snprintf(replica->save, sizeof(replica->save), "%.*s", STR_ARG(agent->next->save));
    agent->loading = agent->next->is_durable ? agent_restore(agent, agent->next, on_restored)
                                             : load_start(agent, agent->next, true, on_loaded);
}

static void on_replicated(void *context, const struct child_result *result)
{
    struct agent *agent = context;
    agent->replicating = NULL;
    json_t *message = agent_message(child_was_fine(result) ? "checkpoint" : "not_copied");
    json_put_number(message, "number", agent->replicating_number);
    if (child_was_fine(result) && agent->replicating_number > agent->replica.complete) {
        agent->replica.complete = agent->replicating_number;
    } else if (!child_was_fine(result)) {
        json_put_text(message, "reason", str_trim(result->output[CHILD_STDERR]));
    }
    agent_send(agent, message);
}

void agent_continue(struct agent *agent)
{
    replica_next(agent);
}

void agent_replicate(struct agent *agent, const struct trainer_order *order)
{
    if (agent->replicating) {
        child_forget(agent->replicating); /* an older one */
    }
    agent->replicating_number = order->checkpoint;
    agent->replicating = load_start(agent, order, false, on_replicated);
}

void agent_start(struct agent *agent, const struct trainer_order *order)
{
    next_set(agent, order);
    if (agent->replica.is_alive || agent->replica.state == REPLICA_STARTING) {
        agent->replica.is_stopping = true;
        if (agent->runner) {
            runner_kill(agent->runner, agent->replica.generation);
        }
    }
    if (agent->loading) {
        child_forget(agent->loading);
        agent->loading = NULL;
    }
    replica_next(agent);
}

/* Of a replica that is being loaded. */
static void forget_start(struct agent *agent)
{
    if (agent->loading) {
        child_forget(agent->loading);
        agent->loading = NULL;
    }
    next_clear(agent);
}

/* Asks the replica to save and end. */
void agent_stop(struct agent *agent, const struct trainer_order *order)
{
    struct replica *replica = &agent->replica;
    if (order->generation != replica->generation || replica->is_stopping) {
        return; /* of an older generation, or repeated after a new connection */
    }
    if (replica->state == REPLICA_LOADING) {
        forget_start(agent);
        replica_return(agent, EXIT_SAVED, 0);
        return;
    }
    if (replica->state == REPLICA_RUNNING || replica->state == REPLICA_STARTING) {
        replica->is_stopping = true;
        replica->stop_ms = clock_wall_ms(loop_clock(agent->loop));
        runner_signal(agent->runner, replica->generation,
                      script_traits[agent->job.kind].stop_signal);
    }
}

void agent_give_up(struct agent *agent)
{
    const struct trainer_order save = {.generation = agent->replica.generation};
    enum replica_state state = agent->replica.state;
    agent->has_given_up = true;
    loop_timer_start(agent->dial, GIVE_UP_MS);
    if (state == REPLICA_NONE || state == REPLICA_RETURNED) {
        agent_leave(agent);
    } else {
        agent_stop(agent, &save);
    }
}

void agent_kill(struct agent *agent, int64_t generation)
{
    if (generation == agent->replica.generation) {
        next_clear(agent);
        agent->replica.is_stopping = true;
        if (agent->replica.state == REPLICA_LOADING) {
            replica_return(agent, 0, SIGKILL);
        }
        if (agent->runner) {
            runner_kill(agent->runner, generation);
        }
    }
}

void agent_stacks(struct agent *agent)
{
    if (agent->replica.state == REPLICA_RUNNING) {
        runner_signal(agent->runner, agent->replica.generation, SIGUSR2);
    }
}

/* ---- the runner ---- */

static void runner_on_ready(void *context, bool is_warm, int64_t took_ms, struct str reason)
{
    struct agent *agent = context;
    agent->is_warm = true;
    agent->runner_ends = 0;
    if (is_warm) {
        printf("shoal: Python is ready after %.1f s\n", (double)took_ms / 1000);
    } else {
        printf("shoal: every start uses a new interpreter, because %.*s\n", STR_ARG(reason));
    }
    fflush(stdout);
    agent_prepare(agent);
}

static void runner_on_output(void *context, struct str line)
{
    struct agent *agent = context;
    size_t size = line.len + 1;
    printf("%.*s\n", STR_ARG(line));
    fflush(stdout);
    if (size > AGENT_TAIL_BYTES) {
        return;
    }
    if (agent->tail.len + size > AGENT_TAIL_BYTES) { /* drop the older half */
        size_t drop = agent->tail.len / 2;
        memmove(agent->tail.ptr, agent->tail.ptr + drop, agent->tail.len - drop);
        agent->tail.len -= drop;
    }
    if (agent->tail.len + size <= AGENT_TAIL_BYTES) {
        buf_addf(&agent->tail, "%.*s\n", STR_ARG(line));
    }
}

static void runner_on_gone(void *context, const struct err *err)
{
    struct agent *agent = context;
    fprintf(stderr, "shoal: the Python process of this slot ended: %s; starting it again\n",
            err->text);
    agent->replica.is_alive = false; /* it ended with the runner */
    if (agent->replica.state == REPLICA_LOADING) {
        forget_start(agent); /* it would need the runner; the trainer starts another one */
    }
    replica_return(agent, 0, SIGKILL);
    agent_open_runner_again(agent);
}

const struct runner_hooks agent_runner_hooks = {
    .ready = runner_on_ready,
    .started = replica_on_started,
    .returned = replica_on_returned,
    .exited = replica_on_exited,
    .output = runner_on_output,
    .ended = runner_on_gone,
};
