/*
 * world_checks.c: the invariants, checked against the actual state of the world.
 *
 *   I1  every instance comes from a journaled launch, byte for byte, and is managed in the end
 *   I2  no node with work is terminated; an idle one only after its raylet accepted the drain
 *   I3  never more workers than allowed, per type and in total
 *   I4  only the holder of the lease acts; the head in use and the head of the journal are kept
 *   I10 no storms of calls
 *   I13 when the faults stop, the cluster reaches its goal
 *   I14 only instances of the cluster are touched
 */
#include "world.h"

#include "app/control/reuse.h"
#include "app/control/timing.h"
#include "provider/launch_token.h"

#include <stdarg.h>
#include <stdio.h>

void world_violate(struct world *world, const char *invariant, const char *fmt, ...)
{
    va_list args;
    if (world->invariant) {
        return;
    }
    world->invariant = invariant;
    world->violated_ms = world_now(world);
    va_start(args, fmt);
    vsnprintf(world->violation, sizeof(world->violation), fmt, args);
    va_end(args);
}

/* ---- calls ---- */

/* A start follows other calls of its launch; the provider checks the lease before it. */
static bool is_acting(enum sim_verb verb)
{
    return verb == VERB_LAUNCH || verb == VERB_TERMINATE || verb == VERB_STOP;
}

/* After a user deleted the lease object, its holder notices with the next renewal. */
static bool holds_lease(const struct world *world, uint64_t epoch)
{
    const struct sim_lease *lease = &world->cloud.lease;
    int64_t now = world_now(world);
    bool is_disturbed = lease->disturbed_ms > 0 && now < lease->disturbed_ms + LEASE_MS;
    bool is_held = lease->exists && lease->epoch == epoch && now < lease->until_ms &&
                   !lease->is_released;
    return is_held || (is_disturbed && epoch > 0);
}

/* Calls per minute: listings every 200 ms at most, requests for a lease every 400 ms. */
static const uint32_t calls_most[VERB_COUNT] = {
    [VERB_PREFLIGHT] = 150, [VERB_TAKE] = 180, [VERB_RENEW] = 130, [VERB_RELEASE] = 30,
    [VERB_PREPARE] = 150,   [VERB_LIST] = 320, [VERB_LAUNCH] = 60, [VERB_TERMINATE] = 60,
    [VERB_STOP] = 60,       [VERB_START] = 60, [VERB_TAG] = 60};

static void count_call(struct sim_process *process, enum sim_verb verb)
{
    struct world *world = process->world;
    int64_t minute = world_now(world) / MINUTE_MS;
    if (minute != process->calls_minute) {
        process->calls_minute = minute;
        memset(process->calls, 0, sizeof(process->calls));
    }
    if (++process->calls[verb] > calls_most[verb]) {
        world_violate(world, "I10", "%u calls of kind %d in a minute", process->calls[verb],
                      (int)verb);
    }
}

void checks_on_call(struct sim_process *process, enum sim_verb verb, uint64_t epoch,
                    int64_t confirmed_ms)
{
    struct world *world = process->world;
    count_call(process, verb);
    /* A launch that first tags and starts stopped instances is confirmed before these calls, and
     * the provider checks the lease before each of them. */
    bool is_last_of_reuse = verb == VERB_LAUNCH && world->keeps_stopped;
    if (is_acting(verb) && !is_last_of_reuse && !holds_lease(world, epoch)) {
        world_violate(world, "I4", "the %s acts with epoch %llu, but the lease is not its own",
                      sim_process_name(process), (unsigned long long)epoch);
    }
    if (verb == VERB_LAUNCH && !is_last_of_reuse && world_now(world) >= confirmed_ms + CONFIRM_MS) {
        world_violate(world, "I4", "the %s launches with a lease confirmed %lld ms ago",
                      sim_process_name(process), (long long)(world_now(world) - confirmed_ms));
    }
}

void checks_on_launch_call(struct sim_process *process, struct str call)
{
    struct str rest = call;
    struct journal_intent intent = {0};
    uint64_t launch = 0;
    bool is_there = false;
    struct arena arena;
    struct err err;
    arena_init(&arena);
    (void)str_cut(&rest, ' ');
    bool ok = launch_number_parse(str_cut(&rest, ' '), &launch) &&
              journal_find_intent(process->journal, launch, &arena, &is_there, &intent, &err);
    if (!ok || !is_there) {
        world_violate(process->world, "I1", "launch %u.%u is not in the journal",
                      LAUNCH_ARG(launch));
    } else if (!str_eq(reuse_read(intent.call, &arena).call, call)) {
        world_violate(process->world, "I1", "launch %u.%u differs from the journal",
                      LAUNCH_ARG(launch));
    }
    arena_clear(&arena);
}

/* Also a head that is not set up yet is kept, by the process that chose it. */
void checks_on_terminate_call(struct sim_process *process, const struct str *ids, size_t count)
{
    struct str named = STR("");
    struct arena arena;
    struct err err;
    arena_init(&arena);
    bool is_read = journal_get(process->journal, "head-id", &arena, &named, &err);
    for (size_t i = 0; i < count && is_read; i++) {
        if (str_eq(ids[i], named)) {
            world_violate(process->world, "I4", "the %s terminates the head of its journal, %.*s",
                          sim_process_name(process), STR_ARG(named));
        }
    }
    arena_clear(&arena);
}

/* ---- instances ---- */

static bool may_cost_work(uint8_t reason)
{
    return reason == REASON_NOTICE || reason == REASON_TYPE_LIMIT ||
           reason == REASON_CLUSTER_LIMIT || reason == REASON_DOWN;
}

void checks_on_end(struct world *world, struct sim_instance *instance, bool is_stop)
{
    if (instance->is_head) {
        bool is_in_use = instance == world->head && str_is(instance->status, "up-to-date");
        if (is_in_use || is_stop) {
            world_violate(world, "I4", "the head in use, %.*s, is terminated",
                          STR_ARG(instance->id));
        }
        return;
    }
    uint8_t reason = instance->end_reason;
    if (instance->is_in_ray && instance->running > 0 && !may_cost_work(reason)) {
        world_violate(world, "I2", "%.*s is terminated while it is busy", STR_ARG(instance->id));
    }
    if (reason == REASON_IDLE && sim_instance_is_live(world, instance) &&
        !instance->has_accepted_idle_drain) {
        world_violate(world, "I2",
                      "%.*s is terminated as idle, but its raylet did not accept the drain",
                      STR_ARG(instance->id));
    }
}

static void count_live(const struct world *world, int64_t by_type[TYPES_MAX], int64_t *ret_all)
{
    *ret_all = 0;
    for (size_t i = 0; i < world->core.settings.type_count; i++) {
        by_type[i] = 0;
    }
    for (size_t i = 0; i < world->cloud.count; i++) {
        const struct sim_instance *instance = &world->cloud.instances[i];
        if (!instance->is_head && sim_instance_is_live(world, instance)) {
            by_type[instance->type]++;
            ++*ret_all;
        }
    }
}

void checks_on_growth(struct world *world)
{
    const struct core_settings *settings = &world->core.settings;
    int64_t by_type[TYPES_MAX];
    int64_t all;
    count_live(world, by_type, &all);
    if (all > settings->max_workers) {
        world_violate(world, "I3", "%lld workers, limit %lld", (long long)all,
                      (long long)settings->max_workers);
    }
    for (size_t i = 0; i < settings->type_count; i++) {
        if (by_type[i] > settings->types[i].max_nodes &&
            settings->types[i].max_nodes != PLAN_NO_LIMIT) {
            world_violate(world, "I3", "%lld nodes of type %.*s, limit %lld", (long long)by_type[i],
                          STR_ARG(settings->types[i].name),
                          (long long)settings->types[i].max_nodes);
        }
    }
}

/* ---- the goal ---- */

static struct sim_process *acting_process(struct world *world)
{
    const struct sim_lease *lease = &world->cloud.lease;
    for (size_t i = 0; i < PROCESSES; i++) {
        struct sim_process *process = &world->processes[i];
        if (process->is_alive && process->has_started && !process->stops_next &&
            controller_lease(process->controller)->epoch == lease->epoch && lease->exists) {
            return process;
        }
    }
    return NULL;
}

struct requested {
    size_t count;
};

static void count_requested(void *context, const struct managed_node *managed_node)
{
    struct requested *requested = context;
    requested->count += managed_node->instance == INSTANCE_NONE;
}

static bool is_instance_settled(struct world *world, const struct sim_process *actor,
                                const struct sim_instance *instance, char ret_why[256])
{
    struct managed_node managed_node;
    uint64_t number = controller_instance_of(actor->controller, instance->id);
    bool is_live = sim_instance_is_live(world, instance);
    if (instance->is_head && is_live && instance != world->head) {
        snprintf(ret_why, 256, "%.*s is a second head", STR_ARG(instance->id));
        return false;
    }
    if (instance->is_head) {
        return true;
    }
    if (sim_instance_is_stopped(world, instance)) {
        snprintf(ret_why, 256, "%.*s is stopped", STR_ARG(instance->id));
        return world->keeps_stopped;
    }
    if (!is_live) {
        return true;
    }
    snprintf(ret_why, 256, "%.*s is billed, but not managed", STR_ARG(instance->id));
    if (number == INSTANCE_NONE || !controller_find(actor->controller, number, &managed_node) ||
        !managed_node.node) {
        return false;
    }
    snprintf(ret_why, 256, "%.*s is still %s", STR_ARG(instance->id),
             node_state_name((enum node_state)managed_node.node->state));
    return managed_node.node->state == NODE_READY || managed_node.node->state == NODE_IDLE;
}

static bool are_counts_reached(struct world *world, char ret_why[256])
{
    const struct core_settings *settings = &world->core.settings;
    int64_t by_type[TYPES_MAX];
    int64_t all;
    count_live(world, by_type, &all);
    for (size_t i = 0; i < settings->type_count; i++) {
        int64_t wanted = world->goal == GOAL_DOWN || i == settings->head_type
                             ? 0
                             : settings->types[i].min_nodes;
        if (by_type[i] != wanted) {
            snprintf(ret_why, 256, "%lld nodes of type %.*s, expected %lld", (long long)by_type[i],
                     STR_ARG(settings->types[i].name), (long long)wanted);
            return false;
        }
    }
    return true;
}

bool checks_are_reached(struct world *world, char ret_why[256])
{
    const struct sim_process *actor = acting_process(world);
    struct requested requested = {0};
    if (!actor || (world->goal == GOAL_RUN && actor->role != ROLE_HEAD)) {
        snprintf(ret_why, 256, "no service holds the lease");
        return false;
    }
    if (world->goal == GOAL_RUN && !sim_ray_is_idle(world)) {
        snprintf(ret_why, 256, "tasks are still pending or running");
        return false;
    }
    for (size_t i = 0; i < world->cloud.count; i++) {
        if (!is_instance_settled(world, actor, &world->cloud.instances[i], ret_why)) {
            return false;
        }
    }
    controller_each(actor->controller, count_requested, &requested);
    if (requested.count > 0) {
        snprintf(ret_why, 256, "%zu launches have no result", requested.count);
        return false;
    }
    if (world->goal == GOAL_DOWN && !controller_is_empty(actor->controller)) {
        snprintf(ret_why, 256, "the controller does not see that the cluster is empty");
        return false;
    }
    return are_counts_reached(world, ret_why);
}
