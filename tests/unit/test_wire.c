/* test_wire.c: protobuf bytes, parsed and written. */
#include "ray/wire.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void test_each_kind_is_read(void **state)
{
    (void)state;
    struct wire wire = wire_open(STR("\x08\x96\x01"
                                     "\x12\x07testing"
                                     "\x19\0\0\0\0\0\0\xf8\x3f"
                                     "\x25\x78\x56\x34\x12"
                                     "\xfa\x01\0"));
    struct wire_field field;
    assert_true(wire_next(&wire, &field));
    assert_int_equal(field.key, WIRE_KEY(1, WIRE_VARINT));
    assert_int_equal(field.number, 150);
    assert_true(wire_next(&wire, &field));
    assert_int_equal(field.key, WIRE_KEY(2, WIRE_BYTES));
    assert_str(field.bytes, "testing");
    assert_true(wire_next(&wire, &field));
    assert_int_equal(field.key, WIRE_KEY(3, WIRE_FIXED64));
    assert_true(wire_double(field.number) == 1.5);
    assert_true(wire_next(&wire, &field));
    assert_int_equal(field.key, WIRE_KEY(4, WIRE_FIXED32));
    assert_int_equal(field.number, 0x12345678);
    assert_true(wire_next(&wire, &field));
    assert_int_equal(field.key, WIRE_KEY(31, WIRE_BYTES));
    assert_int_equal(field.bytes.len, 0);
    assert_false(wire_next(&wire, &field));
    assert_false(wire.is_broken);
}

/* Number of fields before the end; -1: invalid. Uses memory that ends exactly there. */
static int walk(struct str bytes)
{
    char *copy = malloc(bytes.len + 1);
    assert_non_null(copy);
    memcpy(copy + 1, bytes.ptr ? bytes.ptr : "", bytes.len);
    struct wire wire = wire_open((struct str){copy + 1, bytes.len});
    struct wire_field field;
    int count = 0;
    while (wire_next(&wire, &field)) {
        count++;
    }
    free(copy);
    return wire.is_broken ? -1 : count;
}

static void test_what_is_broken_ends_the_walk(void **state)
{
    (void)state;
    const struct str broken[] = {
        STR("\x80"),                                             /* half a key */
        STR("\x08"),                                             /* no number */
        STR("\x08\x80"),                                         /* half a number */
        STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* a number of 11 bytes */
        STR("\x00\x01"),                                         /* tag 0 */
        STR("\x12\x02x"),                                        /* longer than there is */
        STR("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x"),    /* 2^64 - 1 bytes */
        STR("\x19\0\0\0\0\0\0\0"),                               /* seven of eight */
        STR("\x25\0\0\0"),                                       /* three of four */
        STR("\x0b\x0c"),                                         /* a group */
        STR("\x0e\x01"),                                         /* kinds that are none */
        STR("\x0f\x01"),
        STR("\x88\x80\x80\x80\x80\x01\x01"), /* a tag beyond 32 bits */
        STR("\x08\x01\x12\x05"),             /* behind a field that is fine */
    };
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        assert_int_equal(walk(broken[i]), -1);
    }
    assert_int_equal(walk(STR("")), 0);
    assert_int_equal(walk((struct str){0}), 0);
}

static void test_what_was_written_is_read(void **state)
{
    (void)state;
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    wire_add_number(&out, 1, 150);
    wire_add_text(&out, 2, STR("testing"));
    wire_add_double(&out, 3, 1.5);
    assert_true(str_eq(buf_str(&out), STR("\x08\x96\x01"
                                          "\x12\x07testing"
                                          "\x19\0\0\0\0\0\0\xf8\x3f")));
    buf_clear(&out);
    wire_add_number(&out, 1, -1);
    wire_add_number(&out, 20, INT64_MAX);
    assert_true(str_eq(buf_str(&out), STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                          "\xa0\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f")));
}

static void test_defaults_are_left_out(void **state)
{
    (void)state;
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    wire_add_number(&out, 1, 0);
    wire_add_text(&out, 2, STR(""));
    wire_add_double(&out, 3, 0);
    assert_int_equal(out.len, 0);
    wire_add_bytes(&out, 4, (struct str){0});
    assert_true(str_eq(buf_str(&out), STR("\x22\0")));
}

static void test_a_text_is_utf8(void **state)
{
    (void)state;
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    wire_add_text(&out, 1, STR("caf\xc3\xa9 \xff\n\xc3"));
    assert_str(buf_str(&out), "\x0a\x09"
                              "caf\xc3\xa9 ?\n?");
}

static void test_fields_are_counted(void **state)
{
    (void)state;
    struct str bytes = STR("\x0a\x01x\x0a\x00\x08\x01\x12\x00");
    assert_int_equal(wire_count(bytes, WIRE_KEY(1, WIRE_BYTES)), 2);
    assert_int_equal(wire_count(bytes, WIRE_KEY(1, WIRE_VARINT)), 1);
    assert_int_equal(wire_count(bytes, WIRE_KEY(3, WIRE_BYTES)), 0);
    assert_int_equal(wire_count(STR("\x0a\x01x\x0a\x07"), WIRE_KEY(1, WIRE_BYTES)), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_is_read),
        cmocka_unit_test(test_what_is_broken_ends_the_walk),
        cmocka_unit_test(test_what_was_written_is_read),
        cmocka_unit_test(test_defaults_are_left_out),
        cmocka_unit_test(test_a_text_is_utf8),
        cmocka_unit_test(test_fields_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
