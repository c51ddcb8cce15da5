/* test_train_args.c: which arguments of a script `shoal train` accepts. */
#include "cli/args.h"
#include "cli/verb.h"
#include "io/file.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct verb verb_train;

enum { LIMIT = 256 * 1024, WORD = 64 * 1024, FRAME = 2 /* [] */, QUOTES = 3 /* "", */ };

static char script[60];

static int write_script(void **state)
{
    struct err err;
    (void)state;
    snprintf(script, sizeof(script), "/tmp/args-%d.py", (int)getpid());
    return file_write(script, STR("print(1)\n"), 0600, &err) ? 0 : 1;
}

static int remove_script(void **state)
{
    (void)state;
    return unlink(script);
}

/*
 * What the command prints. The value of --output is wrong, which is checked after the arguments: it
 * is the error of a command with good arguments.
 */
static const char *train(char *const *args, size_t count)
{
    static char printed[2000];
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char output[] = "--output", place[] = "relative", file[] = "-f", dashes[] = "--";
    char *words[16] = {output, place, file, script, dashes};
    struct common_fields common = {0};
    struct err err;
    for (size_t i = 0; i < count; i++) {
        words[5 + i] = args[i];
    }
    void *fields = calloc(1, verb_train.fields_size);
    FILE *out = fmemopen(printed, sizeof(printed), "w");
    struct cli cli = {.out = out, .err = out, .arena = &arena};
    if (!args_parse(&verb_train, (int)(5 + count), words, &arena, fields, &common, &err)) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(verb_train.run(&cli, fields), 2);
    fclose(out);
    free(fields);
    return printed;
}

/* Four words that have `bytes` bytes as JSON, if one character has one byte. */
static const char *train_with(size_t bytes, char character)
{
    char *args[4];
    size_t rest = bytes - FRAME - 4 * QUOTES + 1;
    for (size_t i = 0; i < 4; i++) {
        size_t size = i < 3 ? WORD - 100 : rest - 3 * (WORD - 100);
        args[i] = calloc(1, size + 1);
        memset(args[i], character, size);
    }
    const char *printed = train(args, 4);
    for (size_t i = 0; i < 4; i++) {
        free(args[i]);
    }
    return printed;
}

static void arguments_have_a_limit(void **state)
{
    (void)state;
    assert_non_null(strstr(train_with(LIMIT, 'x'), "--output"));
    assert_null(strstr(train_with(LIMIT, 'x'), "arguments of the script"));
    assert_non_null(strstr(train_with(LIMIT + 1, 'x'), "the arguments of the script have more than "
                                                       "256 KB; write them to a file in the "
                                                       "working directory"));
}

/* A control character is six bytes in the message. */
static void the_limit_is_that_of_the_message(void **state)
{
    (void)state;
    assert_non_null(strstr(train_with(LIMIT, '\1'), "more than 256 KB"));
}

static void arguments_must_be_utf8(void **state)
{
    char latin1[] = "caf\xe9", utf8[] = "caf\xc3\xa9";
    char *args[] = {utf8, latin1};
    (void)state;
    assert_non_null(strstr(train(args, 2), "the arguments of the script are not UTF-8"));
    args[1] = utf8;
    assert_null(strstr(train(args, 2), "arguments of the script"));
}

/* It would adopt nothing, and the user would believe that the job continues. */
static void adopting_needs_a_place(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char adopt[] = "--adopt", file[] = "-f";
    char *words[] = {adopt, file, script, NULL};
    char printed[2000] = "";
    struct common_fields common = {0};
    struct err err;
    (void)state;
    void *fields = calloc(1, verb_train.fields_size);
    FILE *out = fmemopen(printed, sizeof(printed), "w");
    struct cli cli = {.out = out, .err = out, .arena = &arena};
    assert_true(args_parse(&verb_train, 3, words, &arena, fields, &common, &err));
    assert_int_equal(verb_train.run(&cli, fields), 2);
    fclose(out);
    free(fields);
    assert_non_null(strstr(printed, "--adopt needs --output"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_have_a_limit),
        cmocka_unit_test(the_limit_is_that_of_the_message),
        cmocka_unit_test(arguments_must_be_utf8),
        cmocka_unit_test(adopting_needs_a_place),
    };
    return cmocka_run_group_tests(tests, write_script, remove_script);
}
