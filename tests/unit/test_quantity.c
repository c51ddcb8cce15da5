/* test_quantity.c: durations, bytes and percentages, and invalid ones. */
#include "config/workload/quantity.h"

#include "unit.h"

static void durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"90s", 90000},
        {"5m", 300000},
        {"1h30m", 5400000},
        {"2.5h", 9000000},
        {"250ms", 250},
        {"750", 750000},
        {"0", 0},
        {"12m30s", 750000},
        {"1d", 86400000},
        {" 1 h ", 3600000},
        {"1 h 5 m", 3900000},
        {"2 hours", 7200000},
        {"", -1},
        {"m", -1},
        {"5x", -1},
        {"-5m", -1},
        {"-5", -1},
        {"5m3", -1},
        {"1..5h", -1},
        {"1h,30m", -1},
        {"1e300", -1},
        {"200000d", -1},
        {"inf", -1},
        {"nan", -1},
        {"5 m m", -1},
        {"0.0001s", 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t ms = -1;
        bool ok = quantity_duration(str_from(rows[i].text), &ms);
        assert_int_equal(ok ? ms : -1, rows[i].ms);
        assert_true(ok == (rows[i].ms >= 0));
    }
}

static void bytes(void **state)
{
    static const struct {
        const char *text;
        double bytes;
    } rows[] = {
        {"4GiB", 4294967296.0},
        {"4Gi", 4294967296.0},
        {"4GB", 4e9},
        {"4G", 4e9},
        {"1.5k", 1500},
        {"512MiB", 536870912.0},
        {"100", 100},
        {"7B", 7},
        {"1TiB", 1099511627776.0},
        {"4 GB", 4e9},
        {"", -1},
        {"GB", -1},
        {"4Gx", -1},
        {"4GiBs", -1},
        {"-4GB", -1},
        {"4q", -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double found = -1;
        bool ok = quantity_bytes(str_from(rows[i].text), &found);
        assert_true(ok == (rows[i].bytes >= 0));
        assert_true(!ok || found == rows[i].bytes);
    }
}

static void shares(void **state)
{
    static const struct {
        const char *text;
        int64_t permille;
    } rows[] = {{"90%", 900},    {"0.9", 900}, {"100%", 1000}, {"0%", 0},
                {"12.5 %", 125}, {"1", 1000},  {"101%", -1},   {"1.5", -1},
                {"-1%", -1},     {"%", -1},    {"", -1},       {"nine", -1}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t permille = -1;
        bool ok = quantity_share(str_from(rows[i].text), &permille);
        assert_int_equal(ok ? permille : -1, rows[i].permille);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(bytes),
        cmocka_unit_test(shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
