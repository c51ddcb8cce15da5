/* test_goodput.c: cases that can be computed by hand; tests/diff/test_goodput.py compares random
 * ones with AdaptDL. */
#include "core/train/goodput.h"

#include "unit.h"

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
