/* test_ini.c: how a configuration file is read, and at which line it is refused. */
#include "provider/aws/config/ini.h"

#include "provider/shell_split.h"
#include "unit.h"

static struct str value_of(struct arena *arena, const char *text, const char *section,
                           const char *name)
{
    struct ini ini;
    struct err err;
    if (!ini_parse(str_from(text), arena, &ini, &err)) {
        return arena_printf(arena, "!%s", err.text);
    }
    const struct ini_option *option = ini_option(&ini, ini_section(&ini, str_from(section)), name);
    return option ? option->value : STR("(none)");
}

static void values_are_read(void **state)
{
    static const char *const rows[][4] = {
        {"[a]\nx = 1", "a", "x", "1"},
        {"[a]\r\nX : 1 = 2 \r\n", "a", "x", "1 = 2"},
        {"[a]\nx = 1\n  two\n\n  # no\n  three\ny=2", "a", "x", "1\ntwo\n\nthree"},
        {"[a]\nx = y # z", "a", "x", "y # z"},
        {"[a] b] c\nx=1", "a] b", "x", "1"},
        {"  [a]\n  x=1\n  y=2", "a", "y", "2"},
        {"[DEFAULT]\nx=0\n[a]\n", "a", "x", "0"},
        {"[a]\nx=1\n[DEFAULT]\nx=0", "a", "x", "1"},
        {"[a]\n", "b", "x", "(none)"},
        {"", "a", "x", "(none)"},
        {"x=1", "a", "x", "!line 1 is not in a [section]"},
        {"[a]\n\nwords", "a", "x", "!line 3 is neither a [section] nor \"name = value\""},
        {"[a]\n= 1", "a", "x", "!line 2 is neither a [section] nor \"name = value\""},
        {"[a]\nx=1\nX=2", "a", "x", "!line 3: duplicate name"},
        {"[a]\n[a]", "a", "x", "!line 2: duplicate section"},
        {"[a]\nx=\n secret\ny=1", "a", "x",
         "!before line 4: a line of a nested section has no \"=\""},
        {"[a]\nx=\xFF", "a", "x", "!the file is not UTF-8"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(value_of(&arena, rows[i][0], rows[i][1], rows[i][2]), rows[i][3]);
    }
    arena_clear(&arena);
}

static void nested_sections_are_split(void **state)
{
    struct ini ini;
    struct err err;
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_true(ini_parse(STR("[a]\ns3 =\n  x = 1\n\n  y=a=b\n"), &arena, &ini, &err));
    const struct ini_option *option = ini_option(&ini, ini_section(&ini, STR("a")), "s3");
    assert_int_equal(option->nested_count, 2);
    assert_str(option->nested[1].name, "y");
    assert_str(option->nested[1].value, "a=b");
    arena_clear(&arena);
}

static void words_are_cut(void **state)
{
    static const char *const rows[][2] = {
        {"a b", "a|b|"},
        {" a\t\nb ", "a|b|"},
        {"'a b'\"c d\"e", "a bc de|"},
        {"a '' b", "a||b|"},
        {"\"x\\\"y\\\\z\\n\"", "x\"y\\z\\n|"},
        {"a\\ b", "a b|"},
        {"'a\\'", "a\\|"},
        {"", ""},
        {"'open", "!"},
        {"open\\", "!"},
        {"\"open\\\"", "!"},
        {"#x", "#x|"},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str *words;
        size_t count = 0;
        struct str joined = STR("");
        bool ok = shell_split(str_from(rows[i][0]), &arena, &words, &count);
        for (size_t k = 0; ok && k < count; k++) {
            joined = arena_printf(&arena, "%.*s%.*s|", STR_ARG(joined), STR_ARG(words[k]));
        }
        assert_str(ok ? joined : STR("!"), rows[i][1]);
    }
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(nested_sections_are_split),
        cmocka_unit_test(words_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
