/* test_index_sort.c: the sort is correct and stable. */
#include "core/plan/index_sort.h"

#include "unit.h"

#include "base/attr.h"

static int compare_tens(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *keys = context;
    return keys[a] / 10 < keys[b] / 10 ? -1 : keys[a] / 10 > keys[b] / 10;
}

static void equals_keep_their_order(void **state)
{
    (void)state;
    static const uint32_t keys[] = {31, 12, 30, 11, 25, 10, 32, 20, 5};
    static const uint32_t expected[] = {8, 1, 3, 5, 4, 7, 0, 2, 6};
    uint32_t items[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    uint32_t spare[ARRAY_LEN(items)];
    index_sort(items, spare, ARRAY_LEN(items), compare_tens, keys);
    assert_memory_equal(items, expected, sizeof(items));
}

static void every_length_is_sorted(void **state)
{
    (void)state;
    for (uint32_t count = 0; count < 70; count++) {
        uint32_t keys[70] = {0};
        uint32_t items[70];
        uint32_t spare[70];
        for (uint32_t i = 0; i < count; i++) {
            keys[i] = i * 7919 % 211;
            items[i] = i;
        }
        index_sort(items, spare, count, compare_tens, keys);
        for (uint32_t i = 1; i < count; i++) {
            int order = compare_tens(keys, items[i - 1], items[i]);
            assert_true(order < 0 || (order == 0 && items[i - 1] < items[i]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_keep_their_order),
        cmocka_unit_test(every_length_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
