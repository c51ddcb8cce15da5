/* fuzz_args.c: any bytes, cut at zero bytes into words, as the command line of every verb. */
#include "fuzz.h"

#include "base/panic.h"
#include "base/utf8.h"
#include "cli/args.h"
#include "cli/help.h"
#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64 };

/* Each word in memory of its own, so that a read past its end is seen. */
struct line {
    char *words[WORDS_MAX];
    int count;
};

static void line_init(struct line *line, struct str bytes)
{
    line->count = 0;
    while (bytes.len > 0 && line->count < WORDS_MAX) {
        struct str word = str_cut(&bytes, '\0');
        char *copy = malloc(word.len + 1);
        if (!copy) {
            panic("out of memory");
        }
        if (word.len > 0) {
            memcpy(copy, word.ptr, word.len);
        }
        copy[word.len] = '\0';
        line->words[line->count++] = copy;
    }
}

static void line_clear(struct line *line)
{
    for (int i = 0; i < line->count; i++) {
        free(line->words[i]);
    }
}

static bool is_choice(const struct option *option, const char *given)
{
    for (size_t i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], given) == 0) {
            return true;
        }
    }
    return false;
}

/* After success every choice is one of its choices. */
static void check_choices(const struct option *options, size_t count, const unsigned char *fields)
{
    for (size_t i = 0; i < count; i++) {
        const char *given;
        if (options[i].kind != OPTION_CHOICE) {
            continue;
        }
        memcpy(&given, fields + options[i].offset, sizeof(given));
        if (given && !is_choice(&options[i], given)) {
            fuzz_fail("a choice is one of its choices", str_from(given));
        }
    }
}

static void check_operands(const struct verb *verb, const unsigned char *fields)
{
    for (size_t i = 0; i < verb->operand_count; i++) {
        const char *given;
        memcpy(&given, fields + verb->operands[i].offset, sizeof(given));
        if (!given && !verb->operands[i].is_optional) {
            fuzz_fail("an operand that is needed is there", str_from(verb->operands[i].name));
        }
    }
}

/* As main.c goes on: the usage after a mistake, or the help that was asked for. */
static void answer(const struct verb *verb, bool ok, const struct err *err, bool wants_help)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (!ok) {
        if (err->kind != ERR_USAGE || strnlen(err->text, sizeof(err->text)) == 0) {
            fuzz_fail("a wrong command line is an error of usage with words", STR(""));
        }
        help_usage(&out, verb);
    } else if (wants_help) {
        help_verb(&out, verb);
    }
    if ((!ok || wants_help) && (out.len == 0 || !utf8_is_valid(buf_str(&out)))) {
        fuzz_fail("help is text", buf_str(&out));
    }
}

static void try_verb(const struct verb *verb, const struct line *line)
{
    struct common_fields common = {0};
    struct err err = {0};
    struct arena arena;
    unsigned char *fields = calloc(1, verb->fields_size ? verb->fields_size : 1);
    if (!fields) {
        panic("out of memory");
    }
    arena_init(&arena);
    bool ok = args_parse(verb, line->count, line->words, &arena, fields, &common, &err);
    if (ok) {
        check_choices(verb->options, verb->option_count, fields);
        check_choices(common_options, common_option_count, (const unsigned char *)&common);
    }
    if (ok && !common.help) {
        check_operands(verb, fields);
    }
    answer(verb, ok, &err, common.help);
    arena_clear(&arena);
    free(fields);
}

/* `shoal help WORD`: a verb, a key of the cluster file, or neither. */
static void try_topic(const char *word)
{
    AUTO_BUF struct buf out;
    const struct verb *verb = verb_find(word);
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (verb && strcmp(verb->name, word) != 0 && (!verb->alias || strcmp(verb->alias, word) != 0)) {
        fuzz_fail("verb_find finds the verb of that name", str_from(word));
    }
    if (help_key(&out, str_from(word)) != (out.len > 0)) {
        fuzz_fail("help_key says something exactly when there is such a key", buf_str(&out));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct line line;
    line_init(&line, (struct str){(const char *)data, size});
    for (size_t i = 0; i < verb_count; i++) {
        try_verb(all_verbs[i], &line);
    }
    if (line.count == 2 && strcmp(line.words[0], "help") == 0) {
        try_topic(line.words[1]);
    }
    line_clear(&line);
    return 0;
}
