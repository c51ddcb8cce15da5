/*
 * pace.c: how fast the simulator is on a large cluster that never rests.
 *
 *   pace [NODES [HOURS]]            virtual time at full speed
 *   pace --changes [NODES [HOURS]]  the least number of changes of any node in any hour
 *   pace --dump N [NODES [HOURS]]   N of the decisions as planning cases, one line of JSON each
 *   pace --memory NODES             what a core of that size takes, and one decision of it
 *
 * A cluster at its limit, four types, ten shapes; every node changes its state many times an hour,
 * demand never rests, and there is a decision every 5 s. Prints node-hours per second. The changes
 * and the cases are of the same trace (its number says so), but not of the run that is timed.
 */
#include "pace_watch.h"
#include "sim/simulation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    HOUR = 60 * MINUTE,
    CYCLE = 10 * MINUTE, /* the large tasks come again */
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
    struct simulation_setup setup;
    struct watch watch;
};

static void make_types(struct pace *pace, int64_t nodes)
{
    static const int64_t cpus[TYPES] = {0, 4, 8, 16, 8};
    uint32_t cpu = intern_add(&pace->names, STR("CPU"));
    uint32_t gpu = intern_add(&pace->names, STR("GPU"));
    uint32_t zone = intern_add(&pace->names, STR("a"));
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

/*
 * Every ten minutes each type gets as many tasks as it has nodes, each of the size of a node. The
 * choosiest come first, otherwise they would find their nodes taken and others would stay idle:
 * so every node gets its share, and changes more often than six times an hour. In between, small
 * tasks come and go all the time; one kind of them always has to wait.
 */
static void make_work(struct pace *pace, int64_t nodes)
{
    for (int64_t i = 0; i < SHAPES; i++) {
        bool is_large = i < TYPES - 1;
        bool waits = i == SHAPES - 1; /* for a GPU, of which there are too few */
        const struct capacity *of_type = pace->capacities[is_large ? TYPES - 1 - i : 1];
        pace->amounts[i][0] = (struct amount){of_type[0].name, of_type[0].total};
        pace->amounts[i][1] = (struct amount){of_type[1].name, of_type[1].total};
        if (!is_large) {
            pace->amounts[i][0].amount = (i - TYPES + 2) * UNIT / 2;
        }
        pace->classes[i] = (struct work_class){
            .name = arena_printf(&pace->arena, "shape%lld", (long long)i),
            .request = {.amounts = pace->amounts[i], .amount_count = waits || i == 0 ? 2 : 1},
            .arrival = is_large ? ARRIVAL_STEADY : ARRIVAL_RANDOM,
            .last_at = 1000 * (int64_t)HOUR,
            .every = is_large ? CYCLE : 10 * SECOND,
            .count_least = is_large ? nodes / (TYPES - 1) : 1,
            .count_most = is_large ? nodes / (TYPES - 1)
                          : waits  ? nodes / 42
                                   : 2,
            .duration_least = is_large ? 3 * MINUTE : 1 * MINUTE,
            .duration_most = is_large ? 8 * MINUTE : 3 * MINUTE};
    }
    pace->workload = (struct workload){.classes = pace->classes, .class_count = SHAPES};
    workload_label_gangs(&pace->workload, &pace->names, &pace->arena);
}

static void make(struct pace *pace, int64_t nodes, int64_t hours)
{
    arena_init(&pace->arena);
    intern_init(&pace->names, &pace->arena);
    make_types(pace, nodes);
    make_work(pace, nodes);
    pace->settings = (struct core_settings){.names = &pace->names,
                                            .types = pace->types,
                                            .type_count = TYPES,
                                            .offerings = pace->offerings,
                                            .offering_count = TYPES,
                                            .max_workers = nodes,
                                            .max_price = PLAN_NO_LIMIT,
                                            .idle_timeout = 60 * MINUTE,
                                            .upscaling_permille = PLAN_NO_LIMIT,
                                            .conserves_gpus = true,
                                            .max_per_call = 1000,
                                            .max_unavailable = PLAN_NO_LIMIT,
                                            .node_capacity = (size_t)(2 * nodes + 16),
                                            .seed = 1};
    core_times_default(&pace->settings.times);
    pace->setup = (struct simulation_setup){.seed = 1,
                                            .settings = &pace->settings,
                                            .workload = &pace->workload,
                                            .duration = hours * HOUR,
                                            .tick = 5 * SECOND};
    faults_from_profile(&pace->setup.faults, FAULTS_NONE);
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run_pace(struct pace *pace, int64_t nodes, int64_t hours)
{
    make(pace, nodes, hours);
    struct simulation *simulation = simulation_new(&pace->setup, &pace->arena);
    double begun = seconds(CLOCK_MONOTONIC);
    double worked = seconds(CLOCK_PROCESS_CPUTIME_ID);
    simulation_run(simulation);
    double spent = seconds(CLOCK_MONOTONIC) - begun;
    worked = seconds(CLOCK_PROCESS_CPUTIME_ID) - worked;
    double node_hours = (double)simulation_measure(simulation)->ready_ms / HOUR;
    double changes = (double)simulation_event_count(simulation, EVENT_RAY_NODE) / node_hours;
    double loads = (double)simulation_event_count(simulation, EVENT_RAY_LOAD);
    double ticks = (double)simulation_event_count(simulation, EVENT_TICK);
    printf("%.0f node-hours in %.4f s, %.4f s of them on a processor: %.0f node-hours per second\n"
           "%.1f changes per node and hour; demand changed before %.0f %% of the decisions; "
           "trace %016" PRIx64 "\n",
           node_hours, spent, worked, node_hours / spent, changes, 100 * loads / ticks,
           simulation_trace_hash(simulation));
    arena_clear(&pace->arena);
}

/* The same run with an observer; records `dump_count` decisions. */
static uint64_t run_watched(struct pace *pace, int64_t nodes, int64_t hours, int64_t dump_count)
{
    make(pace, nodes, hours);
    watch_init(&pace->watch, &pace->settings, (size_t)nodes, dump_count, CYCLE,
               hours * HOUR / CYCLE, &pace->arena);
    pace->setup.on_event = watch_event;
    pace->setup.context = &pace->watch;
    struct simulation *simulation = simulation_new(&pace->setup, &pace->arena);
    simulation_run(simulation);
    watch_finish(&pace->watch, pace->setup.duration);
    uint64_t trace = simulation_trace_hash(simulation);
    arena_clear(&pace->arena);
    return trace;
}

static void run_changes(struct pace *pace, int64_t nodes, int64_t hours)
{
    uint64_t trace = run_watched(pace, nodes, hours, 0);
    printf("at least %u changes of any node in any hour; trace %016" PRIx64 "\n",
           pace->watch.least_changes, trace);
}

/* Steps a core with so many nodes, of which `full_permille` have no room, in fixed memory. */
static void run_memory(struct pace *pace, int64_t nodes, int64_t full_permille)
{
    enum { STATE_BYTES = 64 << 20, SCRATCH_BYTES = 128 << 20 };
    struct arena state;
    struct arena scratch;
    struct core_answer answer;
    void *memory = malloc(STATE_BYTES + SCRATCH_BYTES);
    make(pace, nodes, 1);
    pace->settings.node_capacity = (size_t)nodes + 1024;
    struct listed *listed = ARENA_ARRAY(&pace->arena, (size_t)nodes, struct listed);
    struct capacity *rooms = ARENA_ARRAY(&pace->arena, (size_t)nodes, struct capacity);
    struct demand *demands = ARENA_ARRAY(&pace->arena, SHAPES, struct demand);
    for (int64_t i = 0; i < nodes; i++) {
        uint32_t type = 1 + (uint32_t)(i % (TYPES - 1));
        listed[i] = (struct listed){(uint64_t)i + 10, 1, type, CLOUD_RUNNING};
        rooms[i] = pace->capacities[type][0];
        rooms[i].free = i % 1000 < full_permille ? 0 : rooms[i].total / 2;
    }
    for (size_t i = 0; i < SHAPES; i++) {
        demands[i] = (struct demand){pace->classes[i].request, 100000};
    }
    arena_init_fixed(&state, memory, STATE_BYTES);
    struct core *core = core_new(&pace->settings, &state);
    struct event events[] = {
        {.kind = EVENT_START},
        {.kind = EVENT_LEASE, .lease = {1, 1000 * (int64_t)HOUR}},
        {.kind = EVENT_RECORDS_END, .records = {.sole_writer_epoch = 1}},
        {.kind = EVENT_LISTING, .listing = {0, true, listed, (size_t)nodes}},
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        core_step(core, &events[i], &state, &answer);
    }
    for (int64_t i = 0; i < nodes; i++) {
        struct event event = {.kind = EVENT_RAY_NODE,
                              .ray_node = {.instance = listed[i].instance,
                                           .status = RAY_ALIVE,
                                           .idle_since = NOT_IDLE,
                                           .capacities = &rooms[i],
                                           .capacity_count = 1}};
        core_step(core, &event, &state, &answer);
    }
    struct event load = {.kind = EVENT_RAY_LOAD, .ray_load = {demands, SHAPES, NULL, 0, NULL, 0}};
    struct event seen = {.kind = EVENT_RAY_SEEN};
    struct event tick = {.kind = EVENT_TICK, .at = SECOND};
    core_step(core, &load, &state, &answer);
    core_step(core, &seen, &state, &answer);
    arena_init_fixed(&scratch, (char *)memory + STATE_BYTES, SCRATCH_BYTES);
    double begun = seconds(CLOCK_MONOTONIC);
    core_step(core, &tick, &scratch, &answer);
    double spent = seconds(CLOCK_MONOTONIC) - begun;
    printf("%lld nodes, %lld %% full: %zu bytes of state and %zu of scratch per node; one step "
           "%.3f ms\n",
           (long long)nodes, (long long)full_permille / 10, state.used_bytes / (size_t)nodes,
           scratch.used_bytes / (size_t)nodes, spent * 1000);
    free(memory);
    arena_clear(&pace->arena);
}

static int64_t number(int argc, char **argv, int position, int64_t otherwise)
{
    return position < argc ? strtoll(argv[position], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    static struct pace pace;
    const char *first = argc > 1 ? argv[1] : "";
    if (strcmp(first, "--memory") == 0) {
        int64_t nodes = number(argc, argv, 2, 100000);
        run_memory(&pace, nodes, 900);
        run_memory(&pace, nodes, 0);
    } else if (strcmp(first, "--changes") == 0) {
        run_changes(&pace, number(argc, argv, 2, 1000), number(argc, argv, 3, 2));
    } else if (strcmp(first, "--dump") == 0) {
        run_watched(&pace, number(argc, argv, 3, 1000), number(argc, argv, 4, 2),
                    number(argc, argv, 2, 10));
    } else {
        run_pace(&pace, number(argc, argv, 1, 1000), number(argc, argv, 2, 2));
    }
    return 0;
}
