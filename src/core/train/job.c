/* job.c: applies events to a training job. */
#include "core/train/job.h"

#include "base/attr.h"
#include "base/require.h"
#include "core/train/job_internal.h"
#include "core/train/need.h"

#include <string.h>

enum { SECOND = 1000, RESUME_GRACE_MS = 20000, EXIT_SAVED = 143, COPY_AGAIN_MS = 5000 };

void train_settings_default(struct train_settings *settings)
{
    *settings = (struct train_settings){
        .min_replicas = 1,
        .max_replicas = 1,
        .checkpoint_timeout = 120 * SECOND,
        .rescale_timeout = 60 * SECOND,
        .connect_timeout = 120 * SECOND,
        .silence_timeout = 2 * SECOND,
        .settle = 200,
        .hang_min = 60 * SECOND,
        .hang_start = 600 * SECOND,
        .surplus_timeout = 30 * SECOND,
        .failures_max = 3,
    };
}

static const char *const cause_texts[TRAIN_CAUSE_COUNT] = {
    [TRAIN_CAUSE_NONE] = "none",
    [TRAIN_CAUSE_GROW] = "more slots are ready",
    [TRAIN_CAUSE_SHRINK] = "fewer replicas are wanted",
    [TRAIN_CAUSE_NOTICE] = "a node is about to be interrupted",
    [TRAIN_CAUSE_INTERVAL] = "a checkpoint is due",
    [TRAIN_CAUSE_EXIT] = "a replica failed",
    [TRAIN_CAUSE_KILLED] = "a replica was killed",
    [TRAIN_CAUSE_SLOT_LOST] = "a node or an agent was lost",
    [TRAIN_CAUSE_HANG] = "the replicas made no progress",
    [TRAIN_CAUSE_SCRIPT] = "the script saved and ended by itself",
    [TRAIN_CAUSE_SURPLUS] = "the slot is not needed",
    [TRAIN_CAUSE_NO_CONNECT] = "the agent did not connect in time",
    [TRAIN_CAUSE_SAVE_LATE] = "the replicas did not save in time",
    [TRAIN_CAUSE_STOP] = "you stopped the job",
    [TRAIN_CAUSE_DONE] = "the script is complete",
    [TRAIN_CAUSE_FAILURES] = "the script failed several times without a new checkpoint",
};

const char *train_cause_text(enum train_cause cause)
{
    require(cause < TRAIN_CAUSE_COUNT, "every cause has a text");
    return cause_texts[cause];
}

/* ---- access ---- */

static struct train_slot *slot_find(struct train_job *job, uint32_t id)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX && id != 0; i++) {
        if (job->slots[i].state != TRAIN_SLOT_NONE && job->slots[i].id == id) {
            return &job->slots[i];
        }
    }
    return NULL;
}

const struct train_slot *train_job_slot(const struct train_job *job, uint32_t id)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX && id != 0; i++) {
        if (job->slots[i].state != TRAIN_SLOT_NONE && job->slots[i].id == id) {
            return &job->slots[i];
        }
    }
    return NULL;
}

int64_t train_part_count(const struct train_job *job, int64_t number)
{
    int64_t count = 0;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &job->slots[i];
        count += slot->state != TRAIN_SLOT_NONE && slot->silent_at < 0 && slot->part == number;
    }
    return count;
}

int64_t train_job_parts(const struct train_job *job, int64_t checkpoint)
{
    int64_t parts = 0;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &job->slots[i];
        if (slot->state == TRAIN_SLOT_NONE || slot->silent_at >= 0) {
            continue;
        }
        if (slot->checkpoint == checkpoint) {
            return 0;
        }
        parts = slot->part == checkpoint ? slot->parts : parts;
    }
    return checkpoint == job->stored ? 0 : parts;
}

void train_slot_set(struct train_job *job, struct train_slot *slot, enum train_slot_state state)
{
    if (slot->state != state) {
        slot->state = state;
        slot->since = job->now;
    }
}

void train_phase_set(struct train_job *job, enum train_phase phase)
{
    require(!train_job_is_over(job), "a job ends once");
    job->phase = phase;
    job->since = job->now;
}

bool train_job_is_over(const struct train_job *job)
{
    return job->phase >= TRAIN_SUCCEEDED;
}

int64_t train_job_wanted(const struct train_job *job)
{
    int64_t most = job->target < job->settings.max_replicas ? job->target
                                                            : job->settings.max_replicas;
    return most > job->settings.min_replicas ? most : job->settings.min_replicas;
}

void train_job_init(struct train_job *job, const struct train_settings *settings)
{
    require(settings->min_replicas >= 1, "a job has a replica");
    require(settings->max_replicas >= settings->min_replicas, "min is at most max");
    require(settings->max_replicas < TRAIN_SLOTS_MAX / 2, "there is an entry for each slot");
    memset(job, 0, sizeof(*job));
    job->settings = *settings;
    job->target = settings->max_replicas;
}

void train_job_resume(struct train_job *job, int64_t now)
{
    job->now = now;
    job->since = now;
    job->copy_due = now + TRAIN_COPY_EVERY_MS;
    job->stepped_at = now;
    job->checkpoint_at = now;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        job->slots[i].since = now;
        job->slots[i].silent_at = now + RESUME_GRACE_MS;
    }
}

/* ---- failures ---- */

static bool is_live(const struct train_job *job)
{
    return job->phase == TRAIN_RUNNING || job->phase == TRAIN_SAVING;
}

void train_fail_generation(struct train_job *job, enum train_cause cause, uint32_t culprit,
                           int code)
{
    bool is_better = job->phase == TRAIN_SETTLING && cause == TRAIN_CAUSE_SLOT_LOST;
    if (!is_live(job) && !is_better) {
        return;
    }
    if (is_live(job)) {
        job->failures += cause == TRAIN_CAUSE_SLOT_LOST ? 0 : 1;
        train_phase_set(job, TRAIN_SETTLING);
    } else if (job->cause != TRAIN_CAUSE_SLOT_LOST && job->failures > 0) {
        job->failures--; /* the replica failed because another slot was lost */
    }
    job->cause = cause;
    job->culprit = culprit;
    job->code = code;
}

/* ---- events ---- */

static void note_newest(struct train_job *job, int64_t number)
{
    if (number > job->checkpoint) {
        job->checkpoint = number;
        job->checkpoint_at = job->now;
        job->failures = 0;
    }
}

/* A sharded checkpoint exists while connected slots have all of its parts. */
static void note_part(struct train_job *job, struct train_slot *slot, int64_t number, int64_t parts)
{
    if (number > slot->part) {
        slot->part = number;
        slot->parts = parts;
    }
    if (train_part_count(job, number) >= parts) {
        note_newest(job, number);
    }
}

static void note_checkpoint(struct train_job *job, struct train_slot *slot,
                            const struct train_event *event)
{
    int64_t number = event->value;
    require(number >= 0, "checkpoints are numbered from 1");
    if (event->parts > 0) {
        note_part(job, slot, number, event->parts);
        return;
    }
    slot->checkpoint = number > slot->checkpoint ? number : slot->checkpoint;
    note_newest(job, number);
}

/* While rank 0 saves, only replicas that have a part of the state are needed. */
static bool is_needed(const struct train_job *job, const struct train_slot *slot)
{
    return job->phase != TRAIN_SAVING || slot->rank == 0 || job->settings.is_sharded;
}

/* It has the checkpoint, or its request may be lost: the next decision looks again. */
static void forget_copier(struct train_job *job, const struct train_slot *slot)
{
    if (job->copier == slot->id) {
        job->copier = 0;
    }
}

static void apply_connected(struct train_job *job, struct train_slot *slot,
                            const struct train_event *event)
{
    slot->silent_at = -1;
    forget_copier(job, slot);
    slot->is_asked = false; /* the request may be lost with the old connection */
    if (slot->state == TRAIN_SLOT_PENDING) {
        train_slot_set(job, slot, TRAIN_SLOT_PREPARING);
    }
    note_checkpoint(job, slot, event);
    if (slot->state == TRAIN_SLOT_RUNNING && event->generation != job->generation) {
        /* the request to start was lost with the old connection */
        train_slot_set(job, slot, TRAIN_SLOT_RETURNED);
        if (is_needed(job, slot)) {
            train_fail_generation(job, TRAIN_CAUSE_SLOT_LOST, slot->id, 0);
        }
    }
}

/* The slot's replica survived a restart of the trainer, or a broken connection. */
static void apply_adopted(struct train_job *job, struct train_slot *slot,
                          const struct train_event *event)
{
    bool is_member = event->generation == job->generation && slot->rank == event->value;
    if (is_live(job) && is_member && slot->state != TRAIN_SLOT_RETURNED) {
        train_slot_set(job, slot, TRAIN_SLOT_RUNNING);
    }
}

static void apply_prepared(struct train_job *job, struct train_slot *slot)
{
    if (slot->state == TRAIN_SLOT_PREPARING) {
        train_slot_set(job, slot, TRAIN_SLOT_READY);
    }
}

static void apply_silent(struct train_job *job, struct train_slot *slot)
{
    if (slot->silent_at < 0) {
        slot->silent_at = job->now;
    }
}

void train_slot_lose(struct train_job *job, struct train_slot *slot)
{
    bool is_failure = slot->state == TRAIN_SLOT_RUNNING && is_needed(job, slot);
    uint32_t id = slot->id;
    if (slot->deadline < 0) { /* otherwise its room is lost with the node */
        bool is_old = job->now - job->freed_at >= TRAIN_FREED_MS;
        job->freed = is_old ? 1 : job->freed + 1;
        job->freed_at = job->now;
    } else {
        bool is_old = job->now - job->left_at >= TRAIN_LEFT_MS;
        job->left = is_old ? 1 : job->left + 1;
        job->left_at = job->now;
    }
    forget_copier(job, slot);
    *slot = (struct train_slot){0};
    if (is_failure) {
        train_fail_generation(job, TRAIN_CAUSE_SLOT_LOST, id, 0);
    }
}

static void apply_stepped(struct train_job *job, struct train_slot *slot,
                          const struct train_event *event)
{
    if (event->generation != job->generation || slot->rank < 0) {
        return;
    }
    if (slot->checkpoint < job->started_from) {
        slot->checkpoint = job->started_from; /* a replica that steps has loaded all of it */
    }
    if (event->value <= job->steps) {
        return;
    }
    if (job->steps > 0) {
        int64_t step_ms = (job->now - job->stepped_at) / (event->value - job->steps);
        job->step_ms = job->step_ms > 0 ? (job->step_ms * 7 + step_ms) / 8 : step_ms;
    }
    job->steps = event->value;
    job->stepped_at = job->now;
    job->has_stepped = true;
    job->has_stacks = false;
}

/* Decides what the end of a replica means, which depends on whether it was asked to end. */
static void judge_end(struct train_job *job, struct train_slot *slot,
                      const struct train_event *event)
{
    bool is_asked = job->phase == TRAIN_SAVING;
    bool is_clean = event->signal == 0 && (event->code == 0 || event->code == EXIT_SAVED);
    if (is_asked && (is_clean || event->signal == 15 || event->signal == 9)) {
        return;
    }
    if (event->signal == 0 && event->code == 0) {
        return; /* the generation is complete when all have ended with status 0 */
    }
    if (event->signal == 0 && event->code == EXIT_SAVED) {
        train_phase_set(job, TRAIN_SAVING);
        job->cause = TRAIN_CAUSE_SCRIPT;
        job->culprit = slot->id;
        job->failures++; /* unless there is a checkpoint */
    } else if (event->signal != 0) {
        train_fail_generation(job, TRAIN_CAUSE_KILLED, slot->id, event->signal);
    } else {
        train_fail_generation(job, TRAIN_CAUSE_EXIT, slot->id, event->code);
    }
}

static void apply_returned(struct train_job *job, struct train_slot *slot,
                           const struct train_event *event)
{
    bool is_current = event->generation == job->generation && slot->state == TRAIN_SLOT_RUNNING;
    note_checkpoint(job, slot, event); /* from any generation */
    if (!is_current) {
        return; /* of an older generation: fenced */
    }
    train_slot_set(job, slot, TRAIN_SLOT_RETURNED);
    if (is_live(job)) {
        judge_end(job, slot, event);
    }
}

static void apply_to_slot(struct train_job *job, struct train_slot *slot,
                          const struct train_event *event)
{
    switch (event->kind) {
    case TRAIN_CONNECTED:
        apply_connected(job, slot, event);
        break;
    case TRAIN_ADOPTED:
        apply_adopted(job, slot, event);
        break;
    case TRAIN_PREPARED:
        apply_prepared(job, slot);
        break;
    case TRAIN_SILENT:
        apply_silent(job, slot);
        break;
    case TRAIN_LOST:
        train_slot_lose(job, slot);
        break;
    case TRAIN_NOTICE:
        slot->deadline = event->value;
        break;
    case TRAIN_CHECKPOINT:
        note_checkpoint(job, slot, event);
        forget_copier(job, slot);
        break;
    case TRAIN_PLACED:
        slot->node = event->value;
        break;
    case TRAIN_NOT_COPIED:
        forget_copier(job, slot);
        job->copy_after = job->now + COPY_AGAIN_MS;
        break;
    case TRAIN_RETURNED:
        apply_returned(job, slot, event);
        break;
    case TRAIN_STEPPED:
        apply_stepped(job, slot, event);
        break;
    case TRAIN_TICK:
    case TRAIN_ROOM:
    case TRAIN_TARGET:
    case TRAIN_STOP:
    case TRAIN_STORED:
    case TRAIN_DURABLE:
        break; /* not about a slot */
    }
}

/* Copies of a large checkpoint take at most a tenth of the time. */
static void apply_stored(struct train_job *job, int64_t number)
{
    int64_t took = job->now - job->storing_at;
    job->storing = 0;
    job->store_after = number > 0 ? 0 : job->now + COPY_AGAIN_MS;
    job->copy_due = job->now + (took * 9 > TRAIN_COPY_EVERY_MS ? took * 9 : TRAIN_COPY_EVERY_MS);
    job->stored = number > job->stored ? number : job->stored;
}

/* New checkpoints get higher numbers than those that an earlier job left there, complete or not:
 * parts of both would look like one. */
static void apply_durable(struct train_job *job, const struct train_event *event)
{
    int64_t number = event->value;
    int64_t highest = event->highest > number ? event->highest : number;
    if (highest / TRAIN_SAVES_PER_GENERATION > job->durable_floor) {
        job->durable_floor = highest / TRAIN_SAVES_PER_GENERATION;
    }
    if (event->bad > 0) {
        job->bad = event->bad;
        job->durable = job->durable == event->bad ? number : job->durable;
    }
    if (number == job->bad || number <= job->durable) {
        return;
    }
    job->durable = number;
    note_newest(job, number);
}

static void apply_to_job(struct train_job *job, const struct train_event *event)
{
    if (event->kind == TRAIN_ROOM) {
        job->room = event->value;
    } else if (event->kind == TRAIN_TARGET) {
        job->target = event->value;
    } else if (event->kind == TRAIN_STOP) {
        job->is_stopping = true;
    } else if (event->kind == TRAIN_STORED) {
        apply_stored(job, event->value);
    } else if (event->kind == TRAIN_DURABLE) {
        apply_durable(job, event);
    }
}

void train_job_step(struct train_job *job, const struct train_event *event,
                    struct train_actions *actions)
{
    require(event->now >= job->now, "time does not go back");
    actions->count = 0;
    if (train_job_is_over(job)) {
        return;
    }
    if (job->now == 0) {
        job->since = event->now; /* the first event */
        job->copy_due = event->now + TRAIN_COPY_EVERY_MS;
    }
    job->now = event->now;
    struct train_slot *slot = slot_find(job, event->slot);
    if (slot) {
        apply_to_slot(job, slot, event);
    }
    apply_to_job(job, event);
    train_decide(job, actions);
}
