/*
 * metrics_internal.h: shared by the files that write the metrics.
 *
 *     metrics.c        counters
 *     metrics_lines.c  single lines of the text
 *     metrics_nodes.c  nodes and their resources, by type
 *     metrics_text.c   everything else, and the order
 */
#pragma once

#include "app/head/metrics/metrics.h"

/* ---- metrics.c ---- */

/* Upper bounds of a histogram's buckets, in seconds, without +Inf. */
struct metrics_bounds {
    double items[METRICS_BUCKETS_MAX - 1];
    size_t count;
};

extern const struct metrics_bounds metrics_poll_bounds, metrics_node_bounds;

/* ---- metrics_lines.c ---- */

struct metrics_writing {
    struct buf *out;
    const struct metrics_scene *scene;
    struct arena *arena;
};

struct metrics_label {
    const char *name; /* NULL for none */
    struct str value;
};

extern const struct metrics_label metrics_none;

/* A metric with a single value. */
struct metrics_fact {
    const char *name, *type, *help;
    double value;
};

void metrics_family(struct metrics_writing *writing, const char *name, const char *type,
                    const char *help);
void metrics_line(struct metrics_writing *writing, const char *name, const char *suffix,
                  struct metrics_label first, struct metrics_label second, double value);
void metrics_facts(struct metrics_writing *writing, const struct metrics_fact *facts, size_t count);
void metrics_add_histogram(struct metrics_writing *writing, const char *name, const char *help,
                           const struct metrics_histogram *histogram,
                           const struct metrics_bounds *bounds);

/* ---- metrics_nodes.c ---- */

/* Counts by node type and phase; the last row is for types that are no longer in the file. */
struct metrics_census {
    size_t type_count;
    size_t *counts;
    size_t workers_ready, updating, spot;
    int64_t price; /* micro-dollars per hour of nodes with a known price */
    size_t unknown_prices;
};

struct metrics_census metrics_take_census(struct metrics_writing *writing);
void metrics_add_nodes(struct metrics_writing *writing, const struct metrics_census *census);
void metrics_add_resources(struct metrics_writing *writing, const struct metrics_census *census);
