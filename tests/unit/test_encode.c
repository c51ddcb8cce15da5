/* test_encode.c: bytes as text and back. */
#include "base/encode.h"

#include "unit.h"

static void texts_are_encoded(void **state)
{
    static const char *const rows[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xFF\xFE\xFD!", "//79IQ=="}};
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 1000);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        buf_clear(&out);
        encode_base64(&out, str_from(rows[i][0]));
        assert_str(buf_str(&out), rows[i][1]);
    }
    buf_clear(&out);
    encode_uri(&out, (struct str){"a/b c\0~\xC3\xA9", 9}, "/");
    assert_str(buf_str(&out), "a/b%20c%00~%C3%A9");
}

static void base64_pads_and_breaks_lines(void **state)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"", ""},        {"f", "Zg=="},          {"fo", "Zm8="},
                 {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe\xfd", "//79"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 100);
        encode_base64(&out, str_from(cases[i].bytes));
        assert_str(buf_str(&out), cases[i].text);
    }
    AUTO_BUF struct buf out;
    buf_init(&out, 100);
    encode_base64_lines(&out, STR("foobar"), 4);
    assert_str(buf_str(&out), "Zm9v\nYmFy\n");
    encode_base64_lines(&out, STR(""), 4);
    assert_str(buf_str(&out), "Zm9v\nYmFy\n");
}

/* Padding or an invalid character ends it; the text before it is used. */
static void base64_is_read_back(void **state)
{
    static const char *const rows[][2] = {
        {"", ""},        {"Zg==", "f"},          {"Zg", "f"},
        {"Zm9v", "foo"}, {"Zm9vYmFy", "foobar"}, {"Zm9v!YmFy", "foo"},
        {"=", ""}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 100);
        decode_base64(&out, str_from(rows[i][0]));
        assert_str(buf_str(&out), rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_encoded),
        cmocka_unit_test(base64_pads_and_breaks_lines),
        cmocka_unit_test(base64_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
