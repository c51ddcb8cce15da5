/* test_train_size.c: the number of replicas by speed, price and deadline. */
#include "core/train/size.h"

#include "base/attr.h"
#include "base/rng.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* A step of 1 s, of which 10 % cannot be divided: 8 replicas are 4.7 times as fast as one. */
static double amdahl(int64_t replicas)
{
    return 1 / (0.1 + 0.9 / (double)replicas);
}

static struct size_question question_with(enum size_objective objective, int64_t current)
{
    struct size_question question = {
        .objective = objective,
        .min = 1,
        .max = 16,
        .current = current,
        .restart_seconds = 0.5,
    };
    for (int64_t n = 1; n <= question.max; n++) {
        question.rates[n] = amdahl(n);
        question.is_measured[n] = true;
    }
    return question;
}

static void measure_none(struct size_question *question)
{
    memset(question->is_measured, 0, sizeof(question->is_measured));
}

static void check(const struct size_question *question, int64_t replicas, const char *reason)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct size_choice choice = size_choose(question);
    assert_int_equal(choice.replicas, replicas);
    assert_str(size_reason(question, choice, &arena), reason);
}

/* ---- speed ---- */

static void step_times_are_explained(void **state)
{
    struct speed_samples samples = {{0}};
    double rates[SIZE_MAX_REPLICAS + 1];
    (void)state;
    for (int64_t n = 1; n <= 4; n++) {
        samples.steps[n] = 10;
        samples.seconds[n] = 10 * (0.02 + 0.4 / (double)n + 0.003 * (double)(n - 1));
    }
    speed_rates(&samples, 16, false, rates);
    double wanted = 1 / (0.02 + 0.4 / 16 + 0.003 * 15);
    assert_true(fabs(rates[16] / wanted - 1) < 1e-6);
    speed_rates(&samples, 16, true, rates);
    assert_true(fabs(rates[16] / (16 * wanted) - 1) < 1e-6);
}

static void one_size_promises_perfect_scaling(void **state)
{
    struct speed_samples samples = {{0}};
    double rates[SIZE_MAX_REPLICAS + 1];
    (void)state;
    speed_rates(&samples, 8, false, rates);
    assert_true(rates[1] == 0 && rates[8] == 0);
    samples.steps[2] = 4;
    samples.seconds[2] = 2;
    speed_rates(&samples, 8, false, rates);
    assert_true(fabs(rates[1] - 1) < 1e-9 && fabs(rates[8] - 8) < 1e-9);
    speed_rates(&samples, 8, true, rates);
    assert_true(fabs(rates[1] - 2) < 1e-9 && fabs(rates[8] - 16) < 1e-9);
}

static void noise_gives_no_negative_times(void **state)
{
    struct rng rng = {7};
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct speed_samples samples = {{0}};
        double rates[SIZE_MAX_REPLICAS + 1];
        for (int j = 0; j < 4; j++) {
            int64_t n = rng_between(&rng, 1, 16);
            samples.steps[n] = 1;
            samples.seconds[n] = (double)rng_between(&rng, 1, 1000) / 100;
        }
        speed_rates(&samples, SIZE_MAX_REPLICAS, false, rates);
        for (int64_t n = 1; n <= SIZE_MAX_REPLICAS; n++) {
            assert_true(rates[n] > 0 && isfinite(rates[n]));
        }
    }
}

/* ---- objectives ---- */

static void the_fastest_size_is_not_always_the_largest(void **state)
{
    struct size_question question = question_with(SIZE_FASTEST, 8);
    (void)state;
    check(&question, 16, "16 replicas should train 1.4 times as fast as 8");
    for (int64_t n = 5; n <= 16; n++) {
        question.rates[n] = amdahl(4) * 1.01; /* the network is the limit */
    }
    check(&question, 4, "4 replicas can train as fast as 8");
}

static void the_cheapest_size_weighs_the_head(void **state)
{
    struct size_question question = question_with(SIZE_CHEAPEST, 8);
    (void)state;
    question.price = 1;
    check(&question, 1, "1 replica is 41 % cheaper per step than 8");
    question.fixed_price = 1; /* best: n = sqrt(0.9 / 0.1) */
    check(&question, 3, "3 replicas are 16 % cheaper per step than 8");
    question.current = 4;
    check(&question, 4, "no other size is worth a restart");
}

static void a_budget_is_a_limit(void **state)
{
    struct size_question question = question_with(SIZE_FASTEST, 8);
    (void)state;
    question.price = 0.5;
    question.fixed_price = 0.1;
    question.max_cost = 2.1;
    check(&question, 4, "$2.10 per hour pays for at most 4 replicas");
    question.current = 4;
    check(&question, 4, "no other size is worth a restart");
    question.max_cost = 0.2; /* not even one: the smallest size runs in any case */
    check(&question, 1, "even the smallest size costs more than $0.20 per hour");
    measure_none(&question);
    check(&question, 1, "even the smallest size costs more than $0.20 per hour");
    question.max_cost = 2.1;
    check(&question, 4, "$2.10 per hour pays for at most 4 replicas");
}

/* As with hints whose batch sizes do not fit any size. */
static void without_a_speed_nothing_changes(void **state)
{
    static const enum size_objective objectives[] = {SIZE_FASTEST, SIZE_CHEAPEST};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(objectives); i++) {
        struct size_question question = question_with(objectives[i], 8);
        memset(question.rates, 0, sizeof(question.rates));
        check(&question, 8, "no other size is worth a restart");
    }
}

static void a_deadline_takes_the_cheapest_size_in_time(void **state)
{
    struct size_question question = question_with(SIZE_CHEAPEST, 1);
    (void)state;
    question.has_deadline = true;
    question.seconds_left = 1000;
    question.remaining = 2000; /* needs 2.2 per second with the reserve: 3 replicas make 2.5 */
    check(&question, 3, "this is the cheapest size that finishes in time");
    question.current = 16;
    check(&question, 3, "this is the cheapest size that finishes in time");
    question.remaining = 9000;
    check(&question, 16, "no size finishes in time; this is the fastest one");
    question.remaining = 0;
    assert_int_equal(size_choose(&question).replicas, 1);
}

/* ---- changes ---- */

static void small_gains_and_long_pauses_change_nothing(void **state)
{
    struct size_question question = question_with(SIZE_FASTEST, 15);
    (void)state;
    check(&question, 15, "no other size is worth a restart");
    question.current = 8;
    question.restart_seconds = 3600;
    check(&question, 8, "no other size is worth a restart");
}

static void a_size_is_at_most_doubled_before_it_is_measured(void **state)
{
    struct size_question question = question_with(SIZE_FASTEST, 2);
    (void)state;
    measure_none(&question);
    check(&question, 16, "to measure the speed of this size first");
    question.is_measured[2] = true;
    check(&question, 1, "to measure the speed of a second size");
    question.is_measured[1] = true;
    check(&question, 4, "4 replicas should train 1.7 times as fast as 2");
    question.is_measured[2] = false;
    check(&question, 2, "to measure the speed of a second size");
    question.objective = SIZE_CHEAPEST;
    measure_none(&question);
    check(&question, 1, "to measure the speed of this size first");
}

static void neighbors_of_the_best_size_are_measured_once(void **state)
{
    struct size_question question = question_with(SIZE_CHEAPEST, 4);
    (void)state;
    question.price = question.fixed_price = 1;
    measure_none(&question);
    question.is_measured[1] = question.is_measured[2] = question.is_measured[4] = true;
    check(&question, 8, "to measure the speed of this size, which may be better");
    question.is_measured[8] = true;
    check(&question, 4, "no other size is worth a restart");
    question.is_measured[8] = false;
    question.restart_seconds = 31;
    check(&question, 4, "no other size is worth a restart");
}

static void interruptions_favor_smaller_sizes(void **state)
{
    struct size_question question = question_with(SIZE_FASTEST, 16);
    (void)state;
    question.interruptions = 1.0 / 60;
    question.interruption_seconds = 10;
    assert_true(size_choose(&question).replicas < 10);
    question.interruption_seconds = 0;
    assert_int_equal(size_choose(&question).replicas, 16);
}

/* For any question, the size is within the limits, and the answer is stable. */
static void choices_are_stable(void **state)
{
    struct rng rng = {42};
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct size_question question = {
            .objective = (enum size_objective)rng_below(&rng, 3),
            .min = rng_between(&rng, 1, 8),
            .current = rng_between(&rng, 0, 40),
            .price = (double)rng_below(&rng, 3),
            .fixed_price = (double)rng_below(&rng, 3),
            .max_cost = (double)rng_below(&rng, 30),
            .restart_seconds = (double)rng_below(&rng, 100),
            .interruptions = (double)rng_below(&rng, 10) / 1000,
            .interruption_seconds = (double)rng_below(&rng, 100),
            .has_deadline = rng_chance(&rng, 300),
            .seconds_left = (double)rng_between(&rng, -100, 1000),
            .remaining = (double)rng_below(&rng, 3000),
        };
        question.max = question.min + rng_below(&rng, 32);
        double serial = (double)rng_below(&rng, 100) / 100;
        for (int64_t n = 1; n <= question.max; n++) {
            question.rates[n] = 1 / (serial + 1 / (double)n);
        }
        for (int64_t j = rng_below(&rng, 5); j > 0; j--) {
            question.is_measured[rng_between(&rng, 1, 40)] = true;
        }
        struct size_choice choice = size_choose(&question);
        assert_true(choice.replicas >= question.min && choice.replicas <= question.max);
        question.current = choice.replicas;
        struct size_choice next = size_choose(&question);
        bool is_probe = choice.cause == SIZE_PROBE || next.cause == SIZE_PROBE;
        assert_true(next.replicas == choice.replicas || is_probe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_times_are_explained),
        cmocka_unit_test(one_size_promises_perfect_scaling),
        cmocka_unit_test(noise_gives_no_negative_times),
        cmocka_unit_test(the_fastest_size_is_not_always_the_largest),
        cmocka_unit_test(the_cheapest_size_weighs_the_head),
        cmocka_unit_test(a_budget_is_a_limit),
        cmocka_unit_test(without_a_speed_nothing_changes),
        cmocka_unit_test(a_deadline_takes_the_cheapest_size_in_time),
        cmocka_unit_test(small_gains_and_long_pauses_change_nothing),
        cmocka_unit_test(a_size_is_at_most_doubled_before_it_is_measured),
        cmocka_unit_test(neighbors_of_the_best_size_are_measured_once),
        cmocka_unit_test(interruptions_favor_smaller_sizes),
        cmocka_unit_test(choices_are_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
