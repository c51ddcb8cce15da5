/* test_log.c: one record is one line, whatever it contains. */
#include "io/log.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t fixed_time(void *context)
{
    (void)context;
    return 951827696789;
}

static const struct clock stopped = {fixed_time, fixed_time, NULL};

static void keep(void *context, struct str line)
{
    buf_add(context, line);
}

static void records_are_lines(void **state)
{
    AUTO_BUF struct buf out;
    struct redact *redact = redact_new();
    struct log log = {&stopped, redact, LOG_LEVEL_INFO, keep, &out};
    (void)state;
    buf_init(&out, 100000);
    redact_add(redact, STR("s3cret/value"));
    log_write(&log, LOG_LEVEL_DEBUG, "not %s", "written");
    log_write(&log, LOG_LEVEL_INFO, "node up id=%d", 7);
    log_write(&log, LOG_LEVEL_WARNING, "%s", "");
    log_write(&log, LOG_LEVEL_ERROR, "key=s3cret%%2Fvalue");
    assert_str(buf_str(&out), "2000-02-29T12:34:56.789Z info node up id=7\n"
                              "2000-02-29T12:34:56.789Z warning \n"
                              "2000-02-29T12:34:56.789Z error key=********\n");
    assert_false(log_is_on(&log, LOG_LEVEL_DEBUG));
    redact_free(redact);
}

static void check_message(struct str message, const char *shown)
{
    AUTO_BUF struct buf out;
    struct redact *redact = redact_new();
    struct log log = {&stopped, redact, LOG_LEVEL_DEBUG, NULL, NULL};
    buf_init(&out, 100000);
    log_format(&log, LOG_LEVEL_INFO, message, &out);
    assert_str(str_sub(buf_str(&out), 30, out.len - 1), shown);
    assert_int_equal(out.ptr[out.len - 1], '\n');
    redact_free(redact);
}

static void tricky_bytes_are_escaped(void **state)
{
    (void)state;
    check_message(STR("a\nb\r\tc"), "a\\nb\\r\\tc");
    check_message(STR("\x1b[31mred\x7f\0."), "\\x1b[31mred\\x7f\\x00.");
    check_message(STR("gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\x9f"),
                  "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\x9f");
    check_message(STR("bad \xff\xc3"), "bad \\xff\\xc3");
    check_message(STR("\xc2\x9b\xe2\x80\xa8\xe2\x80\xae"), "\\u009b\\u2028\\u202e");
    check_message(STR("back\\slash"), "back\\slash");
}

static void long_records_are_cut_but_not_their_secrets(void **state)
{
    AUTO_BUF struct buf out;
    struct redact *redact = redact_new();
    struct log log = {&stopped, redact, LOG_LEVEL_DEBUG, keep, &out};
    char *text = malloc(2000001);
    (void)state;
    assert_non_null(text);
    buf_init(&out, 100000);
    redact_add(redact, STR("abcdefghijklmnop"));
    memset(text, '.', 40000);
    text[40000] = '\0';
    memcpy(text + LOG_RECORD_MAX - 8, "abcdefghijklmnop", 16); /* the cut is in the middle of it */
    log_write(&log, LOG_LEVEL_INFO, "%s", text);
    assert_true(str_find(buf_str(&out), "abc") == SIZE_MAX);
    assert_true(str_ends(buf_str(&out), ".******** (truncated, 39992 bytes in total)\n"));
    out.len = 0;
    memset(text, 'x', 2000000);
    text[2000000] = '\0';
    log_write(&log, LOG_LEVEL_INFO, "%s", text);
    assert_like(buf_str(&out), "* info (a record of more than 1 MB was dropped)\n");
    free(text);
    redact_free(redact);
}

static void a_descriptor_is_a_sink(void **state)
{
    struct redact *redact = redact_new();
    int ends[2];
    char seen[100] = "";
    (void)state;
    assert_int_equal(pipe(ends), 0);
    struct log log = {&clock_of_machine, redact, LOG_LEVEL_DEBUG, log_to_descriptor, &ends[1]};
    log_write(&log, LOG_LEVEL_DEBUG, "hello");
    assert_true(read(ends[0], seen, sizeof(seen) - 1) > 0);
    assert_like(str_from(seen), "20*-*-*T*:*:*.*Z debug hello\n");
    close(ends[0]);
    close(ends[1]);
    log_write(&log, LOG_LEVEL_DEBUG, "nobody hears this");
    redact_free(redact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_lines),
        cmocka_unit_test(tricky_bytes_are_escaped),
        cmocka_unit_test(long_records_are_cut_but_not_their_secrets),
        cmocka_unit_test(a_descriptor_is_a_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
