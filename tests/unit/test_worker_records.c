/* test_worker_records.c: one record for each worker. */
#include "app/head/workers/worker_records.h"

#include "unit.h"

static void records_are_found_in_any_order(void **state)
{
    struct worker_records records = {0};
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t instance = 2 + i * 37 % 100;
        assert_null(worker_records_find(&records, instance));
        assert_int_equal(worker_records_get(&records, instance)->instance, instance);
    }
    struct worker_record *one = worker_records_find(&records, 60);
    assert_int_equal(one->instance, 60);
    assert_ptr_equal(worker_records_get(&records, 60), one);
    assert_int_equal(records.count, 100);
    for (size_t i = 1; i < records.count; i++) {
        assert_true(records.items[i - 1]->instance < records.items[i]->instance);
    }
    worker_records_remove(&records, 61);
    worker_records_remove(&records, 61); /* unknown now */
    assert_null(worker_records_find(&records, 61));
    assert_ptr_equal(worker_records_find(&records, 60), one);
    assert_int_equal(worker_records_find(&records, 62)->instance, 62);
    assert_int_equal(records.count, 99);
    worker_records_clear(&records);
    assert_null(worker_records_find(&records, 60));
}

static void a_machine_that_starts_again_has_a_new_setup(void **state)
{
    struct worker_records records = {0};
    (void)state;
    worker_records_get(&records, 60)->is_end_logged = true;
    assert_null(worker_records_setup(&records, 60));
    assert_int_equal(worker_records_new_setup(&records, 60, 7)->launch, 7);
    worker_records_setup(&records, 60)->is_done = true;
    assert_int_equal(worker_records_new_setup(&records, 60, 8)->launch, 8);
    assert_false(worker_records_setup(&records, 60)->is_done);
    assert_true(worker_records_find(&records, 60)->is_end_logged);
    worker_records_clear(&records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_found_in_any_order),
        cmocka_unit_test(a_machine_that_starts_again_has_a_new_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
