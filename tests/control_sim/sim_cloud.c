/* sim_cloud.c: instances with their history, and listings that lag behind it. */
#include "world.h"

#include "base/panic.h"
#include "provider/launch_token.h"

enum { VANISH_LEAST_MS = 5 * MINUTE_MS, VANISH_MOST_MS = 60 * MINUTE_MS, TAGS_MAX = 7 };

/* ---- history of an instance ---- */

static const struct sim_change *change_at(const struct sim_instance *instance, int64_t at_ms)
{
    const struct sim_change *found = &instance->changes[0];
    for (size_t i = 1; i < instance->change_count && instance->changes[i].at_ms <= at_ms; i++) {
        found = &instance->changes[i];
    }
    return found;
}

enum machine_state sim_instance_state(const struct sim_instance *instance, int64_t at_ms)
{
    return change_at(instance, at_ms)->state;
}

static void add_change(struct sim_instance *instance, int64_t at_ms, enum machine_state state,
                       uint64_t launch)
{
    if (instance->change_count == CHANGES_MAX) {
        memmove(instance->changes, instance->changes + 1,
                (CHANGES_MAX - 1) * sizeof(instance->changes[0]));
        instance->change_count--;
    }
    instance->changes[instance->change_count++] = (struct sim_change){at_ms, state, launch};
}

/* Cancels what was planned, and begins something else. */
static void begin(struct world *world, struct sim_instance *instance, enum machine_state now_state,
                  enum machine_state later_state, int64_t later_ms)
{
    int64_t now = world_now(world);
    uint64_t launch = change_at(instance, now)->launch;
    while (instance->change_count > 0 &&
           instance->changes[instance->change_count - 1].at_ms > now) {
        instance->change_count--;
    }
    add_change(instance, now, now_state, launch);
    add_change(instance, now + later_ms, later_state, launch);
}

bool sim_instance_is_live(const struct world *world, const struct sim_instance *instance)
{
    enum machine_state state = sim_instance_state(instance, world_now(world));
    return state == MACHINE_PENDING || state == MACHINE_RUNNING;
}

bool sim_instance_is_stopped(const struct world *world, const struct sim_instance *instance)
{
    enum machine_state state = sim_instance_state(instance, world_now(world));
    return state == MACHINE_STOPPED || state == MACHINE_STOPPING;
}

void sim_instance_end(struct world *world, struct sim_instance *instance)
{
    enum machine_state state = sim_instance_state(instance, world_now(world));
    if (state != MACHINE_ENDING && state != MACHINE_GONE) {
        begin(world, instance, MACHINE_ENDING, MACHINE_GONE,
              rng_between(&world->cloud.rng, SECOND_MS, 60 * SECOND_MS));
        sim_ray_lose(world, instance);
    }
}

void sim_instance_stop(struct world *world, struct sim_instance *instance)
{
    if (sim_instance_is_live(world, instance)) {
        begin(world, instance, MACHINE_STOPPING, MACHINE_STOPPED,
              rng_between(&world->cloud.rng, SECOND_MS, 40 * SECOND_MS));
        sim_ray_lose(world, instance);
    }
}

static void plan_boot(struct world *world, struct sim_instance *instance)
{
    struct rng *rng = &world->cloud.rng;
    int64_t now = world_now(world);
    int64_t pending = rng_between(rng, 2 * SECOND_MS, 20 * SECOND_MS);
    begin(world, instance, MACHINE_PENDING, MACHINE_RUNNING, pending);
    instance->ssh_ms = now + pending + rng_between(rng, SECOND_MS, 30 * SECOND_MS);
    instance->setup_ms = rng_between(rng, 5 * SECOND_MS, 60 * SECOND_MS);
    instance->setup_begun_ms = 0;
    instance->ray_dead_ms = 0;
}

void sim_instance_start(struct world *world, struct sim_instance *instance)
{
    if (sim_instance_state(instance, world_now(world)) == MACHINE_STOPPED) {
        plan_boot(world, instance);
    }
}

/* The tag shows with the lag of the state. */
void sim_instance_tag_launch(struct world *world, struct sim_instance *instance, uint64_t launch)
{
    int64_t now = world_now(world);
    struct sim_change change = *change_at(instance, now);
    for (size_t i = 0; i < instance->change_count; i++) {
        if (instance->changes[i].at_ms > now) {
            instance->changes[i].launch = launch;
        }
    }
    if (change.launch != launch && instance->changes[instance->change_count - 1].at_ms <= now) {
        add_change(instance, now, change.state, launch);
    }
}

/* ---- instances ---- */

struct sim_instance *sim_cloud_add(struct world *world, size_t type, bool is_head)
{
    struct sim_cloud *cloud = &world->cloud;
    if (cloud->count == INSTANCES_MAX) {
        world_violate(world, "I10", "%d instances were launched", INSTANCES_MAX);
        cloud->count--; /* the run ends here */
    }
    struct sim_instance *instance = &cloud->instances[cloud->count];
    int64_t now = world_now(world);
    bool lags = control_fault_strikes(&world->faults, FAULT_listing_lag, &cloud->rng);
    *instance = (struct sim_instance){
        .number = cloud->count,
        .id = arena_printf(&world->memory, "i-%zu", cloud->count + 1),
        .ip = arena_printf(&world->memory, "10.0.0.%zu", cloud->count + 1),
        .type = type,
        .token = STR(""),
        .zone = STR("us-west-2a"),
        .uid = cloud->lease.uid,
        .status = STR("uninitialized"),
        .launch_config = STR(""),
        .node_config = STR(""),
        .is_head = is_head,
        .created_ms = now,
        .shows_ms = now + (lags ? rng_between(&cloud->rng, 0, world->faults.listing_lag_ms) : 0)};
    add_change(instance, now, MACHINE_PENDING, 0);
    plan_boot(world, instance);
    cloud->count++;
    return instance;
}

struct sim_instance *sim_cloud_find(struct world *world, struct str id)
{
    for (size_t i = 0; i < world->cloud.count; i++) {
        if (str_eq(world->cloud.instances[i].id, id)) {
            return &world->cloud.instances[i];
        }
    }
    return NULL;
}

/* ---- listings ---- */

struct machine sim_cloud_machine(struct world *world, const struct sim_instance *instance,
                                 int64_t as_of_ms, struct arena *arena)
{
    const struct sim_change *change = change_at(instance, as_of_ms);
    const struct config_node_type *type = &world->config->node_types[instance->type];
    struct machine_tag *tags = ARENA_ARRAY(arena, TAGS_MAX, struct machine_tag);
    size_t count = 0;
    tags[count++] = (struct machine_tag){STR("ray-node-type"),
                                         instance->is_head ? STR("head") : STR("worker")};
    tags[count++] = (struct machine_tag){STR("ray-user-node-type"), type->name};
    tags[count++] = (struct machine_tag){STR("ray-node-status"), instance->status};
    tags[count++] = (struct machine_tag){STR("ray-launch-config"), instance->launch_config};
    tags[count++] = (struct machine_tag){STR(TAG_NODE_CONFIG), instance->node_config};
    tags[count++] = (struct machine_tag){STR(TAG_LAUNCH),
                                         launch_number_text(change->launch, arena)};
    tags[count++] = (struct machine_tag){STR(TAG_CLUSTER_UID), instance->uid};
    bool has_address = change->state == MACHINE_RUNNING;
    return (struct machine){.id = instance->id,
                            .type = world->core.facts[instance->type].machine,
                            .zone = instance->zone,
                            .private_ip = has_address ? instance->ip : STR(""),
                            .public_ip = STR(""),
                            .why = STR(""),
                            .token = instance->token,
                            .launched_at = instance->created_ms / SECOND_MS,
                            .state = change->state,
                            .market = instance->market,
                            .tags = tags,
                            .tag_count = count};
}

static bool has_vanished(const struct world *world, const struct sim_instance *instance)
{
    int64_t linger = VANISH_LEAST_MS + (int64_t)(instance->number * 7919 % 100) *
                                           (VANISH_MOST_MS - VANISH_LEAST_MS) / 100;
    return sim_instance_state(instance, world_now(world) - linger) == MACHINE_GONE;
}

/* A terminated instance may be shown as running again by a listing that lags more. */
size_t sim_cloud_list(struct world *world, struct arena *arena, struct machine **ret_machines)
{
    struct sim_cloud *cloud = &world->cloud;
    int64_t now = world_now(world);
    bool lags = control_fault_strikes(&world->faults, FAULT_listing_lag, &cloud->rng);
    size_t count = 0;
    *ret_machines = ARENA_ARRAY(arena, cloud->count, struct machine);
    for (size_t i = 0; i < cloud->count; i++) {
        const struct sim_instance *instance = &cloud->instances[i];
        int64_t lag = lags ? rng_between(&cloud->rng, 0, world->faults.listing_lag_ms) : 0;
        if (now >= instance->shows_ms && !has_vanished(world, instance)) {
            (*ret_machines)[count++] = sim_cloud_machine(world, instance, now - lag, arena);
        }
    }
    return count;
}
