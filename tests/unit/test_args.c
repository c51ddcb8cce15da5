/* test_args.c: command lines for the table of a made-up command: every kind of option in every
 * form, and every mistake. */
#include "cli/args.h"

#include "unit.h"

#include <string.h>

struct fields {
    bool all;
    unsigned verbose;
    const char *text;
    int64_t number;
    const char *choice;
    struct option_numbers ports;
    const char *first;
    const char *second;
    struct operand_rest rest;
};

static const char *const choices[] = {"red", "green", NULL};

static const struct option options[] = {
    {"all", 'a', OPTION_FLAG, offsetof(struct fields, all), NULL, NULL, "All of it."},
    {"verbose", 'v', OPTION_COUNT, offsetof(struct fields, verbose), NULL, NULL, "Say more."},
    {"text", 't', OPTION_TEXT, offsetof(struct fields, text), "TEXT", NULL, "A text."},
    {"number", 'n', OPTION_NUMBER, offsetof(struct fields, number), "N", NULL, "A number."},
    {"colour-of", 'c', OPTION_CHOICE, offsetof(struct fields, choice), "C", choices, "Which."},
    {"none", 0, OPTION_UNFLAG, offsetof(struct fields, all), NULL, NULL, "None of it."},
    {"port", 'p', OPTION_NUMBERS, offsetof(struct fields, ports), "PORT", NULL, "Some ports."},
    {.name = "secret",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct fields, all),
     .is_hidden = true},
};

static const struct operand operands[] = {
    {"FIRST", offsetof(struct fields, first), false, COMPLETE_FILE, NULL, "The first thing."},
    {"SECOND", offsetof(struct fields, second), true, COMPLETE_NOTHING, NULL, "Another thing."},
};

static const struct operand greedy_operands[] = {
    {"FIRST", offsetof(struct fields, first), false, COMPLETE_FILE, NULL, "The first thing."},
    {"REST", offsetof(struct fields, rest), true, COMPLETE_NOTHING, NULL, "All else.", true},
};

/* "x" is an option of its own; with too few words everything else goes to the second operand. */
static const char *first_of(const char *word, bool is_short)
{
    bool is_first = word && word[0] == 'x';
    return is_first || (word && !is_short && word[0] == 'y') ? NULL : "default";
}

static const struct operand lacking_operands[] = {
    {"FIRST", offsetof(struct fields, first), false, COMPLETE_FILE, NULL, "The first thing.", false,
     first_of},
    {"CMD", offsetof(struct fields, second), false, COMPLETE_NOTHING, NULL, "A command."},
};

static const struct operand open_operands[] = {
    {"FIRST", offsetof(struct fields, first), false, COMPLETE_FILE, NULL, "The first thing.", false,
     first_of},
    {"SECOND", offsetof(struct fields, second), true, COMPLETE_NOTHING, NULL, "Another thing."},
};

static const struct verb verb = {.name = "try",
                                 .operands = operands,
                                 .operand_count = ARRAY_LEN(operands),
                                 .options = options,
                                 .option_count = ARRAY_LEN(options),
                                 .fields_size = sizeof(struct fields)};

enum { WORD_COUNT_MAX = 80 };

/* The words of a line are separated by |. */
static int split(struct arena *arena, const char *line, char **words)
{
    int count = 0;
    for (struct str rest = str_from(line); rest.len > 0 && count < WORD_COUNT_MAX;) {
        struct str word = str_cut(&rest, '|');
        words[count] = arena_alloc(arena, word.len + 1);
        memcpy(words[count++], word.ptr, word.len);
    }
    return count;
}

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

/* "all verbose text number choice first second help colour", or "!" and the error. */
static struct str parsed(struct arena *arena, const char *line)
{
    char *words[WORD_COUNT_MAX];
    int count = split(arena, line, words);
    struct fields fields = {0};
    struct common_fields common = {0};
    struct err err;
    if (!args_parse(&verb, count, words, arena, &fields, &common, &err)) {
        assert_int_equal(err.kind, ERR_USAGE);
        return arena_printf(arena, "!%s", err.text);
    }
    return arena_printf(arena, "%d %u %s %lld %s %s %s %d %s", fields.all, fields.verbose,
                        or_dash(fields.text), (long long)fields.number, or_dash(fields.choice),
                        or_dash(fields.first), or_dash(fields.second), common.help,
                        or_dash(common.colour));
}

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
        {"-", "0 0 - 0 - - - 0 -"}, /* standard input, by convention */
        {"--|-a", "0 0 - 0 - -a - 0 -"},
        {"-a|--|--all|s", "1 0 - 0 - --all s 0 -"},
        {"f|--", "0 0 - 0 - f - 0 -"},
        {"--|--", "0 0 - 0 - -- - 0 -"},
        {"f|s|t", "!\"t\"*too many*"},
        {"", "!*missing*FIRST*The first thing.*"},
        {"--", "!*missing*FIRST*The first thing.*"},
        {"-a", "!*missing*FIRST*The first thing.*"},
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
        {"f|--number=many", "!--number*integer*\"many\"*"},
        {"f|--number=", "!--number*integer*\"\"*"},
        {"f|--number=9223372036854775808", "!--number*integer*\"9223372036854775808\"*"},
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
    struct arena arena;
    arena_init(&arena);
    assert_false(args_parse(&verb, 1, words, &arena, &fields, &common, &err));
    assert_true(strlen(err.text) < 200);
    arena_clear(&arena);
}

static void flags_can_be_taken_back(void **state)
{
    static const struct row rows[] = {
        {"f|--all|--none", "0 0 - 0 - f - 0 -"},
        {"f|--none|--all", "1 0 - 0 - f - 0 -"},
        {"f|--none=x", "!--none*no value*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void hidden_options_are_understood_and_not_told_of(void **state)
{
    static const struct row rows[] = {
        {"f|--secret", "1 0 - 0 - f - 0 -"},
        {"f|--secre", "!unknown option --secre"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void an_option_may_be_given_several_times(void **state)
{
    char *words[WORD_COUNT_MAX];
    struct fields fields = {0};
    struct common_fields common = {0};
    struct arena arena;
    struct err err;
    (void)state;
    arena_init(&arena);
    int count = split(&arena, "f|-p|80|--port=81|-p82", words);
    assert_true(args_parse(&verb, count, words, &arena, &fields, &common, &err));
    assert_int_equal(fields.ports.count, 3);
    assert_int_equal(fields.ports.items[0] + fields.ports.items[1] + fields.ports.items[2], 243);
    fields = (struct fields){0};
    for (count = 0; count <= OPTION_NUMBERS_MAX; count++) {
        split(&arena, "-p1", &words[count]);
    }
    assert_false(args_parse(&verb, count, words, &arena, &fields, &common, &err));
    assert_non_null(strstr(err.text, "more than 32 times"));
    arena_clear(&arena);
}

/* As in `submit FILE SCRIPT -- --its-own-option`. */
static void the_last_operand_takes_the_rest(void **state)
{
    char *words[WORD_COUNT_MAX];
    struct verb greedy = verb;
    struct fields fields = {0};
    struct common_fields common = {0};
    struct arena arena;
    struct err err;
    (void)state;
    greedy.operands = greedy_operands;
    arena_init(&arena);
    int count = split(&arena, "f|a|-a|--|b|--all|--", words);
    assert_true(args_parse(&greedy, count, words, &arena, &fields, &common, &err));
    assert_true(fields.all);
    assert_int_equal(fields.rest.count, 4);
    assert_string_equal(fields.rest.words[0], "a");
    assert_string_equal(fields.rest.words[2], "--all");
    assert_string_equal(fields.rest.words[3], "--");
    fields = (struct fields){0};
    assert_true(args_parse(&greedy, 1, words, &arena, &fields, &common, &err));
    assert_int_equal(fields.rest.count, 0);
    arena_clear(&arena);
}

static struct str placed(struct arena *arena, const struct operand *operands_of, const char *line)
{
    char *words[WORD_COUNT_MAX];
    int count = split(arena, line, words);
    struct verb lacking = verb;
    struct fields fields = {0};
    struct common_fields common = {0};
    struct err err;
    lacking.operands = operands_of;
    if (!args_parse(&lacking, count, words, arena, &fields, &common, &err)) {
        assert_int_equal(err.kind, ERR_USAGE);
        return arena_printf(arena, "!%s", err.text);
    }
    return arena_printf(arena, "%s %s", or_dash(fields.first), or_dash(fields.second));
}

static void the_first_operand_may_have_a_default(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_str(placed(&arena, lacking_operands, "a"), "default a");
    assert_str(placed(&arena, lacking_operands, "y"), "default y");
    assert_str(placed(&arena, lacking_operands, "a|b"), "a b");
    assert_str(placed(&arena, lacking_operands, "x"), "!missing argument CMD. A command.");
    assert_str(placed(&arena, lacking_operands, "a|-a|b|c"),
               "!\"c\" is one argument too many; quote the command: shoal try FIRST 'b c'");
    assert_str(placed(&arena, open_operands, ""), "default -");
    assert_str(placed(&arena, open_operands, "a"), "default a");
    assert_str(placed(&arena, open_operands, "x"), "x -");
    assert_str(placed(&arena, open_operands, "y"), "y -");
    assert_str(placed(&arena, open_operands, "a|b"), "a b");
    arena_clear(&arena);
}

static void options_become_words_again(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    static const char *const skipped[] = {"text", NULL};
    struct fields given = {.all = true,
                           .verbose = 2,
                           .text = "a b",
                           .number = -5,
                           .choice = "red",
                           .ports = {{80, 443}, 2}};
    struct args_words words;
    (void)state;
    args_list(&verb, &given, skipped, &arena, &words);
    static const char *const expected[] = {"--all",       "--verbose",       "--verbose",
                                           "--number=-5", "--colour-of=red", "--port=80",
                                           "--port=443",  "--secret"};
    assert_int_equal(words.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < words.count; i++) {
        assert_string_equal(words.items[i], expected[i]);
    }
    args_list(&verb, &(struct fields){.text = "x=-y"}, NULL, &arena, &words);
    assert_int_equal(words.count, 1);
    assert_string_equal(words.items[0], "--text=x=-y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_taken_in_every_form),
        cmocka_unit_test(options_become_words_again),
        cmocka_unit_test(operands_are_taken_in_order),
        cmocka_unit_test(help_wins_over_missing_operands),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(flags_can_be_taken_back),
        cmocka_unit_test(hidden_options_are_understood_and_not_told_of),
        cmocka_unit_test(an_option_may_be_given_several_times),
        cmocka_unit_test(the_last_operand_takes_the_rest),
        cmocka_unit_test(the_first_operand_may_have_a_default),
        cmocka_unit_test(long_words_do_not_flood_the_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
