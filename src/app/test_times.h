/*
 * test_times.h: limits that a test shortens with SHOAL_TEST_TIMES=settle=0,keep_nodes=20
 *
 * Times are in milliseconds. Unknown names and values that are not numbers have no effect. This is
 * for tests only, not an option for users.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct test_time {
    const char *name;
    int64_t *place;
};

/* Stores each value from the variable whose name is known. */
void test_times_read(const struct test_time *known, size_t count);
