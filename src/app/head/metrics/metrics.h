/*
 * metrics.h: what the head's service tells Prometheus. Pure: counts and facts in, text out.
 *
 * Two families of names. Those of Ray's own autoscaler (autoscaler_*), with its types and labels,
 * so that Ray's dashboards go on working; and ours (shoal_*), for what Ray has no name for. Which
 * is which and what it means is in docs/metrics.md, which a test compares with the text.
 *
 * The number of series is bounded by the number of node types in the file, whatever the cluster
 * does: shapes of demand and names of resources beyond the largest few are counted together.
 */
#pragma once

#include "app/head/insight.h"
#include "app/head/metrics/process_facts.h"
#include "app/view.h"
#include "base/buf.h"
#include "config/config.h"
#include "core/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { METRICS_BUCKETS_MAX = 20, METRICS_SHAPES_MAX = 20, METRICS_RESOURCES_MAX = 40 };

/* Where Ray's own autoscaler would be asked. */
enum { METRICS_PORT = 44217 };

struct metrics_histogram {
    uint64_t buckets[METRICS_BUCKETS_MAX]; /* each value once, in the first that it fits into */
    uint64_t count;
    double sum;
};

/* Counted since this process began. All zero: nothing has happened. */
struct metrics {
    uint64_t launches[OUTCOME_COUNT]; /* calls */
    uint64_t started, refused;        /* nodes */
    uint64_t stopped;
    uint64_t set_ups, failed_set_ups;
    uint64_t drains[DRAIN_ANSWER_COUNT];
    uint64_t notices;
    uint64_t polls;
    uint64_t failed_polls; /* counted by whoever polls */
    double spent;          /* micro-dollars */
    double poll_s;         /* the last one */
    struct metrics_histogram poll_time, launch_time, set_up_time;
};

/* One poll of Ray, from asking to decision. */
void metrics_count_poll(struct metrics *metrics, double ms);
/* The answer to a launch of so many nodes. */
void metrics_count_launch(struct metrics *metrics, enum outcome outcome, int64_t nodes,
                          int64_t took_ms);
void metrics_count_set_up(struct metrics *metrics, bool is_fine, int64_t took_ms);
void metrics_count_drain(struct metrics *metrics, enum drain_answer answer);
void metrics_count_notice(struct metrics *metrics);
void metrics_count_end(struct metrics *metrics);
/* So much an hour was paid for so long. */
void metrics_count_spent(struct metrics *metrics, int64_t price, int64_t ms);

/* What there is now. */
struct metrics_scene {
    const struct metrics *counts;
    const struct config *config;
    const struct insight *insight; /* NULL: Ray was never seen */
    const struct node_view *nodes;
    size_t node_count;
    struct str cluster, ray_version;
    struct str session; /* Ray's name of this run of it; empty: not known */
    bool is_acting;     /* else somebody else does, or nobody */
    int64_t now_ms;     /* wall clock */
    struct process_facts process;
};

/* Prometheus's text format, version 0.0.4. */
void metrics_write(struct buf *out, const struct metrics_scene *scene);
extern const char metrics_content_type[];
