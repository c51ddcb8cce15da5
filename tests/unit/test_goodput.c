/* test_goodput.c: cases that can be computed by hand; tests/diff/test_goodput.py compares random
 * ones with AdaptDL. */
#include "core/train/goodput.h"

#include "base/rng.h"
#include "unit.h"

#include <math.h>

/* 0.1 s per pass and 0.01 s per sample; 0.6 s of network between nodes, 0.2 s within one. */
static const struct goodput_model job = {{0.1, 0.01, 0.6, 0.05, 0.2, 0.02, 1}, {1, 20}, 128};

static const struct placement_size alone = {1, 1};
static const struct placement_size two_in_one = {1, 2};
static const struct placement_size two_nodes = {2, 2};
static const struct placement_size four_nodes = {4, 4};

static void assert_near(double value, double wanted, double slack)
{
    assert_true(value >= wanted - slack && value <= wanted + slack);
}

static void step_times_add_up_without_overlap(void **state)
{
    (void)state;
    assert_near(goodput_accum_seconds(&job.perf, 10), 0.2, 1e-9);
    assert_near(goodput_optim_seconds(&job.perf, alone, 10), 0.2, 1e-6);
    assert_near(goodput_optim_seconds(&job.perf, two_in_one, 10), 0.4, 1e-6);
    assert_near(goodput_optim_seconds(&job.perf, two_nodes, 10), 0.8, 1e-6);
    assert_near(goodput_optim_seconds(&job.perf, four_nodes, 10), 0.9, 1e-6);
}

static void with_overlap_the_longer_time_counts(void **state)
{
    (void)state;
    struct perf_params perf = job.perf;
    perf.gamma = 10;
    assert_near(goodput_optim_seconds(&perf, two_nodes, 10), 0.6, 1e-3);
}

static void throughput_counts_every_pass(void **state)
{
    (void)state;
    /* 2 replicas with 2 passes of 10 samples: 40 samples in 0.2 s + 0.8 s */
    assert_near(goodput_throughput(&job.perf, two_nodes, 10, 1), 40, 1e-4);
}

static void a_larger_batch_is_less_efficient(void **state)
{
    (void)state;
    assert_near(goodput_efficiency(&job, 128), 1, 1e-12);
    /* twice the batch: (20 + 1) / (20 / 2 + 1) = 1.909 times the progress of a step */
    assert_near(goodput_efficiency(&job, 256), 21.0 / 11 / 2, 1e-12);
    struct goodput_model exact = job;
    exact.grad = (struct grad_params){0, 0};
    assert_near(goodput_efficiency(&exact, 256), 0.5, 1e-12);
}

static void one_replica_keeps_the_initial_batch(void **state)
{
    (void)state;
    struct batch_limits limits = {.max_batch = 2048, .atomic_max = 256};
    struct batch_choice choice = goodput_optimize(&job, &limits, alone);
    assert_int_equal(choice.atomic, 128);
    assert_int_equal(choice.accum, 0);
}

static void a_batch_above_the_limit_is_accumulated(void **state)
{
    (void)state;
    struct batch_limits limits = {.max_batch = 2048, .atomic_max = 32, .accumulates = true};
    struct batch_choice choice = goodput_optimize(&job, &limits, alone);
    assert_true(choice.goodput > 0);
    assert_true(choice.atomic <= 32 && choice.accum >= 3);
    limits.accumulates = false;
    assert_true(goodput_optimize(&job, &limits, alone).goodput == 0);
}

static void one_replica_needs_two_passes_for_a_larger_batch(void **state)
{
    (void)state;
    struct batch_limits limits = {.max_batch = 2048, .accumulates = true};
    struct goodput_model noisy = job;
    noisy.grad = (struct grad_params){0, 1};
    struct batch_choice choice = goodput_optimize(&noisy, &limits, alone);
    assert_true(choice.atomic * (choice.accum + 1) > 128);
    assert_true(choice.accum >= 1);
}

/* Steps and speeds have one unit: progress per step times steps per second is the speed. */
static void a_large_batch_makes_more_progress_per_step(void **state)
{
    (void)state;
    struct batch_limits limits = {.max_batch = 1280, .atomic_max = 256, .accumulates = true};
    struct batch_choice choice = goodput_optimize(&job, &limits, four_nodes);
    double batch = 4.0 * (double)choice.atomic * (double)(choice.accum + 1);
    double steps = goodput_throughput(&job.perf, four_nodes, choice.atomic, choice.accum) / batch;
    double progress = goodput_step_progress(&job, &choice, 4);
    assert_true(batch > 256 && progress > 1.5 && progress < batch / 128);
    assert_near(progress * steps, choice.goodput / 128, 1e-6);
    choice = (struct batch_choice){.atomic = 128};
    assert_near(goodput_step_progress(&job, &choice, 1), 1, 1e-9); /* the initial batch */
}

static void a_batch_larger_than_allowed_is_infeasible(void **state)
{
    (void)state;
    /* The initial batch size exceeds the maximum, as a broken hint may claim. */
    struct batch_limits limits = {.max_batch = 64};
    struct batch_choice choice = goodput_optimize(&job, &limits, alone);
    assert_true(choice.goodput == 0);
}

/* ---- against all 50 candidates ---- */

static double any_of(struct rng *rng, double low, double high)
{
    return low * pow(high / low, (double)rng_below(rng, 1000) / 999);
}

static double candidate_goodput(const struct goodput_model *model,
                                const struct batch_limits *limits, struct placement_size size,
                                double total)
{
    double local = total / (double)size.replicas;
    double most = (double)limits->atomic_max;
    double accum = limits->accumulates ? ceil(local / most - 1e-8) - 1 : 0;
    if (limits->accumulates && size.replicas == 1 && local > (double)model->init_batch + 1e-8) {
        accum = fmax(accum, 1);
    }
    double atomic = ceil(local / (accum + 1) - 1e-8);
    if (!limits->accumulates && size.replicas == 1) {
        atomic = (double)model->init_batch;
    }
    double batch = (double)size.replicas * atomic * (accum + 1);
    if (atomic < (double)limits->atomic_min || atomic > most || batch < (double)model->init_batch) {
        return 0;
    }
    return goodput_throughput(&model->perf, size, (int64_t)atomic, (int64_t)accum) *
           goodput_efficiency(model, batch);
}

static double best_of_all(const struct goodput_model *model, const struct batch_limits *limits,
                          struct placement_size size)
{
    double best = 0;
    double first = fmax((double)model->init_batch, (double)(limits->atomic_min * size.replicas));
    double last = (double)limits->max_batch;
    for (int i = 0; i < 50; i++) {
        double total = i == 49 ? fmax(last, first) : first * pow(last / first, i / 49.0);
        best = fmax(best, candidate_goodput(model, limits, size, last < first ? first : total));
    }
    return best;
}

static void the_search_finds_the_best_candidate(void **state)
{
    (void)state;
    static const double gammas[] = {1, 1.5, 4, 10};
    static const int64_t lows[] = {1, 8, 32, 3}, highs[] = {64, 1000000, 256, 5};
    struct rng rng = {1};
    int64_t feasible = 0;
    for (int i = 0; i < 20000; i++) {
        struct goodput_model model = {{any_of(&rng, 1e-3, 1), any_of(&rng, 1e-5, 0.1),
                                       any_of(&rng, 1e-4, 2), any_of(&rng, 1e-8, 0.5),
                                       any_of(&rng, 1e-4, 1), any_of(&rng, 1e-8, 0.2),
                                       gammas[rng_below(&rng, 4)]},
                                      {any_of(&rng, 1e-4, 10), any_of(&rng, 1e-4, 100)},
                                      1 + rng_below(&rng, 300)};
        model.perf.alpha_c *= (double)(rng_below(&rng, 10) > 0); /* or 0 */
        model.grad.sqr *= (double)(rng_below(&rng, 5) > 0);
        model.grad.var *= (double)(rng_below(&rng, 10) > 0);
        int64_t bounds = rng_below(&rng, 4);
        int64_t most = rng_below(&rng, 4) > 0 ? model.init_batch * (1 + rng_below(&rng, 1000))
                                              : model.init_batch + rng_below(&rng, 3);
        struct batch_limits limits = {most, lows[bounds], highs[bounds], rng_below(&rng, 2) == 0};
        int64_t nodes = 1 + rng_below(&rng, 8);
        struct placement_size size = {nodes, nodes * (1 + rng_below(&rng, 8))};
        double best = best_of_all(&model, &limits, size);
        double found = goodput_optimize(&model, &limits, size).goodput;
        assert_near(found, best, 1e-6 * best);
        feasible += best > 0;
    }
    assert_true(feasible > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_times_add_up_without_overlap),
        cmocka_unit_test(with_overlap_the_longer_time_counts),
        cmocka_unit_test(throughput_counts_every_pass),
        cmocka_unit_test(a_larger_batch_is_less_efficient),
        cmocka_unit_test(one_replica_keeps_the_initial_batch),
        cmocka_unit_test(a_batch_above_the_limit_is_accumulated),
        cmocka_unit_test(one_replica_needs_two_passes_for_a_larger_batch),
        cmocka_unit_test(a_large_batch_makes_more_progress_per_step),
        cmocka_unit_test(a_batch_larger_than_allowed_is_infeasible),
        cmocka_unit_test(the_search_finds_the_best_candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
