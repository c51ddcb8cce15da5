/* completion.c: prints one script per shell from the verb table. */
#include "cli/completion.h"

#include "cli/verb.h"

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
    buf_addf(out, "        %s:--%s", verb->name, option->name);
    if (option->letter) {
        buf_addf(out, "|%s:-%c", verb->name, option->letter);
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

void completion_bash(struct buf *out)
{
    buf_add_c(
        out, "# bash completion for shoal; load with: source <(shoal completion bash)\n"
             "_shoal() {\n"
             "    local at=$COMP_CWORD verb=\"${COMP_WORDS[1]}\" words=\"\" files=\"\" names=\"\"\n"
             "    local word=\"${COMP_WORDS[at]}\" before=\"${COMP_WORDS[at-1]}\"\n"
             "    # bash takes the = of --option=value for a word of its own\n"
             "    if [ \"$word\" = \"=\" ]; then\n        word=\"\"\n"
             "    elif [ \"$before\" = \"=\" ]; then\n"
             "        before=\"${COMP_WORDS[at-2]}\"\n    fi\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "        COMPREPLY=($(compgen -W \"");
    add_verbs(out);
    buf_add_c(out, " --help --version\" -- \"$word\"))\n        return\n    fi\n"
                   "    case \"$verb:$before\" in\n");
    for (size_t i = 0; i < verb_count; i++) {
        each_option(out, all_verbs[i], bash_value);
    }
    buf_add_c(out, "        *) case \"$verb\" in\n");
    for (size_t i = 0; i < verb_count; i++) {
        buf_addf(out, "            %s) words=\"", all_verbs[i]->name);
        each_option(out, all_verbs[i], bash_option);
        bash_operands(out, all_verbs[i]);
        buf_add_c(out, "\" ;;\n");
    }
    buf_add_c(out, "        esac ;;\n    esac\n"
                   "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                   "    if [ -n \"$files\" ] && [ \"${word#-}\" = \"$word\" ]; then\n"
                   "        local IFS=$'\\n'\n"
                   "        compopt -o filenames 2>/dev/null\n"
                   "        COMPREPLY=($(compgen -f -- \"$word\"))\n    fi\n"
                   "    if [ -n \"$names\" ] && [ \"${word#-}\" = \"$word\" ]; then\n"
                   "        COMPREPLY+=($(compgen -W \"$(shoal completion clusters 2>/dev/null)\""
                   " -- \"$word\"))\n    fi\n"
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
                   "    local verb=\"$words[2]\"\n    shift words\n    (( CURRENT-- ))\n"
                   "    case \"$verb\" in\n");
    for (size_t i = 0; i < verb_count; i++) {
        buf_addf(out, "        %s) _arguments", all_verbs[i]->name);
        each_option(out, all_verbs[i], zsh_option);
        zsh_operands(out, all_verbs[i]);
        buf_add_c(out, " ;;\n");
    }
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

static void fish_option(struct buf *out, const struct verb *verb, const struct option *option)
{
    buf_addf(out, "complete -c shoal -n '__fish_seen_subcommand_from %s' -l %s", verb->name,
             option->name);
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
        buf_addf(out, "complete -c shoal -n '__fish_seen_subcommand_from %s'", verb->name);
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

void completion_fish(struct buf *out)
{
    buf_add_c(out, "# fish completion for shoal; load with: shoal completion fish | source\n"
                   "complete -c shoal -f\n");
    for (size_t i = 0; i < verb_count; i++) {
        buf_addf(out, "complete -c shoal -n __fish_use_subcommand -a %s -d ", all_verbs[i]->name);
        add_fish_text(out, all_verbs[i]->summary);
        buf_add_char(out, '\n');
        each_option(out, all_verbs[i], fish_option);
        fish_operands(out, all_verbs[i]);
    }
}
