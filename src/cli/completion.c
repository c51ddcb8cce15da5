/* completion.c: prints one script per shell from the verb table. */
#include "cli/completion.h"

#include "cli/verb.h"

#include <string.h>

typedef void option_fn(struct buf *out, const struct verb *verb, const struct option *option);

static void each_option(struct buf *out, const struct verb *verb, option_fn *print)
{
    for (size_t i = 0; i < verb->option_count; i++) {
        if (!verb->options[i].is_hidden) {
            print(out, verb, &verb->options[i]);
        }
    }
    for (size_t i = 0; i < common_option_count; i++) {
        print(out, verb, &common_options[i]);
    }
}

static void add_verbs(struct buf *out)
{
    for (size_t i = 0; i < verb_count; i++) {
        buf_addf(out, "%s%s", i > 0 ? " " : "", all_verbs[i]->name);
    }
}

static void completion_add_choices(struct buf *out, const char *const *choices)
{
    for (size_t i = 0; choices[i]; i++) {
        buf_addf(out, "%s%s", i > 0 ? " " : "", choices[i]);
    }
}

/* Calls it for every verb and its sub-commands. */
static void each_verb(struct buf *out, void (*print)(struct buf *out, const struct verb *verb))
{
    for (size_t i = 0; i < verb_count; i++) {
        print(out, all_verbs[i]);
        for (size_t j = 0; j < all_verbs[i]->part_count; j++) {
            print(out, all_verbs[i]->parts[j]);
        }
    }
}

static void add_parts(struct buf *out, const struct verb *verb)
{
    for (size_t i = 0; i < verb->part_count; i++) {
        buf_addf(out, "%s%s", i > 0 ? " " : "", verb_part_word(verb->parts[i]));
    }
}

/* "train-ls": no verb has that name. */
static void add_key(struct buf *out, const struct verb *verb)
{
    for (const char *c = verb->name; *c; c++) {
        buf_add_char(out, *c == ' ' ? '-' : *c);
    }
}

/* ---- bash ---- */

static void bash_option(struct buf *out, const struct verb *verb, const struct option *option)
{
    (void)verb;
    buf_addf(out, " --%s", option->name);
    if (option->letter) {
        buf_addf(out, " -%c", option->letter);
    }
}

static void bash_value(struct buf *out, const struct verb *verb, const struct option *option)
{
    if (!option->choices) {
        return;
    }
    buf_add_c(out, "        ");
    add_key(out, verb);
    buf_addf(out, ":--%s", option->name);
    if (option->letter) {
        buf_add_char(out, '|');
        add_key(out, verb);
        buf_addf(out, ":-%c", option->letter);
    }
    buf_add_c(out, ") words=\"");
    completion_add_choices(out, option->choices);
    buf_add_c(out, "\" ;;\n");
}

/* Completions of the verb's operands, after its options. */
static void bash_operands(struct buf *out, const struct verb *verb)
{
    for (size_t i = 0; i < verb->operand_count; i++) {
        const struct operand *operand = &verb->operands[i];
        if (operand->complete == COMPLETE_VERB) {
            buf_add_char(out, ' ');
            add_verbs(out);
        } else if (operand->complete == COMPLETE_CHOICE) {
            buf_add_char(out, ' ');
            completion_add_choices(out, operand->choices);
        } else if (operand->complete == COMPLETE_FILE) {
            buf_add_c(out, "\"; files=\"yes");
        } else if (operand->complete == COMPLETE_CLUSTER) {
            buf_add_c(out, "\"; files=\"yes\"; names=\"yes");
        }
    }
}

static void bash_values(struct buf *out, const struct verb *verb)
{
    each_option(out, verb, bash_value);
}

static void bash_words(struct buf *out, const struct verb *verb)
{
    buf_add_c(out, "            ");
    add_key(out, verb);
    buf_add_c(out, ") words=\"");
    each_option(out, verb, bash_option);
    bash_operands(out, verb);
    buf_add_c(out, "\" ;;\n");
}

/* The word after the verb may be a sub-command; it is offered there, and then decides. */
static void bash_parts(struct buf *out, const struct verb *verb)
{
    if (verb->part_count == 0) {
        return;
    }
    buf_addf(out, "    if [ \"$verb\" = %s ]; then\n        case \" ", verb->name);
    add_parts(out, verb);
    buf_add_c(out, " \" in *\" ${COMP_WORDS[2]} \"*)\n"
                   "            [ \"$at\" -eq 2 ] || verb=\"$verb-${COMP_WORDS[2]}\" ;;\n"
                   "        esac\n        [ \"$at\" -ne 2 ] || parts=\"");
    add_parts(out, verb);
    buf_add_c(out, "\"\n    fi\n");
}

void completion_bash(struct buf *out)
{
    buf_add_c(
        out, "# bash completion for shoal; load with: source <(shoal completion bash)\n"
             "_shoal() {\n"
             "    local at=$COMP_CWORD verb=\"${COMP_WORDS[1]}\" words=\"\" files=\"\" names=\"\"\n"
             "    local parts=\"\"\n"
             "    local word=\"${COMP_WORDS[at]}\" before=\"${COMP_WORDS[at-1]}\"\n"
             "    # bash takes the = of --option=value for a word of its own\n"
             "    if [ \"$word\" = \"=\" ]; then\n        word=\"\"\n"
             "    elif [ \"$before\" = \"=\" ]; then\n"
             "        before=\"${COMP_WORDS[at-2]}\"\n    fi\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "        COMPREPLY=($(compgen -W \"");
    add_verbs(out);
    buf_add_c(out, " --help --version\" -- \"$word\"))\n        return\n    fi\n");
    each_verb(out, bash_parts);
    buf_add_c(out, "    case \"$verb:$before\" in\n");
    each_verb(out, bash_values);
    buf_add_c(out, "        *) case \"$verb\" in\n");
    each_verb(out, bash_words);
    buf_add_c(out, "        esac ;;\n    esac\n"
                   "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                   "    if [ -n \"$files\" ] && [ \"${word#-}\" = \"$word\" ]; then\n"
                   "        local IFS=$'\\n'\n"
                   "        compopt -o filenames 2>/dev/null\n"
                   "        COMPREPLY=($(compgen -f -- \"$word\"))\n    fi\n"
                   "    if [ -n \"$names\" ] && [ \"${word#-}\" = \"$word\" ]; then\n"
                   "        COMPREPLY+=($(compgen -W \"$(shoal completion clusters 2>/dev/null)\""
                   " -- \"$word\"))\n    fi\n"
                   "    [ -z \"$parts\" ] || COMPREPLY+=($(compgen -W \"$parts\" -- \"$word\"))\n"
                   "}\n"
                   "complete -F _shoal shoal\n");
}

/* ---- zsh ---- */

/* Brackets, quotes and colons are special in a zsh specification. */
static void add_zsh_text(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'') {
            buf_add_c(out, "'\\''");
        } else {
            if (*text == '[' || *text == ']' || *text == ':') {
                buf_add_char(out, '\\');
            }
            buf_add_char(out, *text);
        }
    }
}

static void add_zsh_value(struct buf *out, const struct option *option)
{
    if (!option->argument) {
        return;
    }
    buf_addf(out, ":%s:%s", option->argument, option->kind == OPTION_FILE ? "_files" : "");
    if (option->choices) {
        buf_add_char(out, '(');
        completion_add_choices(out, option->choices);
        buf_add_char(out, ')');
    }
}

static void zsh_option(struct buf *out, const struct verb *verb, const struct option *option)
{
    (void)verb;
    buf_addf(out, " \\\n            '--%s%s[", option->name, option->argument ? "=" : "");
    add_zsh_text(out, option->help);
    buf_add_char(out, ']');
    add_zsh_value(out, option);
    buf_add_char(out, '\'');
    if (option->letter) {
        buf_addf(out, " \\\n            '-%c[", option->letter);
        add_zsh_text(out, option->help);
        buf_add_char(out, ']');
        add_zsh_value(out, option);
        buf_add_char(out, '\'');
    }
}

static void zsh_operands(struct buf *out, const struct verb *verb)
{
    for (size_t i = 0; i < verb->operand_count; i++) {
        const struct operand *operand = &verb->operands[i];
        buf_addf(out, " \\\n            '%s:%s:", operand->is_rest ? "*" : "", operand->name);
        if (operand->complete == COMPLETE_FILE) {
            buf_add_c(out, "_files");
        } else if (operand->complete == COMPLETE_CLUSTER) {
            buf_add_c(out, "_shoal_clusters");
        } else if (operand->complete == COMPLETE_VERB) {
            buf_add_char(out, '(');
            add_verbs(out);
            buf_add_char(out, ')');
        } else if (operand->complete == COMPLETE_CHOICE) {
            buf_add_char(out, '(');
            completion_add_choices(out, operand->choices);
            buf_add_char(out, ')');
        }
        buf_add_char(out, '\'');
    }
}

static void zsh_parts(struct buf *out, const struct verb *verb)
{
    if (verb->part_count == 0) {
        return;
    }
    buf_addf(out,
             "    if [[ \"$verb\" = %s ]]; then\n        if (( CURRENT == 2 )); then\n"
             "            compadd ",
             verb->name);
    add_parts(out, verb);
    buf_add_c(out, "\n        elif [[ \" ");
    add_parts(out, verb);
    buf_add_c(out, " \" = *\" $words[2] \"* ]]; then\n            verb=\"$verb-$words[2]\"\n"
                   "            shift words\n            (( CURRENT-- ))\n        fi\n    fi\n");
}

static void zsh_words(struct buf *out, const struct verb *verb)
{
    buf_add_c(out, "        ");
    add_key(out, verb);
    buf_add_c(out, ") _arguments");
    each_option(out, verb, zsh_option);
    zsh_operands(out, verb);
    buf_add_c(out, " ;;\n");
}

void completion_zsh(struct buf *out)
{
    buf_add_c(out, "#compdef shoal\n"
                   "# zsh completion for shoal; load with: source <(shoal completion zsh)\n"
                   "_shoal_clusters() {\n    local -a names\n"
                   "    names=(${(f)\"$(shoal completion clusters 2>/dev/null)\"})\n"
                   "    _alternative 'names:cluster:compadd -a names' 'files:file:_files'\n}\n"
                   "_shoal() {\n    local -a verbs\n    verbs=(\n");
    for (size_t i = 0; i < verb_count; i++) {
        buf_addf(out, "        '%s:", all_verbs[i]->name);
        add_zsh_text(out, all_verbs[i]->summary);
        buf_add_c(out, "'\n");
    }
    buf_add_c(out, "    )\n    if (( CURRENT == 2 )); then\n"
                   "        _describe 'verb' verbs\n        return\n    fi\n"
                   "    local verb=\"$words[2]\"\n    shift words\n    (( CURRENT-- ))\n");
    each_verb(out, zsh_parts);
    buf_add_c(out, "    case \"$verb\" in\n");
    each_verb(out, zsh_words);
    buf_add_c(out, "    esac\n}\n"
                   "if [ \"$funcstack[1]\" = \"_shoal\" ]; then\n    _shoal \"$@\"\n"
                   "elif (( $+functions[compdef] )); then\n    compdef _shoal shoal\nfi\n");
}

/* ---- fish ---- */

static void add_fish_text(struct buf *out, const char *text)
{
    buf_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') {
            buf_add_char(out, '\\');
        }
        buf_add_char(out, *text);
    }
    buf_add_char(out, '\'');
}

/* A sub-command may have the name of a command. */
static void fish_condition(struct buf *out, const struct verb *verb)
{
    const char *blank = strchr(verb->name, ' ');
    int len = blank ? (int)(blank - verb->name) : 0;
    buf_add_c(out, "complete -c shoal");
    buf_add_c(out, " -n '");
    for (size_t i = 0; !blank && i < verb_count; i++) {
        if (verb_find_part(all_verbs[i], verb->name)) {
            buf_addf(out, "not __fish_seen_subcommand_from %s; and ", all_verbs[i]->name);
        }
    }
    buf_add_c(out, "__fish_seen_subcommand_from ");
    if (blank) {
        buf_addf(out, "%.*s; and __fish_seen_subcommand_from ", len, verb->name);
    }
    buf_addf(out, "%s'", verb_part_word(verb));
}

static void fish_option(struct buf *out, const struct verb *verb, const struct option *option)
{
    fish_condition(out, verb);
    buf_addf(out, " -l %s", option->name);
    if (option->letter) {
        buf_addf(out, " -s %c", option->letter);
    }
    if (option->argument) {
        buf_add_c(out, option->kind == OPTION_FILE ? " -r -F" : " -x");
    }
    if (option->choices) {
        buf_add_c(out, " -a '");
        completion_add_choices(out, option->choices);
        buf_add_char(out, '\'');
    }
    buf_add_c(out, " -d ");
    add_fish_text(out, option->help);
    buf_add_char(out, '\n');
}

static void fish_operands(struct buf *out, const struct verb *verb)
{
    for (size_t i = 0; i < verb->operand_count; i++) {
        const struct operand *operand = &verb->operands[i];
        fish_condition(out, verb);
        if (operand->complete == COMPLETE_FILE) {
            buf_add_c(out, " -F\n");
            continue;
        }
        if (operand->complete == COMPLETE_CLUSTER) {
            buf_add_c(out, " -F -a '(shoal completion clusters 2>/dev/null)'\n");
            continue;
        }
        buf_add_c(out, " -a '");
        if (operand->complete == COMPLETE_VERB) {
            add_verbs(out);
        } else if (operand->complete == COMPLETE_CHOICE) {
            completion_add_choices(out, operand->choices);
        }
        buf_add_c(out, "'\n");
    }
}

static void fish_words(struct buf *out, const struct verb *verb)
{
    each_option(out, verb, fish_option);
    fish_operands(out, verb);
}

void completion_fish(struct buf *out)
{
    buf_add_c(out, "# fish completion for shoal; load with: shoal completion fish | source\n"
                   "complete -c shoal -f\n");
    for (size_t i = 0; i < verb_count; i++) {
        buf_addf(out, "complete -c shoal -n __fish_use_subcommand -a %s -d ", all_verbs[i]->name);
        add_fish_text(out, all_verbs[i]->summary);
        buf_add_char(out, '\n');
        if (all_verbs[i]->part_count > 0) {
            fish_condition(out, all_verbs[i]);
            buf_add_c(out, " -a '");
            add_parts(out, all_verbs[i]);
            buf_add_c(out, "'\n");
        }
    }
    each_verb(out, fish_words);
}
