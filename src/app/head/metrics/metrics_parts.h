/*
 * metrics_parts.h: the metrics from inside; shared by the files that make them up.
 *
 *     metrics.c        counting
 *     metrics_lines.c  single lines of the text
 *     metrics_nodes.c  nodes and what they offer, by type
 *     metrics_text.c   everything else, and in which order
 */
#pragma once

#include "app/head/metrics/metrics.h"

/* ---- metrics.c ---- */

/* Upper bounds of a histogram's buckets, in seconds; behind them is infinity. */
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
    const char *name; /* NULL: no such label */
    struct str value;
};

extern const struct metrics_label metrics_none;

/* A family with a single number. */
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

/* By type of the file and by phase; behind the last type stand those of types that are no more. */
struct metrics_census {
    size_t type_count;
    size_t *counts;
    size_t workers_ready, updating, spot;
    int64_t price; /* micro-dollars an hour, of those whose price is known */
    size_t unknown_prices;
};

struct metrics_census metrics_take_census(struct metrics_writing *writing);
void metrics_add_nodes(struct metrics_writing *writing, const struct metrics_census *census);
void metrics_add_resources(struct metrics_writing *writing, const struct metrics_census *census);
