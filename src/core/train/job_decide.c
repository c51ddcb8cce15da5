/* job_decide.c: decides when generations of a training job start and end, and which slots exist. */
#include "base/require.h"
#include "core/train/job_internal.h"

enum {
    NOTICE_MARGIN_MS = 5000, /* before an interruption, plus twice the longest save */
    FIRST_STEP_MS = 30000,   /* a generation without steps is not resized before this time */
    STACKS_MS = 3000,        /* to print stack traces before the replicas are killed */
    HANG_STEPS = 20,         /* no progress for this many steps is a hang */
};

#define EACH_SLOT(job, slot)                                                                    \
    for (struct train_slot *slot = (job)->slots; slot < (job)->slots + TRAIN_SLOTS_MAX; slot++) \
        if (slot->state != TRAIN_SLOT_NONE)

static struct train_action *action_add(struct train_actions *actions, enum train_action_kind kind,
                                       uint32_t slot, enum train_cause cause)
{
    require(actions->count < TRAIN_ACTIONS_MAX, "a slot has few actions in one step");
    struct train_action *action = &actions->items[actions->count++];
    *action = (struct train_action){.kind = kind, .slot = slot, .cause = cause};
    return action;
}

static void action_add_generation(struct train_job *job, struct train_actions *actions,
                                  enum train_action_kind kind, const struct train_slot *slot)
{
    action_add(actions, kind, slot->id, job->cause)->generation = job->generation;
}

/* ---- counting ---- */

static bool is_eligible(const struct train_slot *slot)
{
    return slot->state == TRAIN_SLOT_READY && slot->silent_at < 0 && slot->deadline < 0;
}

static bool is_coming(const struct train_slot *slot)
{
    bool is_early = slot->state == TRAIN_SLOT_PENDING || slot->state == TRAIN_SLOT_PREPARING;
    return is_early && slot->deadline < 0;
}

struct slot_counts {
    int64_t eligible, coming;
    int64_t staying;  /* running, and not about to be interrupted */
    int64_t leaving;  /* running, and about to be interrupted */
    int64_t lasting;  /* all that are not about to be interrupted */
    int64_t deadline; /* the first interruption of a running slot; -1: none */
    int64_t ready_at; /* when the first eligible slot became ready */
};

static struct slot_counts count_slots(struct train_job *job)
{
    struct slot_counts counts = {.deadline = -1, .ready_at = job->now};
    EACH_SLOT(job, slot)
    {
        bool is_running = slot->state == TRAIN_SLOT_RUNNING;
        counts.coming += is_coming(slot);
        counts.lasting += slot->deadline < 0;
        counts.staying += is_running && slot->deadline < 0;
        counts.leaving += is_running && slot->deadline >= 0;
        if (is_eligible(slot)) {
            counts.eligible++;
            counts.ready_at = slot->since < counts.ready_at ? slot->since : counts.ready_at;
        }
        if (is_running && slot->deadline >= 0 &&
            (counts.deadline < 0 || slot->deadline < counts.deadline)) {
            counts.deadline = slot->deadline;
        }
    }
    return counts;
}

/* ---- the end of a job ---- */

static void job_end(struct train_job *job, struct train_actions *actions, enum train_phase phase,
                    enum train_cause cause)
{
    EACH_SLOT(job, slot)
    {
        action_add(actions, TRAIN_LEAVE, slot->id, cause);
    }
    train_phase_set(job, phase);
    job->cause = cause;
    action_add(actions, TRAIN_END, 0, cause);
}

/* ---- the end of a generation ---- */

static void generation_close(struct train_job *job, struct train_actions *actions)
{
    EACH_SLOT(job, slot)
    {
        if (slot->rank < 0) {
            continue;
        }
        if (slot->state == TRAIN_SLOT_RUNNING) {
            action_add_generation(job, actions, TRAIN_KILL, slot);
        }
        slot->rank = -1;
        train_slot_set(job, slot, TRAIN_SLOT_READY);
    }
    train_phase_set(job, TRAIN_WAITING);
}

static void ask_to_save(struct train_job *job, struct train_actions *actions)
{
    EACH_SLOT(job, slot)
    {
        if (slot->state == TRAIN_SLOT_RUNNING && !slot->is_asked && slot->silent_at < 0) {
            slot->is_asked = true;
            action_add_generation(job, actions, TRAIN_SAVE, slot);
        }
    }
}

static void generation_save(struct train_job *job, struct train_actions *actions,
                            enum train_cause cause)
{
    require(job->phase == TRAIN_RUNNING, "only a running generation can save");
    job->cause = cause;
    job->culprit = 0;
    train_phase_set(job, TRAIN_SAVING);
    ask_to_save(job, actions);
}

/* Rank 0 saves, or every replica its own part. */
static bool generation_is_saved(struct train_job *job)
{
    EACH_SLOT(job, slot)
    {
        if (slot->state == TRAIN_SLOT_RUNNING && (slot->rank == 0 || job->settings.is_sharded)) {
            return false;
        }
    }
    return true;
}

/* While a generation runs, a replica that ended has succeeded: any other end changes the phase. Its
 * slot may be lost since then. */
static bool generation_is_complete(struct train_job *job)
{
    EACH_SLOT(job, slot)
    {
        if (slot->state == TRAIN_SLOT_RUNNING) {
            return false;
        }
    }
    return true;
}

static void decide_saving(struct train_job *job, struct train_actions *actions)
{
    int64_t took = job->now - job->since;
    ask_to_save(job, actions); /* one ended by itself, or connected again */
    bool is_late = took >= job->settings.checkpoint_timeout;
    if (!is_late && !generation_is_saved(job)) {
        return;
    }
    if (is_late) {
        job->cause = TRAIN_CAUSE_SAVE_LATE;
        job->failures++;
    } else if (took > job->save_ms) {
        job->save_ms = took;
    }
    generation_close(job, actions);
}

/* ---- the start of a generation ---- */

static int64_t newest_checkpoint(struct train_job *job)
{
    int64_t newest = job->stored > job->durable ? job->stored : job->durable;
    EACH_SLOT(job, slot)
    {
        if (slot->silent_at >= 0) {
            continue;
        }
        newest = slot->checkpoint > newest ? slot->checkpoint : newest;
        if (slot->part > newest && train_part_count(job, slot->part) >= slot->parts) {
            newest = slot->part;
        }
    }
    return newest;
}

/* The next slot by rank: those that have the checkpoint first, so that rank 0 need not fetch it. */
static struct train_slot *next_member(struct train_job *job, int64_t checkpoint)
{
    struct train_slot *best = NULL;
    EACH_SLOT(job, slot)
    {
        if (!is_eligible(slot)) {
            continue;
        }
        bool has = slot->checkpoint == checkpoint || slot->part == checkpoint;
        bool best_has = best && (best->checkpoint == checkpoint || best->part == checkpoint);
        if (!best || (has && !best_has) || (has == best_has && slot->id < best->id)) {
            best = slot;
        }
    }
    return best;
}

static void generation_start(struct train_job *job, struct train_actions *actions, int64_t world)
{
    int64_t checkpoint = newest_checkpoint(job);
    if (job->generation < job->durable_floor) {
        job->generation = job->durable_floor;
    }
    job->generation++;
    job->world = world;
    job->started_from = checkpoint;
    job->steps = 0;
    job->step_ms = 0;
    job->stepped_at = job->now;
    job->has_stacks = false;
    if (job->generation == 1) {
        job->checkpoint_at = job->now;
    }
    for (int64_t rank = 0; rank < world; rank++) {
        struct train_slot *slot = next_member(job, checkpoint);
        require(slot != NULL, "the members of a generation were counted");
        train_slot_set(job, slot, TRAIN_SLOT_RUNNING);
        slot->rank = rank;
        slot->is_asked = false;
        struct train_action *action = action_add(actions, TRAIN_START, slot->id, job->cause);
        action->generation = job->generation;
        action->rank = rank;
        action->world = world;
        action->checkpoint = checkpoint;
        action->parts = train_job_parts(job, checkpoint);
    }
    train_phase_set(job, TRAIN_RUNNING);
}

/* A slot that may come back has a newer checkpoint than all that are connected. */
static bool misses_checkpoint(struct train_job *job)
{
    int64_t newest = newest_checkpoint(job);
    EACH_SLOT(job, slot)
    {
        int64_t has = slot->checkpoint > slot->part ? slot->checkpoint : slot->part;
        if (slot->silent_at >= 0 && has > newest) {
            return true;
        }
    }
    return false;
}

static void decide_waiting(struct train_job *job, struct train_actions *actions)
{
    if (job->is_stopping) {
        job_end(job, actions, TRAIN_STOPPED, TRAIN_CAUSE_STOP);
        return;
    }
    if (job->failures > job->settings.failures_max) {
        job_end(job, actions, TRAIN_FAILED, TRAIN_CAUSE_FAILURES);
        return;
    }
    struct slot_counts counts = count_slots(job);
    int64_t wanted = train_job_wanted(job);
    int64_t world = counts.eligible < wanted ? counts.eligible : wanted;
    /* A slot that is starting may find the newest checkpoint that its node has kept. */
    bool is_first = job->generation == 0 || newest_checkpoint(job) < job->checkpoint;
    bool waits = is_first && world < wanted && counts.coming > 0 &&
                 job->now - job->since < job->settings.rescale_timeout;
    if (world >= job->settings.min_replicas && !waits && !misses_checkpoint(job)) {
        generation_start(job, actions, world);
    }
}

/* ---- a running generation ---- */

static bool is_hung(const struct train_job *job, int64_t *ret_late)
{
    int64_t limit = job->settings.hang_start;
    if (job->steps > 0) {
        int64_t usual = job->step_ms * HANG_STEPS;
        limit = usual > job->settings.hang_min ? usual : job->settings.hang_min;
    }
    *ret_late = job->now - job->stepped_at - limit;
    return job->has_stepped && *ret_late >= 0;
}

/* True if the generation hangs: it prints stack traces first, then it fails. */
static bool decide_hang(struct train_job *job, struct train_actions *actions)
{
    int64_t late;
    if (!is_hung(job, &late)) {
        return false;
    }
    if (!job->has_stacks) {
        job->has_stacks = true;
        EACH_SLOT(job, slot)
        {
            if (slot->state == TRAIN_SLOT_RUNNING) {
                action_add(actions, TRAIN_STACKS, slot->id, TRAIN_CAUSE_HANG)->generation =
                    job->generation;
            }
        }
    } else if (late >= STACKS_MS) {
        train_fail_generation(job, TRAIN_CAUSE_HANG, 0, 0);
    }
    return true;
}

/* A node is about to be interrupted: exchange it when a replacement is ready, or leave it at the
 * last moment. */
static bool must_leave(const struct train_job *job, const struct slot_counts *counts)
{
    int64_t wanted = train_job_wanted(job);
    int64_t size = job->world < wanted ? job->world : wanted;
    bool is_replaced = counts->staying + counts->eligible >= size;
    int64_t margin = NOTICE_MARGIN_MS + 2 * job->save_ms;
    return counts->leaving > 0 && (is_replaced || job->now >= counts->deadline - margin);
}

static enum train_cause resize_cause(const struct train_job *job, const struct slot_counts *counts)
{
    int64_t wanted = train_job_wanted(job);
    bool is_warm = job->steps > 0 || job->now - job->since >= FIRST_STEP_MS;
    bool has_waited = job->now - counts->ready_at >= job->settings.rescale_timeout;
    if (must_leave(job, counts)) {
        return TRAIN_CAUSE_NOTICE;
    }
    if (job->world > wanted) {
        return TRAIN_CAUSE_SHRINK;
    }
    if (is_warm && job->world < wanted && counts->eligible > 0 &&
        (counts->coming == 0 || counts->staying + counts->eligible >= wanted || has_waited)) {
        return TRAIN_CAUSE_GROW;
    }
    int64_t every = job->settings.checkpoint_every;
    int64_t from = job->checkpoint_at > job->since ? job->checkpoint_at : job->since;
    if (every > 0 && job->steps > 0 && job->now - from >= every) {
        return TRAIN_CAUSE_INTERVAL;
    }
    return TRAIN_CAUSE_NONE;
}

static void decide_running(struct train_job *job, struct train_actions *actions)
{
    if (generation_is_complete(job)) {
        job_end(job, actions, TRAIN_SUCCEEDED, TRAIN_CAUSE_DONE);
        return;
    }
    if (job->is_stopping) {
        generation_save(job, actions, TRAIN_CAUSE_STOP);
        return;
    }
    if (decide_hang(job, actions)) {
        return;
    }
    struct slot_counts counts = count_slots(job);
    enum train_cause cause = resize_cause(job, &counts);
    if (cause != TRAIN_CAUSE_NONE) {
        generation_save(job, actions, cause);
    }
}

/* ---- slots ---- */

static void slot_leave(struct train_job *job, struct train_actions *actions,
                       struct train_slot *slot, enum train_cause cause)
{
    action_add(actions, TRAIN_LEAVE, slot->id, cause);
    train_slot_lose(job, slot);
}

static void expire_slots(struct train_job *job, struct train_actions *actions)
{
    const struct train_settings *settings = &job->settings;
    EACH_SLOT(job, slot)
    {
        int64_t age = job->now - slot->since;
        if (slot->state == TRAIN_SLOT_PENDING && age >= settings->connect_timeout) {
            slot_leave(job, actions, slot, TRAIN_CAUSE_NO_CONNECT);
        } else if (slot->state != TRAIN_SLOT_PENDING && slot->silent_at >= 0 &&
                   job->now - slot->silent_at >= settings->silence_timeout) {
            slot_leave(job, actions, slot, TRAIN_CAUSE_SLOT_LOST);
        }
    }
}

/* Slots of nodes that are about to be interrupted leave once a generation runs without them; until
 * then others may fetch the checkpoint from them. */
static void dismiss_slots(struct train_job *job, struct train_actions *actions)
{
    int64_t surplus = count_slots(job).lasting - train_job_wanted(job);
    EACH_SLOT(job, slot)
    {
        if (slot->state != TRAIN_SLOT_READY && slot->state != TRAIN_SLOT_PREPARING) {
            continue;
        }
        bool is_idle = job->phase == TRAIN_RUNNING && job->steps > 0;
        if (slot->deadline >= 0 && is_idle) {
            slot_leave(job, actions, slot, TRAIN_CAUSE_NOTICE);
        } else if (slot->deadline < 0 && surplus > 0 && is_idle &&
                   job->now - slot->since >= job->settings.surplus_timeout) {
            slot_leave(job, actions, slot, TRAIN_CAUSE_SURPLUS);
            surplus--;
        }
    }
}

static struct train_slot *free_entry(struct train_job *job)
{
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        if (job->slots[i].state == TRAIN_SLOT_NONE) {
            return &job->slots[i];
        }
    }
    return NULL;
}

static void submit_slots(struct train_job *job, struct train_actions *actions)
{
    int64_t missing = train_job_wanted(job) - count_slots(job).lasting;
    for (; missing > 0 && job->room > 0 && !job->is_stopping; missing--, job->room--) {
        struct train_slot *slot = free_entry(job);
        if (!slot) {
            return;
        }
        *slot = (struct train_slot){.id = ++job->last_slot,
                                    .state = TRAIN_SLOT_PENDING,
                                    .since = job->now,
                                    .silent_at = -1,
                                    .deadline = -1,
                                    .rank = -1};
        job->freed -= job->freed > 0; /* it may use that room */
        action_add(actions, TRAIN_SUBMIT, slot->id, TRAIN_CAUSE_GROW);
    }
}

/* ---- copies ---- */

/* Where the newest checkpoint would survive the loss of one node. */
struct copies {
    int64_t nodes;            /* that are not about to be interrupted, and have all of it */
    int64_t node;             /* the last of them */
    bool is_anywhere;         /* also on nodes that are */
    struct train_slot *other; /* on another node, and could fetch it */
};

static struct copies find_copies(struct train_job *job, int64_t checkpoint)
{
    struct copies copies = {.nodes = 0, .is_anywhere = train_job_parts(job, checkpoint) > 0};
    EACH_SLOT(job, slot)
    {
        bool has = slot->silent_at < 0 && slot->checkpoint == checkpoint;
        copies.is_anywhere = copies.is_anywhere || has;
        if (has && slot->deadline < 0 && (slot->node == 0 || slot->node != copies.node)) {
            copies.nodes++;
            copies.node = slot->node;
        }
    }
    EACH_SLOT(job, slot)
    {
        bool is_safe = slot->silent_at < 0 && slot->deadline < 0;
        bool is_elsewhere = slot->node == 0 || slot->node != copies.node;
        if (is_safe && is_elsewhere && slot->checkpoint != checkpoint &&
            slot->state != TRAIN_SLOT_PENDING) {
            copies.other = slot;
        }
    }
    return copies;
}

static void copy_add(struct train_job *job, struct train_actions *actions,
                     enum train_action_kind kind, uint32_t slot, int64_t checkpoint)
{
    struct train_action *action = action_add(actions, kind, slot, TRAIN_CAUSE_NONE);
    action->checkpoint = checkpoint;
    action->parts = train_job_parts(job, checkpoint);
}

/* A checkpoint that only one node has would be lost with it: another one fetches it or, if there is
 * no other one, the trainer. The trainer fetches one from time to time in any case: the memory of
 * all nodes can be lost together. Parts wait for the next generation, which loads all of them,
 * unless every node is about to be interrupted. */
static void replicate(struct train_job *job, struct train_actions *actions)
{
    int64_t newest = newest_checkpoint(job);
    bool is_safe = newest <= job->stored || newest <= job->durable;
    if (newest == 0 || is_safe) {
        return;
    }
    struct copies copies = find_copies(job, newest);
    bool is_parts = train_job_parts(job, newest) > 0;
    bool is_alone = copies.nodes + (copies.other ? 1 : 0) < 2;
    if (copies.nodes == 1 && copies.other && job->copier == 0 && job->now >= job->copy_after &&
        job->phase == TRAIN_RUNNING) {
        job->copier = copies.other->id;
        job->replicated = newest;
        copy_add(job, actions, TRAIN_REPLICATE, copies.other->id, newest);
    }
    if (is_parts && copies.other) {
        return;
    }
    bool is_due = is_alone || job->now >= job->copy_due;
    if (is_due && copies.is_anywhere && job->storing == 0 && job->now >= job->store_after) {
        job->storing = newest;
        job->storing_at = job->now;
        copy_add(job, actions, TRAIN_STORE, 0, newest);
    }
}

void train_decide(struct train_job *job, struct train_actions *actions)
{
    expire_slots(job, actions);
    if (job->phase == TRAIN_SETTLING && job->now - job->since >= job->settings.settle) {
        generation_close(job, actions);
    }
    if (job->phase == TRAIN_SAVING) {
        decide_saving(job, actions);
    }
    if (job->phase == TRAIN_RUNNING) {
        decide_running(job, actions);
    }
    if (job->phase == TRAIN_WAITING) {
        decide_waiting(job, actions);
    }
    if (train_job_is_over(job)) {
        return;
    }
    dismiss_slots(job, actions);
    submit_slots(job, actions);
    replicate(job, actions);
}
