/* run.c: reads the files and runs the simulation. */
#include "cli/simulate/run.h"

#include "cli/simulate/fit.h"

#include <string.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)

/* Limits of the --explain output. */
enum { LINES_MAX = 2000, LINE_BYTES_MAX = 4096, SAMPLES = 600 };
#define EXPLAIN_BEFORE (2 * MINUTE)
#define EXPLAIN_BEHIND (1 * MINUTE)

/* Ray's autoscaler runs every five seconds. */
#define TICK (5 * SECOND)

const char *const run_faults[] = {"none", "mild", "nasty", NULL};
const char *const run_planners[] = {"ray", "price", NULL};
static const enum plan_strategy strategies[] = {PLAN_RAY, PLAN_PRICE};

static size_t planner_index(struct str name)
{
    size_t i = 0;
    while (run_planners[i] && !str_is(name, run_planners[i])) {
        i++;
    }
    return i;
}

bool run_has_planner(struct str name)
{
    return run_planners[planner_index(name)] != NULL;
}

/* ---- the workload in the simulator's terms ---- */

struct simulate_run_maker {
    struct arena *arena;
    struct names *names;
};

static struct request make_request(const struct simulate_run_maker *maker,
                                   const struct workload_shape *shape)
{
    struct amount *amounts = ARENA_ARRAY(maker->arena, shape->resources.count, struct amount);
    struct label_rule *rules = ARENA_ARRAY(maker->arena, shape->rule_count, struct label_rule);
    struct label_selector *selector = ARENA_NEW(maker->arena, struct label_selector);
    for (size_t i = 0; i < shape->resources.count; i++) {
        const struct resource *resource = &shape->resources.items[i];
        amounts[i] = (struct amount){intern_add(maker->names, resource->name), resource->amount};
    }
    amounts_sort(maker->names, amounts, shape->resources.count);
    for (size_t i = 0; i < shape->rule_count; i++) {
        const struct workload_rule *source = &shape->rules[i];
        uint32_t *values = ARENA_ARRAY(maker->arena, source->value_count, uint32_t);
        for (size_t j = 0; j < source->value_count; j++) {
            values[j] = intern_add(maker->names, source->values[j]);
        }
        rules[i] = (struct label_rule){intern_add(maker->names, source->key),
                                       source->is_not ? LABEL_NOT_IN : LABEL_IN, values,
                                       source->value_count};
    }
    *selector = (struct label_selector){rules, shape->rule_count};
    return (struct request){.amounts = amounts,
                            .amount_count = shape->resources.count,
                            .selectors = shape->rule_count > 0 ? selector : NULL,
                            .selector_count = shape->rule_count > 0};
}

static struct work_class make_class(const struct simulate_run_maker *maker,
                                    const struct workload_class *source)
{
    static const enum gang_rule gangs[] = {
        [WORKLOAD_SINGLE] = GANG_NONE,
        [WORKLOAD_PACK] = GANG_PACK,
        [WORKLOAD_SPREAD] = GANG_SPREAD,
        [WORKLOAD_STRICT_PACK] = GANG_STRICT_PACK,
        [WORKLOAD_STRICT_SPREAD] = GANG_STRICT_SPREAD,
    };
    static const enum arrival_rule arrivals[] = {
        [WORKLOAD_ONCE] = ARRIVAL_ONCE,
        [WORKLOAD_EVERY] = ARRIVAL_STEADY,
        [WORKLOAD_RANDOM] = ARRIVAL_RANDOM,
    };
    return (struct work_class){.name = source->name,
                               .request = make_request(maker, &source->shape),
                               .gang = gangs[source->gang],
                               .bundles = source->bundles,
                               .arrival = arrivals[source->arrival],
                               .first_at = source->first_at,
                               .last_at = source->last_at,
                               .every = source->every,
                               .count_least = source->count.least,
                               .count_most = source->count.most,
                               .duration_least = source->duration.least,
                               .duration_most = source->duration.most};
}

static struct workload make_workload(const struct simulate_run_maker *maker,
                                     const struct workload_file *file)
{
    struct work_class *classes = ARENA_ARRAY(maker->arena, file->class_count, struct work_class);
    struct demand *constraint = ARENA_ARRAY(maker->arena, file->bundle_count, struct demand);
    for (size_t i = 0; i < file->class_count; i++) {
        classes[i] = make_class(maker, &file->classes[i]);
    }
    for (size_t i = 0; i < file->bundle_count; i++) {
        constraint[i] = (struct demand){make_request(maker, &file->bundles[i].shape),
                                        file->bundles[i].count};
    }
    struct workload workload = {.classes = classes,
                                .class_count = file->class_count,
                                .constraint = constraint,
                                .constraint_count = file->bundle_count};
    workload_label_gangs(&workload, maker->names, maker->arena);
    return workload;
}

/* ---- faults ---- */

/* A machine is interrupted with or without a notice, whichever comes first. The rates add up. */
static void set_spot(struct faults *faults, const struct workload_file *file)
{
    int64_t announced = file->spot_notice;
    int64_t sudden = 1000 - announced;
    if (file->spot_life == 0) {
        return;
    }
    faults->is_on[FAULT_spot_notice] = announced > 0;
    faults->span[FAULT_spot_notice] = announced > 0 ? file->spot_life * 1000 / announced : 0;
    faults->is_on[FAULT_spot_kill] = sudden > 0;
    faults->span[FAULT_spot_kill] = sudden > 0 ? file->spot_life * 1000 / sudden : 0;
}

static struct faults make_faults(const struct sim_options *options)
{
    struct faults faults;
    enum fault_profile profile = strcmp(options->faults, "none") == 0   ? FAULTS_NONE
                                 : strcmp(options->faults, "mild") == 0 ? FAULTS_MILD
                                                                        : FAULTS_NASTY;
    faults_from_profile(&faults, profile);
    set_spot(&faults, options->workload);
    return faults;
}

/* ---- one run ---- */

/* Keeps the lines around a moment, and the nearest line before and after them. */
struct listener {
    struct arena *arena;
    struct simulate_run *run;
    int64_t from, until;
    int64_t last_at;
    struct buf last; /* latest line before `from` */
};

static void simulate_run_on_line(void *context, int64_t at, struct str text)
{
    struct listener *listener = context;
    struct simulate_run *run = listener->run;
    if (at < listener->from) {
        listener->last.len = 0;
        listener->last.is_full = false;
        buf_add(&listener->last, text);
        listener->last_at = at;
    } else if (at > listener->until) {
        if (run->behind.text.len == 0) {
            run->behind = (struct run_line){at, arena_str(listener->arena, text)};
        }
    } else if (run->line_count < LINES_MAX) {
        ARENA_PUSH(listener->arena, run->lines, run->line_count,
                   run->line_capacity) = (struct run_line){at, arena_str(listener->arena, text)};
    }
}

static uint64_t event_count(const struct simulation *simulation)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        sum += simulation_event_count(simulation, (enum event_kind)kind);
    }
    return sum;
}

static void simulate_run_finish(const struct simulation *simulation, struct simulate_run *run)
{
    run->measure = simulation_measure(simulation);
    run->events = event_count(simulation);
    run->trace = simulation_trace_hash(simulation);
}

/* The settings common to all runs. `settings` belongs to the caller and must outlive the
 * simulation. */
static struct simulation_setup make_setup(const struct result *result, uint64_t seed,
                                          const char *planner, struct core_settings *settings)
{
    *settings = result->setup.settings;
    settings->strategy = strategies[planner_index(str_from(planner))];
    settings->seed = seed;
    return (struct simulation_setup){.seed = seed,
                                     .settings = settings,
                                     .workload = &result->workload,
                                     .faults = make_faults(result->options),
                                     .duration = result->options->workload->duration,
                                     .tick = TICK};
}

static void run_one(struct arena *arena, const struct result *result, struct simulate_run *run)
{
    const struct sim_options *options = result->options;
    struct core_settings settings;
    struct listener listener = {.arena = arena,
                                .run = run,
                                .from = options->explain_at - EXPLAIN_BEFORE,
                                .until = options->explain_at + EXPLAIN_BEHIND};
    struct simulation_setup setup = make_setup(result, options->seed, run->planner, &settings);
    buf_init(&listener.last, LINE_BYTES_MAX);
    setup.sample = setup.duration / SAMPLES > 0 ? setup.duration / SAMPLES : 1;
    setup.on_line = options->explain_at >= 0 ? simulate_run_on_line : NULL;
    setup.context = &listener;
    struct simulation *simulation = simulation_new(&setup, arena);
    simulation_run(simulation);
    simulate_run_finish(simulation, run);
    run->before = (struct run_line){listener.last_at, arena_str(arena, buf_str(&listener.last))};
    buf_clear(&listener.last);
}

void run_once_more(struct arena *arena, const struct result *result, uint64_t seed,
                   const char *planner, struct simulate_run *ret_run)
{
    struct core_settings settings;
    struct simulation_setup setup = make_setup(result, seed, planner, &settings);
    struct simulation *simulation = simulation_new(&setup, arena);
    simulation_run(simulation);
    *ret_run = (struct simulate_run){.planner = planner};
    simulate_run_finish(simulation, ret_run);
}

bool run_all(struct arena *arena, const struct sim_options *options, struct diag_list *diags,
             struct result *ret_result, struct err *err)
{
    *ret_result = (struct result){.options = options};
    if (!core_setup_make(arena, options->config, options->workload, diags, &ret_result->setup,
                         err)) {
        return false;
    }
    struct simulate_run_maker maker = {arena, &ret_result->setup.names};
    ret_result->workload = make_workload(&maker, options->workload);
    fit_check(arena, &ret_result->setup, &ret_result->workload, options->workload, diags);
    ret_result->runs = ARENA_ARRAY(arena, options->planner_count, struct simulate_run);
    ret_result->run_count = options->planner_count;
    for (size_t i = 0; i < options->planner_count; i++) {
        ret_result->runs[i].planner = options->planners[i];
        run_one(arena, ret_result, &ret_result->runs[i]);
    }
    return true;
}
