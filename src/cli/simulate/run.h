/*
 * run.h: simulates one workload on one cluster file, once per planner.
 *
 * Every planner gets the same seed, so that the same work arrives at the same times.
 */
#pragma once

#include "app/core_setup.h"
#include "sim/cluster.h"
#include "sim/simulation.h"

enum { PLANNERS_MAX = 4 };

/* The command line options. */
struct sim_options {
    const struct config *config;
    const struct workload_file *workload;
    struct str workload_name;
    uint64_t seed;
    const char *faults; /* none, mild or nasty */
    const char *planners[PLANNERS_MAX];
    size_t planner_count;
    /* Keeps lines around this moment for --explain; -1: none. */
    int64_t explain_at;
};

/* An event or a decision of a controller. */
struct run_line {
    int64_t at;
    struct str text;
};

struct simulate_run {
    const char *planner;
    const struct measure *measure;
    uint64_t events;
    uint64_t trace;
    struct run_line *lines;
    size_t line_count;
    size_t line_capacity;
    struct run_line before; /* last line before the kept ones; may be empty */
    struct run_line behind; /* index of the first line after them */
};

struct result {
    const struct sim_options *options;
    struct core_setup setup;
    struct workload workload;
    struct simulate_run *runs;
    size_t run_count;
};

/* The names of the planners, ends with NULL. */
extern const char *const run_planners[];
extern const char *const run_faults[];

/* True if it is one of them. */
bool run_has_planner(struct str name);

/* Runs one planner again with another seed, without samples and lines. */
void run_once_more(struct arena *arena, const struct result *result, uint64_t seed,
                   const char *planner, struct simulate_run *ret_run);

/* Warnings about the workload go to `diags`. */
bool run_all(struct arena *arena, const struct sim_options *options, struct diag_list *diags,
             struct result *ret_result, struct err *err) MUST_USE;
