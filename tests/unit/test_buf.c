/* test_buf.c: the cap, the zero byte behind the text, and formatted writes. */
#include "base/buf.h"

#include "unit.h"

static void text_is_always_terminated(void **state)
{
    AUTO_BUF struct buf buf;
    (void)state;
    buf_init(&buf, 10000);
    assert_str(buf_str(&buf), ""); /* no memory yet */
    for (int i = 0; i < 300; i++) {
        buf_add_char(&buf, (char)('a' + i % 26));
        assert_int_equal(buf.len, i + 1);
        assert_int_equal(buf.ptr[buf.len], '\0');
    }
    buf_add_c(&buf, "xyz");
    buf_add_spaces(&buf, 2);
    buf_add(&buf, STR("end"));
    assert_str(str_sub(buf_str(&buf), 298, buf.len), "mnxyz  end");
    assert_int_equal(buf.ptr[buf.len], '\0');
}

static void any_byte_can_be_inside(void **state)
{
    AUTO_BUF struct buf buf;
    (void)state;
    buf_init(&buf, 10);
    buf_add(&buf, STR("a\0b"));
    buf_add_char(&buf, '\0');
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.ptr, "a\0b\0", 5);
}

static void cap_is_reached_exactly_and_not_passed(void **state)
{
    static const struct {
        const char *first, *second, *holds;
        bool is_full;
    } rows[] = {
        {"", "", "", false},
        {"12345678", "", "12345678", false},
        {"1234", "5678", "12345678", false},
        {"1234", "56789", "1234", true}, /* dropped whole, not cut */
        {"123456789", "1", "", true},
        {"", "123456789", "", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, 8);
        buf_add_c(&buf, rows[i].first);
        buf_add_c(&buf, rows[i].second);
        assert_str(buf_str(&buf), rows[i].holds);
        assert_int_equal(buf.is_full, rows[i].is_full);
    }
}

static void full_stays_full_until_cleared(void **state)
{
    AUTO_BUF struct buf buf;
    (void)state;
    buf_init(&buf, 4);
    buf_add_c(&buf, "abc");
    buf_add_c(&buf, "de");
    buf_add_char(&buf, 'f'); /* would fit, but the text before it is missing */
    assert_str(buf_str(&buf), "abc");
    assert_true(buf.is_full);
    buf_clear(&buf);
    assert_false(buf.is_full);
    assert_int_equal(buf.cap, 4);
    buf_add_c(&buf, "defg");
    assert_str(buf_str(&buf), "defg");
    buf_clear(&buf);
    buf_clear(&buf);
}

static void formatted_text_obeys_the_cap(void **state)
{
    AUTO_BUF struct buf buf;
    (void)state;
    buf_init(&buf, 10);
    buf_addf(&buf, "%s", "");
    assert_int_equal(buf.len, 0);
    buf_addf(&buf, "%d/%s", 42, "x");
    assert_str(buf_str(&buf), "42/x");
    assert_int_equal(buf.ptr[4], '\0');
    buf_addf(&buf, "%06d", 7);
    assert_str(buf_str(&buf), "42/x000007");
    assert_false(buf.is_full);
    buf_addf(&buf, "%d", 1);
    assert_str(buf_str(&buf), "42/x000007");
    assert_int_equal(buf.ptr[10], '\0');
    assert_true(buf.is_full);
}

static void wiping_clears(void **state)
{
    struct buf buf;
    (void)state;
    buf_init(&buf, 10);
    buf_wipe(&buf);
    buf_add_c(&buf, "secret");
    buf_wipe(&buf);
    assert_int_equal(buf.len, 0);
    buf_add_c(&buf, "0123456789a"); /* the cap stays */
    assert_true(buf.is_full);
    buf_wipe(&buf);
    assert_false(buf.is_full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_always_terminated),
        cmocka_unit_test(any_byte_can_be_inside),
        cmocka_unit_test(cap_is_reached_exactly_and_not_passed),
        cmocka_unit_test(full_stays_full_until_cleared),
        cmocka_unit_test(formatted_text_obeys_the_cap),
        cmocka_unit_test(wiping_clears),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
