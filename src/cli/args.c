/* args.c: the parser. */
#include "cli/args.h"

#include "base/str.h"
#include "base/suggest.h"

#include <string.h>

struct parse {
    const struct verb *verb;
    int count;
    char *const *words;
    int next; /* the word to look at */
    unsigned char *fields;
    struct common_fields *common;
    size_t operands_seen;
    struct err *err;
};

/* Where an option's value goes; common options have a struct of their own. */
struct target {
    const struct option *option;
    void *field;
};

static bool find_option(const struct parse *parse, struct str name, char letter,
                        struct target *ret_target)
{
    for (size_t i = 0; i < parse->verb->option_count; i++) {
        const struct option *option = &parse->verb->options[i];
        if (letter ? option->letter == letter : str_is(name, option->name)) {
            *ret_target = (struct target){option, parse->fields + option->offset};
            return true;
        }
    }
    for (size_t i = 0; i < common_option_count; i++) {
        const struct option *option = &common_options[i];
        if (letter ? option->letter == letter : str_is(name, option->name)) {
            *ret_target = (struct target){option, (unsigned char *)parse->common + option->offset};
            return true;
        }
    }
    return false;
}

static void offer_options(struct suggest *suggest, const struct option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!options[i].is_hidden) {
            suggest_offer(suggest, str_from(options[i].name));
        }
    }
}

static bool unknown_option(const struct parse *parse, struct str name)
{
    struct suggest suggest;
    suggest_start(&suggest, name);
    offer_options(&suggest, parse->verb->options, parse->verb->option_count);
    offer_options(&suggest, common_options, common_option_count);
    struct str best = suggest_best(&suggest);
    if (best.len > 0) {
        return err_set(parse->err, ERR_USAGE, "unknown option --%.*s; did you mean --%.*s?",
                       STR_ARG(str_sub(name, 0, 100)), STR_ARG(best));
    }
    return err_set(parse->err, ERR_USAGE, "unknown option --%.*s", STR_ARG(str_sub(name, 0, 100)));
}

/* Is `value` one of the choices? If not, says what `name` ("--output", "SHELL") can be. */
static bool check_choice(const struct parse *parse, const char *dashes, const char *name,
                         const char *const *choices, const char *value)
{
    char list[256] = "";
    size_t len = 0;
    for (size_t i = 0; choices[i]; i++) {
        if (strcmp(choices[i], value) == 0) {
            return true;
        }
        if (len < sizeof(list)) {
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i > 0 ? ", " : "",
                                    choices[i]);
        }
    }
    return err_set(parse->err, ERR_USAGE, "%s%s cannot be \"%.100s\"; it is one of: %s", dashes,
                   name, value, list);
}

static bool set_number(const struct parse *parse, const struct option *option, const char *value,
                       int64_t *ret_number)
{
    if (!str_to_i64(str_from(value), ret_number)) {
        return err_set(parse->err, ERR_USAGE, "--%s wants a whole number, not \"%.100s\"",
                       option->name, value);
    }
    return true;
}

static bool add_number(const struct parse *parse, const struct option *option, const char *value,
                       struct option_numbers *numbers)
{
    if (numbers->count == OPTION_NUMBERS_MAX) {
        return err_set(parse->err, ERR_USAGE, "--%s was given more than %d times", option->name,
                       OPTION_NUMBERS_MAX);
    }
    return set_number(parse, option, value, &numbers->items[numbers->count++]);
}

static bool set_value(const struct parse *parse, struct target target, const char *value)
{
    switch (target.option->kind) {
    case OPTION_FLAG:
    case OPTION_UNFLAG:
        *(bool *)target.field = target.option->kind == OPTION_FLAG;
        return true;
    case OPTION_COUNT:
        ++*(unsigned *)target.field;
        return true;
    case OPTION_TEXT:
    case OPTION_FILE:
        *(const char **)target.field = value;
        return true;
    case OPTION_CHOICE:
        *(const char **)target.field = value;
        return check_choice(parse, "--", target.option->name, target.option->choices, value);
    case OPTION_NUMBER:
        return set_number(parse, target.option, value, target.field);
    case OPTION_NUMBERS:
        return add_number(parse, target.option, value, target.field);
    }
    return false;
}

static bool takes_value(const struct option *option)
{
    return option->kind != OPTION_FLAG && option->kind != OPTION_UNFLAG &&
           option->kind != OPTION_COUNT;
}

/* The next word as the value of an option; false when there is none. */
static bool next_value(struct parse *parse, const struct option *option, const char **ret_value)
{
    if (parse->next >= parse->count) {
        return err_set(parse->err, ERR_USAGE, "--%s wants a value: --%s %s", option->name,
                       option->name, option->argument);
    }
    *ret_value = parse->words[parse->next++];
    return true;
}

static bool parse_long(struct parse *parse, const char *word)
{
    struct str rest = str_from(word + 2);
    const char *equals = strchr(word, '=');
    struct str name = str_cut(&rest, '=');
    struct target target;
    const char *value = equals ? equals + 1 : NULL;
    if (!find_option(parse, name, 0, &target)) {
        return unknown_option(parse, name);
    }
    if (!takes_value(target.option) && equals) {
        return err_set(parse->err, ERR_USAGE, "--%s takes no value", target.option->name);
    }
    if (takes_value(target.option) && !equals && !next_value(parse, target.option, &value)) {
        return false;
    }
    return set_value(parse, target, value);
}

static bool parse_letters(struct parse *parse, const char *word)
{
    for (const char *p = word + 1; *p; p++) {
        struct target target;
        const char *value = p + 1;
        if (!find_option(parse, STR(""), *p, &target)) {
            return err_set(parse->err, ERR_USAGE,
                           "unknown option -%c; put -- before a name that begins with -",
                           *p > ' ' && *p < 127 ? *p : '?');
        }
        if (!takes_value(target.option)) {
            if (!set_value(parse, target, NULL)) {
                return false;
            }
            continue;
        }
        if (!*value && !next_value(parse, target.option, &value)) {
            return false;
        }
        return set_value(parse, target, value);
    }
    return true;
}

static bool parse_operand(struct parse *parse, const char *word)
{
    if (parse->operands_seen >= parse->verb->operand_count) {
        return err_set(parse->err, ERR_USAGE, "\"%.100s\" is one argument too many", word);
    }
    const struct operand *operand = &parse->verb->operands[parse->operands_seen];
    void *field = parse->fields + operand->offset;
    if (operand->is_rest) {
        struct operand_rest *rest = field;
        rest->words[rest->count++] = word;
        return true;
    }
    parse->operands_seen++;
    *(const char **)field = word;
    return true;
}

static bool check_operands(const struct parse *parse)
{
    for (size_t i = 0; i < parse->verb->operand_count; i++) {
        const struct operand *operand = &parse->verb->operands[i];
        if (operand->is_rest) {
            continue;
        }
        const char *word = *(const char **)(void *)(parse->fields + operand->offset);
        if (!word && !operand->is_optional) {
            return err_set(parse->err, ERR_USAGE, "the argument %s is missing. %s", operand->name,
                           operand->help);
        }
        if (word && operand->choices &&
            !check_choice(parse, "", operand->name, operand->choices, word)) {
            return false;
        }
    }
    return true;
}

/* The words of the rest are kept beside each other, in room for all words there are. */
static void make_room(const struct parse *parse, struct arena *arena)
{
    for (size_t i = 0; i < parse->verb->operand_count; i++) {
        const struct operand *operand = &parse->verb->operands[i];
        if (operand->is_rest) {
            struct operand_rest *rest = (void *)(parse->fields + operand->offset);
            rest->words = ARENA_ARRAY(arena, (size_t)parse->count + 1, const char *);
        }
    }
}

bool args_parse(const struct verb *verb, int count, char *const *words, struct arena *arena,
                void *fields, struct common_fields *common, struct err *err)
{
    struct parse parse = {verb, count, words, 0, fields, common, 0, err};
    make_room(&parse, arena);
    bool options_ended = false;
    while (parse.next < count) {
        const char *word = words[parse.next++];
        bool is_option = !options_ended && word[0] == '-' && word[1] != '\0';
        bool ok;
        if (is_option && strcmp(word, "--") == 0) {
            options_ended = true;
            continue;
        }
        if (!is_option) {
            ok = parse_operand(&parse, word);
        } else {
            ok = word[1] == '-' ? parse_long(&parse, word) : parse_letters(&parse, word);
        }
        if (!ok) {
            return false;
        }
    }
    return common->help || check_operands(&parse);
}
