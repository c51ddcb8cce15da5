/* test_credential_chain.c: messages about sources that do not apply, and chains of roles. The
 * comparison with botocore covers the rest. */
#include "provider/aws/config/credential_chain.h"

#include "unit.h"

#include <stdio.h>

struct scene {
    struct arena arena;
    struct aws_profiles profiles;
    struct aws_source_plan plan;
    struct err err;
};

static bool plan(struct scene *scene, const char *config, const char *const *env, const char *named)
{
    struct aws_profile_input input = {.environ = env,
                                      .named = str_from(named),
                                      .config = str_from(config),
                                      .has_config = config != NULL};
    arena_init(&scene->arena);
    bool ok = aws_profiles_load(&input, &scene->arena, &scene->profiles, &scene->err);
    if (ok) {
        aws_source_plan(&scene->profiles, &scene->arena, &scene->plan);
    }
    return ok;
}

static void every_absent_source_says_why(void **state)
{
    static const char *const env[] = {"AWS_EC2_METADATA_DISABLED=true", NULL};
    static const char *const reasons[SOURCE_KIND_COUNT] = {
        "AWS_ACCESS_KEY_ID is not set",
        "profile \"default\" has no role_arn",
        "AWS_WEB_IDENTITY_TOKEN_FILE is not set and *",
        "profile \"default\" has no sso_role_name or sso_account_id",
        "no such profile in the credentials file: \"default\"",
        "profile \"default\" has no login_session without credential_process",
        "profile \"default\" has no credential_process",
        "no such profile in the config file: \"default\"",
        "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor *",
        "AWS_EC2_METADATA_DISABLED is true",
    };
    struct scene scene;
    (void)state;
    assert_true(plan(&scene, NULL, env, NULL));
    for (size_t i = 0; i < SOURCE_KIND_COUNT; i++) {
        assert_int_equal(scene.plan.sources[i].kind, i);
        assert_int_equal(scene.plan.sources[i].state, SOURCE_ABSENT);
        assert_like(scene.plan.sources[i].reason, reasons[i]);
    }
    arena_clear(&scene.arena);
}

static void a_failure_lists_every_source(void **state)
{
    struct scene scene;
    struct str said[SOURCE_KIND_COUNT] = {[SOURCE_IMDS] = {"no answer in 1 s", 16}};
    (void)state;
    assert_true(plan(&scene, "[default]\nrole_arn=r\nsource_profile=a\x1b[1m\n", NULL, NULL));
    struct str report = aws_source_report(&scene.plan, said, &scene.arena);
    assert_like(report, "  environment: AWS_ACCESS_KEY_ID is not set\n"
                        "  assume-role: source_profile \"a?[1m\" of profile \"default\" does not "
                        "exist\n  web-identity: *\n  sso: *\n  credentials-file: *\n  login: *\n"
                        "  credential-process: *\n  config-file: *\n  container: *\n"
                        "  instance-metadata: no answer in 1 s\n");
    arena_clear(&scene.arena);
}

/* `aws login` without and with the line that the message suggests. */
static void the_remedy_for_a_login_works(void **state)
{
    static const char *const names[] = {"default", "work", "my work"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct scene scene;
        char config[512];
        const char *head = i == 0 ? "" : i == 1 ? "profile " : "profile \"";
        (void)snprintf(config, sizeof config, "[%s%s%s]\nlogin_session=arn:aws:iam::1:user/me\n",
                       head, names[i], i == 2 ? "\"" : "");
        assert_true(plan(&scene, config, NULL, names[i]));
        const struct aws_source *login = &scene.plan.sources[SOURCE_LOGIN];
        assert_int_equal(login->state, SOURCE_BROKEN);
        struct str reason = login->reason;
        size_t at = str_find(reason, "credential_process = ");
        assert_true(at != SIZE_MAX);
        size_t used = strlen(config);
        (void)snprintf(config + used, sizeof config - used, "%.*s\n",
                       STR_ARG(str_sub(reason, at, reason.len)));
        arena_clear(&scene.arena);
        assert_true(plan(&scene, config, NULL, names[i]));
        assert_int_equal(scene.plan.sources[SOURCE_LOGIN].state, SOURCE_ABSENT);
        const struct aws_source *process = &scene.plan.sources[SOURCE_PROCESS];
        assert_int_equal(process->state, SOURCE_READY);
        struct str last = process->process.argv[process->process.argc - 1];
        assert_true(str_is(last, names[i]));
        arena_clear(&scene.arena);
    }
}

static void roles_are_chained(void **state)
{
    struct scene scene;
    (void)state;
    assert_true(plan(&scene,
                     "[profile a]\nrole_arn=A\nsource_profile=b\nmfa_serial=m\n"
                     "[profile b]\nrole_arn=B\nsource_profile=c\nduration_seconds=900\n"
                     "[profile c]\naws_access_key_id=K\naws_secret_access_key=S\n",
                     NULL, "a"));
    const struct aws_source *source = &scene.plan.sources[SOURCE_ASSUME_ROLE];
    assert_int_equal(source->state, SOURCE_READY);
    assert_str(source->role.mfa_serial, "m");
    assert_str(source->role.base->role.arn, "B");
    assert_int_equal(source->role.base->role.duration_s, 900);
    assert_int_equal(source->role.base->role.base->kind, SOURCE_CONFIG_FILE);
    assert_str(source->role.base->role.base->keys.access_key, "K");
    arena_clear(&scene.arena);
}

static void circles_are_seen(void **state)
{
    struct scene scene;
    (void)state;
    assert_true(plan(&scene,
                     "[profile a]\nrole_arn=A\nsource_profile=b\n"
                     "[profile b]\nrole_arn=B\nsource_profile=a\n",
                     NULL, "a"));
    assert_int_equal(scene.plan.sources[SOURCE_ASSUME_ROLE].state, SOURCE_BROKEN);
    assert_str(scene.plan.sources[SOURCE_ASSUME_ROLE].reason,
               "source_profile \"a\" of profile \"b\" is circular");
    arena_clear(&scene.arena);
}

static void an_unknown_profile_is_named(void **state)
{
    static const char *const env[] = {"AWS_PROFILE=produktion", "AWS_CONFIG_FILE=/c", NULL};
    struct scene scene;
    (void)state;
    assert_false(plan(&scene, "[profile production]\nregion=x", env, NULL));
    assert_int_equal(scene.err.kind, ERR_AUTH);
    assert_like(str_from(scene.err.text), "no AWS profile \"produktion\" in /c or *; did "
                                          "you mean \"production\"?");
    arena_clear(&scene.arena);
}

static void the_region_has_an_order(void **state)
{
    static const char *const env[] = {"AWS_DEFAULT_REGION=two", "AWS_REGION=one", NULL};
    struct scene scene;
    (void)state;
    assert_true(plan(&scene, "[default]\nregion=three", env, NULL));
    assert_str(aws_region(&scene.profiles), "one");
    arena_clear(&scene.arena);
    assert_true(plan(&scene, "[default]\nregion=three", env + 2, NULL));
    assert_str(aws_region(&scene.profiles), "three");
    arena_clear(&scene.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_absent_source_says_why),
        cmocka_unit_test(a_failure_lists_every_source),
        cmocka_unit_test(the_remedy_for_a_login_works),
        cmocka_unit_test(roles_are_chained),
        cmocka_unit_test(circles_are_seen),
        cmocka_unit_test(an_unknown_profile_is_named),
        cmocka_unit_test(the_region_has_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
