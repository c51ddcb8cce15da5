/* test_aws_retry.c: the token bucket and the retry policy, without a network. */
#include "provider/aws/client/aws_bucket.h"
#include "provider/aws/client/aws_retry.h"
#include "unit.h"

static void a_bucket_fills_at_its_rate(void **state)
{
    struct aws_bucket bucket;
    (void)state;
    aws_bucket_init(&bucket, 3, 2000, 1000);
    assert_int_equal(aws_bucket_wait_ms(&bucket, 1000), 0);
    for (int i = 0; i < 3; i++) {
        assert_true(aws_bucket_take(&bucket, 1000));
    }
    assert_false(aws_bucket_take(&bucket, 1000));
    assert_int_equal(aws_bucket_wait_ms(&bucket, 1000), 500);
    assert_false(aws_bucket_take(&bucket, 1499));
    assert_int_equal(aws_bucket_wait_ms(&bucket, 1499), 1);
    assert_true(aws_bucket_take(&bucket, 1500));
    /* Never more than its size, however long it is not used; and a clock that stands still does
     * no harm. */
    assert_int_equal(aws_bucket_wait_ms(&bucket, INT64_MAX / 2), 0);
    assert_int_equal(bucket.level, 3000000);
    assert_true(aws_bucket_take(&bucket, 1));
}

/* Whatever the pattern of calls, no more pass than rate and size allow, and nearly as many. */
static void a_bucket_is_exact(void **state)
{
    struct rng rng = {7};
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct aws_bucket bucket;
        int64_t tokens = rng_between(&rng, 1, 50);
        int64_t rate = rng_between(&rng, 1, 30000);
        int64_t now = rng_between(&rng, 0, 1000000);
        int64_t start = now;
        int64_t taken = 0;
        aws_bucket_init(&bucket, tokens, rate, now);
        for (int i = 0; i < 400; i++) {
            now += rng_between(&rng, 0, 60);
            taken += aws_bucket_take(&bucket, now);
        }
        assert_true((taken - tokens) * 1000000 <= (now - start) * rate);
        while (!aws_bucket_take(&bucket, now)) {
            int64_t wait_ms = aws_bucket_wait_ms(&bucket, now);
            assert_true(wait_ms > 0 && wait_ms <= 1000 * 1000 / rate + 2);
            now += wait_ms; /* the returned wait is enough */
            assert_int_equal(aws_bucket_wait_ms(&bucket, now), 0);
        }
    }
}

static void refusals_drain_it_and_successes_mend_it(void **state)
{
    struct aws_bucket bucket;
    (void)state;
    aws_bucket_init(&bucket, 10, 8000, 0);
    aws_bucket_drain(&bucket, 0);
    assert_false(aws_bucket_take(&bucket, 0));
    assert_int_equal(aws_bucket_wait_ms(&bucket, 0), 250); /* half as fast */
    for (int i = 0; i < 20; i++) {
        aws_bucket_drain(&bucket, 0);
    }
    assert_int_equal(aws_bucket_wait_ms(&bucket, 0), 2500); /* a twentieth, never zero */
    for (int i = 0; i < 50; i++) {
        aws_bucket_record_success(&bucket, 0);
    }
    assert_int_equal(bucket.rate, 8000);
}

static void waits_are_jittered_and_bounded(void **state)
{
    struct rng rng = {1};
    (void)state;
    for (unsigned tries = 0; tries < 40; tries++) {
        int64_t most = 0;
        for (int i = 0; i < 200; i++) {
            int64_t wait_ms = aws_retry_wait_ms(tries, &rng);
            assert_true(wait_ms >= 0 && wait_ms <= 20000);
            assert_true(tries > 1 || wait_ms <= 200);
            assert_true(tries != 3 || wait_ms <= 800);
            most = wait_ms > most ? wait_ms : most;
        }
        assert_true(tries < 8 || most > 15000);
    }
}

static void care_decides(void **state)
{
    static const struct {
        enum aws_error_class class;
        enum aws_remedy remedy;
        bool read, once, settling;
    } rows[] = {
        {AWS_THROTTLE, AWS_REMEDY_NONE, true, true, true},
        {AWS_AMBIGUOUS, AWS_REMEDY_NONE, true, false, false},
        {AWS_DEFINITE_NO, AWS_REMEDY_NONE, false, false, false},
        {AWS_DEFINITE_NO, AWS_REMEDY_REPEAT, true, true, true},
        {AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, false, false, true},
        {AWS_AUTH, AWS_REMEDY_REFRESH, false, false, false},
        {AWS_QUOTA, AWS_REMEDY_NONE, false, false, false},
        {AWS_CAPACITY, AWS_REMEDY_NONE, false, false, false},
        {AWS_PERMANENT, AWS_REMEDY_NONE, false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_error error = {.class = rows[i].class, .remedy = rows[i].remedy};
        assert_int_equal(aws_retry_may(&(struct aws_try){AWS_READ, false, 1}, &error),
                         rows[i].read);
        assert_int_equal(aws_retry_may(&(struct aws_try){AWS_REPEATABLE, false, 1}, &error),
                         rows[i].read);
        assert_int_equal(aws_retry_may(&(struct aws_try){AWS_ONCE, false, 1}, &error),
                         rows[i].once);
        assert_int_equal(aws_retry_may(&(struct aws_try){AWS_ONCE, true, 1}, &error),
                         rows[i].settling);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_fills_at_its_rate),
        cmocka_unit_test(a_bucket_is_exact),
        cmocka_unit_test(refusals_drain_it_and_successes_mend_it),
        cmocka_unit_test(waits_are_jittered_and_bounded),
        cmocka_unit_test(care_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
