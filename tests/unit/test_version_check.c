/* test_version_check.c: which versions can be in one cluster, and the messages about others. */
#include "app/setup/version_check.h"

#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "ray/gcs.h"
#include "unit.h"

#include <stdlib.h>

static void check(const char *here_ray, const char *here_python, const char *there_ray,
                  const char *there_python, bool only_minor, bool expected, const char *words)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 4096);
    bool is_fine = version_check((struct version_pair){str_from(here_ray), str_from(here_python)},
                                 (struct version_pair){str_from(there_ray), str_from(there_python)},
                                 only_minor, &out);
    assert_int_equal(is_fine, expected);
    assert_like(buf_str(&out), words);
}

static void rays_rule(void **state)
{
    (void)state;
    check("2.60.0", "3.11.2", "2.60.0", "3.11.2", false, true, "");
    check("2.60.0", "3.11.2", "", "", false, true, "");
    check("", "", "2.60.0", "3.11.2", false, true, "");
    check("2.60.0", "3.11.2", "2.60.0", "3.11.7", true, true,
          "warning: *different versions of Python\n*3.11.7\n*3.11.2\n");
    check("2.60.0", "3.11.2", "2.60.0", "3.11.7", false, false,
          "error: *\n*3.11.7\n*3.11.2\n*one image*\n*MATCH_LEVEL=minor*\n");
    check("2.60.0", "3.10.2", "2.60.0", "3.11.2", true, false,
          "error: *Python\n  the head:  Ray 2.60.0, Python 3.11.2\n"
          "  this node: Ray 2.60.0, Python 3.10.2\n*one image*\n");
    check("2.59.0", "3.11.2", "2.60.0", "3.11.2", false, false,
          "error: *of Ray\n*\n*\n*pip install 'ray[default]==2.60.0'\n");
}

static void both_differ(void **state)
{
    (void)state;
    check("2.59.0", "3.10.1", "2.60.0", "3.11.2", false, false,
          "error: *Ray and Python\n*\n*\n*==2.60.0'\n*one image*\n");
}

static void numbers(void **state)
{
    (void)state;
    assert_true(tools_at_least(STR("3.10.0"), STR("3.9")));
    assert_true(tools_at_least(STR("3.10"), STR("3.10")));
    assert_true(tools_at_least(STR("2.52.0rc1"), STR("2.52")));
    assert_false(tools_at_least(STR("3.9.18"), STR("3.10")));
    assert_false(tools_at_least(STR(""), STR("3.10")));
    assert_true(tools_at_least(STR("3.0.0.dev0"), STR("2.52")));
}

static void interpreters(void **state)
{
    (void)state;
    assert_str(ray_find_interpreter(STR("#!/env/bin/python3\nimport re\n")), "/env/bin/python3");
    assert_str(ray_find_interpreter(STR("#! \"/a b/python\" -x\n")), "/a b/python");
    assert_str(ray_find_interpreter(STR("#!/usr/bin/env python3.12\n")), "python3.12");
    assert_str(ray_find_interpreter(STR("#!/bin/sh\n'''exec' \"/long/x/python3\" \"$0\" \"$@\"\n")),
               "/long/x/python3");
    assert_str(ray_find_interpreter(STR("#!/usr/bin/env bash\nexec pyenv\n")), "");
    assert_str(ray_find_interpreter(STR("\x7f"
                                        "ELF")),
               "");
    assert_str(ray_find_interpreter(STR("")), "");
}

static void what_python_says(void **state)
{
    (void)state;
    struct arena arena;
    struct ray_found found;
    arena_init(&arena);
    assert_true(ray_find_read(STR("ray 2.60.0\npython 3.11.2\n"), &arena, &found));
    assert_str(found.ray, "2.60.0");
    assert_str(found.python, "3.11.2");
    assert_true(ray_find_read(STR("noise\nray \npython 3.11.2"), &arena, &found));
    assert_str(found.ray, "");
    assert_false(ray_find_read(STR("Traceback\n"), &arena, &found));
    arena_clear(&arena);
}

static void what_the_head_says(void **state)
{
    (void)state;
    struct arena arena;
    struct gcs_versions versions;
    struct err err;
    arena_init(&arena);
    assert_true(gcs_versions_from(
        STR("{\"ray_version\": \"2.60.0\", \"python_version\": \"3.11.2\", \"x\": []}"), &arena,
        &versions, &err));
    assert_str(versions.ray, "2.60.0");
    assert_str(versions.python, "3.11.2");
    assert_true(gcs_versions_from(STR("{\"ray_version\": 2}"), &arena, &versions, &err));
    assert_str(versions.ray, "");
    assert_false(gcs_versions_from(STR("[]"), &arena, &versions, &err));
    assert_false(gcs_versions_from(STR(""), &arena, &versions, &err));
    arena_clear(&arena);
}

/* A laptop's environment has secrets; a program that is started for its version gets none of
 * them. */
static void a_program_on_the_laptop_gets_no_variables_of_ours(void **state)
{
    static const char *const words[] = {"env", NULL};
    AUTO_BUF struct buf apart;
    AUTO_BUF struct buf all;
    struct err err;
    int status;
    (void)state;
    buf_init(&apart, 100000);
    buf_init(&all, 100000);
    assert_int_equal(setenv("SHOAL_TEST_TOKEN", "s3cret", 1), 0);
    assert_true(tools_run_clean(words, 10000, &apart, &err));
    assert_true(tools_run(words, 10000, &all, &status, &err));
    unsetenv("SHOAL_TEST_TOKEN");
    assert_true(str_find(buf_str(&apart), "PATH=") != SIZE_MAX);
    assert_true(str_find(buf_str(&apart), "s3cret") == SIZE_MAX);
    assert_true(str_find(buf_str(&all), "SHOAL_TEST_TOKEN=s3cret") != SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_on_the_laptop_gets_no_variables_of_ours),
        cmocka_unit_test(rays_rule),
        cmocka_unit_test(both_differ),
        cmocka_unit_test(numbers),
        cmocka_unit_test(interpreters),
        cmocka_unit_test(what_python_says),
        cmocka_unit_test(what_the_head_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
