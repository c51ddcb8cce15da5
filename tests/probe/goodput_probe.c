/*
 * goodput_probe.c: answers each record, in JSON, with what core/train predicts; compared with
 * AdaptDL.
 *
 *     {perf, grad, init, max, range, accumulation, sizes: [[nodes, replicas]], repeats}
 *         -> [[goodput, atomic, accumulation steps]], of the last repeat
 *     {samples: [[nodes, replicas, atomic, accumulation seconds, step seconds]]}
 *         -> {perf, objective}
 */
#include "core/train/goodput_fit.h"

#include "json_record.h"

enum { RECORD_BYTES_MAX = 1024 * 1024 };

static double number_at(const json_t *list, size_t index)
{
    return json_number_value(json_array_get(list, index));
}

static int64_t integer_at(const json_t *list, size_t index)
{
    return json_integer_value(json_array_get(list, index));
}

static int64_t integer_of(const json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

static struct placement_size size_in(const json_t *list)
{
    return (struct placement_size){integer_at(list, 0), integer_at(list, 1)};
}

static json_t *optimized(const json_t *record)
{
    const json_t *perf = json_object_get(record, "perf");
    const json_t *grad = json_object_get(record, "grad");
    const json_t *range = json_object_get(record, "range");
    const json_t *sizes = json_object_get(record, "sizes");
    const struct goodput_model model = {{number_at(perf, 0), number_at(perf, 1), number_at(perf, 2),
                                         number_at(perf, 3), number_at(perf, 4), number_at(perf, 5),
                                         number_at(perf, 6)},
                                        {number_at(grad, 0), number_at(grad, 1)},
                                        integer_of(record, "init")};
    const struct batch_limits limits = {integer_of(record, "max"), integer_at(range, 0),
                                        integer_at(range, 1),
                                        json_is_true(json_object_get(record, "accumulation"))};
    json_t *rows = json_array();
    int64_t repeats = integer_of(record, "repeats");
    for (size_t i = 0; i < json_array_size(sizes); i++) {
        struct placement_size size = size_in(json_array_get(sizes, i));
        struct batch_choice choice = {0};
        for (int64_t j = 0; j < repeats; j++) {
            choice = goodput_optimize(&model, &limits, size);
        }
        json_array_append_new(rows, json_pack("[f, I, I]", choice.goodput,
                                              (json_int_t)choice.atomic, (json_int_t)choice.accum));
    }
    return rows;
}

static json_t *fitted(const json_t *list, struct arena *arena)
{
    size_t count = json_array_size(list);
    struct step_sample *samples = ARENA_ARRAY(arena, count, struct step_sample);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(list, i);
        samples[i] = (struct step_sample){size_in(row), integer_at(row, 2), number_at(row, 3),
                                          number_at(row, 4)};
    }
    struct perf_params perf = goodput_fit(samples, count);
    return json_pack("{s:[f, f, f, f, f, f, f], s:f}", "perf", perf.alpha_c, perf.beta_c,
                     perf.alpha_n, perf.beta_n, perf.alpha_r, perf.beta_r, perf.gamma, "objective",
                     goodput_fit_objective(&perf, samples, count));
}

static json_t *answer(const json_t *record, struct arena *arena)
{
    const json_t *samples = json_object_get(record, "samples");
    return samples ? fitted(samples, arena) : optimized(record);
}

int main(void)
{
    answer_records(answer, RECORD_BYTES_MAX);
    return 0;
}
