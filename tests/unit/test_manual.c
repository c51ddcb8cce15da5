/* test_manual.c: the manual pages have their sections and contain everything in the tables. */
#include "cli/manual.h"

#include "config/schema/schema.h"
#include "unit.h"

#include <string.h>

static void check_has(struct str page, const char *wanted)
{
    if (str_find(page, wanted) == SIZE_MAX) {
        fail_msg("\"%s\" is not in\n%.*s", wanted, STR_ARG(page));
    }
}

static void check_options(struct str page, const struct verb *verb)
{
    for (size_t i = 0; i < verb->option_count + common_option_count; i++) {
        const struct option *option = i < verb->option_count
                                          ? &verb->options[i]
                                          : &common_options[i - verb->option_count];
        AUTO_BUF struct buf name;
        buf_init(&name, 100);
        buf_addf(&name, "--%s*", option->name);
        if (option->is_hidden) {
            assert_true(str_find(page, name.ptr) == SIZE_MAX);
        } else {
            check_has(page, name.ptr);
        }
    }
}

static void every_verb_has_a_page_with_its_sections(void **state)
{
    (void)state;
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = all_verbs[i];
        AUTO_BUF struct buf out;
        AUTO_BUF struct buf start;
        buf_init(&out, 100000);
        buf_init(&start, 1000);
        manual_verb(&out, verb);
        buf_addf(&start, "shoal-%s(1)\n\n# NAME\n\nshoal-%s - ", verb->name, verb->name);
        assert_true(str_starts(buf_str(&out), start.ptr));
        check_has(buf_str(&out), "\n# SYNOPSIS\n");
        check_has(buf_str(&out), "\n# DESCRIPTION\n");
        check_has(buf_str(&out), "\n# OPTIONS\n");
        check_has(buf_str(&out), "\n# EXIT STATUS\n");
        check_has(buf_str(&out), "\n# SEE ALSO\n");
        check_options(buf_str(&out), verb);
    }
}

static void program_page_names_every_verb(void **state)
{
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 100000);
    manual_program(&out);
    assert_true(str_starts(buf_str(&out), "shoal(1)\n\n# NAME\n\nshoal - "));
    for (size_t i = 0; i < verb_count; i++) {
        AUTO_BUF struct buf name;
        buf_init(&name, 100);
        buf_addf(&name, "*shoal-%s*(1)", all_verbs[i]->name);
        check_has(buf_str(&out), name.ptr);
    }
}

/* scdoc reads _, *, [ and < as markup. */
static void markup_in_texts_is_escaped(void **state)
{
    static const struct verb verb = {
        .name = "try", .summary = "a_b *c* <d> [e]", .description = "f_g `h` #i\n.j \\k"};
    AUTO_BUF struct buf out;
    (void)state;
    buf_init(&out, 100000);
    manual_verb(&out, &verb);
    check_has(buf_str(&out), "a\\_b \\*c\\* \\<d\\> \\[e\\]");
    check_has(buf_str(&out), "f\\_g \\`h\\` \\#i\n\\.j \\\\k");
}

static void check_keys(struct str page, const struct schema_object *object, bool is_scdoc)
{
    for (size_t i = 0; i < object->count; i++) {
        const struct schema_key *key = &object->keys[i];
        AUTO_BUF struct buf name;
        buf_init(&name, 200);
        buf_add_c(&name, is_scdoc ? "*" : "| `");
        for (const char *p = strcmp(key->name, "*") == 0 ? "NAME" : key->name; *p; p++) {
            buf_add_c(&name, is_scdoc && *p == '_' ? "\\" : "");
            buf_add_char(&name, *p);
        }
        buf_add_c(&name, is_scdoc ? "*: " : "` |");
        check_has(page, name.ptr);
        if (key->object) {
            check_keys(page, key->object, is_scdoc);
        }
    }
}

static void cluster_pages_name_every_key(void **state)
{
    AUTO_BUF struct buf page;
    AUTO_BUF struct buf markdown;
    (void)state;
    buf_init(&page, 1000000);
    buf_init(&markdown, 1000000);
    manual_cluster_file(&page);
    manual_cluster_file_markdown(&markdown);
    assert_true(str_starts(buf_str(&page), "shoal-cluster(5)\n"));
    check_keys(buf_str(&page), &schema_root, true);
    check_keys(buf_str(&markdown), &schema_root, false);
}

static void workload_pages_name_every_key(void **state)
{
    AUTO_BUF struct buf page;
    AUTO_BUF struct buf markdown;
    (void)state;
    buf_init(&page, 1000000);
    buf_init(&markdown, 1000000);
    manual_workload_file(&page);
    manual_workload_file_markdown(&markdown);
    assert_true(str_starts(buf_str(&page), "shoal-workload(5)\n"));
    check_keys(buf_str(&page), &schema_workload, true);
    check_keys(buf_str(&markdown), &schema_workload, false);
}

/* Four cells: five unescaped bars. */
static void markdown_rows_have_four_cells(void **state)
{
    AUTO_BUF struct buf out;
    size_t rows = 0;
    (void)state;
    buf_init(&out, 1000000);
    manual_cluster_file_markdown(&out);
    for (struct str rest = buf_str(&out); rest.len > 0;) {
        struct str line = str_cut(&rest, '\n');
        size_t bars = 0;
        if (!str_starts(line, "| ")) {
            continue;
        }
        for (size_t i = 0; i < line.len; i++) {
            bars += line.ptr[i] == '|' && !(i > 0 && line.ptr[i - 1] == '\\');
        }
        assert_int_equal(bars, 5);
        rows++;
    }
    assert_true(rows > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_has_a_page_with_its_sections),
        cmocka_unit_test(program_page_names_every_verb),
        cmocka_unit_test(markup_in_texts_is_escaped),
        cmocka_unit_test(cluster_pages_name_every_key),
        cmocka_unit_test(workload_pages_name_every_key),
        cmocka_unit_test(markdown_rows_have_four_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
