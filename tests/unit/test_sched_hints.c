/* test_sched_hints.c: hints as AdaptDL 0.2.11 sends them, and wrong ones. */
#include "app/train/sched_hints.h"

#include "base/attr.h"
#include "unit.h"

#include <stdio.h>

#define PERF                                                                                       \
    "\"perfParams\":{\"alpha_c\":0.0219,\"beta_c\":0.000913,\"alpha_n\":0.01385,\"beta_n\":1e-08," \
    "\"alpha_r\":1e-08,\"beta_r\":1e-08,\"gamma\":1.501}"

static void the_hints_of_a_real_job(void **state)
{
    struct sched_hints hints;
    struct err err;
    (void)state;
    assert_true(sched_hints_read(
        STR("{\"initBatchSize\":48,\"localBszBounds\":[8,64],\"globalBatchSize\":null,"
            "\"maxBatchSize\":256,\"maxProfiledReplicas\":2,\"gradientAccumulation\":true,"
            "\"gradParams\":{\"norm\":0.7079,\"var\":9.657}," PERF "}"),
        &hints, &err));
    assert_int_equal(hints.model.init_batch, 48);
    assert_int_equal(hints.limits.max_batch, 256);
    assert_int_equal(hints.limits.atomic_min, 8);
    assert_int_equal(hints.limits.atomic_max, 64);
    assert_true(hints.limits.accumulates);
    assert_int_equal(hints.profiled, 2);
    assert_true(hints.model.grad.sqr == 0.7079 && hints.model.grad.var == 9.657);
    assert_true(hints.model.perf.alpha_c == 0.0219 && hints.model.perf.alpha_n == 0.01385);
    assert_true(hints.model.perf.gamma == 1.501);
}

static void without_a_gradient_the_batch_is_fixed(void **state)
{
    struct sched_hints hints;
    struct err err;
    (void)state;
    assert_true(sched_hints_read(STR("{\"initBatchSize\":48,\"localBszBounds\":null,"
                                     "\"maxBatchSize\":null,\"gradParams\":null," PERF "}"),
                                 &hints, &err));
    assert_int_equal(hints.limits.max_batch, 0);
    assert_true(hints.model.grad.sqr == 0 && hints.model.grad.var == 1);
    assert_int_equal(hints.profiled, 1); /* 0 means that there are no hints */
}

static void wrong_hints_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"initBatchSize\":48}",
        "{\"initBatchSize\":0," PERF "}",
        "{\"initBatchSize\":-1," PERF "}",
        "{\"initBatchSize\":\"48\"," PERF "}",
        "{\"initBatchSize\":48,\"maxBatchSize\":47," PERF "}",
        "{\"initBatchSize\":48,\"localBszBounds\":[8,-1]," PERF "}",
        "{\"initBatchSize\":48,\"localBszBounds\":[64,8]," PERF "}",
        "{\"initBatchSize\":48,\"perfParams\":{\"alpha_c\":0,\"beta_c\":1e-300,\"alpha_n\":0,"
        "\"beta_n\":0,\"alpha_r\":0,\"beta_r\":0,\"gamma\":1}}",
        "{\"initBatchSize\":48,\"gradParams\":{\"norm\":-1,\"var\":1}," PERF "}",
        "{\"initBatchSize\":48,\"gradParams\":{\"norm\":1}," PERF "}",
        "{\"initBatchSize\":48,\"perfParams\":{\"alpha_c\":0,\"beta_c\":0,\"alpha_n\":1,"
        "\"beta_n\":1,\"alpha_r\":1,\"beta_r\":1,\"gamma\":1}}",
        "{\"initBatchSize\":48,\"perfParams\":{\"alpha_c\":1,\"beta_c\":1,\"alpha_n\":1,"
        "\"beta_n\":1,\"alpha_r\":1,\"beta_r\":1,\"gamma\":0.5}}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct sched_hints hints;
        struct err err = {0};
        assert_false(sched_hints_read(str_from(texts[i]), &hints, &err));
        assert_int_equal(err.kind, ERR_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hints_of_a_real_job),
        cmocka_unit_test(without_a_gradient_the_batch_is_fixed),
        cmocka_unit_test(wrong_hints_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
