/* metrics.c: counters and histograms. */
#include "app/head/metrics/metrics.h"

#include "app/head/metrics/metrics_internal.h"

/* The same buckets as Ray, for its dashboards. */
const struct metrics_bounds metrics_poll_bounds = {{0.01, 0.1, 1, 10, 100, 1000}, 6};
const struct metrics_bounds metrics_node_bounds = {
    {5, 10, 20, 30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 900, 1200, 1500, 1800}, 19};

static void observe(struct metrics_histogram *histogram, const struct metrics_bounds *bounds,
                    double seconds, uint64_t times)
{
    size_t at = 0;
    while (at < bounds->count && seconds > bounds->items[at]) {
        at++;
    }
    histogram->buckets[at] += times; /* after the last bound: +Inf */
    histogram->count += times;
    histogram->sum += seconds * (double)times;
}

static double metrics_seconds_of(double ms)
{
    return ms > 0 ? ms / 1000 : 0;
}

void metrics_count_poll(struct metrics *metrics, double ms)
{
    metrics->polls++;
    metrics->poll_s = metrics_seconds_of(ms);
    observe(&metrics->poll_time, &metrics_poll_bounds, metrics->poll_s, 1);
}

void metrics_count_launch(struct metrics *metrics, enum outcome outcome, int64_t nodes,
                          int64_t took_ms)
{
    uint64_t count = nodes > 0 ? (uint64_t)nodes : 0;
    metrics->launches[outcome]++;
    if (outcome == OUTCOME_DONE) {
        metrics->started += count;
        observe(&metrics->launch_time, &metrics_node_bounds, metrics_seconds_of((double)took_ms),
                count);
    } else {
        metrics->refused += count;
    }
}

void metrics_count_set_up(struct metrics *metrics, bool is_fine, int64_t took_ms)
{
    if (is_fine) {
        metrics->set_ups++;
        observe(&metrics->set_up_time, &metrics_node_bounds, metrics_seconds_of((double)took_ms),
                1);
    } else {
        metrics->failed_set_ups++;
    }
}

void metrics_count_drain(struct metrics *metrics, enum drain_answer answer)
{
    metrics->drains[answer]++;
}

void metrics_count_notice(struct metrics *metrics)
{
    metrics->notices++;
}

void metrics_count_end(struct metrics *metrics)
{
    metrics->stopped++;
}

void metrics_count_spent(struct metrics *metrics, int64_t price, int64_t ms)
{
    enum { HOUR_MS = 3600 * 1000 };
    if (price > 0 && ms > 0) {
        metrics->spent += (double)price * (double)ms / HOUR_MS;
    }
}
