/* test_table.c: thousands of entries, with hashes that spread and with hashes that collide. */
#include "base/table.h"

#include "unit.h"

enum { COUNT = 3000 };

/* The owner's array is the identity: the entry at position i is the number i. */
struct wanted {
    size_t number;
};

static bool is_wanted(const void *context, size_t position)
{
    const struct wanted *wanted = context;
    return wanted->number == position;
}

static bool is_any(const void *context, size_t position)
{
    (void)context;
    (void)position;
    return true;
}

static size_t find(const struct table *table, uint64_t hash, size_t number)
{
    struct wanted wanted = {number};
    return table_find(table, hash, is_wanted, &wanted);
}

static uint64_t spread(size_t number)
{
    return (uint64_t)number * UINT64_C(0x9E3779B97F4A7C15);
}

static uint64_t few(size_t number)
{
    return number % 7;
}

/* Differ in the half that a 32-bit hash would drop. */
static uint64_t high(size_t number)
{
    return (uint64_t)number << 32;
}

static void every_entry_is_found_and_no_other(void **state)
{
    static uint64_t (*const hashes[])(size_t) = {spread, few, high};
    (void)state;
    for (size_t h = 0; h < ARRAY_LEN(hashes); h++) {
        struct table table = {0};
        struct arena arena;
        arena_init(&arena);
        for (size_t i = 0; i < COUNT; i++) {
            table_add(&table, &arena, hashes[h](i), i);
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(find(&table, hashes[h](i), i), i);
        }
        assert_true(find(&table, hashes[h](COUNT), COUNT) == TABLE_NONE);
        assert_int_equal(table.used, COUNT);
        arena_clear(&arena);
    }
}

static void empty_table_has_nothing(void **state)
{
    struct table table = {0};
    (void)state;
    assert_true(table_find(&table, 0, is_any, NULL) == TABLE_NONE);
}

static void table_is_never_more_than_half_full(void **state)
{
    struct table table = {0};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT; i++) {
        table_add(&table, &arena, spread(i), i);
        assert_true(table.used * 2 <= table.slot_count);
        assert_int_equal(table.slot_count & (table.slot_count - 1), 0);
    }
    arena_clear(&arena);
}

/* The owner compares only entries whose complete hash matches. */
static void other_hashes_are_not_compared(void **state)
{
    struct table table = {0};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    table_add(&table, &arena, 1, 0);
    table_add(&table, &arena, 1 + 32, 1); /* the same slot */
    assert_int_equal(table_find(&table, 1, is_any, NULL), 0);
    assert_int_equal(table_find(&table, 1 + 32, is_any, NULL), 1);
    assert_true(table_find(&table, 1 + 64, is_any, NULL) == TABLE_NONE);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_found_and_no_other),
        cmocka_unit_test(empty_table_has_nothing),
        cmocka_unit_test(table_is_never_more_than_half_full),
        cmocka_unit_test(other_hashes_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
