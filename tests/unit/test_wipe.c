/* test_wipe.c: what was wiped is gone, and nothing beside it is. */
#include "base/wipe.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void memory_is_zero_and_its_neighbours_are_not(void **state)
{
    char *memory = malloc(64);
    (void)state;
    assert_non_null(memory);
    memset(memory, 'x', 64);
    wipe(memory + 8, 48);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(memory[i], i >= 8 && i < 56 ? 0 : 'x');
    }
    wipe(memory, 0);
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
