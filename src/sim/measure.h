/*
 * measure.h: the figures of one simulated run, for the report.
 *
 * Money is in micro-dollars, time in milliseconds.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* The state at one moment. `nodes` has one number per type: machines that cost money. */
struct sample {
    int64_t at;
    const int64_t *nodes;
    int64_t ready;   /* workers in Ray */
    int64_t pending; /* requests that wait */
    int64_t price;   /* per hour, of all workers */
    int64_t spent;   /* since the beginning */
};

struct class_figures; /* cluster.h */

struct measure {
    size_t type_count;
    struct sample *samples;
    size_t sample_count;
    size_t sample_capacity;
    int64_t *node_ms; /* by type: from launch to end, as the cloud bills it */
    int64_t *cost;    /* by type */
    int64_t launches; /* machines */
    int64_t refused;  /* machines asked for and refused */
    int64_t preemptions;
    int64_t ends;          /* machines ended by us */
    int64_t first_node_at; /* the first worker that joined; -1: none */
    int64_t most_nodes;    /* most workers in Ray at a time */
    int64_t most_nodes_at; /* since when */
    int64_t busy_ms;       /* node-milliseconds with something running */
    int64_t ready_ms;      /* node-milliseconds in Ray, the head excepted */
    /* per class of the workload, see cluster.h */
    const struct class_figures *classes;
    size_t class_count;
};

void measure_init(struct measure *measure, size_t type_count, struct arena *arena);

/* Copied, with its numbers per type. */
void measure_sample(struct measure *measure, const struct sample *sample, struct arena *arena);

/* What a machine costs that runs for `ms` at `price` per hour; 0 when the price is not known. */
int64_t measure_cost(int64_t price, int64_t ms);

/* A machine that ended, or still ran at the end: billed from `from` until `until`. */
void measure_instance(struct measure *measure, uint32_t type, int64_t price, int64_t from,
                      int64_t until);

/* How many workers are in Ray, whenever that changes. */
void measure_ready(struct measure *measure, int64_t at, int64_t ready);

/* The waits of all classes: `permille` of the starts waited at most this long; 0 without any. */
int64_t measure_wait(const struct measure *measure, int64_t permille, struct arena *scratch);
