/*
 * control_sim.c: runs the production controller in simulated worlds, one per seed.
 *
 *   control_sim --seeds 1-500            exits with 0 if no invariant was violated
 *   control_sim --seed 17 --trace        one seed, call by call
 *   control_sim --seed 17 --without kill,suspend --trace
 *   control_sim --seeds 1-100 --hash     one hash of all runs
 *   control_sim --seeds 1-500 --mutant 3 with a deliberate bug, in builds that have them
 */
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STORY_LINES = 60, LINE_BYTES = 480 };

struct options {
    uint64_t first, last;
    bool is_traced, is_hashed, is_quiet;
    int mutant;
    bool without[CONTROL_FAULT_COUNT];
    const char *program;
};

/* The last lines before the end. */
struct story {
    bool is_printed;
    char lines[STORY_LINES][LINE_BYTES];
    uint64_t count;
};

static struct world world; /* large */
static char folder[100];   /* for the locks of the journals */

int mutation_is(int number); /* called by the deliberate bugs */
static int mutant;

int mutation_is(int number)
{
    return number == mutant;
}

static void on_line(void *context, const char *line)
{
    struct story *story = context;
    if (story->is_printed) {
        puts(line);
    } else {
        snprintf(story->lines[story->count++ % STORY_LINES], LINE_BYTES, "%s", line);
    }
}

static void run(uint64_t seed, const bool *without, struct story *story)
{
    struct world_setup setup = {.seed = seed, .folder = folder};
    memcpy(setup.without, without, sizeof(setup.without));
    if (story) {
        setup.on_line = on_line;
        setup.context = story;
    }
    world_run(&world, &setup);
}

/* Leaves out every fault without which the same invariant is still violated. */
static void tell(const struct options *options, uint64_t seed, const char *invariant)
{
    static struct story story;
    bool without[CONTROL_FAULT_COUNT];
    memcpy(without, options->without, sizeof(without));
    for (size_t i = 0; i < CONTROL_FAULT_COUNT; i++) {
        bool was_without = without[i];
        without[i] = true;
        run(seed, without, NULL);
        if (!world.invariant || strcmp(world.invariant, invariant) != 0) {
            without[i] = was_without;
        }
    }
    story = (struct story){0};
    run(seed, without, &story);
    printf("  at %.3f s: %s: %s\n  replay: %s --seed %" PRIu64 " --trace",
           (double)world.violated_ms / 1000, world.invariant, world.violation, options->program,
           seed);
    const char *separator = " --without ";
    for (size_t i = 0; i < CONTROL_FAULT_COUNT; i++) {
        if (without[i]) {
            printf("%s%s", separator, control_fault_name((enum control_fault)i));
            separator = ",";
        }
    }
    puts("");
    uint64_t first = story.count > STORY_LINES ? story.count - STORY_LINES : 0;
    for (uint64_t i = first; i < story.count; i++) {
        printf("    %s\n", story.lines[i % STORY_LINES]);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_all(const struct options *options)
{
    double begun = seconds();
    uint64_t hash = 0;
    uint64_t steps = 0;
    uint64_t violations = 0;
    double simulated = 0;
    for (uint64_t seed = options->first; seed <= options->last; seed++) {
        struct story trace = {.is_printed = true};
        run(seed, options->without, options->is_traced ? &trace : NULL);
        hash = (hash ^ world.hash) * 0x100000001b3u;
        steps += world.steps;
        simulated += (double)world.time.now_ms / 3.6e6;
        if (!world.invariant) {
            continue;
        }
        violations++;
        printf("seed %" PRIu64 ": %s violated at %.3f s: %s\n", seed, world.invariant,
               (double)world.violated_ms / 1000, world.violation);
        if (options->is_quiet) {
            break;
        }
        if (!options->is_traced && violations <= 3) {
            tell(options, seed, world.invariant);
        }
    }
    if (options->is_hashed) {
        printf("hash %016" PRIx64 "\n", hash);
    } else {
        printf("%" PRIu64 " seeds, %" PRIu64 " violations, %.0f simulated hours, %" PRIu64
               " steps, %.1f s of CPU\n",
               options->last - options->first + 1, violations, simulated, steps, seconds() - begun);
    }
    return violations > 0;
}

static bool parse_without(const char *text, struct options *options)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        size_t i = 0;
        while (i < CONTROL_FAULT_COUNT &&
               (strlen(control_fault_name((enum control_fault)i)) != length ||
                strncmp(text, control_fault_name((enum control_fault)i), length) != 0)) {
            i++;
        }
        if (i == CONTROL_FAULT_COUNT) {
            return false;
        }
        options->without[i] = true;
        text += length + (text[length] == ',');
    }
    return true;
}

static bool parse_range(const char *text, struct options *options)
{
    char *end = NULL;
    options->first = options->last = strtoull(text, &end, 10);
    if (*end == '-') {
        options->last = strtoull(end + 1, &end, 10);
    }
    return *end == '\0' && end != text && options->first <= options->last;
}

static bool parse(int argc, char **argv, struct options *options)
{
    bool has_seeds = false;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--trace") == 0) {
            options->is_traced = true;
        } else if (strcmp(argv[i], "--hash") == 0) {
            options->is_hashed = true;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            options->is_quiet = true;
        } else if (strcmp(argv[i], "--seeds") == 0 || strcmp(argv[i], "--seed") == 0) {
            has_seeds = parse_range(next, options);
            i++;
        } else if (strcmp(argv[i], "--mutant") == 0) {
            options->mutant = (int)strtol(next, NULL, 10);
            i++;
        } else if (strcmp(argv[i], "--without") == 0 && parse_without(next, options)) {
            i++;
        } else {
            return false;
        }
    }
    return has_seeds;
}

/* In memory if possible: every start of a process writes its lock. */
static bool make_folder(void)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(folder, sizeof(folder), "%s/shoal-control-sim-XXXXXX", places[i]);
        if (mkdtemp(folder)) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct options options = {.program = argv[0]};
    if (!parse(argc, argv, &options) || !make_folder()) {
        fprintf(stderr, "usage: %s --seeds FROM-TO [--hash] [--quiet] [--without FAULT,...]\n",
                argv[0]);
        return 2;
    }
    mutant = options.mutant;
    world_files_open();
    int status = run_all(&options);
    for (unsigned i = 0; i < FOLDERS_MAX; i++) {
        sim_journal_remove_folder(folder, i);
    }
    rmdir(folder);
    return status;
}
