/* test_args.c: command lines along the table of a verb that is made up: every kind of option in
 * every form, and every mistake. */
#include "cli/args.h"

#include "unit.h"

#include <string.h>

struct fields {
    bool all;
    unsigned verbose;
    const char *text;
    int64_t number;
    const char *choice;
    const char *first;
    const char *second;
};

static const char *const choices[] = {"red", "green", NULL};

static const struct option options[] = {
    {"all", 'a', OPTION_FLAG, offsetof(struct fields, all), NULL, NULL, "All of it."},
    {"verbose", 'v', OPTION_COUNT, offsetof(struct fields, verbose), NULL, NULL, "Say more."},
    {"text", 't', OPTION_TEXT, offsetof(struct fields, text), "TEXT", NULL, "A text."},
    {"number", 'n', OPTION_NUMBER, offsetof(struct fields, number), "N", NULL, "A number."},
    {"colour-of", 'c', OPTION_CHOICE, offsetof(struct fields, choice), "C", choices, "Which."},
};

static const struct operand operands[] = {
    {"FIRST", offsetof(struct fields, first), false, COMPLETE_FILE, NULL, "The first thing."},
    {"SECOND", offsetof(struct fields, second), true, COMPLETE_NOTHING, NULL, "Another thing."},
};

static const struct verb verb = {.name = "try",
                                 .operands = operands,
                                 .operand_count = ARRAY_LEN(operands),
                                 .options = options,
                                 .option_count = ARRAY_LEN(options),
                                 .fields_size = sizeof(struct fields)};

enum { WORD_COUNT_MAX = 8 };

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

/* "all verbose text number choice first second help colour", or "!" and the error. */
static struct str parsed(struct arena *arena, const char *line)
{
    char *words[WORD_COUNT_MAX];
    int count = 0;
    struct fields fields = {0};
    struct common_fields common = {0};
    struct err err;
    for (struct str rest = str_from(line); rest.len > 0 && count < WORD_COUNT_MAX;) {
        struct str word = str_cut(&rest, '|');
        words[count] = arena_alloc(arena, word.len + 1);
        memcpy(words[count++], word.ptr, word.len);
    }
    if (!args_parse(&verb, count, words, &fields, &common, &err)) {
        assert_int_equal(err.kind, ERR_USAGE);
        return arena_printf(arena, "!%s", err.text);
    }
    return arena_printf(arena, "%d %u %s %lld %s %s %s %d %s", fields.all, fields.verbose,
                        or_dash(fields.text), (long long)fields.number, or_dash(fields.choice),
                        or_dash(fields.first), or_dash(fields.second), common.help,
                        or_dash(common.colour));
}

/* The words of a line are separated by |. */
struct row {
    const char *line, *result;
};

static void check_rows(const struct row *rows, size_t count)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < count; i++) {
        struct str got = parsed(&arena, rows[i].line);
        if (!unit_is_like(got, rows[i].result)) {
            fail_msg("%s\ngot:      %s\nexpected: %s", rows[i].line, got.ptr, rows[i].result);
        }
    }
    arena_clear(&arena);
}

static void options_are_taken_in_every_form(void **state)
{
    static const struct row rows[] = {
        {"f", "0 0 - 0 - f - 0 -"},
        {"--all|f", "1 0 - 0 - f - 0 -"},
        {"-a|f", "1 0 - 0 - f - 0 -"},
        {"f|--all", "1 0 - 0 - f - 0 -"},
        {"f|-vv|--verbose", "0 3 - 0 - f - 0 -"},
        {"f|-avv", "1 2 - 0 - f - 0 -"},
        {"f|--text|x", "0 0 x 0 - f - 0 -"},
        {"f|--text=x", "0 0 x 0 - f - 0 -"},
        {"f|--text=a=b", "0 0 a=b 0 - f - 0 -"},
        {"f|--text=", "0 0  0 - f - 0 -"},
        {"f|-t|x", "0 0 x 0 - f - 0 -"},
        {"f|-tx", "0 0 x 0 - f - 0 -"},
        {"f|-avtx", "1 1 x 0 - f - 0 -"},
        {"f|-avt|x", "1 1 x 0 - f - 0 -"},
        {"f|--text|--all", "0 0 --all 0 - f - 0 -"},
        {"f|--text|a|--text|b", "0 0 b 0 - f - 0 -"},
        {"f|--number|-5", "0 0 - -5 - f - 0 -"},
        {"f|-n7", "0 0 - 7 - f - 0 -"},
        {"f|--colour-of|green", "0 0 - 0 green f - 0 -"},
        {"f|-cred", "0 0 - 0 red f - 0 -"},
        {"f|--color=always", "0 0 - 0 - f - 0 always"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void operands_are_taken_in_order(void **state)
{
    static const struct row rows[] = {
        {"f|s", "0 0 - 0 - f s 0 -"},
        {"f|-a|s", "1 0 - 0 - f s 0 -"},
        {"-", "0 0 - 0 - - - 0 -"}, /* standard input, by custom */
        {"--|-a", "0 0 - 0 - -a - 0 -"},
        {"-a|--|--all|s", "1 0 - 0 - --all s 0 -"},
        {"f|--", "0 0 - 0 - f - 0 -"},
        {"--|--", "0 0 - 0 - -- - 0 -"},
        {"f|s|t", "!\"t\"*too many*"},
        {"", "!*FIRST*missing*The first thing.*"},
        {"--", "!*FIRST*missing*The first thing.*"},
        {"-a", "!*FIRST*missing*The first thing.*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void help_wins_over_missing_operands(void **state)
{
    static const struct row rows[] = {
        {"--help", "0 0 - 0 - - - 1 -"},
        {"-h", "0 0 - 0 - - - 1 -"},
        {"-ah", "1 0 - 0 - - - 1 -"},
        {"f|--help", "0 0 - 0 - f - 1 -"},
        {"--|--help", "0 0 - 0 - --help - 0 -"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void mistakes_are_told(void **state)
{
    static const struct row rows[] = {
        {"f|--verbos", "!unknown option --verbos*did you mean --verbose?*"},
        {"f|--colour_of=red", "!unknown option --colour_of*did you mean --colour-of?*"},
        {"f|--hlep", "!unknown option --hlep*did you mean --help?*"},
        {"f|--al", "!unknown option --al*did you mean --all?*"}, /* no abbreviations */
        {"f|--banana", "!unknown option --banana*"},
        {"f|--banana=x", "!unknown option --banana*"},
        {"f|-x", "!unknown option -x*"},
        {"f|-ax", "!unknown option -x*"},
        {"f|--text", "!--text*value*TEXT*"},
        {"f|-t", "!--text*value*TEXT*"},
        {"f|-at", "!--text*value*TEXT*"},
        {"f|--all=yes", "!--all*no value*"},
        {"f|--help=x", "!--help*no value*"},
        {"f|--number=many", "!--number*whole number*\"many\"*"},
        {"f|--number=", "!--number*whole number*\"\"*"},
        {"f|--number=9223372036854775808", "!--number*whole number*\"9223372036854775808\"*"},
        {"f|--colour-of=blue", "!--colour-of*\"blue\"*red, green*"},
        {"f|--color=sometimes", "!--color*\"sometimes\"*auto, always, never*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void long_words_do_not_flood_the_message(void **state)
{
    static char word[10000];
    char *words[] = {word};
    struct fields fields = {0};
    struct common_fields common = {0};
    struct err err;
    (void)state;
    memset(word, '-', sizeof(word) - 1);
    assert_false(args_parse(&verb, 1, words, &fields, &common, &err));
    assert_true(strlen(err.text) < 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_taken_in_every_form),
        cmocka_unit_test(operands_are_taken_in_order),
        cmocka_unit_test(help_wins_over_missing_operands),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(long_words_do_not_flood_the_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
