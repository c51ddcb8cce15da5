/* args.c: the command line parser. */
#include "cli/args.h"

#include "base/str.h"
#include "base/suggest.h"
#include "cli/cluster_choice.h"

#include <string.h>

struct parse {
    const struct verb *verb;
    int count;
    char *const *words;
    int next; /* index of the current argument */
    unsigned char *fields;
    struct common_fields *common;
    const char **operands; /* the operands */
    size_t operand_count;
    struct err *err;
};

/* Where an option's value is stored; common options have their own struct. */
struct args_target {
    const struct option *option;
    void *field;
};

static bool args_find_option(const struct parse *parse, struct str name, char letter,
                             struct args_target *ret_target)
{
    for (size_t i = 0; i < parse->verb->option_count; i++) {
        const struct option *option = &parse->verb->options[i];
        if (letter ? option->letter == letter : str_is(name, option->name)) {
            *ret_target = (struct args_target){option, parse->fields + option->offset};
            return true;
        }
    }
    for (size_t i = 0; i < common_option_count; i++) {
        const struct option *option = &common_options[i];
        if (letter ? option->letter == letter : str_is(name, option->name)) {
            *ret_target = (struct args_target){option,
                                               (unsigned char *)parse->common + option->offset};
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

/* Checks that `value` is one of the choices. The error lists what `name` ("--output", "SHELL") can
 * be. */
static bool args_check_choice(const struct parse *parse, const char *dashes, const char *name,
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
    return err_set(parse->err, ERR_USAGE, "%s%s cannot be \"%.100s\"; valid values: %s", dashes,
                   name, value, list);
}

static bool args_set_number(const struct parse *parse, const struct option *option,
                            const char *value, int64_t *ret_number)
{
    if (!str_to_i64(str_from(value), ret_number)) {
        return err_set(parse->err, ERR_USAGE, "--%s needs an integer, not \"%.100s\"", option->name,
                       value);
    }
    return true;
}

static bool args_add_number(const struct parse *parse, const struct option *option,
                            const char *value, struct option_numbers *numbers)
{
    if (numbers->count == OPTION_NUMBERS_MAX) {
        return err_set(parse->err, ERR_USAGE, "--%s was given more than %d times", option->name,
                       OPTION_NUMBERS_MAX);
    }
    return args_set_number(parse, option, value, &numbers->items[numbers->count++]);
}

static bool set_value(const struct parse *parse, struct args_target target, const char *value)
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
        return args_check_choice(parse, "--", target.option->name, target.option->choices, value);
    case OPTION_NUMBER:
        return args_set_number(parse, target.option, value, target.field);
    case OPTION_NUMBERS:
        return args_add_number(parse, target.option, value, target.field);
    }
    return false;
}

static bool takes_value(const struct option *option)
{
    return option->kind != OPTION_FLAG && option->kind != OPTION_UNFLAG &&
           option->kind != OPTION_COUNT;
}

/* The next argument as the value of an option; false if there is none. */
static bool next_value(struct parse *parse, const struct option *option, const char **ret_value)
{
    if (parse->next >= parse->count) {
        return err_set(parse->err, ERR_USAGE, "--%s needs a value: --%s %s", option->name,
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
    struct args_target target;
    const char *value = equals ? equals + 1 : NULL;
    if (!args_find_option(parse, name, 0, &target)) {
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
        struct args_target target;
        const char *value = p + 1;
        if (!args_find_option(parse, STR(""), *p, &target)) {
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

/* Extra words after FILE, such as "ray" "status": the command was not quoted. */
static bool too_many(const struct parse *parse, size_t at)
{
    const struct verb *verb = parse->verb;
    const char *word = parse->operands[at];
    const struct operand *last = verb->operand_count > 0 ? &verb->operands[verb->operand_count - 1]
                                                         : NULL;
    if (!last || at == 0 || strcmp(last->name, "CMD") != 0) {
        return err_set(parse->err, ERR_USAGE,
                       "\"%.100s\" is one argument too many; quote arguments that contain spaces",
                       word);
    }
    return err_set(parse->err, ERR_USAGE,
                   "\"%.100s\" is one argument too many; quote the command: shoal %s %s '%.100s "
                   "%.100s'",
                   word, verb->name, verb->operands[0].name, parse->operands[at - 1], word);
}

/* How many words the operands need, and how many they can take. */
static void count_operands(const struct verb *verb, size_t *ret_least, size_t *ret_most)
{
    *ret_least = *ret_most = 0;
    for (size_t i = 0; i < verb->operand_count; i++) {
        *ret_least += !verb->operands[i].is_optional && !verb->operands[i].is_rest;
        *ret_most = verb->operands[i].is_rest ? SIZE_MAX : *ret_most + 1;
    }
}

/* The default of the first operand, when it was left out. */
static const char *left_out(const struct parse *parse)
{
    const struct verb *verb = parse->verb;
    size_t least;
    size_t most;
    count_operands(verb, &least, &most);
    if (verb->operand_count == 0 || !verb->operands[0].fallback || parse->operand_count >= most) {
        return NULL;
    }
    return verb->operands[0].fallback(parse->operand_count > 0 ? parse->operands[0] : NULL,
                                      parse->operand_count < least);
}

static bool place_operands(const struct parse *parse)
{
    const struct verb *verb = parse->verb;
    const char *first = left_out(parse);
    size_t at = 0;
    if (first) {
        *(const char **)(void *)(parse->fields + verb->operands[at++].offset) = first;
    }
    for (size_t i = 0; i < parse->operand_count; i++) {
        if (at == verb->operand_count) {
            return too_many(parse, i);
        }
        void *field = parse->fields + verb->operands[at].offset;
        if (verb->operands[at].is_rest) {
            struct operand_rest *rest = field;
            rest->words[rest->count++] = parse->operands[i];
        } else {
            *(const char **)field = parse->operands[i];
            at++;
        }
    }
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
        if (!word && operand->fallback) {
            return err_set(parse->err, ERR_USAGE, "%s", cluster_choice_missing);
        }
        if (!word && !operand->is_optional) {
            return err_set(parse->err, ERR_USAGE, "missing argument %s. %s", operand->name,
                           operand->help);
        }
        if (word && operand->choices &&
            !args_check_choice(parse, "", operand->name, operand->choices, word)) {
            return false;
        }
    }
    return true;
}

/* Allocates room for all arguments of the command line. */
static void args_make_room(const struct parse *parse, struct arena *arena)
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
    const char **operands = ARENA_ARRAY(arena, (size_t)count + 1, const char *);
    struct parse parse = {verb, count, words, 0, fields, common, operands, 0, err};
    args_make_room(&parse, arena);
    bool options_ended = false;
    while (parse.next < count) {
        const char *word = words[parse.next++];
        bool is_option = !options_ended && word[0] == '-' && word[1] != '\0';
        if (is_option && strcmp(word, "--") == 0) {
            options_ended = true;
            continue;
        }
        if (!is_option) {
            parse.operands[parse.operand_count++] = word;
            continue;
        }
        bool ok = word[1] == '-' ? parse_long(&parse, word) : parse_letters(&parse, word);
        if (!ok) {
            return false;
        }
    }
    return place_operands(&parse) && (common->help || check_operands(&parse));
}

/* ---- the opposite ---- */

static void list_option(const struct option *option, const void *field, struct arena *arena,
                        struct args_words *words)
{
    const char *name = arena_printf(arena, "--%s", option->name).ptr;
    const struct option_numbers *numbers = field;
    unsigned count = 0;
    switch (option->kind) {
    case OPTION_FLAG:
    case OPTION_UNFLAG:
        if (*(const bool *)field == (option->kind == OPTION_FLAG) && *(const bool *)field) {
            words->items[words->count++] = name;
        }
        break;
    case OPTION_COUNT:
        count = *(const unsigned *)field;
        for (unsigned i = 0; i < count && i < OPTION_NUMBERS_MAX; i++) {
            words->items[words->count++] = name;
        }
        break;
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_CHOICE:
        if (*(const char *const *)field) {
            words->items[words->count++] =
                arena_printf(arena, "%s=%s", name, *(const char *const *)field).ptr;
        }
        break;
    case OPTION_NUMBER:
        if (*(const int64_t *)field != 0) {
            words->items[words->count++] =
                arena_printf(arena, "%s=%lld", name, (long long)*(const int64_t *)field).ptr;
        }
        break;
    case OPTION_NUMBERS:
        for (size_t i = 0; i < numbers->count; i++) {
            words->items[words->count++] =
                arena_printf(arena, "%s=%lld", name, (long long)numbers->items[i]).ptr;
        }
        break;
    }
}

static bool is_listed(const char *const *names, const char *name)
{
    for (size_t i = 0; names && names[i]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

void args_list(const struct verb *verb, const void *fields, const char *const *skipped,
               struct arena *arena, struct args_words *ret_words)
{
    size_t most = verb->option_count * OPTION_NUMBERS_MAX;
    *ret_words = (struct args_words){ARENA_ARRAY(arena, most + 1, const char *), 0};
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct option *option = &verb->options[i];
        if (!is_listed(skipped, option->name)) {
            list_option(option, (const char *)fields + option->offset, arena, ret_words);
        }
    }
}
