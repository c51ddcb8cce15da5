/* measure.c: sums of the figures, and percentiles of waiting times. */
#include "sim/measure.h"

#include "base/panic.h"
#include "base/rng.h"
#include "sim/cluster.h"

#include <string.h>

enum { MS_PER_HOUR = 3600 * 1000 };

void measure_init(struct measure *measure, size_t type_count, struct arena *arena)
{
    *measure = (struct measure){.type_count = type_count, .first_node_at = -1};
    measure->node_ms = ARENA_ARRAY(arena, type_count, int64_t);
    measure->cost = ARENA_ARRAY(arena, type_count, int64_t);
}

void measure_sample(struct measure *measure, const struct sample *sample, struct arena *arena)
{
    ARENA_GROW(arena, measure->samples, measure->sample_count, measure->sample_capacity);
    int64_t *nodes = ARENA_ARRAY(arena, measure->type_count, int64_t);
    if (measure->type_count > 0) {
        memcpy(nodes, sample->nodes, measure->type_count * sizeof(*nodes));
    }
    struct sample *copy = &measure->samples[measure->sample_count++];
    *copy = *sample;
    copy->nodes = nodes;
}

int64_t measure_cost(int64_t price, int64_t ms)
{
    if (price <= 0 || ms <= 0) {
        return 0;
    }
    /* Full hours are computed separately, to avoid overflow. */
    int64_t rest = price * (ms % MS_PER_HOUR);
    return price * (ms / MS_PER_HOUR) + (rest + MS_PER_HOUR / 2) / MS_PER_HOUR;
}

void measure_instance(struct measure *measure, uint32_t type, int64_t price, int64_t from,
                      int64_t until)
{
    if (type >= measure->type_count || until < from) {
        panic("measure: an instance of type %u that ran for %lld ms", (unsigned)type,
              (long long)(until - from));
    }
    measure->node_ms[type] += until - from;
    measure->cost[type] += measure_cost(price, until - from);
}

void measure_ready(struct measure *measure, int64_t at, int64_t ready)
{
    if (ready > 0 && measure->first_node_at < 0) {
        measure->first_node_at = at;
    }
    if (ready > measure->most_nodes) {
        measure->most_nodes = ready;
        measure->most_nodes_at = at;
    }
}

/* ---- waits ---------------------------------------------------------------------------------- */

/* The value at `rank` in sorted order; reorders the values. */
static int64_t select_rank(int64_t *values, size_t count, size_t rank)
{
    struct rng rng = {count};
    while (count > 1) {
        int64_t pivot = values[rng_below(&rng, (int64_t)count)];
        size_t less = 0;  /* the values before it are smaller than the pivot */
        size_t equal = 0; /* the values from `less` to it are equal to the pivot */
        for (size_t i = 0; i < count; i++) {
            int64_t value = values[i];
            if (value <= pivot) {
                values[i] = values[equal];
                values[equal] = value;
                if (value < pivot) {
                    values[equal] = values[less];
                    values[less++] = value;
                }
                equal++;
            }
        }
        if (rank < less) {
            count = less;
        } else if (rank < equal) {
            return pivot;
        } else {
            values += equal;
            count -= equal;
            rank -= equal;
        }
    }
    return values[0];
}

int64_t measure_wait(const struct measure *measure, int64_t permille, struct arena *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < measure->class_count; i++) {
        count += measure->classes[i].wait_count;
    }
    if (count == 0) {
        return 0;
    }
    int64_t *waits = ARENA_ARRAY(scratch, count, int64_t);
    size_t copied = 0;
    for (size_t i = 0; i < measure->class_count; i++) {
        const struct class_figures *figures = &measure->classes[i];
        if (figures->wait_count > 0) {
            memcpy(waits + copied, figures->waits, figures->wait_count * sizeof(*waits));
            copied += figures->wait_count;
        }
    }
    /* The smallest wait that at least so many starts did not exceed. */
    size_t share = permille <= 0 ? 0 : permille >= 1000 ? 1000 : (size_t)permille;
    size_t rank = (count / 1000) * share + ((count % 1000) * share + 999) / 1000;
    return select_rank(waits, count, rank > 0 ? rank - 1 : 0);
}
