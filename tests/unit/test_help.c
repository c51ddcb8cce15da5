/* test_help.c: rules for every command in the table, and the help that is printed from it. */
#include "cli/help.h"

#include "base/utf8.h"
#include "unit.h"

#include <string.h>

enum { WIDTH = 80 };

static void check_width(struct str text, const char *name)
{
    while (text.len > 0) {
        struct str line = str_cut(&text, '\n');
        if (utf8_width(line) > WIDTH) {
            fail_msg("%s: %zu columns: %.*s", name, utf8_width(line), STR_ARG(line));
        }
        if (str_ends(line, " ")) {
            fail_msg("%s: blanks at the end of \"%.*s\"", name, STR_ARG(line));
        }
    }
}

static void check_sentence(const char *text, const char *of)
{
    if (!text || !str_ends(str_from(text), ".")) {
        fail_msg("%s: no full stop: %s", of, text ? text : "(nothing)");
    }
}

static void check_option(const struct option *option)
{
    bool takes_value = option->kind != OPTION_FLAG && option->kind != OPTION_UNFLAG &&
                       option->kind != OPTION_COUNT;
    assert_true(strlen(option->name) > 1);
    check_sentence(option->help, option->name);
    assert_int_equal(option->argument != NULL, takes_value);
    assert_int_equal(option->choices != NULL, option->kind == OPTION_CHOICE);
}

/* An option's field must be inside the command's struct, and its names must be unique. */
static void check_options(const struct verb *verb)
{
    for (size_t i = 0; i < verb->option_count; i++) {
        const struct option *option = &verb->options[i];
        check_option(option);
        assert_true(option->offset < verb->fields_size);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(option->name, verb->options[j].name);
            assert_true(!option->letter || option->letter != verb->options[j].letter);
        }
        for (size_t j = 0; j < common_option_count; j++) {
            assert_string_not_equal(option->name, common_options[j].name);
            assert_true(!option->letter || option->letter != common_options[j].letter);
        }
    }
}

static void every_verb_is_described(void **state)
{
    (void)state;
    assert_true(verb_count > 0);
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = all_verbs[i];
        assert_ptr_equal(verb_find(verb->name), verb);
        assert_true(strlen(verb->summary) > 0);
        assert_false(str_ends(str_from(verb->summary), "."));
        check_sentence(verb->description, verb->name);
        assert_true(!verb->exit_status || str_ends(str_from(verb->exit_status), "."));
        assert_non_null(verb->run);
        check_options(verb);
        for (size_t j = 0; j < verb->operand_count; j++) {
            check_sentence(verb->operands[j].help, verb->operands[j].name);
            assert_true(verb->operands[j].offset < verb->fields_size);
        }
        assert_true(verb->example_count > 0);
        for (size_t j = 0; j < verb->example_count; j++) {
            check_sentence(verb->examples[j].says, verb->name);
            assert_true(str_find(str_from(verb->examples[j].command), "shoal") != SIZE_MAX);
        }
    }
    for (size_t i = 0; i < common_option_count; i++) {
        check_option(&common_options[i]);
    }
    assert_null(verb_find("nope"));
    assert_null(verb_find(""));
}

static void help_of_every_verb_fits_the_terminal(void **state)
{
    (void)state;
    for (size_t i = 0; i < verb_count; i++) {
        AUTO_BUF struct buf out;
        buf_init(&out, 100000);
        help_verb(&out, all_verbs[i]);
        check_width(buf_str(&out), all_verbs[i]->name);
    }
}

static void help_of_every_verb_names_what_it_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = all_verbs[i];
        AUTO_BUF struct buf out;
        buf_init(&out, 100000);
        help_verb(&out, verb);
        assert_true(str_find(buf_str(&out), verb->summary) != SIZE_MAX);
        for (size_t j = 0; j < verb->option_count + common_option_count; j++) {
            AUTO_BUF struct buf name;
            buf_init(&name, 100);
            const struct option *option = j < verb->option_count
                                              ? &verb->options[j]
                                              : &common_options[j - verb->option_count];
            buf_addf(&name, " --%s", option->name);
            assert_true((str_find(buf_str(&out), name.ptr) == SIZE_MAX) == option->is_hidden);
        }
        for (size_t j = 0; j < verb->operand_count; j++) {
            assert_true(str_find(buf_str(&out), verb->operands[j].name) != SIZE_MAX);
        }
        for (size_t j = 0; j < verb->example_count; j++) {
            assert_true(str_find(buf_str(&out), verb->examples[j].command) != SIZE_MAX);
        }
    }
}

static void check_part(const struct verb *verb, const struct verb *part)
{
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf whole;
    buf_init(&out, 100000);
    buf_init(&whole, 100000);
    assert_ptr_equal(verb_find_part(verb, verb_part_word(part)), part);
    assert_true(str_starts(str_from(part->name), verb->name));
    check_sentence(part->description, part->name);
    check_options(part);
    assert_non_null(part->run);
    assert_true(part->example_count > 0);
    help_verb(&out, part);
    check_width(buf_str(&out), part->name);
    help_verb(&whole, verb);
    assert_true(str_find(buf_str(&whole), verb_part_word(part)) != SIZE_MAX);
}

static void sub_commands_are_described(void **state)
{
    size_t count = 0;
    (void)state;
    for (size_t i = 0; i < verb_count; i++) {
        for (size_t j = 0; j < all_verbs[i]->part_count; j++, count++) {
            check_part(all_verbs[i], all_verbs[i]->parts[j]);
        }
        assert_null(verb_find_part(all_verbs[i], "no-such"));
        assert_null(verb_find_part(all_verbs[i], NULL));
    }
    assert_true(count >= 6);
    assert_null(verb_find("train ls")); /* only after its command */
}

static void usage_shows_operands(void **state)
{
    static const struct operand operands[] = {{.name = "FILE"},
                                              {.name = "MORE", .is_optional = true}};
    static const struct verb verb = {.name = "try", .operands = operands, .operand_count = 2};
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 1000);
    help_usage(&out, &verb);
    assert_str(buf_str(&out), "shoal try [OPTIONS] FILE [MORE]");
}

static void long_texts_are_wrapped(void **state)
{
    static const struct option options[] = {
        {"an-option-with-a-very-long-name", 0, OPTION_TEXT, 0, "VALUE", NULL,
         "Its help begins on the next line and goes on and on until the end of the line is "
         "reached and then some more."},
    };
    static const struct verb verb = {
        .name = "try",
        .summary = "try it",
        .description = "First paragraph of words that cannot all stand in one line, because a line "
                       "has eighty columns.\n\nSecond paragraph.",
        .options = options,
        .option_count = 1,
    };
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 10000);
    help_verb(&out, &verb);
    struct str text = buf_str(&out);
    check_width(text, "try");
    assert_true(str_find(text, "because a line has\neighty columns.") != SIZE_MAX);
    assert_true(str_find(text, "\n\nSecond paragraph.\n") != SIZE_MAX);
    assert_true(str_find(text, "      --an-option-with-a-very-long-name VALUE\n"
                               "                          Its help begins") != SIZE_MAX);
}

static void program_help_lists_every_verb(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 10000);
    help_program(&out);
    check_width(buf_str(&out), "shoal");
    for (size_t i = 0; i < verb_count; i++) {
        assert_true(str_find(buf_str(&out), all_verbs[i]->name) != SIZE_MAX);
        assert_true(str_find(buf_str(&out), all_verbs[i]->summary) != SIZE_MAX);
    }
}

/* Every group has a heading, once, with its commands below. */
static void program_help_has_groups(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 10000);
    help_program(&out);
    struct str text = buf_str(&out);
    for (size_t i = 0; i < VERB_GROUP_COUNT; i++) {
        AUTO_BUF struct buf heading;
        buf_init(&heading, 100);
        buf_addf(&heading, "\n%s:\n", verb_group_titles[i]);
        size_t at = str_find(text, heading.ptr);
        assert_true(at != SIZE_MAX);
        assert_true(str_find(str_sub(text, at + 1, text.len), heading.ptr) == SIZE_MAX);
    }
    assert_true(str_find(text, "Before you launch:\n  init ") != SIZE_MAX);
    assert_true(str_find(text, "Run:\n  up ") != SIZE_MAX);
    assert_true(str_find(text, "Watch:\n  status ") != SIZE_MAX);
    assert_true(str_find(text, "Finish:\n  down ") != SIZE_MAX);
}

static bool search_has(const char *word, bool is_whole, const char *text)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 100000);
    size_t count = help_search(&out, str_from(word), is_whole);
    assert_int_equal(count == 0, out.len == 0);
    check_width(buf_str(&out), word);
    return str_find(buf_str(&out), text) != SIZE_MAX;
}

static void help_is_searched_by_word(void **state)
{
    (void)state;
    assert_true(search_has("ssh", true, "Commands:\n"));
    assert_true(search_has("ssh", true, "  attach "));
    assert_true(search_has("SSH", true, "\nKeys of the cluster file:\n"));
    assert_true(search_has("delete", true, "  down "));           /* a synonym */
    assert_true(search_has("InstanceType", true, "node_config")); /* in an example */
    assert_true(search_has("restart", false, "  up --no-restart"));
    assert_true(search_has("dash", false, "  dashboard "));
    assert_false(search_has("dash", true, "  dashboard "));
    assert_false(search_has("ashboard", false, "  dashboard ")); /* words, not letters */
    assert_false(search_has("", false, "  "));
    assert_false(search_has("a", false, "  "));
    assert_false(search_has("provider.", true, "  "));
    assert_false(search_has("xyzzy", false, "  "));
}

static void synonyms_name_commands(void **state)
{
    static const char *const words[] = {"halt", "delete", "destroy", "terminate",
                                        "ssh",  "launch", "create",  "teardown"};
    static const char *const meant[] = {"stop",   "down", "down", "down",
                                        "attach", "up",   "up",   "down"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        assert_string_equal(help_synonym(str_from(words[i])), meant[i]);
        assert_non_null(verb_find(meant[i]));
        assert_null(verb_find(words[i]));
    }
    assert_null(help_synonym(STR("xyzzy")));
}

/* `shoal help --keys` lists paths, and each of them can be asked for. */
static void every_key_can_be_explained(void **state)
{
    AUTO_BUF struct buf keys;
    size_t count = 0;
    (void)state;
    buf_init(&keys, 100000);
    help_keys(&keys);
    for (struct str rest = buf_str(&keys); rest.len > 0; count++) {
        AUTO_BUF struct buf out;
        struct str types = str_cut(&rest, '\n');
        struct str path = str_cut(&types, '\t');
        buf_init(&out, 10000);
        assert_true(types.len > 0);
        assert_true(help_key(&out, path));
        assert_true(str_find(buf_str(&out), "  example:  ") != SIZE_MAX);
    }
    assert_true(count > 80);
}

static void keys_are_found_by_path_or_by_name(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 10000);
    assert_true(help_key(&out, STR("provider.region")));
    assert_str(buf_str(&out), "provider.region: text\n"
                              "  The cloud's region.\n"
                              "  read by:  aws, gcp\n"
                              "  example:  region: us-west-2\n");
    buf_clear(&out);
    assert_true(help_key(&out, STR("max_workers"))); /* of the cluster, and of a node type */
    assert_true(str_starts(buf_str(&out), "max_workers: a whole number\n"));
    assert_true(str_find(buf_str(&out), "\n\navailable_node_types.*.max_workers: ") != SIZE_MAX);
    buf_clear(&out);
    assert_false(help_key(&out, STR("workers")));
    assert_false(help_key(&out, STR("")));
    assert_false(help_key(&out, STR("provider.")));
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_is_described),
        cmocka_unit_test(help_of_every_verb_fits_the_terminal),
        cmocka_unit_test(help_of_every_verb_names_what_it_takes),
        cmocka_unit_test(sub_commands_are_described),
        cmocka_unit_test(usage_shows_operands),
        cmocka_unit_test(long_texts_are_wrapped),
        cmocka_unit_test(program_help_lists_every_verb),
        cmocka_unit_test(program_help_has_groups),
        cmocka_unit_test(help_is_searched_by_word),
        cmocka_unit_test(synonyms_name_commands),
        cmocka_unit_test(every_key_can_be_explained),
        cmocka_unit_test(keys_are_found_by_path_or_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
