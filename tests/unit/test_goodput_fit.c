/* test_goodput_fit.c: fits times whose origin is known; tests/diff/test_goodput.py compares random
 * ones with SciPy. */
#include "core/train/goodput_fit.h"

#include "unit.h"

#include "base/attr.h"

static const struct perf_params origin = {0.05, 0.002, 0.1, 0.01, 0.05, 0.004, 1.7};

static struct step_sample measured(int64_t nodes, int64_t replicas, int64_t atomic)
{
    struct step_sample sample = {{nodes, replicas}, atomic, 0, 0};
    sample.accum_seconds = goodput_accum_seconds(&origin, atomic);
    sample.optim_seconds = goodput_optim_seconds(&origin, sample.size, atomic);
    return sample;
}

static void assert_close(double value, double wanted, double share)
{
    assert_true(value > wanted * (1 - share) && value < wanted * (1 + share));
}

static void assert_near(double value, double wanted, double slack)
{
    assert_true(value >= wanted - slack && value <= wanted + slack);
}

static void times_without_noise_are_predicted(void **state)
{
    (void)state;
    struct step_sample samples[] = {
        measured(1, 1, 32), measured(1, 1, 64), measured(1, 2, 32), measured(1, 4, 32),
        measured(2, 2, 32), measured(2, 4, 48), measured(4, 8, 64), measured(8, 8, 16),
    };
    struct perf_params perf = goodput_fit(samples, ARRAY_LEN(samples));
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        const struct step_sample *sample = &samples[i];
        assert_close(goodput_accum_seconds(&perf, sample->atomic), sample->accum_seconds, 0.001);
        assert_close(goodput_optim_seconds(&perf, sample->size, sample->atomic),
                     sample->optim_seconds, 0.001);
    }
    /* Never measured, and still right. */
    struct step_sample other = measured(6, 16, 40);
    assert_close(goodput_optim_seconds(&perf, other.size, 40), other.optim_seconds, 0.02);
}

static void one_sample_promises_perfect_scaling(void **state)
{
    (void)state;
    struct step_sample sample = measured(1, 1, 32);
    struct perf_params perf = goodput_fit(&sample, 1);
    assert_close(perf.alpha_c, sample.accum_seconds / 2, 1e-6);
    struct placement_size many = {8, 8};
    assert_close(goodput_optim_seconds(&perf, many, 32), sample.accum_seconds, 0.001);
}

static void an_unknown_network_is_no_faster_than_a_known_one(void **state)
{
    (void)state;
    struct step_sample samples[] = {measured(1, 1, 32), measured(1, 2, 64), measured(1, 4, 32)};
    struct perf_params perf = goodput_fit(samples, ARRAY_LEN(samples));
    assert_true(perf.alpha_n >= perf.alpha_r && perf.beta_n >= perf.beta_r);
    assert_true(perf.alpha_r > 0.001);
}

static void the_objective_is_zero_only_for_an_exact_fit(void **state)
{
    (void)state;
    struct perf_params perf = origin;
    perf.gamma = 1;
    perf.beta_n = perf.beta_r = 0;
    struct step_sample sample = {{1, 1}, 10, 0, 0};
    sample.accum_seconds = goodput_accum_seconds(&perf, 10);
    sample.optim_seconds = goodput_optim_seconds(&perf, sample.size, 10);
    assert_true(goodput_fit_objective(&perf, &sample, 1) < 1e-9);
    sample.optim_seconds *= 2.718281828459045;
    assert_near(goodput_fit_objective(&perf, &sample, 1), 1, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_without_noise_are_predicted),
        cmocka_unit_test(one_sample_promises_perfect_scaling),
        cmocka_unit_test(an_unknown_network_is_no_faster_than_a_known_one),
        cmocka_unit_test(the_objective_is_zero_only_for_an_exact_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
