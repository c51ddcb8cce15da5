/*
 * measure.h: the figures of one simulated run, for the report.
 *
 * Costs are in micro-dollars, times in milliseconds.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* The state at one time. `nodes` has one number per type: billed machines. */
struct sample {
    int64_t at;
    const int64_t *nodes;
    int64_t ready;   /* workers in Ray */
    int64_t pending; /* pending requests */
    int64_t price;   /* per hour, of all workers */
    int64_t spent;   /* since the beginning */
};

struct class_figures; /* cluster.h */

struct measure {
    size_t type_count;
    struct sample *samples;
    size_t sample_count;
    size_t sample_capacity;
    int64_t *node_ms; /* by type: billed time, from launch to termination */
    int64_t *cost;    /* by type */
    int64_t launches; /* machines */
    int64_t refused;  /* machines requested and refused */
    int64_t preemptions;
    int64_t ends;          /* machines terminated by the controllers */
    int64_t first_node_at; /* time of the first join of a worker; -1 if none */
    int64_t most_nodes;    /* maximum of workers in Ray */
    int64_t most_nodes_at; /* since when */
    int64_t busy_ms;       /* node-milliseconds with running work */
    int64_t ready_ms;      /* node-milliseconds in Ray, excluding the head */
    /* per class of the workload, see cluster.h */
    const struct class_figures *classes;
    size_t class_count;
};

void measure_init(struct measure *measure, size_t type_count, struct arena *arena);

/* Copies the sample, including its numbers per type. */
void measure_sample(struct measure *measure, const struct sample *sample, struct arena *arena);

/* The cost of a machine that runs for `ms` at `price` per hour; 0 if the price is unknown. */
int64_t measure_cost(int64_t price, int64_t ms);

/* Adds a machine that was terminated, or still ran at the end: billed from `from` to `until`. */
void measure_instance(struct measure *measure, uint32_t type, int64_t price, int64_t from,
                      int64_t until);

/* Records the number of workers in Ray; call on every change. */
void measure_ready(struct measure *measure, int64_t at, int64_t ready);

/* The wait that `permille` of the starts in all classes did not exceed; 0 without any starts. */
int64_t measure_wait(const struct measure *measure, int64_t permille, struct arena *scratch);
