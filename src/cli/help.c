/* help.c: prints help, wrapped to 80 columns. */
#include "cli/help.h"

#include "base/suggest.h"
#include "base/utf8.h"

#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 26 };

/* Wraps `text`; the first line continues at the cursor. Blank lines are kept. */
static void help_add_wrapped(struct buf *out, const char *text, size_t indent)
{
    size_t column = indent;
    struct str rest = str_from(text);
    while (rest.len > 0) {
        if (str_starts(rest, "\n\n")) {
            buf_add_c(out, "\n\n");
            buf_add_spaces(out, indent);
            column = indent;
            rest = str_sub(rest, 2, rest.len);
            continue;
        }
        if (rest.ptr[0] == ' ' || rest.ptr[0] == '\n') {
            rest = str_sub(rest, 1, rest.len);
            continue;
        }
        size_t end = 0;
        while (end < rest.len && rest.ptr[end] != ' ' && rest.ptr[end] != '\n') {
            end++;
        }
        struct str word = str_sub(rest, 0, end);
        size_t width = utf8_width(word);
        if (column > indent && column + 1 + width > WIDTH) {
            buf_add_char(out, '\n');
            buf_add_spaces(out, indent);
            column = indent;
        } else if (column > indent) {
            buf_add_char(out, ' ');
            column++;
        }
        buf_add(out, word);
        column += width;
        rest = str_sub(rest, end, rest.len);
    }
    buf_add_char(out, '\n');
}

void help_add_row(struct buf *out, const char *left, const char *help, size_t column)
{
    size_t width = strlen(left) + 2;
    buf_addf(out, "  %s", left);
    if (width + 1 > column) {
        buf_add_char(out, '\n');
        width = 0;
    }
    buf_add_spaces(out, column - width);
    help_add_wrapped(out, help, column);
}

static void help_add_option(struct buf *out, const struct option *option)
{
    AUTO_BUF struct buf left;
    buf_init(&left, 256);
    if (option->is_hidden) {
        return;
    }
    if (option->letter) {
        buf_addf(&left, "-%c, ", option->letter);
    } else {
        buf_add_c(&left, "    ");
    }
    buf_addf(&left, "--%s", option->name);
    if (option->argument) {
        buf_addf(&left, " %s", option->argument);
    }
    help_add_row(out, left.ptr, option->help, OPTION_COLUMN);
}

void help_usage(struct buf *out, const struct verb *verb)
{
    buf_addf(out, "shoal %s [OPTIONS]", verb->name);
    for (size_t i = 0; i < verb->operand_count; i++) {
        const struct operand *operand = &verb->operands[i];
        bool can_lack = operand->is_optional || operand->fallback;
        buf_addf(out, can_lack ? " [%s]" : " %s", operand->name);
        buf_add_c(out, operand->is_rest ? "..." : "");
    }
}

void help_verb(struct buf *out, const struct verb *verb)
{
    buf_addf(out, "shoal %s: %s\n\nusage: ", verb->name, verb->summary);
    help_usage(out, verb);
    buf_add_c(out, "\n\n");
    help_add_wrapped(out, verb->description, 0);
    if (verb->operand_count > 0) {
        buf_add_c(out, "\nArguments:\n");
    }
    for (size_t i = 0; i < verb->operand_count; i++) {
        help_add_row(out, verb->operands[i].name, verb->operands[i].help, OPTION_COLUMN);
    }
    if (verb->part_count > 0) {
        buf_add_c(out, "\nOther commands (each has its own --help):\n");
    }
    for (size_t i = 0; i < verb->part_count; i++) {
        help_add_row(out, verb_part_word(verb->parts[i]), verb->parts[i]->summary, OPTION_COLUMN);
    }
    buf_add_c(out, "\nOptions:\n");
    for (size_t i = 0; i < verb->option_count; i++) {
        help_add_option(out, &verb->options[i]);
    }
    for (size_t i = 0; i < common_option_count; i++) {
        help_add_option(out, &common_options[i]);
    }
    if (verb->example_count > 0) {
        buf_add_c(out, "\nExamples:\n");
    }
    for (size_t i = 0; i < verb->example_count; i++) {
        buf_addf(out, "  %s\n      ", verb->examples[i].command);
        help_add_wrapped(out, verb->examples[i].says, 6);
    }
}

void help_program(struct buf *out)
{
    buf_add_c(out, "shoal: launch, scale and run Ray clusters on AWS\n\n"
                   "usage: shoal COMMAND [OPTIONS] [ARGUMENTS]\n");
    for (size_t i = 0; i < verb_count; i++) {
        if (i == 0 || verb_groups[i] != verb_groups[i - 1]) {
            buf_addf(out, "\n%s:\n", verb_group_titles[verb_groups[i]]);
        }
        help_add_row(out, all_verbs[i]->name, all_verbs[i]->summary, HELP_VERB_COLUMN);
    }
    buf_add_c(out,
              "\n"
              "shoal help COMMAND explains a command, shoal help KEY a key of the cluster file,\n"
              "and shoal help -k WORD searches both.\n"
              "First steps: write a cluster file, then shoal check FILE, then shoal up FILE.\n");
}

/* ---- keys of the cluster file ---- */

static void each_key(const struct schema_object *object, struct buf *path, help_key_fn *take,
                     void *context)
{
    for (size_t i = 0; i < object->count; i++) {
        const struct schema_key *key = &object->keys[i];
        size_t before = path->len;
        buf_addf(path, "%s%s", before > 0 ? "." : "", key->name);
        take(context, buf_str(path), key);
        if (key->object) {
            each_key(key->object, path, take, context);
        }
        path->len = before;
    }
}

static void add_key_line(void *context, struct str path, const struct schema_key *key)
{
    struct buf *out = context;
    buf_addf(out, "%.*s\t", STR_ARG(path));
    schema_type_names(out, key->types);
    buf_add_char(out, '\n');
}

void help_each_key(help_key_fn *take, void *context)
{
    AUTO_BUF struct buf path;
    buf_init(&path, 1024);
    each_key(&schema_root, &path, take, context);
}

void help_keys(struct buf *out)
{
    help_each_key(add_key_line, out);
}

struct key_search {
    struct buf *out;
    struct str wanted;
    size_t found;
};

/* "min_workers" alone matches every key with that last component. */
static bool path_matches(struct str path, struct str wanted)
{
    if (str_eq(path, wanted)) {
        return true;
    }
    return path.len > wanted.len && path.ptr[path.len - wanted.len - 1] == '.' &&
           str_eq(str_sub(path, path.len - wanted.len, path.len), wanted);
}

static void add_fact(struct buf *out, const char *name, const char *text)
{
    buf_addf(out, "  %s:  ", name);
    help_add_wrapped(out, text, 12);
}

/* YAML lines are kept unchanged, so that they can be copied. */
static void add_example(struct buf *out, const char *example)
{
    struct str rest = str_from(example);
    const char *label = "  example:  ";
    while (rest.len > 0) {
        struct str line = str_cut(&rest, '\n');
        buf_addf(out, "%s%.*s\n", label, STR_ARG(line));
        label = "            ";
    }
}

static void help_add_choices(struct buf *out, const char *const *choices)
{
    AUTO_BUF struct buf list;
    buf_init(&list, 512);
    for (size_t i = 0; choices[i]; i++) {
        buf_addf(&list, "%s%s", i > 0 ? ", " : "", choices[i]);
    }
    add_fact(out, "choices", list.ptr);
}

static void add_key_help(void *context, struct str path, const struct schema_key *key)
{
    struct key_search *search = context;
    if (!path_matches(path, search->wanted)) {
        return;
    }
    struct buf *out = search->out;
    buf_addf(out, "%s%.*s: ", search->found++ ? "\n" : "", STR_ARG(path));
    schema_type_text(out, key->types);
    buf_add_c(out, "\n  ");
    help_add_wrapped(out, key->help, 2);
    if (key->fallback) {
        add_fact(out, "default", key->fallback);
    }
    if (key->choices) {
        help_add_choices(out, key->choices);
    }
    if (key->readers) {
        AUTO_BUF struct buf names;
        buf_init(&names, 256);
        schema_provider_names(&names, key->readers);
        add_fact(out, "read by", names.ptr);
    }
    add_example(out, key->example);
}

bool help_key(struct buf *out, struct str wanted)
{
    struct key_search search = {out, wanted, 0};
    /* "gpu.min_workers": the first part may be a node type of the file; try without it. */
    while (search.wanted.len > 0 && search.found == 0) {
        help_each_key(add_key_help, &search);
        str_cut(&search.wanted, '.');
    }
    return search.found > 0;
}

struct topic_search {
    struct suggest suggest;
    struct arena *arena; /* memory for suggested paths */
};

static void offer_key(void *context, struct str path, const struct schema_key *key)
{
    struct topic_search *search = context;
    suggest_offer(&search->suggest, arena_str(search->arena, path));
    suggest_offer(&search->suggest, str_from(key->name));
}

struct str help_nearest(struct arena *arena, struct str topic)
{
    struct topic_search search = {.arena = arena};
    suggest_start(&search.suggest, topic);
    for (size_t i = 0; i < verb_count; i++) {
        suggest_offer(&search.suggest, str_from(all_verbs[i]->name));
    }
    help_each_key(offer_key, &search);
    return suggest_best(&search.suggest);
}
