/* test_number.c: doubles as Python's repr() prints them, integers of any size, strict parsing. */
#include "base/number.h"

#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void doubles_are_printed_as_python_does(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {100.0, "100.0"},
        {123456.789, "123456.789"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1e22, "1e+22"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {9007199254740993.0, "9007199254740992.0"},
        {9999999999999998.0, "9999999999999998.0"},
        {0.0001, "0.0001"},
        {0.00012345, "0.00012345"},
        {1e-5, "1e-05"},
        {1.5e-7, "1.5e-07"},
        {1e-100, "1e-100"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {(double)INFINITY, "inf"},
        {-(double)INFINITY, "-inf"},
        {(double)NAN, "nan"},
        {-(double)NAN, "nan"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 64);
        number_add_double(&out, rows[i].value);
        assert_str(buf_str(&out), rows[i].text);
    }
}

static void doubles_read_back_exactly(void **state)
{
    uint64_t bits = 88172645463325252; /* a xorshift generator: the same numbers every time */
    (void)state;
    for (int i = 0; i < 500; i++) {
        AUTO_BUF struct buf out;
        double value;
        double back;
        buf_init(&out, 64);
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value)) {
            continue;
        }
        number_add_double(&out, value);
        assert_true(number_parse(buf_str(&out), &back));
        assert_memory_equal(&back, &value, sizeof(value));
    }
}

static void integers_of_any_base_become_decimal(void **state)
{
    static const struct {
        const char *digits;
        unsigned base;
        const char *decimal;
    } rows[] = {
        {"0", 2, "0"},
        {"0000", 16, "0"},
        {"101", 2, "5"},
        {"017", 8, "15"},
        {"000123", 10, "123"},
        {"fF", 16, "255"},
        {"deadBEEF", 16, "3735928559"},
        {"1111111111111111111111111111111111111111111111111111111111111111", 2,
         "18446744073709551615"},
        {"2000000000000000000000", 8, "18446744073709551616"},
        {"18446744073709551616", 10, "18446744073709551616"},
        {"100000000000000000000000000000000", 16, "340282366920938463463374607431768211456"},
        {"1000000000", 10, "1000000000"}, /* just over one limb */
        {"1000000000000000000000000000", 10, "1000000000000000000000000000"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(number_to_decimal(&arena, str_from(rows[i].digits), rows[i].base),
                   rows[i].decimal);
    }
    arena_clear(&arena);
}

/* `first` and then zeros, `len` digits in all. */
static struct str long_digits(struct arena *arena, char first, char others, size_t len)
{
    char *text = arena_alloc(arena, len + 1);
    memset(text, others, len);
    text[0] = first;
    return (struct str){text, len};
}

static void more_digits_than_python_prints_give_nothing(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct str most = long_digits(&arena, '9', '9', NUMBER_DIGITS_MAX);
    struct str more = long_digits(&arena, '1', '0', NUMBER_DIGITS_MAX + 1);
    assert_true(str_eq(number_to_decimal(&arena, most, 10), most));
    assert_int_equal(number_to_decimal(&arena, more, 10).len, 0);
    /* 2**14284 has 4300 digits, 2**14285 has 4301. */
    struct str power = long_digits(&arena, '1', '0', 14285);
    assert_int_equal(number_to_decimal(&arena, power, 2).len, NUMBER_DIGITS_MAX);
    power = long_digits(&arena, '1', '0', 14286);
    assert_int_equal(number_to_decimal(&arena, power, 2).len, 0);
    struct str huge = long_digits(&arena, 'f', 'f', 1000000);
    assert_int_equal(number_to_decimal(&arena, huge, 16).len, 0);
    struct str zeros = long_digits(&arena, '0', '0', 100000);
    assert_str(number_to_decimal(&arena, zeros, 16), "0");
    arena_clear(&arena);
}

static void base_sixty(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_str(number_from_sixties(&arena, STR("0:0")), "0");
    assert_str(number_from_sixties(&arena, STR("1:30")), "90");
    assert_str(number_from_sixties(&arena, STR("190:20:30")), "685230");
    assert_str(number_from_sixties(&arena, STR("99999999999999999999:59")),
               "5999999999999999999999");
    assert_str(number_from_sixties(&arena, STR("1::2")), "");
    assert_str(number_from_sixties(&arena, STR("1:x")), "");
    arena_clear(&arena);
}

static void parsing_takes_one_decimal_number_and_nothing_else(void **state)
{
    static const char *const good[] = {"0",   "-0.5", "+3",  "1.",   ".5",
                                       "1e5", "1E-3", "007", "1e999"};
    static const char *const bad[] = {"",    ".",     "-",     "e5",  "1e",       "1e+",  "--1",
                                      "1-2", " 1",    "1 ",    "inf", "nan",      "0x10", "1_0",
                                      "1,5", "1.2.3", "1e5.0", "+-1", "infinity", "1\n",  "1e5e5"};
    double value = 7;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(number_parse(str_from(good[i]), &value));
        assert_true(value == strtod(good[i], NULL));
    }
    value = 7;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (number_parse(str_from(bad[i]), &value) || value != 7) {
            fail_msg("\"%s\" was taken", bad[i]);
        }
    }
    assert_false(number_parse(STR("1\0002"), &value));
}

static void parsing_takes_long_texts(void **state)
{
    struct arena arena;
    double value = 0;
    (void)state;
    arena_init(&arena);
    struct str text = long_digits(&arena, '1', '0', 300);
    assert_true(number_parse(text, &value));
    assert_true(value == 1e299);
    text = long_digits(&arena, 'x', '0', 300);
    assert_false(number_parse(text, &value));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_printed_as_python_does),
        cmocka_unit_test(doubles_read_back_exactly),
        cmocka_unit_test(integers_of_any_base_become_decimal),
        cmocka_unit_test(more_digits_than_python_prints_give_nothing),
        cmocka_unit_test(base_sixty),
        cmocka_unit_test(parsing_takes_one_decimal_number_and_nothing_else),
        cmocka_unit_test(parsing_takes_long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
