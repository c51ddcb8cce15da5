/*
 * metrics.h: the metrics of the head's service. Pure: counters and facts in, text out.
 *
 * There are two families of names: those of Ray's own autoscaler (autoscaler_*), with its types and
 * labels, so that Ray's dashboards keep working; and ours (shoal_*), for everything else.
 * docs/user/metrics.md describes them; a test compares it with the output.
 *
 * The number of series is bounded by the number of node types in the file. Smaller shapes of demand
 * beyond METRICS_SHAPES_MAX are summed, resources beyond METRICS_RESOURCES_MAX are omitted.
 */
#pragma once

#include "app/head/metrics/process_facts.h"
#include "app/model/cluster_status.h"
#include "app/model/node_view.h"
#include "base/buf.h"
#include "config/config.h"
#include "core/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { METRICS_BUCKETS_MAX = 20, METRICS_SHAPES_MAX = 20, METRICS_RESOURCES_MAX = 40 };

/* The port of Ray's own autoscaler. */
enum { METRICS_PORT = 44217 };

struct metrics_histogram {
    uint64_t buckets[METRICS_BUCKETS_MAX]; /* not cumulative */
    uint64_t count;
    double sum;
};

/* Since this process started. All zero: nothing counted. */
struct metrics {
    uint64_t launches[OUTCOME_COUNT]; /* calls */
    uint64_t started, refused;        /* nodes */
    uint64_t stopped;
    uint64_t set_ups, failed_set_ups;
    uint64_t drains[DRAIN_ANSWER_COUNT];
    uint64_t notices;
    uint64_t polls;
    uint64_t failed_polls; /* set by the caller */
    double spent;          /* micro-dollars */
    double poll_s;         /* duration of the last poll */
    struct metrics_histogram poll_time, launch_time, set_up_time;
};

/* One poll of Ray, from request to decision. */
void metrics_count_poll(struct metrics *metrics, double ms);
/* The result of a launch of `nodes` nodes. */
void metrics_count_launch(struct metrics *metrics, enum outcome outcome, int64_t nodes,
                          int64_t took_ms);
void metrics_count_set_up(struct metrics *metrics, bool is_fine, int64_t took_ms);
void metrics_count_drain(struct metrics *metrics, enum drain_answer answer);
void metrics_count_notice(struct metrics *metrics);
void metrics_count_end(struct metrics *metrics);
/* Adds the cost of `ms` at `price` per hour. */
void metrics_count_spent(struct metrics *metrics, int64_t price, int64_t ms);

/* The current state. */
struct metrics_scene {
    const struct metrics *counts;
    const struct config *config;
    const struct cluster_status *cluster_status; /* NULL if Ray was never seen */
    const struct node_view *nodes;
    size_t node_count;
    struct str cluster, ray_version;
    struct str session; /* Ray's session name; may be empty */
    bool is_acting;     /* holds the lease */
    bool is_recording;  /* the journal is writable */
    int64_t now_ms;     /* wall clock */
    struct process_facts process;
};

/* Prometheus's text format, version 0.0.4. */
void metrics_write(struct buf *out, const struct metrics_scene *scene);
extern const char metrics_content_type[];
