/* trainer_record.c: the record of a job that survives a restart, and the lines that users see. */
#include "app/train/slot_folder.h"
#include "app/train/train_history.h"
#include "app/train/train_view.h"
#include "app/train/trainer_internal.h"
#include "io/file.h"
#include "io/mac.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES = 1 << 20, PATH_BYTES = 1024, LINE_BYTES = 16 * 1024 };
enum { MESSAGE_BYTES = 2000 }; /* in the history: a failed script may have printed much */

/* Seconds between two rates in the history. A job of a week has about as many as one of an hour. */
static const double sample_least_s = 10;
static const double samples_most = 500;

/* ---- the record ---- */

static void record_path(const struct trainer *trainer, const char *name, char ret[PATH_BYTES])
{
    snprintf(ret, PATH_BYTES, "%s/%s", trainer->setup->folder, name);
}

static json_t *record_slots(struct trainer *trainer)
{
    json_t *slots = json_array();
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &trainer->job.slots[i];
        if (slot->state == TRAIN_SLOT_NONE) {
            continue;
        }
        const struct slot_link *link = trainer_slot(trainer, slot->id);
        json_t *row = json_object();
        json_put_number(row, "id", slot->id);
        json_put_number(row, "state", slot->state);
        json_put_number(row, "rank", slot->rank + 1);
        json_put_number(row, "checkpoint", slot->checkpoint);
        json_put_number(row, "part", slot->part);
        json_put_number(row, "parts", slot->parts);
        json_put_text(row, "host", str_from(link ? link->host : ""));
        json_put_text(row, "node", str_from(link ? link->node : ""));
        json_array_append_new(slots, row);
    }
    return slots;
}

enum train_phase trainer_phase(const struct trainer *trainer)
{
    bool is_storing = train_job_is_over(&trainer->job) && !trainer->has_left;
    return is_storing ? TRAIN_SAVING : trainer->job.phase;
}

/* Why the job is in its phase. */
static const char *status_why(const struct trainer *trainer)
{
    const struct train_job *job = &trainer->job;
    if (job->phase == TRAIN_WAITING && job->room == 0) {
        return "Ray has no room for a replica";
    }
    return job->cause == TRAIN_CAUSE_NONE ? "" : train_cause_text(job->cause);
}

/* Of the replicas that train and of the head, if prices are known. */
static void add_price(const struct trainer *trainer, json_t *object)
{
    double price = trainer_price(trainer);
    if (price > 0) {
        price = trainer->setup->goal.fixed_price + price * (double)trainer->job.world;
        json_object_set_new(object, "dollars_per_hour", json_real(price));
    }
}

json_t *trainer_status(struct trainer *trainer)
{
    const struct train_job *job = &trainer->job;
    const struct train_progress *progress = &trainer->progress;
    json_t *record = json_object();
    json_put_text(record, "job", str_from(trainer->setup->job));
    json_put_text(record, "ray", str_from(trainer->setup->ray));
    json_put_text(record, "gcs", str_from(trainer->setup->gcs));
    json_put_text(record, "why", str_from(status_why(trainer)));
    double since = trainer_now(trainer) - (double)(job->now - job->since) / 1000;
    json_object_set_new(record, "since", json_real(since));
    json_put_number(record, "min", trainer->setup->settings.min_replicas);
    json_put_number(record, "max", trainer->setup->settings.max_replicas);
    json_put_number(record, "step", progress->step);
    json_object_set_new(record, "steps_per_s", json_real(progress->rate));
    if (trainer_batch(trainer) > 0) {
        json_object_set_new(record, "samples_per_s",
                            json_real(progress->rate * (double)trainer_batch(trainer)));
    }
    add_price(trainer, record);
    if (job->phase == TRAIN_RUNNING && trainer->last_step > 0) {
        json_object_set_new(record, "stalled_s",
                            json_real(trainer_now(trainer) - trainer->last_step));
    }
    json_put_number(record, "checkpoint_step",
                    train_progress_step_of(progress, job->checkpoint) + 1);
    json_put_number(record, "phase", trainer_phase(trainer));
    json_put_number(record, "generation", job->generation);
    json_put_number(record, "world", job->world);
    json_put_number(record, "checkpoint", job->checkpoint);
    json_put_number(record, "stored", job->stored);
    json_put_number(record, "durable", job->durable);
    json_put_number(record, "last_slot", job->last_slot);
    json_put_flag(record, "has_stepped", job->has_stepped);
    json_object_set_new(record, "slots", record_slots(trainer));
    return record;
}

/* What only the trainer needs. */
static void add_private(const struct trainer *trainer, json_t *record)
{
    const struct train_progress *progress = &trainer->progress;
    json_t *words = json_array();
    json_t *checkpoints = json_array();
    for (size_t i = 0; i < trainer->setup->command_count; i++) {
        json_array_append_new(words, json_string_nocheck(trainer->setup->command[i]));
    }
    for (size_t i = 0; i < progress->checkpoint_count; i++) {
        json_t *row = json_object();
        json_put_number(row, "number", progress->checkpoints[i].number);
        json_put_number(row, "step", progress->checkpoints[i].step);
        json_array_append_new(checkpoints, row);
    }
    json_put_text(record, "token", str_from(trainer->token));
    json_put_text(record, "id", str_from(trainer->id));
    json_put_number(record, "port", trainer->port);
    json_put_number(record, "supervisor_port", trainer->supervisor_port);
    json_put_number(record, "steps_done", trainer_steps_done(trainer));
    json_object_set_new(record, "begun", json_real(trainer->begun));
    json_put_number(record, "base_step", progress->base);
    json_object_set_new(record, "checkpoint_steps", checkpoints);
    json_object_set_new(record, "command", words);
    json_object_set_new(record, "speeds", trainer_speeds(trainer));
    json_put_text(record, "directory", str_from(trainer->setup->directory));
    json_put_text(record, "script", str_from(trainer->setup->script));
}

bool trainer_save(struct trainer *trainer)
{
    AUTO_BUF struct buf out;
    char path[PATH_BYTES];
    struct err err;
    json_t *record = trainer_status(trainer);
    buf_init(&out, RECORD_BYTES);
    add_private(trainer, record);
    bool is_whole = json_add(record, &out);
    json_decref(record);
    record_path(trainer, "job.json", path);
    bool is_saved = is_whole ? file_write(path, buf_str(&out), 0600, &err)
                             : err_set(&err, ERR_USAGE,
                                       "an option or a path is not UTF-8, or all of them are too "
                                       "long");
    if (!is_saved && !trainer->has_record_error) {
        trainer_say(trainer, "cannot record the state of the job: %s. Nothing changes until %s",
                    err.text,
                    is_whole ? "it can be written; free some space"
                             : "the job is started with other options");
    }
    trainer->has_record_error = !is_saved;
    return is_saved;
}

/* A record that names a removed checkpoint would be useless, so the record is written first. */
void trainer_expire_kept(struct trainer *trainer)
{
    struct slot_folder folder;
    if (trainer_save(trainer)) {
        snprintf(folder.root, sizeof(folder.root), "%s", trainer->setup->folder);
        slot_folder_expire(&folder);
    }
}

static void load_slots(struct trainer *trainer, const json_t *slots)
{
    for (size_t i = 0; i < json_array_size(slots) && i < TRAIN_SLOTS_MAX; i++) {
        const json_t *row = json_array_get(slots, i);
        struct train_slot *slot = &trainer->job.slots[i];
        *slot = (struct train_slot){
            .id = (uint32_t)json_take_number(row, "id", 1, UINT32_MAX),
            .state = (enum train_slot_state)json_take_number(row, "state", TRAIN_SLOT_PENDING,
                                                             TRAIN_SLOT_RETURNED),
            .rank = json_take_number(row, "rank", 0, TRAIN_SLOTS_MAX) - 1,
            .checkpoint = json_take_number(row, "checkpoint", 0, TRAIN_CHECKPOINT_MAX),
            .part = json_take_number(row, "part", 0, TRAIN_CHECKPOINT_MAX),
            .parts = json_take_number(row, "parts", 0, TRAIN_SLOTS_MAX),
            .deadline = -1,
        };
        struct slot_link *link = &trainer->slots[i];
        struct str host = json_take_text(row, "host", &trainer->arena);
        struct str node = json_take_text(row, "node", &trainer->arena);
        link->slot = slot->id;
        snprintf(link->host, sizeof(link->host), "%.*s", STR_ARG(host));
        snprintf(link->node, sizeof(link->node), "%.*s", STR_ARG(node));
    }
}

/* The job and its slots have ended. Unless it was complete, it continues from the stored
 * checkpoint. Slots get new numbers, because Ray remembers the old ones. */
static void continue_ended(struct trainer *trainer)
{
    struct train_job *job = &trainer->job;
    if (job->phase == TRAIN_SUCCEEDED) {
        struct slot_folder folder;
        snprintf(folder.root, sizeof(folder.root), "%s", trainer->setup->folder);
        slot_folder_forget(&folder); /* numbers begin again */
        job->generation = 0;
        job->stored = 0;
        trainer->progress = (struct train_progress){0};
        job->durable = 0;
        mac_random(trainer->id); /* what the complete one left in --output is not continued */
        trainer->is_old_owner = false;
        trainer->size = (struct trainer_size){0};
    }
    job->phase = TRAIN_WAITING;
    job->checkpoint = job->stored;
    job->world = 0;
    job->is_stopping = false;
    trainer->port = trainer->supervisor_port = 0; /* no slot knows the old ones */
}

static void load_progress(struct trainer *trainer, const json_t *record)
{
    struct train_progress *progress = &trainer->progress;
    const json_t *checkpoints = json_object_get(record, "checkpoint_steps");
    trainer->begun = json_number_value(json_object_get(record, "begun"));
    for (size_t i = 0; i < json_array_size(checkpoints); i++) {
        const json_t *row = json_array_get(checkpoints, i);
        progress->step = json_take_number(row, "step", 0, TRAIN_STEPS_MAX);
        train_progress_saved(progress, json_take_number(row, "number", 0, TRAIN_CHECKPOINT_MAX));
    }
    progress->base = json_take_number(record, "base_step", 0, TRAIN_STEPS_MAX);
    progress->step = json_take_number(record, "step", 0, TRAIN_STEPS_MAX);
}

/* Earlier releases wrote none. */
static void load_id(struct trainer *trainer, const json_t *record)
{
    struct str id = json_take_text(record, "id", &trainer->arena);
    if (id.len > 0) {
        snprintf(trainer->id, sizeof(trainer->id), "%.*s", STR_ARG(id));
    } else {
        mac_random(trainer->id);
        trainer->is_old_owner = json_take_number(record, "durable", 0, TRAIN_CHECKPOINT_MAX) > 0;
    }
}

static void load_record(struct trainer *trainer, const json_t *record)
{
    struct train_job *job = &trainer->job;
    struct str token = json_take_text(record, "token", &trainer->arena);
    snprintf(trainer->token, sizeof(trainer->token), "%.*s", STR_ARG(token));
    trainer->port = (uint16_t)json_take_number(record, "port", 0, UINT16_MAX);
    trainer->supervisor_port = (uint16_t)json_take_number(record, "supervisor_port", 0, UINT16_MAX);
    trainer->size.done = (double)json_take_number(record, "steps_done", 0, TRAIN_STEPS_MAX);
    job->phase = (enum train_phase)json_take_number(record, "phase", 0, TRAIN_STOPPED);
    job->generation = json_take_number(record, "generation", 0, TRAIN_GENERATION_MAX);
    job->world = json_take_number(record, "world", 0, TRAIN_SLOTS_MAX);
    job->checkpoint = json_take_number(record, "checkpoint", 0, TRAIN_CHECKPOINT_MAX);
    job->last_slot = (uint32_t)json_take_number(record, "last_slot", 0, UINT32_MAX);
    job->has_stepped = json_is_true(json_object_get(record, "has_stepped"));
    job->stored = json_take_number(record, "stored", 0, TRAIN_CHECKPOINT_MAX);
    load_id(trainer, record);
    load_progress(trainer, record);
    trainer_load_speeds(trainer, json_object_get(record, "speeds"));
    job->durable = json_take_number(record, "durable", 0, TRAIN_CHECKPOINT_MAX);
    if (job->phase < TRAIN_SUCCEEDED) {
        load_slots(trainer, json_object_get(record, "slots"));
    } else {
        continue_ended(trainer);
    }
    /* The earlier trainer reported this generation, unless it was killed before the first step. */
    trainer->times = (struct generation_times){
        .generation = job->generation, .world = job->world, .is_reported = true};
    trainer->size.generation = job->generation;
    trainer->size.steps = trainer->progress.step - trainer->progress.base; /* in `done` */
}

bool trainer_load(struct trainer *trainer, bool *ret_is_resumed, struct err *err)
{
    AUTO_BUF struct buf text;
    char path[PATH_BYTES];
    json_t *record;
    buf_init(&text, RECORD_BYTES);
    record_path(trainer, "job.json", path);
    *ret_is_resumed = file_stat(path).kind == FILE_REGULAR;
    if (!*ret_is_resumed) {
        mac_random(trainer->token);
        mac_random(trainer->id);
        return true;
    }
    if (!file_read_secret(path, &text, err) ||
        !json_line_read(buf_str(&text), "the record of the job", &record, err)) {
        return err_wrap(err, "%s: ", path);
    }
    load_record(trainer, record);
    json_decref(record);
    return true;
}

/* ---- lines ---- */

/* Adds the event to the history. Releases it. */
static void record_event(struct trainer *trainer, json_t *object)
{
    struct err err;
    json_object_set_new(object, "time", json_real(trainer_now(trainer)));
    bool is_done = train_history_add(trainer->setup->folder, object, &err);
    json_decref(object);
    if (!is_done && !trainer->has_history_error) {
        trainer->setup->line(trainer->setup->context, str_from(err.text));
    }
    trainer->has_history_error = !is_done;
}

void trainer_say(struct trainer *trainer, const char *fmt, ...)
{
    AUTO_BUF struct buf text;
    va_list args;
    buf_init(&text, LINE_BYTES);
    va_start(args, fmt);
    buf_add_args(&text, fmt, args);
    va_end(args);
    json_t *event = json_object();
    json_put_text(event, "event", STR("message"));
    json_put_text(event, "message", str_sub(buf_str(&text), 0, MESSAGE_BYTES));
    record_event(trainer, event);
    if (trainer->setup->is_json) {
        AUTO_BUF struct buf line;
        json_t *object = json_object();
        buf_init(&line, LINE_BYTES * 4);
        json_put_text(object, "message", buf_str(&text));
        json_object_set_new(object, "time", json_real(trainer_now(trainer)));
        json_put_out(object, false, &line);
        trainer->setup->line(trainer->setup->context, buf_str(&line));
    } else {
        trainer->setup->line(trainer->setup->context, buf_str(&text));
    }
}

/* For the terminal only: the history has the event itself. */
static void PRINTF_LIKE(2, 3) print_text(const struct trainer *trainer, const char *fmt, ...)
{
    AUTO_BUF struct buf text;
    va_list args;
    buf_init(&text, LINE_BYTES);
    va_start(args, fmt);
    buf_add_args(&text, fmt, args);
    va_end(args);
    if (!trainer->setup->is_json) {
        trainer->setup->line(trainer->setup->context, buf_str(&text));
    }
}

static void say_event(struct trainer *trainer, json_t *object)
{
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_BYTES);
    json_incref(object);
    record_event(trainer, object); /* sets the time */
    json_put_out(object, false, &line);
    if (trainer->setup->is_json) {
        trainer->setup->line(trainer->setup->context, buf_str(&line));
    }
}

static json_t *event_object(const char *kind, int64_t generation)
{
    json_t *object = json_object();
    json_put_text(object, "event", str_from(kind));
    json_put_number(object, "generation", generation);
    return object;
}

/* ---- generations ---- */

/* Its event is recorded at its first step, so one without a step is recorded at its end. */
static void report_end(struct trainer *trainer)
{
    struct generation_times *times = &trainer->times;
    if (times->generation > 0 && !times->is_reported) {
        times->is_reported = true;
        trainer_say(trainer,
                    "generation %" PRId64 " (%" PRId64 " replica%s) ended before its "
                    "first step",
                    times->generation, times->world, times->world == 1 ? "" : "s");
    }
}

static void report_start(struct trainer *trainer, const struct train_action *action)
{
    struct generation_times *times = &trainer->times;
    int64_t old_world = times->world;
    if (action->rank != 0) {
        return;
    }
    report_end(trainer);
    times->generation = action->generation;
    times->old_world = old_world;
    times->world = action->world;
    times->cause = action->cause;
    times->last_step = trainer->last_step;
    times->begun = times->joined = times->first_step = 0;
    times->load_ms = 0;
    times->checkpoint = action->checkpoint;
    times->is_reported = false;
    times->repeated = train_progress_start(&trainer->progress, action->checkpoint);
    if (action->cause == TRAIN_CAUSE_EXIT || action->cause == TRAIN_CAUSE_KILLED ||
        action->cause == TRAIN_CAUSE_HANG || action->cause == TRAIN_CAUSE_SLOT_LOST) {
        times->saved = 0;
    } else {
        times->saved = trainer_now(trainer);
    }
    if (action->checkpoint < trainer->job.checkpoint) {
        trainer_say(trainer,
                    "checkpoint %" PRId64 " was lost with its nodes; the steps after checkpoint "
                    "%" PRId64 " are repeated",
                    trainer->job.checkpoint, action->checkpoint);
    }
    if (action->generation == 1) {
        print_text(trainer, "training with %" PRId64 " replica%s", action->world,
                   action->world == 1 ? "" : "s");
    } else if (old_world == 0) { /* the job had ended */
        print_text(trainer, "training with %" PRId64 " replica%s, from checkpoint %" PRId64,
                   action->world, action->world == 1 ? "" : "s", action->checkpoint);
    } else {
        print_text(trainer, "%" PRId64 " -> %" PRId64 " replicas: %s; from checkpoint %" PRId64,
                   old_world, action->world, train_cause_text(action->cause), action->checkpoint);
    }
}

void trainer_report_action(struct trainer *trainer, const struct train_action *action)
{
    const struct train_job *job = &trainer->job;
    const struct train_slot *slot = train_job_slot(job, action->slot);
    json_t *event;
    if (action->kind == TRAIN_START) {
        report_start(trainer, action);
    } else if (action->kind == TRAIN_LEAVE && (action->cause == TRAIN_CAUSE_NO_CONNECT ||
                                               action->cause == TRAIN_CAUSE_SLOT_LOST)) {
        trainer_say(trainer, "gave up on slot %u: %s", action->slot,
                    train_cause_text(action->cause));
    } else if (action->kind == TRAIN_STACKS && slot && slot->rank == 0) { /* once for all */
        trainer_say(trainer,
                    "no step for %" PRId64 " s: the stack traces are in the output of "
                    "the slots",
                    (job->now - job->stepped_at) / 1000);
    } else if (action->kind == TRAIN_END) {
        report_end(trainer);
        if (job->phase == TRAIN_SUCCEEDED) {
            print_text(trainer, "training is complete at step %" PRId64, trainer->progress.step);
        }
        event = event_object("end", job->generation);
        json_put_text(event, "cause", str_from(train_cause_text(action->cause)));
        json_put_number(event, "step", trainer->progress.step);
        say_event(trainer, event);
    }
}

void trainer_report_run(struct trainer *trainer, bool is_resumed)
{
    json_t *event = event_object("run", trainer->job.generation);
    json_put_number(event, "pid", getpid());
    json_put_flag(event, "resumed", is_resumed);
    trainer->begun = trainer->begun > 0 ? trainer->begun : trainer_now(trainer);
    record_event(trainer, event);
}

/* ---- progress ---- */

static void show_progress(struct trainer *trainer)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct train_view view;
    json_t *status = trainer_status(trainer);
    train_view_read(status, &arena, &view);
    view.is_running = true;
    trainer->setup->live(trainer->setup->context, &view);
    json_decref(status);
}

void trainer_report_progress(struct trainer *trainer)
{
    const struct train_progress *progress = &trainer->progress;
    double now = trainer_now(trainer);
    if (trainer->setup->live && now - trainer->shown >= 1) {
        trainer->shown = now;
        show_progress(trainer);
    }
    double interval = (now - trainer->begun) / samples_most;
    interval = interval > sample_least_s ? interval : sample_least_s;
    if (trainer->job.phase != TRAIN_RUNNING || !progress->has_rate ||
        now - trainer->sampled < interval) {
        return;
    }
    json_t *event = event_object("rate", trainer->job.generation);
    json_put_number(event, "replicas", trainer->job.world);
    json_put_number(event, "step", progress->step);
    json_object_set_new(event, "steps_per_s", json_real(progress->rate));
    add_price(trainer, event);
    trainer->sampled = now;
    record_event(trainer, event);
    bool is_saved = trainer_save(trainer);
    (void)is_saved; /* else a trainer that is started again shows an older step, no more */
}

/* ---- pauses ---- */

static double part(double from, double to)
{
    return from > 0 && to > from ? to - from : 0;
}

static void report_pause(struct trainer *trainer)
{
    struct generation_times *times = &trainer->times;
    double pause = part(times->last_step, times->first_step);
    json_t *event = event_object("generation", times->generation);
    times->is_reported = true;
    json_put_number(event, "replicas", times->world);
    json_put_number(event, "replicas_before", times->old_world);
    json_put_text(event, "cause", str_from(train_cause_text(times->cause)));
    json_put_number(event, "checkpoint", times->checkpoint);
    json_put_number(event, "step", trainer->progress.step);
    json_put_number(event, "steps_repeated", times->repeated);
    json_object_set_new(event, "pause_s", json_real(pause));
    json_object_set_new(event, "save_s", json_real(part(times->last_step, times->saved)));
    json_object_set_new(event, "transfer_s", json_real((double)times->load_ms / 1000));
    json_object_set_new(event, "start_s", json_real(part(times->saved, times->begun)));
    json_object_set_new(event, "rendezvous_s", json_real(part(times->begun, times->joined)));
    double ready = times->joined > 0 ? times->joined : times->begun;
    json_object_set_new(event, "load_s", json_real(part(ready, times->first_step)));
    if (times->generation > 1 && times->last_step > 0) {
        print_text(trainer,
                   "training again after %.2f s without a step: save %.2f, start %.2f, "
                   "rendezvous %.2f, load and first step %.2f",
                   pause, part(times->last_step, times->saved), part(times->saved, times->begun),
                   part(times->begun, times->joined), part(ready, times->first_step));
    }
    say_event(trainer, event);
}

void trainer_report_counts(struct trainer *trainer, const struct step_counts *counts,
                           bool is_rank_0)
{
    struct generation_times *times = &trainer->times;
    double last = counts->last;
    if (last > trainer->last_step) {
        trainer->last_step = last;
    }
    if (!is_rank_0) {
        return;
    }
    train_progress_count(&trainer->progress, counts->steps, trainer_now(trainer));
    times->begun = counts->begun;
    times->joined = counts->joined;
    times->first_step = counts->first;
    if (times->first_step > 0 && !times->is_reported) {
        report_pause(trainer);
    }
}
