/*
 * run.h: one workload on one cluster file, once per planner, in the yard.
 *
 * Every planner gets the same seed, so that the same work arrives at the same times for all.
 */
#pragma once

#include "app/core_setup.h"
#include "sim/cluster.h"
#include "sim/yard.h"

enum { PLANNERS_MAX = 4 };

/* What was asked for. */
struct run_wish {
    const struct config *config;
    const struct workload_file *workload;
    struct str workload_name;
    uint64_t seed;
    const char *faults; /* none, mild or nasty */
    const char *planners[PLANNERS_MAX];
    size_t planner_count;
    /* Lines around a moment are kept for --explain; -1: no lines. */
    int64_t explain_at;
};

/* Something that a controller heard or decided. */
struct run_line {
    int64_t at;
    struct str text;
};

struct run {
    const char *planner;
    const struct measure *measure;
    uint64_t events;
    uint64_t trace;
    struct run_line *lines;
    size_t line_count;
    size_t line_capacity;
    struct run_line before; /* the last one before what is kept; empty: none */
    struct run_line behind; /* the first one after it */
};

struct result {
    const struct run_wish *wish;
    struct core_setup setup;
    struct workload workload;
    struct run *runs;
    size_t run_count;
};

/* The names of planners, NULL-terminated. */
extern const char *const run_planners[];
extern const char *const run_faults[];

/* Is it one of them? */
bool run_has_planner(struct str name);

/* One more run of one planner with another seed, without samples and lines. */
void run_once_more(struct arena *arena, const struct result *result, uint64_t seed,
                   const char *planner, struct run *ret_run);

/* Warnings about the workload go to `diags`. */
bool run_all(struct arena *arena, const struct run_wish *wish, struct diag_list *diags,
             struct result *ret_result, struct err *err) MUST_USE;
