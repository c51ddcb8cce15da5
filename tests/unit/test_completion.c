/* test_completion.c: each shell's script has every command and all its long options. */
#include "cli/completion.h"

#include "base/arena.h"
#include "cli/verb.h"
#include "unit.h"

struct shell {
    const char *name;
    void (*print)(struct buf *out);
    const char *verb_format;   /* of a line or case that belongs to a command */
    const char *section_end;   /* the text after which it ends */
    const char *option_format; /* of a long option in it */
};

static const struct shell shells[] = {
    {"bash", completion_bash, " %s) words=\"", ";;\n", " --%s"},
    {"zsh", completion_zsh, " %s) _arguments", ";;\n", "'--%s"},
};

/* A copy of `format` with its one %s replaced. */
static const char *fill(struct arena *arena, const char *format, const char *word)
{
    struct str rest = str_from(format);
    struct str before = str_cut(&rest, '%');
    return arena_printf(arena, "%.*s%s%.*s", STR_ARG(before), word,
                        STR_ARG(str_sub(rest, 1, rest.len)))
        .ptr;
}

static void check_has(struct str text, const char *wanted, const char *shell)
{
    if (str_find(text, wanted) == SIZE_MAX) {
        fail_msg("%s: \"%s\" is not in the script", shell, wanted);
    }
}

static const struct option *option_at(const struct verb *verb, size_t index)
{
    return index < verb->option_count ? &verb->options[index]
                                      : &common_options[index - verb->option_count];
}

static void check_option(struct str text, const struct option *option, const char *wanted,
                         const char *shell)
{
    if (option->is_hidden) {
        assert_true(str_find(text, wanted) == SIZE_MAX);
    } else {
        check_has(text, wanted, shell);
    }
}

static void check_verb(struct arena *arena, const struct shell *shell, struct str script,
                       const struct verb *verb)
{
    const char *start = fill(arena, shell->verb_format, verb->name);
    check_has(script, start, shell->name);
    struct str section = str_sub(script, str_find(script, start), script.len);
    section = str_sub(section, 0, str_find(section, shell->section_end));
    for (size_t i = 0; i < verb->option_count + common_option_count; i++) {
        const struct option *option = option_at(verb, i);
        check_option(section, option, fill(arena, shell->option_format, option->name), shell->name);
    }
}

static void bash_and_zsh_know_every_option(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 100000);
        shells[i].print(&out);
        assert_false(out.is_full);
        for (size_t j = 0; j < verb_count; j++) {
            check_verb(&arena, &shells[i], buf_str(&out), all_verbs[j]);
        }
    }
    arena_clear(&arena);
}

static void fish_knows_every_option(void **state)
{
    AUTO_BUF struct buf out;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    buf_init(&out, 100000);
    completion_fish(&out);
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = all_verbs[i];
        check_has(buf_str(&out), fill(&arena, "__fish_use_subcommand -a %s -d ", verb->name),
                  "fish");
        for (size_t j = 0; j < verb->option_count + common_option_count; j++) {
            struct str line = arena_printf(&arena, "__fish_seen_subcommand_from %s' -l %s ",
                                           verb->name, option_at(verb, j)->name);
            check_option(buf_str(&out), option_at(verb, j), line.ptr, "fish");
        }
    }
    arena_clear(&arena);
}

static void bash_offers_every_verb(void **state)
{
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf verbs;
    (void)state;
    buf_init(&out, 100000);
    buf_init(&verbs, 1000);
    completion_bash(&out);
    for (size_t i = 0; i < verb_count; i++) {
        buf_addf(&verbs, "%s%s", i > 0 ? " " : "compgen -W \"", all_verbs[i]->name);
    }
    check_has(buf_str(&out), verbs.ptr, "bash");
}

static void values_that_can_be_chosen_are_offered(void **state)
{
    static const struct {
        void (*print)(struct buf *out);
        const char *line;
    } rows[] = {
        {completion_bash, "validate:--output|validate:-o) words=\"text json\""},
        {completion_zsh, "]:FORMAT:(text json)'"},
        {completion_fish, "-l output -s o -x -a 'text json'"},
        {completion_bash, "completion:--color) words=\"auto always never\""},
        {completion_zsh, "':SHELL:(bash zsh fish clusters)'"},
        {completion_fish, "completion' -a 'bash zsh fish clusters'"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 100000);
        rows[i].print(&out);
        check_has(buf_str(&out), rows[i].line, "a shell");
    }
}

/* An apostrophe in a help text would end the quotes around it. */
static void quotes_are_in_pairs(void **state)
{
    static void (*const prints[])(struct buf *) = {completion_bash, completion_zsh,
                                                   completion_fish};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(prints); i++) {
        AUTO_BUF struct buf out;
        size_t quotes = 0;
        buf_init(&out, 100000);
        prints[i](&out);
        for (size_t j = 0; j < out.len; j++) {
            quotes += out.ptr[j] == '\'' && !(j > 0 && out.ptr[j - 1] == '\\');
        }
        assert_int_equal(quotes % 2, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bash_and_zsh_know_every_option),
        cmocka_unit_test(fish_knows_every_option),
        cmocka_unit_test(bash_offers_every_verb),
        cmocka_unit_test(values_that_can_be_chosen_are_offered),
        cmocka_unit_test(quotes_are_in_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
