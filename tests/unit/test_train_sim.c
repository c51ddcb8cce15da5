/*
 * test_train_sim.c: training jobs on slots with random delays and faults.
 *
 * The slots behave as agents do: a broken connection loses messages before the trainer notices it,
 * and after it the agent reports what it has. While faults happen, only the guarantees of job.h
 * are checked; after the last fault the job must end.
 */
#include "core/train/job.h"

#include "base/rng.h"
#include "train_scene.h"

#include <stdio.h>

enum {
    RUNS = 1500,
    SLOTS = 1024, /* more than a run submits */
    FAULTS_MS = 180000,
    LIMIT_MS = 1800000,
    WORK = 60, /* steps until the script is complete */
    KEPT = 4,
    GENERATIONS = 1024,
};

enum fake_state { FAKE_NONE, FAKE_LOADING, FAKE_TRAINING, FAKE_RETURNED };

struct fake_slot {
    bool exists, is_prepared;
    bool is_linked;    /* has a connection */
    int64_t dial_at;   /* when it connects next */
    int64_t notice_at; /* when the trainer notices that the connection broke; -1: knows */
    int64_t ready_at;
    int64_t kept[KEPT]; /* checkpoints; the first is the newest */
    int64_t told;       /* the newest that was reported */
    int64_t whole;      /* sharded: the newest of which it has all parts */
    enum fake_state replica;
    int64_t generation, rank, from, act_at;
    int64_t saves;
    int64_t copying, copied_at;
    bool is_asked, is_hung;
    int code, signal;
};

struct sim {
    struct train_scene scene;
    struct train_job record; /* as the trainer writes it before it acts */
    struct rng rng;
    struct fake_slot slots[SLOTS];
    int64_t progress[GENERATIONS]; /* steps of the state that the generation has reached */
    int64_t saved[GENERATIONS][8]; /* the same for its checkpoints */
    int64_t parts[GENERATIONS][8]; /* how many replicas have saved */
    int64_t worlds[GENERATIONS];
    int64_t started; /* the newest generation with a START */
    int64_t room;
    int64_t storing, stored_at; /* by the trainer */
    bool has_faults, may_stop;
};

static struct sim sim;
static char why[256];

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            snprintf(why, sizeof(why), "line %d: %s", __LINE__, #condition);               \
            fail_msg("seed %llu, time %lld: %s", seed_now, (long long)sim.scene.now, why); \
        }                                                                                  \
    } while (0)

static unsigned long long seed_now;

static int64_t between(int64_t low, int64_t high)
{
    return rng_between(&sim.rng, low, high);
}

static void sim_send(struct train_event event);

/* ---- checkpoints ---- */

static bool fake_has(const struct fake_slot *slot, int64_t checkpoint)
{
    bool has = false;
    for (size_t i = 0; i < KEPT; i++) {
        has = has || slot->kept[i] == checkpoint;
    }
    return has;
}

static void fake_keep(struct fake_slot *slot, int64_t checkpoint)
{
    if (fake_has(slot, checkpoint) || checkpoint < slot->kept[0]) {
        return;
    }
    memmove(slot->kept + 1, slot->kept, sizeof(slot->kept[0]) * (KEPT - 1));
    slot->kept[0] = checkpoint;
}

static void fake_save(struct fake_slot *slot)
{
    if (slot->saves < 7 && (slot->rank == 0 || sim.scene.job.settings.is_sharded)) {
        slot->saves++;
        sim.parts[slot->generation][slot->saves]++;
        sim.saved[slot->generation][slot->saves] = sim.progress[slot->generation];
        fake_keep(slot, slot->generation * TRAIN_SAVES_PER_GENERATION + slot->saves);
    }
}

static int64_t work_of(int64_t checkpoint)
{
    return sim
        .saved[checkpoint / TRAIN_SAVES_PER_GENERATION][checkpoint % TRAIN_SAVES_PER_GENERATION];
}

/* 0: the slot has all of its newest checkpoint. */
static int64_t parts_of(const struct fake_slot *slot)
{
    int64_t newest = slot->kept[0];
    return sim.scene.job.settings.is_sharded && newest > slot->whole
               ? sim.worlds[newest / TRAIN_SAVES_PER_GENERATION]
               : 0;
}

/* Connected slots have all of it together, or one of them. */
static bool someone_has(int64_t checkpoint)
{
    int64_t parts = 0;
    for (uint32_t id = 1; id <= sim.scene.job.last_slot; id++) {
        const struct fake_slot *slot = &sim.slots[id];
        if (slot->exists && slot->is_linked && fake_has(slot, checkpoint)) {
            if (!sim.scene.job.settings.is_sharded || slot->whole == checkpoint) {
                return true;
            }
            parts++;
        }
    }
    bool is_whole = checkpoint > 0 && sim.scene.job.settings.is_sharded &&
                    parts == sim.worlds[checkpoint / TRAIN_SAVES_PER_GENERATION];
    return checkpoint == 0 || is_whole || checkpoint == sim.scene.job.stored;
}

/* ---- what agents report ---- */

static void tell(uint32_t id, enum train_event_kind kind, int64_t value)
{
    struct fake_slot *slot = &sim.slots[id];
    if (slot->is_linked) {
        bool has_checkpoint = kind == TRAIN_CONNECTED || kind == TRAIN_CHECKPOINT ||
                              kind == TRAIN_RETURNED;
        slot->told = has_checkpoint && value > slot->told ? value : slot->told;
        sim_send((struct train_event){
            .kind = kind,
            .slot = id,
            .value = value,
            .parts = has_checkpoint && value == slot->kept[0] ? parts_of(slot) : 0,
            .generation = slot->generation,
            .code = slot->code,
            .signal = slot->signal});
    }
}

static void fake_return(uint32_t id, int code, int signal)
{
    struct fake_slot *slot = &sim.slots[id];
    slot->replica = FAKE_RETURNED;
    slot->code = code;
    slot->signal = signal;
    tell(id, TRAIN_RETURNED, slot->kept[0]);
}

static void fake_connect(uint32_t id)
{
    struct fake_slot *slot = &sim.slots[id];
    slot->is_linked = true;
    slot->notice_at = -1;
    if (!train_job_slot(&sim.scene.job, id)) {
        slot->exists = false; /* the trainer answers that it is not needed */
        return;
    }
    tell(id, TRAIN_CONNECTED, slot->kept[0]);
    tell(id, TRAIN_CHECKPOINT, slot->whole);
    if (slot->is_prepared) {
        tell(id, TRAIN_PREPARED, 0);
    }
    if (slot->replica == FAKE_LOADING || slot->replica == FAKE_TRAINING) {
        tell(id, TRAIN_ADOPTED, slot->rank);
    } else if (slot->replica == FAKE_RETURNED) {
        tell(id, TRAIN_RETURNED, slot->kept[0]);
    }
}

static void fake_break(uint32_t id, int64_t noticed_after, int64_t away)
{
    struct fake_slot *slot = &sim.slots[id];
    if (slot->exists && slot->is_linked) {
        slot->is_linked = false;
        slot->notice_at = sim.scene.now + noticed_after;
        slot->dial_at = slot->notice_at + away;
    }
}

/* ---- actions ---- */

static void check_start(const struct train_action *action)
{
    const struct train_job *job = &sim.scene.job;
    const struct train_slot *slot = train_job_slot(job, action->slot);
    int64_t newest = 0;
    int64_t told = 0;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *other = &job->slots[i];
        if (other->state != TRAIN_SLOT_NONE && other->silent_at < 0) {
            newest = other->checkpoint > newest ? other->checkpoint : newest;
            told = sim.slots[other->id].told > told ? sim.slots[other->id].told : told;
        }
    }
    CHECK(slot != NULL && action->generation < GENERATIONS);
    CHECK(slot->silent_at < 0 && slot->deadline < 0);
    CHECK(slot->state == TRAIN_SLOT_RUNNING && slot->rank == action->rank);
    CHECK(sim.slots[action->slot].is_prepared);
    CHECK(action->world >= job->settings.min_replicas);
    CHECK(action->world <= job->settings.max_replicas);
    CHECK(action->world == job->world && action->generation == job->generation);
    CHECK(action->rank >= 0 && action->rank < action->world);
    newest = job->stored > newest ? job->stored : newest;
    CHECK(action->checkpoint == newest || job->settings.is_sharded);
    CHECK(action->checkpoint >= told || job->settings.is_sharded);
    int64_t maker = action->checkpoint / TRAIN_SAVES_PER_GENERATION;
    CHECK(!job->settings.is_sharded || action->checkpoint == 0 ||
          sim.parts[maker][action->checkpoint % TRAIN_SAVES_PER_GENERATION] == sim.worlds[maker]);
}

static void fake_start(const struct train_action *action)
{
    struct fake_slot *slot = &sim.slots[action->slot];
    check_start(action);
    sim.worlds[action->generation] = action->world;
    sim.progress[action->generation] = action->checkpoint > 0 ? work_of(action->checkpoint) : 0;
    if (slot->is_linked) {
        slot->replica = FAKE_LOADING;
        slot->generation = action->generation;
        slot->rank = action->rank;
        slot->from = action->checkpoint;
        slot->act_at = sim.scene.now + between(100, 3000);
        slot->saves = 0;
        slot->is_asked = slot->is_hung = false;
    }
}

static void fake_ask(struct fake_slot *slot, int64_t generation)
{
    if (slot->is_linked && slot->generation == generation && !slot->is_asked) {
        bool never = sim.has_faults && rng_chance(&sim.rng, 50);
        slot->is_asked = true;
        slot->act_at = never ? INT64_MAX : sim.scene.now + between(50, 4000);
    }
}

static void fake_kill(struct fake_slot *slot, int64_t generation)
{
    bool is_alive = slot->replica == FAKE_LOADING || slot->replica == FAKE_TRAINING;
    if (slot->is_linked && slot->generation == generation && is_alive) {
        slot->replica = FAKE_RETURNED;
        slot->code = 0;
        slot->signal = 9;
        slot->act_at = sim.scene.now + between(0, 300); /* reports it later */
    }
}

static void execute(const struct train_action *action)
{
    struct fake_slot *slot = &sim.slots[action->slot];
    if (sim.has_faults && rng_chance(&sim.rng, 20)) {
        fake_break(action->slot, between(0, 500), between(100, 3000)); /* the message is lost */
    }
    if (action->kind == TRAIN_SUBMIT) {
        CHECK(action->slot < SLOTS && !slot->exists);
        memset(slot, 0, sizeof(*slot));
        slot->exists = true;
        slot->notice_at = -1;
        slot->dial_at = sim.scene.now + between(100, 8000);
        slot->ready_at = slot->dial_at + between(100, 5000);
        if (sim.has_faults && rng_chance(&sim.rng, 50)) {
            slot->dial_at = INT64_MAX;
        }
    } else if (action->kind == TRAIN_START) {
        fake_start(action);
    } else if (action->kind == TRAIN_SAVE) {
        fake_ask(slot, action->generation);
    } else if (action->kind == TRAIN_KILL) {
        fake_kill(slot, action->generation);
    } else if (action->kind == TRAIN_REPLICATE && slot->is_linked) {
        slot->copying = action->checkpoint;
        slot->copied_at = sim.scene.now + between(10, 3000);
    } else if (action->kind == TRAIN_STORE) {
        CHECK(sim.storing == 0);
        sim.storing = action->checkpoint;
        sim.stored_at = sim.scene.now + between(10, 3000);
    } else if (action->kind == TRAIN_LEAVE) {
        slot->exists = slot->is_linked && slot->exists ? false : slot->exists;
    }
}

/* ---- guarantees ---- */

static void check_slots(void)
{
    const struct train_job *job = &sim.scene.job;
    static bool ranks[TRAIN_SLOTS_MAX];
    memset(ranks, 0, sizeof(ranks));
    bool is_live = job->phase == TRAIN_RUNNING || job->phase == TRAIN_SAVING;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &job->slots[i];
        if (slot->state == TRAIN_SLOT_NONE || slot->rank < 0) {
            CHECK(slot->state != TRAIN_SLOT_RUNNING && slot->state != TRAIN_SLOT_RETURNED);
            continue;
        }
        CHECK(is_live || job->phase == TRAIN_SETTLING || train_job_is_over(job));
        CHECK(slot->rank < job->world && !ranks[slot->rank]);
        ranks[slot->rank] = true;
    }
    CHECK(!is_live ||
          (job->world >= job->settings.min_replicas && job->world <= job->settings.max_replicas));
}

/* Once an agent is connected, no message is missing. */
static void check_messages(void)
{
    const struct train_job *job = &sim.scene.job;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &job->slots[i];
        const struct fake_slot *fake = &sim.slots[slot->id];
        bool is_live = job->phase == TRAIN_RUNNING || job->phase == TRAIN_SAVING;
        if (is_live && slot->state == TRAIN_SLOT_RUNNING && fake->exists && fake->is_linked) {
            CHECK(fake->generation == job->generation);
            CHECK(job->phase == TRAIN_RUNNING || fake->is_asked || fake->replica == FAKE_RETURNED);
        }
    }
}

static void check_actions(const struct train_job *before)
{
    const struct train_job *job = &sim.scene.job;
    const struct train_actions *actions = &sim.scene.actions;
    int64_t starts = 0;
    int64_t ranks = 0;
    CHECK(actions->count < TRAIN_ACTIONS_MAX);
    CHECK(job->generation == before->generation || job->generation == before->generation + 1);
    for (size_t i = 0; i < actions->count; i++) {
        const struct train_action *action = &actions->items[i];
        CHECK(action->kind == TRAIN_END || action->kind == TRAIN_STORE ||
              train_job_slot(before, action->slot) || train_job_slot(job, action->slot));
        if (action->kind == TRAIN_START) {
            starts++;
            ranks += action->rank;
            CHECK(action->generation > before->generation);
            CHECK(action->generation > sim.started);
        }
        CHECK(action->kind != TRAIN_END || train_job_is_over(job));
    }
    CHECK(starts == 0 || starts == job->world);
    CHECK(ranks == starts * (starts - 1) / 2);
    CHECK((starts > 0) == (job->generation > before->generation));
    sim.started = job->generation;
}

static void sim_send(struct train_event event)
{
    static struct train_job before;
    static struct train_actions actions;
    if (train_job_is_over(&sim.scene.job)) {
        return;
    }
    before = sim.scene.job;
    scene_step(&sim.scene, event);
    check_slots();
    check_actions(&before);
    actions.count = sim.scene.actions.count;
    memcpy(actions.items, sim.scene.actions.items, actions.count * sizeof(actions.items[0]));
    if (actions.count > 0) {
        sim.record = sim.scene.job;
    }
    for (size_t i = 0; i < actions.count; i++) {
        execute(&actions.items[i]);
    }
}

/* ---- replicas ---- */

/* A step needs all members. */
static bool all_train(int64_t generation)
{
    int64_t count = 0;
    for (uint32_t id = 1; id <= sim.scene.job.last_slot; id++) {
        const struct fake_slot *slot = &sim.slots[id];
        bool trains = slot->replica == FAKE_TRAINING && !slot->is_asked && !slot->is_hung;
        count += slot->exists && slot->generation == generation && trains;
    }
    return generation == sim.scene.job.generation && count == sim.scene.job.world;
}

static void fake_load(uint32_t id)
{
    struct fake_slot *slot = &sim.slots[id];
    bool is_whole = sim.scene.job.settings.is_sharded ? slot->whole == slot->from
                                                      : fake_has(slot, slot->from);
    if (!is_whole && !someone_has(slot->from)) {
        fake_return(id, 1, 0);
        return;
    }
    fake_keep(slot, slot->from);
    slot->whole = slot->from;
    slot->replica = FAKE_TRAINING;
    slot->act_at = sim.scene.now + between(200, 1500);
}

/* The script saves without a request. */
static void save_together(int64_t generation)
{
    for (uint32_t id = 1; id <= sim.scene.job.last_slot; id++) {
        struct fake_slot *slot = &sim.slots[id];
        if (slot->exists && slot->generation == generation && slot->replica == FAKE_TRAINING) {
            fake_save(slot);
            tell(id, TRAIN_CHECKPOINT, slot->kept[0]);
        }
    }
}

static void fake_train(uint32_t id)
{
    struct fake_slot *slot = &sim.slots[id];
    slot->act_at = sim.scene.now + between(300, 1500);
    if (slot->is_asked) {
        fake_save(slot);
        fake_return(id, rng_chance(&sim.rng, 500) ? 143 : 0, 0);
    } else if (sim.progress[slot->generation] >= WORK) {
        fake_return(id, 0, 0);
    } else if (slot->rank == 0 && all_train(slot->generation)) {
        sim.progress[slot->generation]++;
        tell(id, TRAIN_STEPPED, sim.progress[slot->generation]);
        if (rng_chance(&sim.rng, 30) && !sim.scene.job.settings.is_sharded) {
            save_together(slot->generation);
        }
    } else if (!all_train(slot->generation) && rng_chance(&sim.rng, 5) && sim.has_faults) {
        fake_return(id, 1, 0); /* the collective operation has failed */
    }
}

static void fake_act(uint32_t id)
{
    struct fake_slot *slot = &sim.slots[id];
    if (!slot->exists) {
        return;
    }
    if (slot->notice_at >= 0 && sim.scene.now >= slot->notice_at) {
        slot->notice_at = -1;
        sim_send((struct train_event){.kind = TRAIN_SILENT, .slot = id});
    }
    if (!slot->is_linked && sim.scene.now >= slot->dial_at) {
        fake_connect(id);
    } else if (slot->is_linked && !slot->is_prepared && sim.scene.now >= slot->ready_at) {
        slot->is_prepared = true;
        tell(id, TRAIN_PREPARED, 0);
    }
    if (slot->copying > 0 && sim.scene.now >= slot->copied_at) {
        bool is_copied = slot->exists && someone_has(slot->copying);
        int64_t number = slot->copying;
        slot->copying = 0;
        if (is_copied) {
            fake_keep(slot, number);
            slot->whole = number > slot->whole ? number : slot->whole;
        }
        tell(id, is_copied ? TRAIN_CHECKPOINT : TRAIN_NOT_COPIED, number);
    }
    if (slot->exists && sim.scene.now >= slot->act_at && slot->replica != FAKE_NONE) {
        if (slot->replica == FAKE_LOADING && slot->is_asked) {
            fake_return(id, 143, 0);
        } else if (slot->replica == FAKE_LOADING) {
            fake_load(id);
        } else if (slot->replica == FAKE_TRAINING && !slot->is_hung) {
            fake_train(id);
        } else if (slot->replica == FAKE_RETURNED) {
            slot->act_at = INT64_MAX;
            tell(id, TRAIN_RETURNED, slot->kept[0]); /* the report of a kill, or a repetition */
        }
    }
}

/* ---- faults ---- */

/* The trainer ends and starts again; what is not in its record is forgotten. */
static void restart_trainer(void)
{
    static struct train_job loaded;
    struct train_settings settings = sim.record.settings;
    if (sim.record.generation == 0 || train_job_is_over(&sim.scene.job)) {
        return;
    }
    train_job_init(&loaded, &settings);
    loaded.phase = sim.record.phase;
    loaded.generation = sim.record.generation;
    loaded.world = sim.record.world;
    loaded.checkpoint = sim.record.checkpoint;
    loaded.last_slot = sim.record.last_slot;
    loaded.stored = sim.record.stored;
    sim.storing = 0;
    loaded.is_stopping = sim.record.is_stopping;
    loaded.has_stepped = sim.record.has_stepped;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &sim.record.slots[i];
        if (slot->state != TRAIN_SLOT_NONE) {
            loaded.slots[i] = (struct train_slot){.id = slot->id,
                                                  .state = slot->state,
                                                  .rank = slot->rank,
                                                  .checkpoint = slot->checkpoint,
                                                  .part = slot->part,
                                                  .parts = slot->parts,
                                                  .deadline = -1};
        }
    }
    sim.scene.job = loaded;
    train_job_resume(&sim.scene.job, sim.scene.now);
    for (uint32_t id = 1; id <= loaded.last_slot; id++) {
        fake_break(id, 0, between(100, 9000));
        sim.slots[id].notice_at = -1; /* no trainer runs */
        sim.slots[id].told = 0;
    }
}

static void fault_slot(uint32_t id)
{
    struct fake_slot *slot = &sim.slots[id];
    bool is_alive = slot->replica == FAKE_LOADING || slot->replica == FAKE_TRAINING;
    switch (between(0, 6)) {
    case 0:
        slot->exists = false;
        sim_send((struct train_event){.kind = TRAIN_LOST, .slot = id});
        break;
    case 1:
        slot->exists = false; /* silently */
        slot->is_linked = false;
        sim_send((struct train_event){.kind = TRAIN_SILENT, .slot = id});
        break;
    case 2:
        fake_break(id, between(0, 500), between(100, 3000));
        break;
    case 3:
        sim_send((struct train_event){
            .kind = TRAIN_NOTICE, .slot = id, .value = sim.scene.now + between(1000, 60000)});
        break;
    case 4:
        slot->is_hung = slot->replica == FAKE_TRAINING && sim.record.has_stepped;
        break;
    default:
        if (is_alive) {
            fake_return(id, (int)between(0, 1) * 142 + 1, (int)between(0, 1) * 9);
        }
        break;
    }
}

static void sim_fault(void)
{
    struct train_job *job = &sim.scene.job;
    uint32_t id = (uint32_t)between(1, job->last_slot);
    if (rng_chance(&sim.rng, 100)) {
        restart_trainer();
    } else if (rng_chance(&sim.rng, 250)) {
        sim_send((struct train_event){.kind = TRAIN_TARGET,
                                      .value = between(0, job->settings.max_replicas + 2)});
    } else if (rng_chance(&sim.rng, 200)) {
        sim.room = between(0, 4);
    } else if (sim.may_stop && rng_chance(&sim.rng, 20)) {
        sim_send((struct train_event){.kind = TRAIN_STOP});
    } else if (job->last_slot > 0 && sim.slots[id].exists) {
        fault_slot(id);
    }
}

/* ---- a run ---- */

static void sim_open(uint64_t seed)
{
    memset(&sim, 0, sizeof(sim));
    seed_now = seed;
    sim.rng.state = seed;
    int64_t max = between(1, 5);
    struct train_settings settings = scene_settings(between(1, max), max);
    settings.checkpoint_timeout = between(5000, 20000);
    settings.rescale_timeout = between(0, 10000);
    settings.connect_timeout = 15000;
    settings.hang_min = 10000;
    settings.hang_start = 20000;
    settings.surplus_timeout = 5000;
    settings.checkpoint_every = rng_chance(&sim.rng, 500) ? between(5000, 30000) : 0;
    settings.failures_max = rng_chance(&sim.rng, 300) ? 3 : 1000000;
    settings.is_sharded = rng_chance(&sim.rng, 200);
    sim.may_stop = rng_chance(&sim.rng, 300);
    scene_open(&sim.scene, &settings);
    sim.record = sim.scene.job;
    sim.room = between(0, 6);
}

static void sim_pass(bool has_faults, int64_t fault_permille)
{
    sim.has_faults = has_faults;
    sim.scene.now += between(10, 500);
    for (uint32_t id = 1; id <= sim.scene.job.last_slot; id++) {
        fake_act(id);
    }
    if (sim.storing > 0 && sim.scene.now >= sim.stored_at) {
        int64_t number = someone_has(sim.storing) ? sim.storing : 0;
        sim.storing = 0;
        sim_send((struct train_event){.kind = TRAIN_STORED, .value = number});
    }
    if (rng_chance(&sim.rng, 200)) {
        sim_send((struct train_event){.kind = TRAIN_ROOM, .value = sim.room});
    }
    if (has_faults && rng_chance(&sim.rng, fault_permille)) {
        sim_fault();
    }
    sim_send((struct train_event){.kind = TRAIN_TICK});
    check_messages();
}

/* Faults that have happened but are not noticed yet do not count as later faults. */
static void end_faults(void)
{
    sim.room = 100;
    for (uint32_t id = 1; id <= sim.scene.job.last_slot; id++) {
        struct fake_slot *slot = &sim.slots[id];
        if (!slot->exists && train_job_slot(&sim.scene.job, id)) {
            sim_send((struct train_event){.kind = TRAIN_LOST, .slot = id});
        }
    }
    sim_send(
        (struct train_event){.kind = TRAIN_TARGET, .value = sim.scene.job.settings.max_replicas});
}

static void print_job(const struct train_job *job)
{
    print_error("phase %d, generation %lld of %lld, %lld steps\n", (int)job->phase,
                (long long)job->generation, (long long)job->world, (long long)job->steps);
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct train_slot *slot = &job->slots[i];
        const struct fake_slot *fake = &sim.slots[slot->id];
        if (slot->state != TRAIN_SLOT_NONE) {
            print_error("slot %u: state %d, rank %lld; linked %d, replica %d of %lld\n", slot->id,
                        (int)slot->state, (long long)slot->rank, fake->is_linked,
                        (int)fake->replica, (long long)fake->generation);
        }
    }
}

static void sim_run(uint64_t seed, bool has_faults)
{
    sim_open(seed);
    int64_t fault_permille = between(5, 100);
    while (has_faults && sim.scene.now < FAULTS_MS && !train_job_is_over(&sim.scene.job)) {
        sim_pass(true, fault_permille);
    }
    end_faults();
    while (sim.scene.now < LIMIT_MS && !train_job_is_over(&sim.scene.job)) {
        sim_pass(false, 0);
    }
    const struct train_job *job = &sim.scene.job;
    if (!train_job_is_over(job)) {
        print_job(job);
    }
    CHECK(train_job_is_over(job));
    CHECK(job->phase != TRAIN_STOPPED || job->is_stopping);
    CHECK(job->phase != TRAIN_FAILED || job->failures > job->settings.failures_max);
    CHECK(has_faults || job->phase == TRAIN_SUCCEEDED);
    CHECK(job->phase != TRAIN_SUCCEEDED || sim.progress[job->generation] >= WORK);
}

static void jobs_without_faults_succeed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS / 5; seed++) {
        sim_run(seed, false);
    }
}

static void jobs_with_faults_keep_the_guarantees_and_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        sim_run(seed * 7919, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_without_faults_succeed),
        cmocka_unit_test(jobs_with_faults_keep_the_guarantees_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
