/* test_memzero.c: memory is overwritten, and only that. */
#include "base/memzero.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void memory_is_zero_and_its_neighbours_are_not(void **state)
{
    char *memory = malloc(64);
    (void)state;
    assert_non_null(memory);
    memset(memory, 'x', 64);
    memzero(memory + 8, 48);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(memory[i], i >= 8 && i < 56 ? 0 : 'x');
    }
    memzero(memory, 0);
    assert_int_equal(memory[0], 'x');
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zero_and_its_neighbours_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
