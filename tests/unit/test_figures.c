/* test_figures.c: times, money and differences as text. */
#include "cli/simulate/figures.h"

#include "unit.h"

static void times_have_two_units_at_most(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "0s"},        {400, "0.4s"},       {4000, "4s"},    {12900, "12s"},
        {60000, "1m"},    {130000, "2m 10s"},  {3600000, "1h"}, {3930000, "1h 5m"},
        {86400000, "1d"}, {93600000, "1d 2h"}, {59999, "59s"},  {3599999, "59m 59s"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(format_time(&arena, rows[i].ms), rows[i].text);
    }
    arena_clear(&arena);
}

static void money_is_rounded_to_cents(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_str(format_money(&arena, 0), "$0.00");
    assert_str(format_money(&arena, 12399999), "$12.40");
    assert_str(format_money(&arena, 4999), "$0.00");
    assert_str(format_money(&arena, PRICE_UNKNOWN), "unknown");
    arena_clear(&arena);
}

static void differences_are_one_sentence(void **state)
{
    static const struct {
        int64_t cost, p90, finished;
        bool is_partial;
        const char *text;
    } rows[] = {
        {56480000, 64000, 100, false,
         "price would cost $12.40 less (18 %) and wait 4s longer at p90."},
        {68880000, 60000, 100, false, "price would cost the same and wait equally long at p90."},
        {69000000, 30000, 100, false,
         "price would cost $0.12 more (0.1 %) and wait 30s less at p90."},
        {50000000, 60000, 90, false,
         "price would cost $18.88 less (27 %) and wait equally long at p90, and finish 10 fewer."},
        {PRICE_UNKNOWN, 60000, 101, false,
         "price would have an unknown cost and wait equally long at p90, and finish 1 more."},
        {68880000, 60000, 100, true,
         "price would have an unknown cost and wait equally long at p90."},
    };
    const struct figures ray = {
        .planner = "ray", .cost = 68880000, .wait = {.p90 = 60000}, .finished = 100};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct figures price = {.planner = "price",
                                .cost = rows[i].cost,
                                .is_cost_partial = rows[i].is_partial,
                                .wait = {.p90 = rows[i].p90},
                                .finished = rows[i].finished};
        assert_str(figures_compare(&arena, &ray, &price).text, rows[i].text);
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_two_units_at_most),
        cmocka_unit_test(money_is_rounded_to_cents),
        cmocka_unit_test(differences_are_one_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
