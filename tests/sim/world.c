/* world.c: draws a world; small numbers, because small worlds have all the bugs of large ones. */
#include "world.h"

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
    TYPES_MOST = 4, /* the head's included */
    ZONES_MOST = 3,
    CLASSES_MOST = 4,
    UNIT = 10000, /* of a resource */
};

struct maker {
    struct world *world;
    struct arena *arena;
    struct rng rng;
    struct plan_type *types;
    size_t type_count;
    uint32_t cpu;
    uint32_t gpu;
};

static void make_type(struct maker *maker, size_t number)
{
    struct plan_type *type = &maker->types[number];
    struct capacity *capacities = ARENA_ARRAY(maker->arena, 2, struct capacity);
    bool is_head = number == 0;
    int64_t cpus = is_head ? rng_below(&maker->rng, 3) : 2 << rng_below(&maker->rng, 3);
    bool has_gpu = !is_head && rng_chance(&maker->rng, 250);
    capacities[0] = (struct capacity){maker->cpu, cpus * UNIT, 0};
    capacities[1] = (struct capacity){maker->gpu, (1 + rng_below(&maker->rng, 2)) * UNIT, 0};
    *type = (struct plan_type){
        .name = is_head ? STR("head") : arena_printf(maker->arena, "worker%lld", (long long)number),
        .min_nodes = is_head ? 0 : rng_below(&maker->rng, 3),
        .capacities = capacities,
        .capacity_count = has_gpu ? 2 : 1,
        .idle_timeout_ms = rng_chance(&maker->rng, 200) ? rng_between(&maker->rng, 10, 300) * SECOND
                                                        : PLAN_NO_LIMIT,
        .launch_hash = NAME_NONE,
        .recoverable = 1.0,
        .availability = 1.0,
        .price = PRICE_UNKNOWN};
    type->max_nodes = is_head ? 0 : type->min_nodes + rng_between(&maker->rng, 1, 6);
}

static void make_offerings(struct maker *maker)
{
    size_t zones = (size_t)rng_between(&maker->rng, 1, ZONES_MOST);
    struct offering *offerings = ARENA_ARRAY(maker->arena, TYPES_MOST * ZONES_MOST * 2,
                                             struct offering);
    size_t count = 0;
    for (uint32_t i = 0; i < maker->type_count; i++) {
        int64_t price = rng_between(&maker->rng, 10, 900) * 1000;
        bool is_spot = i > 0 && rng_chance(&maker->rng, 500);
        for (uint32_t j = 0; j < zones; j++) {
            struct str zone = arena_printf(maker->arena, "zone-%c", 'a' + (char)j);
            offerings[count++] = (struct offering){i, intern_add(&maker->world->names, zone),
                                                   is_spot ? MARKET_SPOT : MARKET_ON_DEMAND, price};
        }
    }
    maker->world->settings.offerings = offerings;
    maker->world->settings.offering_count = count;
}

/* How many nodes of a type there can be when all others stand at their minimum. */
static int64_t most_of(const struct maker *maker, size_t type)
{
    int64_t room = maker->world->settings.max_workers;
    for (size_t i = 0; i < maker->type_count; i++) {
        room -= i == type ? 0 : maker->types[i].min_nodes;
    }
    return room < maker->types[type].max_nodes ? room : maker->types[type].max_nodes;
}

static void make_class(struct maker *maker, struct work_class *class, size_t number)
{
    size_t number_of_type = (size_t)rng_between(&maker->rng, 1, (int64_t)maker->type_count - 1);
    const struct plan_type *type = &maker->types[number_of_type];
    int64_t most = most_of(maker, number_of_type);
    struct amount *amounts = ARENA_ARRAY(maker->arena, 2, struct amount);
    int64_t per_node = rng_between(&maker->rng, 1, 4);
    amounts[0] = (struct amount){maker->cpu, type->capacities[0].total / per_node};
    amounts[1] = (struct amount){maker->gpu, UNIT};
    bool takes_gpu = type->capacity_count > 1 && rng_chance(&maker->rng, 600);
    per_node = takes_gpu && type->capacities[1].total / UNIT < per_node
                   ? type->capacities[1].total / UNIT
                   : per_node;
    *class = (struct work_class){.name = arena_printf(maker->arena, "work%lld", (long long)number),
                                 .request = {.amounts = amounts, .amount_count = takes_gpu ? 2 : 1},
                                 .arrival = (enum arrival_rule)rng_below(&maker->rng, 3),
                                 .first_at = rng_below(&maker->rng, 20 * MINUTE),
                                 .last_at = 24 * HOUR,
                                 .count_least = 1,
                                 .count_most = rng_between(&maker->rng, 1, 2 * most * per_node),
                                 .duration_least = rng_between(&maker->rng, 5, 60) * SECOND};
    class->duration_most = class->duration_least + rng_below(&maker->rng, 8 * MINUTE);
    if (rng_chance(&maker->rng, 300)) {
        class->gang = (enum gang_rule)rng_between(&maker->rng, GANG_PACK, GANG_STRICT_SPREAD);
        /* Greedy packing may give every bundle a node of its own. */
        int64_t room = class->gang == GANG_STRICT_PACK ? per_node : most;
        class->bundles = rng_between(&maker->rng, 1, room);
        class->count_most = 1 + class->count_most / (4 * class->bundles);
    }
    /* On average less than a third of what the type alone could carry. */
    int64_t bundles = class->gang == GANG_NONE ? 1 : class->bundles;
    int64_t work = class->count_most * bundles * class->duration_most;
    class->every = 3 * work / (most * per_node) + rng_below(&maker->rng, 10 * MINUTE) + 20 * SECOND;
}

static void make_work(struct maker *maker)
{
    size_t count = (size_t)rng_between(&maker->rng, 1, CLASSES_MOST);
    struct work_class *classes = ARENA_ARRAY(maker->arena, count, struct work_class);
    for (size_t i = 0; i < count; i++) {
        make_class(maker, &classes[i], i);
    }
    maker->world->workload.classes = classes;
    maker->world->workload.class_count = count;
    workload_label_gangs(&maker->world->workload, &maker->world->names, maker->arena);
}

static void make_settings(struct maker *maker)
{
    struct core_settings *settings = &maker->world->settings;
    int64_t least = 0;
    int64_t most = 0;
    for (size_t i = 0; i < maker->type_count; i++) {
        least += maker->types[i].min_nodes;
        most += maker->types[i].max_nodes;
    }
    settings->names = &maker->world->names;
    settings->types = maker->types;
    settings->type_count = maker->type_count;
    settings->max_workers = rng_between(&maker->rng, least + 1, most);
    settings->max_price = PLAN_NO_LIMIT;
    settings->idle_timeout = rng_between(&maker->rng, 10, 300) * SECOND;
    settings->upscaling_permille = rng_chance(&maker->rng, 100) ? 1000 : PLAN_NO_LIMIT;
    settings->strategy = rng_chance(&maker->rng, 300) ? PLAN_PRICE : PLAN_RAY;
    settings->work_budget = 20000;
    settings->conserves_gpus = true;
    settings->head_type = 0;
    settings->max_per_call = rng_between(&maker->rng, 1, 20);
    settings->node_capacity = 256;
    settings->seed = rng_next(&maker->rng);
    settings->max_unavailable = settings->seed % 3 == 0 ? PLAN_NO_LIMIT
                                                        : (int64_t)(settings->seed % 3);
    core_times_default(&settings->times);
}

void world_make(struct world *world, uint64_t seed, const bool *without, struct arena *arena)
{
    struct maker maker = {.world = world, .arena = arena, .rng = {seed}};
    *world = (struct world){0};
    intern_init(&world->names, arena);
    maker.cpu = intern_add(&world->names, STR("CPU"));
    maker.gpu = intern_add(&world->names, STR("GPU"));
    maker.type_count = (size_t)rng_between(&maker.rng, 2, TYPES_MOST);
    maker.types = ARENA_ARRAY(arena, maker.type_count, struct plan_type);
    for (size_t i = 0; i < maker.type_count; i++) {
        make_type(&maker, i);
    }
    make_offerings(&maker);
    make_settings(&maker);
    make_work(&maker);
    world->setup = (struct simulation_setup){.seed = rng_next(&maker.rng),
                                             .settings = &world->settings,
                                             .workload = &world->workload,
                                             .duration = rng_between(&maker.rng, 10, 120) * MINUTE,
                                             .healing = 100 * MINUTE,
                                             .tick = rng_between(&maker.rng, 1, 6) * SECOND,
                                             .is_lease_local = rng_chance(&maker.rng, 500),
                                             .checks = true};
    if (rng_chance(&maker.rng, 250)) {
        /* Half of them while the first machines come up. */
        int64_t latest = rng_chance(&maker.rng, 500) ? 2 * MINUTE : world->setup.duration;
        world->setup.down_at = rng_between(&maker.rng, 1, latest);
    }
    faults_swarm(&world->setup.faults, &maker.rng);
    if (world->setup.faults.is_on[FAULT_twin] && rng_chance(&maker.rng, 750)) {
        /* A second controller has something to do only when the first one fails. */
        world->setup.faults.is_on[FAULT_controller_kill] = true;
        world->setup.faults.chance[FAULT_controller_kill] = 60;
    }
    for (size_t i = 0; without && i < FAULT_COUNT; i++) {
        world->setup.faults.is_on[i] &= !without[i];
    }
}
