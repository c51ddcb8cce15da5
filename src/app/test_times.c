/* test_times.c: reads SHOAL_TEST_TIMES. */
#include "app/test_times.h"

#include "base/str.h"

#include <stdlib.h>

static void test_times_set(const struct test_time *known, size_t count, struct str name,
                           int64_t value)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(name, known[i].name)) {
            *known[i].place = value;
        }
    }
}

void test_times_read(const struct test_time *known, size_t count)
{
    const char *given = getenv("SHOAL_TEST_TIMES");
    struct str rest = str_from(given ? given : "");
    while (rest.len > 0) {
        struct str value = str_cut(&rest, ',');
        struct str name = str_cut(&value, '=');
        int64_t number;
        if (str_to_i64(value, &number) && number >= 0) {
            test_times_set(known, count, name, number);
        }
    }
}
