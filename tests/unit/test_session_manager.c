/* test_session_manager.c: ssh through AWS Session Manager. */
#include "app/session_manager.h"

#include "fixture.h"
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const struct config *config_of(struct fixture *f, const char *more)
{
    const struct value *tree = fixture_prepare(
        f, arena_printf(&f->arena, "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n%s",
                        more)
               .ptr);
    assert_non_null(tree);
    return config_type(&f->arena, tree);
}

static void the_proxy_command(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct config *config = config_of(f, "metadata: {shoal: {access: ssm}}\n");
    (void)state;
    assert_true(config->uses_sessions);
    assert_false(config_of(f, "")->uses_sessions);
    assert_false(config_of(f, "metadata: {shoal: {access: ssh}}\n")->uses_sessions);
    assert_true(str_is(session_manager_proxy(config, STR(""), &f->arena),
                       "aws ssm start-session --target %h --document-name AWS-StartSSHSession "
                       "--parameters portNumber=%p --region us-west-2"));
    struct str odd = session_manager_proxy(config, STR("my 5% $(id)"), &f->arena);
    assert_true(str_ends(odd, " --region us-west-2 --profile 'my 5%% $(id)'"));
}

static void programs_are_searched_in_the_path(void **state)
{
    char folder[] = "/tmp/shoal-path-XXXXXX";
    char file[64];
    char path[64];
    const char *missing[SESSION_MANAGER_PROGRAMS + 1];
    struct err err;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "/nonexistent:%s", folder);
    session_manager_missing(path, missing);
    assert_string_equal(missing[0], "aws");
    assert_string_equal(missing[1], "session-manager-plugin");
    assert_null(missing[2]);
    snprintf(file, sizeof(file), "%s/aws", folder);
    assert_true(file_write(file, STR("x"), 0700, &err));
    session_manager_missing(path, missing);
    assert_string_equal(missing[0], "session-manager-plugin");
    assert_null(missing[1]);
    snprintf(file, sizeof(file), "%s/session-manager-plugin", folder);
    assert_true(file_write(file, STR("x"), 0600, &err)); /* not executable */
    session_manager_missing(path, missing);
    assert_string_equal(missing[0], "session-manager-plugin");
    assert_int_equal(chmod(file, 0700), 0);
    session_manager_missing(path, missing);
    assert_null(missing[0]);
    session_manager_missing(NULL, missing);
    assert_string_equal(missing[0], "aws");
    assert_int_equal(scratch_remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_proxy_command),
        cmocka_unit_test(programs_are_searched_in_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
