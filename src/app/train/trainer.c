/* trainer.c: opens what a job needs, and connects its parts with the core. */
#include "app/train/trainer.h"

#include "app/paths.h"
#include "app/program.h"
#include "app/train/state_server.h"
#include "app/train/trainer_internal.h"
#include "base/require.h"
#include "core/train/need.h"
#include "io/xalloc.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { WAITING_MS = 10 * 1000 };
static const double prices_s = 30; /* between two requests for prices */
enum { TICK_MS = 250, LOOK_MS = 1000, END_MS = 500, FOLDER_BYTES = 1024 };
enum { SOURCES_BYTES = 32 * 1024, DURABLE_MS = 10 * 60 * 1000 };

/* ---- the core ---- */

struct slot_link *trainer_slot(struct trainer *trainer, uint32_t slot)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX && slot != 0; i++) {
        if (trainer->slots[i].slot == slot) {
            return &trainer->slots[i];
        }
    }
    return NULL;
}

double trainer_now(const struct trainer *trainer)
{
    return (double)clock_wall_ms(loop_clock(trainer->loop)) / 1000;
}

/* ---- the end of the job ---- */

static void leave_all(struct trainer *trainer)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        if (trainer->slots[i].slot != 0) {
            trainer_end_slot(trainer, trainer->slots[i].slot);
        }
    }
    trainer->has_left = true;
    if (!trainer_save(trainer)) {
        trainer_say(trainer, "the job has ended, but its record could not be written");
    }
    loop_timer_start(trainer->tick, END_MS); /* for the messages to the slots */
}

/* The slots that have the last checkpoint store it; without them it cannot be stored. */
static bool awaits_durable(struct trainer *trainer)
{
    const struct train_job *job = &trainer->job;
    AUTO_BUF struct buf sources;
    buf_init(&sources, SOURCES_BYTES);
    trainer_add_sources(trainer, job->checkpoint, &sources);
    bool may_store = trainer->setup->output && trainer->refusal.kind == ERR_NONE;
    return may_store && job->checkpoint > job->durable && sources.len > 0;
}

void trainer_check_durable(struct trainer *trainer, int64_t checkpoint)
{
    if (trainer->is_storing_last && checkpoint >= trainer->job.checkpoint) {
        trainer->is_storing_last = false;
        trainer->job.durable = checkpoint;
        leave_all(trainer);
    }
}

static void on_stored(void *context, const struct child_result *result)
{
    struct trainer *trainer = context;
    if (child_was_fine(result)) {
        trainer->job.stored = trainer->job.checkpoint;
        trainer_expire_kept(trainer);
        leave_all(trainer);
        return;
    }
    trainer_say(trainer, "cannot store the last checkpoint on this machine: %s: %.*s",
                result->err.text, STR_ARG(str_trim(result->output[CHILD_STDERR])));
    loop_stop(trainer->loop); /* its nodes keep it for a day */
}

bool trainer_store(struct trainer *trainer, child_done_fn *done)
{
    const struct train_job *job = &trainer->job;
    AUTO_BUF struct buf sources;
    buf_init(&sources, SOURCES_BYTES);
    trainer_add_sources(trainer, job->checkpoint, &sources);
    if (job->checkpoint <= job->stored || sources.len == 0) {
        return false;
    }
    trainer_store_checkpoint(trainer, job->checkpoint, done);
    return true;
}

/* The checkpoints are lost when the slots leave, so the last one of an unfinished job is stored
 * here first. */
static void trainer_finish(struct trainer *trainer)
{
    loop_timer_stop(trainer->tick); /* the store may take longer than a tick */
    if (awaits_durable(trainer)) {
        trainer->is_storing_last = true;
        trainer_say(trainer, "storing the last checkpoint in %s", trainer->setup->output);
        loop_timer_start(trainer->tick, DURABLE_MS);
        return;
    }
    if (trainer->job.phase == TRAIN_SUCCEEDED || !trainer_store(trainer, on_stored)) {
        leave_all(trainer);
    }
}

static void trainer_execute(struct trainer *trainer, const struct train_action *action)
{
    struct slot_link *slot = trainer_slot(trainer, action->slot);
    trainer_report_action(trainer, action);
    switch (action->kind) {
    case TRAIN_SUBMIT:
        trainer_submit(trainer, action->slot);
        break;
    case TRAIN_START:
        trainer_start_replica(trainer, action);
        break;
    case TRAIN_SAVE:
        trainer_send(slot, trainer_message("save", action->generation));
        break;
    case TRAIN_KILL:
        trainer_send(slot, trainer_message("kill", action->generation));
        break;
    case TRAIN_STACKS:
        trainer_send(slot, trainer_message("stacks", action->generation));
        break;
    case TRAIN_REPLICATE:
        trainer_replicate(trainer, action);
        break;
    case TRAIN_STORE:
        trainer_store_now(trainer, action);
        break;
    case TRAIN_LEAVE:
        if (!train_job_is_over(&trainer->job)) {
            trainer_end_slot(trainer, action->slot);
        }
        break;
    case TRAIN_END:
        trainer_finish(trainer);
        break;
    }
}

/* Steps the core, records the result, then acts. Without the record nothing happens: the event is
 * not applied. */
static bool trainer_apply(struct trainer *trainer, struct train_event event)
{
    static struct train_actions actions; /* large; one thread */
    static struct train_job before;
    require(!trainer->is_stepping, "actions cause no events at once");
    event.now = loop_now_ms(trainer->loop);
    before = trainer->job;
    trainer->is_stepping = true;
    train_job_step(&trainer->job, &event, &actions);
    bool may_act = actions.count == 0 || trainer_save(trainer);
    if (!may_act) {
        trainer->job = before;
    }
    trainer_demand_update(trainer->demand); /* before slots are submitted */
    for (size_t i = 0; may_act && i < actions.count; i++) {
        trainer_execute(trainer, &actions.items[i]);
    }
    trainer->is_stepping = false;
    return may_act;
}

/* Events that waited for the record, in order. */
static void apply_waiting(struct trainer *trainer)
{
    size_t done = 0;
    while (done < trainer->waiting_count && trainer_apply(trainer, trainer->waiting[done])) {
        done++;
    }
    trainer->waiting_count -= done;
    memmove(trainer->waiting, trainer->waiting + done,
            trainer->waiting_count * sizeof(trainer->waiting[0]));
}

void trainer_event(struct trainer *trainer, struct train_event event)
{
    bool is_repeated = event.kind == TRAIN_TICK || event.kind == TRAIN_ROOM ||
                       event.kind == TRAIN_STEPPED; /* another one follows */
    apply_waiting(trainer);
    bool must_wait = trainer->waiting_count > 0 || !trainer_apply(trainer, event);
    if (!must_wait || is_repeated) {
        return;
    }
    if (trainer->waiting_count == TRAINER_WAITING_MAX) {
        trainer_say(trainer, "the trainer exits, because it could not record the state of the job; "
                             "the replicas continue for ten minutes without it");
        loop_stop(trainer->loop);
        return;
    }
    trainer->waiting[trainer->waiting_count++] = event;
}

/* Prints once per wait that the job waits for room. */
static void say_waiting(struct trainer *trainer)
{
    const struct train_job *job = &trainer->job;
    bool is_waiting = job->phase == TRAIN_WAITING && job->room == 0 && !trainer->has_jobs_error &&
                      job->now - job->since >= WAITING_MS;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX && is_waiting; i++) {
        is_waiting = job->slots[i].state == TRAIN_SLOT_NONE;
    }
    if (is_waiting && !trainer->has_said_waiting) {
        trainer_say(trainer, "waiting: Ray has no room for a replica of {CPU: %g, GPU: %g}. %s",
                    trainer->setup->cpus, trainer->setup->gpus,
                    trainer_demand_is_accepted(trainer->demand)
                        ? "The autoscaler was asked for nodes; shoal status shows them"
                        : "Add workers, for example with shoal request-resources");
    }
    trainer->has_said_waiting = is_waiting;
}

/* Unless the user gave a price. New slots have none until the next answer. */
static void ask_prices(struct trainer *trainer)
{
    double now = trainer_now(trainer);
    if (trainer->setup->goal.price <= 0 && now - trainer->priced >= prices_s &&
        trainer->job.phase == TRAIN_RUNNING) {
        trainer->priced = now;
        trainer_demand_ask_nodes(trainer->demand);
    }
}

static void trainer_tick(void *context)
{
    struct trainer *trainer = context;
    if (train_job_is_over(&trainer->job) && trainer->is_storing_last) {
        trainer->is_storing_last = false; /* without the durable store */
        trainer_say(trainer, "the last checkpoint could not be stored in %s in time",
                    trainer->setup->output);
        if (!trainer_store(trainer, on_stored)) {
            leave_all(trainer);
        }
        return;
    }
    if (train_job_is_over(&trainer->job)) {
        loop_stop(trainer->loop);
        return;
    }
    trainer_event(trainer, (struct train_event){.kind = TRAIN_TICK});
    say_waiting(trainer);
    ask_prices(trainer);
    trainer_choose_size(trainer);
    trainer_report_progress(trainer);
    if (!train_job_is_over(&trainer->job)) {
        loop_timer_start(trainer->tick, TICK_MS);
    }
}

void trainer_stop(struct trainer *trainer)
{
    if (!train_job_is_over(&trainer->job)) {
        trainer_event(trainer, (struct train_event){.kind = TRAIN_STOP});
    }
}

static void trainer_on_signal(void *context, int number)
{
    struct trainer *trainer = context;
    (void)number;
    trainer->signals++;
    if (trainer->signals > 1) {
        trainer_say(trainer, "the trainer exits without waiting for the checkpoint");
        loop_stop(trainer->loop);
        return;
    }
    trainer_say(
        trainer,
        "stopping: the replicas save a checkpoint first. Press Ctrl-C again to exit at once");
    trainer_stop(trainer);
}

/* ---- opening ---- */

/* The user's files are served from FOLDER/kept/code, a stored checkpoint from FOLDER/kept/N. */
static bool serve_code(struct trainer *trainer, struct err *err)
{
    char root[FOLDER_BYTES];
    snprintf(root, sizeof(root), "%s/kept", trainer->setup->folder);
    return state_server_start(root, str_from(trainer->token), &trainer->server_pid,
                              &trainer->code_port, err);
}

static int64_t demand_need(void *context)
{
    const struct trainer *trainer = context;
    int64_t need = train_need(&trainer->job, loop_now_ms(trainer->loop));
    return slot_backoff_need(&trainer->backoff, need);
}

static int64_t demand_leaving(void *context)
{
    const struct trainer *trainer = context;
    return train_leaving(&trainer->job, loop_now_ms(trainer->loop));
}

static void demand_say(void *context, const char *text)
{
    trainer_say(context, "%s", text);
}

static void open_demand(struct trainer *trainer)
{
    const char *folder = service_folder(NULL, &trainer->arena);
    trainer->demand = trainer_demand_open(&(struct trainer_demand_setup){
        .loop = trainer->loop,
        .socket = arena_printf(&trainer->arena, "%s/%s", folder, SERVICE_SOCKET).ptr,
        .job = trainer->setup->job,
        .cpus = trainer->setup->cpus,
        .gpus = trainer->setup->gpus,
        .context = trainer,
        .need = demand_need,
        .leaving = demand_leaving,
        .say = demand_say,
        .node = trainer_take_node,
    });
}

static bool trainer_open(struct trainer *trainer, struct err *err)
{
    bool is_resumed;
    struct str program;
    if (!program_path(&trainer->arena, &program, err)) {
        return false;
    }
    trainer->program = program.ptr;
    if (!trainer_load(trainer, &is_resumed, err) || !serve_code(trainer, err) ||
        !loop_open(&clock_of_machine, &trainer->loop, err) ||
        !http_open(trainer->loop, &(struct http_limits){0}, &trainer->http, err)) {
        return false;
    }
    if (is_resumed) {
        train_job_resume(&trainer->job, loop_now_ms(trainer->loop));
    }
    open_demand(trainer);
    trainer->pool = child_pool_new(trainer->loop, 1);
    trainer->tick = loop_timer_new(trainer->loop, trainer_tick, trainer);
    trainer->look = loop_timer_new(trainer->loop, trainer_look, trainer);
    if (!trainer_listen(trainer, err) || !trainer_open_supervisor(trainer, err) ||
        !trainer_open_ray(trainer, err) ||
        !loop_signal_new(trainer->loop, SIGINT, trainer_on_signal, trainer, &trainer->interrupt,
                         err) ||
        !loop_signal_new(trainer->loop, SIGTERM, trainer_on_signal, trainer, &trainer->terminate,
                         err)) {
        return false;
    }
    trainer_open_ctl(trainer);
    trainer_report_run(trainer, is_resumed);
    loop_timer_start(trainer->tick, TICK_MS);
    loop_timer_start(trainer->look, LOOK_MS);
    return true;
}

static void trainer_close(struct trainer *trainer)
{
    if (trainer->loop) {
        trainer_demand_close(trainer->demand);
        gcs_poller_close(trainer->poller);
        if (trainer->jobs) {
            jobs_close(trainer->jobs);
        }
        trainer_close_agents(trainer);
        http_serve_close(trainer->supervisor);
        trainer_close_ctl(trainer);
        if (trainer->pool) {
            child_pool_free(trainer->pool);
        }
        if (trainer->http) {
            http_close(trainer->http);
        }
        loop_timer_free(trainer->tick);
        loop_timer_free(trainer->look);
        loop_signal_free(trainer->interrupt);
        loop_signal_free(trainer->terminate);
        loop_close(trainer->loop);
    }
    if (trainer->server_pid > 0) {
        kill(trainer->server_pid, SIGKILL);
    }
    arena_clear(&trainer->arena);
    free(trainer);
}

bool trainer_run(const struct trainer_setup *setup, enum train_phase *ret_phase, struct err *err)
{
    struct trainer *trainer = HEAP_NEW(struct trainer);
    trainer->setup = setup;
    arena_init(&trainer->arena);
    train_job_init(&trainer->job, &setup->settings);
    bool is_open = trainer_open(trainer, err);
    if (is_open) {
        loop_run(trainer->loop);
        *ret_phase = trainer_phase(trainer);
        is_open = trainer->refusal.kind == ERR_NONE;
        *err = is_open ? *err : trainer->refusal;
    }
    trainer_close(trainer);
    return is_open;
}
