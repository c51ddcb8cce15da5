/*
 * sim.c: runs seeds. If a seed violates an invariant, it is reduced to the relevant faults, and its
 * last events are printed.
 *
 *   sim --seeds 1-5000            all seeds in the range; exits with 0 if no invariant was violated
 *   sim --seed 17 --trace         one seed, every event and action
 *   sim --seed 17 --without spot_kill,twin --trace
 *   sim --seeds 1-100 --hash      one hash of all traces
 *   sim_mutants --mutants         lists the deliberate bugs (mutants.py)
 *   sim_mutants --seeds 1-2000 --mutant absence_too_soon
 */
#include "world.h"

#ifdef SHOAL_MUTANTS
#include "mutants.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STORY_LINES = 60, LINE_BYTES = 240 };

struct options {
    uint64_t first;
    uint64_t last;
    bool traces;
    bool hashes;
    bool is_quiet; /* a violation is expected: do not tell its story */
    bool without[FAULT_COUNT];
    const char *program;
};

/* The last lines before the end. */
struct story {
    bool prints;
    char lines[STORY_LINES][LINE_BYTES];
    uint64_t count;
};

struct result {
    struct violation violation;
    char text[512];
    uint64_t hash;
    uint64_t events;
    int64_t simulated;
};

#ifdef SHOAL_MUTANTS
uint32_t mutant_on;

static const char *const mutant_names[] = {"none",
#define X(name) #name,
                                           MUTANT_LIST(X)
#undef X
};
#endif

static void on_line(void *context, int64_t at, struct str line)
{
    (void)at;
    struct story *story = context;
    if (story->prints) {
        printf("%.*s\n", STR_ARG(line));
        return;
    }
    snprintf(story->lines[story->count++ % STORY_LINES], LINE_BYTES, "%.*s", STR_ARG(line));
}

static struct result run(uint64_t seed, const bool *without, struct story *story)
{
    struct arena arena;
    struct world world;
    struct result result = {0};
    arena_init(&arena);
    world_make(&world, seed, without, &arena);
    if (story) {
        world.setup.on_line = on_line;
        world.setup.context = story;
    }
    struct simulation *simulation = simulation_new(&world.setup, &arena);
    simulation_run(simulation);
    result.violation = *simulation_violation(simulation);
    snprintf(result.text, sizeof(result.text), "%.*s", STR_ARG(result.violation.text));
    result.hash = simulation_trace_hash(simulation);
    for (enum event_kind kind = 0; kind < EVENT_KIND_COUNT; kind++) {
        result.events += simulation_event_count(simulation, kind);
    }
    result.simulated = world.setup.duration + world.setup.healing;
    arena_clear(&arena);
    return result;
}

static bool is_same(const struct result *a, const struct result *b)
{
    return a->violation.invariant && strcmp(a->violation.invariant, b->violation.invariant) == 0;
}

static void print_command(const struct options *options, uint64_t seed, const bool *without)
{
    printf("  replay: %s --seed %" PRIu64, options->program, seed);
    const char *separator = " --without ";
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        if (without[i]) {
            printf("%s%s", separator, fault_name((enum fault)i));
            separator = ",";
        }
    }
#ifdef SHOAL_MUTANTS
    printf(" --mutant %s", mutant_names[mutant_on]);
#endif
    printf(" --trace\n");
}

/* Leaves out every class of faults without which the same promise is still broken. */
static void tell(const struct options *options, uint64_t seed, const struct result *result)
{
    static struct story story;
    bool without[FAULT_COUNT];
    struct result small = *result;
    memcpy(without, options->without, sizeof(without));
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        if (without[i]) {
            continue;
        }
        without[i] = true;
        struct result other = run(seed, without, NULL);
        if (is_same(&other, result)) {
            small = other;
        } else {
            without[i] = false;
        }
    }
    story = (struct story){0};
    run(seed, without, &story);
    print_command(options, seed, without);
    printf("  the last events before %s (%s):\n", small.violation.invariant, small.text);
    uint64_t first = story.count > STORY_LINES ? story.count - STORY_LINES : 0;
    for (uint64_t i = first; i < story.count; i++) {
        printf("    %s\n", story.lines[i % STORY_LINES]);
    }
}

static bool parse_range(const char *text, struct options *options)
{
    char *end;
    options->first = strtoull(text, &end, 10);
    options->last = options->first;
    if (end != text && *end == '-') {
        const char *second = end + 1;
        options->last = strtoull(second, &end, 10);
    }
    return end != text && *end == '\0' && options->first <= options->last;
}

static bool parse_without(const char *text, struct options *options)
{
    struct str rest = str_from(text);
    while (rest.len > 0) {
        struct str name = str_cut(&rest, ',');
        size_t i = 0;
        while (i < FAULT_COUNT && !str_is(name, fault_name((enum fault)i))) {
            i++;
        }
        if (i == FAULT_COUNT) {
            return false;
        }
        options->without[i] = true;
    }
    return true;
}

#ifdef SHOAL_MUTANTS
static bool parse_mutant(const char *text)
{
    for (uint32_t i = 1; i < MUTANT_COUNT; i++) {
        if (strcmp(mutant_names[i], text) == 0) {
            mutant_on = i;
            return true;
        }
    }
    return false;
}

static void list_mutants(void)
{
    for (uint32_t i = 1; i < MUTANT_COUNT; i++) {
        puts(mutant_names[i]);
    }
}
#endif

static bool parse(int argc, char **argv, struct options *options)
{
    bool has_seeds = false;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--trace") == 0) {
            options->traces = true;
        } else if (strcmp(argv[i], "--hash") == 0) {
            options->hashes = true;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            options->is_quiet = true;
        } else if (strcmp(argv[i], "--seeds") == 0 || strcmp(argv[i], "--seed") == 0) {
            has_seeds = parse_range(next, options);
            i++;
        } else if (strcmp(argv[i], "--without") == 0) {
            if (!parse_without(next, options)) {
                return false;
            }
            i++;
#ifdef SHOAL_MUTANTS
        } else if (strcmp(argv[i], "--mutant") == 0) {
            if (!parse_mutant(next)) {
                return false;
            }
            i++;
#endif
        } else {
            return false;
        }
    }
    return has_seeds;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_all(const struct options *options)
{
    double begun = seconds();
    uint64_t hash = 0;
    uint64_t events = 0;
    int64_t simulated = 0;
    uint64_t broken = 0;
    for (uint64_t seed = options->first; seed <= options->last; seed++) {
        static struct story trace;
        trace = (struct story){.prints = true};
        struct result result = run(seed, options->without, options->traces ? &trace : NULL);
        hash = (hash ^ result.hash) * 0x100000001b3u;
        events += result.events;
        simulated += result.simulated;
        if (!result.violation.invariant) {
            continue;
        }
        broken++;
        printf("seed %" PRIu64 ": %s broken at %.3f s: %s\n", seed, result.violation.invariant,
               (double)result.violation.at / 1000, result.text);
        if (!options->is_quiet && !options->traces && broken <= 3) {
            tell(options, seed, &result);
        }
        if (options->is_quiet) {
            break;
        }
    }
    if (options->hashes) {
        printf("hash %016" PRIx64 "\n", hash);
    } else {
        printf("%" PRIu64 " seeds, %" PRIu64 " broken, %.0f simulated hours, %" PRIu64
               " events, %.1f s\n",
               options->last - options->first + 1, broken, (double)simulated / 3.6e6, events,
               seconds() - begun);
    }
    return broken > 0;
}

int main(int argc, char **argv)
{
    struct options options = {.program = argv[0]};
#ifdef SHOAL_MUTANTS
    if (argc == 2 && strcmp(argv[1], "--mutants") == 0) {
        list_mutants();
        return 0;
    }
#endif
    if (!parse(argc, argv, &options)) {
        fprintf(stderr,
                "usage: %s --seeds FROM-TO [--hash] [--without FAULT,...] [--mutant NAME]\n"
                "       %s --seed N --trace\n",
                argv[0], argv[0]);
        return 2;
    }
    return run_all(&options);
}
