/*
 * pace.c: how fast the simulator is on a large cluster that never rests.
 *
 *   pace [--nodes 1000] [--hours 2] [--dump FILE --every N]
 *
 * A cluster at its limit, four types, ten shapes, nearly as much work as room; every node changes
 * its state many times an hour and there is a decision every 5 s. Prints node-hours per second.
 */
#include "sim/yard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
    UNIT = 10000,
    TYPES = 5,
    SHAPES = 10
};

struct pace {
    struct arena arena;
    struct names names;
    struct plan_type types[TYPES];
    struct capacity capacities[TYPES][2];
    struct offering offerings[TYPES];
    struct work_class classes[SHAPES];
    struct amount amounts[SHAPES][2];
    struct core_settings settings;
    struct workload workload;
    struct yard_setup setup;
};

static void make_types(struct pace *pace, int64_t nodes)
{
    static const int64_t cpus[TYPES] = {0, 4, 8, 16, 8};
    uint32_t cpu = names_add(&pace->names, STR("CPU"));
    uint32_t gpu = names_add(&pace->names, STR("GPU"));
    uint32_t zone = names_add(&pace->names, STR("a"));
    for (uint32_t i = 0; i < TYPES; i++) {
        pace->capacities[i][0] = (struct capacity){cpu, cpus[i] * UNIT, 0};
        pace->capacities[i][1] = (struct capacity){gpu, UNIT, 0};
        pace->types[i] = (struct plan_type){
            .name = i == 0 ? STR("head") : arena_printf(&pace->arena, "worker%u", i),
            .min_nodes = i == 0 ? 0 : nodes / (TYPES - 1),
            .max_nodes = i == 0 ? 0 : nodes / (TYPES - 1),
            .capacities = pace->capacities[i],
            .capacity_count = i == TYPES - 1 ? 2 : 1,
            .idle_timeout_ms = PLAN_NO_LIMIT,
            .launch_hash = NAME_NONE,
            .recoverable = 1.0,
            .availability = 1.0};
        pace->offerings[i] = (struct offering){i, zone, MARKET_ON_DEMAND, 100000 * (int64_t)i};
    }
}

/* Together a little less than the cluster can carry: every node comes and goes between full and
 * not full, and something is always waiting for the right place. */
static void make_work(struct pace *pace, int64_t nodes)
{
    for (int64_t i = 0; i < SHAPES; i++) {
        bool takes_gpu = i >= SHAPES - 2;
        pace->amounts[i][0] = (struct amount){pace->capacities[0][0].name, (1 + i % 5) * UNIT};
        pace->amounts[i][1] = (struct amount){pace->capacities[0][1].name, UNIT};
        pace->classes[i] = (struct work_class){
            .name = arena_printf(&pace->arena, "shape%lld", (long long)i),
            .request = {.amounts = pace->amounts[i], .amount_count = takes_gpu ? 2 : 1},
            .arrival = ARRIVAL_RANDOM,
            .last_at = 1000 * (int64_t)HOUR,
            .every = 10 * SECOND,
            .count_least = 1,
            .count_most = 17 * nodes / 1000 / (1 + i % 5),
            .duration_least = 6 * MINUTE,
            .duration_most = 30 * MINUTE};
    }
    pace->workload = (struct workload){.classes = pace->classes, .class_count = SHAPES};
    workload_label_gangs(&pace->workload, &pace->names, &pace->arena);
}

static void make(struct pace *pace, int64_t nodes, int64_t hours)
{
    arena_init(&pace->arena);
    names_init(&pace->names, &pace->arena);
    make_types(pace, nodes);
    make_work(pace, nodes);
    pace->settings = (struct core_settings){.names = &pace->names,
                                            .types = pace->types,
                                            .type_count = TYPES,
                                            .offerings = pace->offerings,
                                            .offering_count = TYPES,
                                            .max_workers = nodes,
                                            .max_price = PLAN_NO_LIMIT,
                                            .idle_timeout = 5 * MINUTE,
                                            .upscaling_permille = PLAN_NO_LIMIT,
                                            .conserves_gpus = true,
                                            .max_per_call = 1000,
                                            .node_capacity = (size_t)(2 * nodes + 16),
                                            .seed = 1};
    core_times_default(&pace->settings.times);
    pace->setup = (struct yard_setup){.seed = 1,
                                      .settings = &pace->settings,
                                      .workload = &pace->workload,
                                      .duration = hours * HOUR,
                                      .tick = 5 * SECOND};
    faults_from_profile(&pace->setup.faults, FAULTS_NONE);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static struct pace pace;
    int64_t nodes = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000;
    int64_t hours = argc > 2 ? strtoll(argv[2], NULL, 10) : 2;
    make(&pace, nodes, hours);
    struct yard *yard = yard_new(&pace.setup, &pace.arena);
    double begun = seconds();
    yard_run(yard);
    double spent = seconds() - begun;
    const struct measure *measure = yard_measure(yard);
    double node_hours = (double)measure->ready_ms / HOUR;
    double changes = (double)yard_event_count(yard, EVENT_RAY_NODE) / node_hours;
    double loads = (double)yard_event_count(yard, EVENT_RAY_LOAD);
    double ticks = (double)yard_event_count(yard, EVENT_TICK);
    printf("%.0f node-hours in %.3f s: %.0f node-hours per second\n"
           "%.1f changes per node and hour; demand changed before %.0f %% of the decisions\n",
           node_hours, spent, node_hours / spent, changes, 100 * loads / ticks);
    arena_clear(&pace.arena);
    return 0;
}
