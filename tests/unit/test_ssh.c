/* test_ssh.c: the arguments of ssh, and those that it never gets. */
#include "remote/ssh.h"

#include "unit.h"

#include <string.h>

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_clear(&arena);
    return 0;
}

static struct ssh_target plain_place(void)
{
    return (struct ssh_target){.user = STR("ubuntu"),
                               .address = STR("198.51.100.7"),
                               .machine = STR("i-0f2"),
                               .known_hosts = "/state/known_hosts",
                               .identity = "/state/key"};
}

static struct str line_of(const struct ssh_target *place, const struct ssh_session *session)
{
    const char *const *argv;
    struct err err = {0};
    struct str line = STR("");
    assert_true(ssh_argv(place, session, &arena, &argv, &err));
    for (size_t i = 0; argv[i]; i++) {
        line = arena_printf(&arena, "%.*s%s%s", STR_ARG(line), i > 0 ? " " : "", argv[i]);
    }
    return line;
}

static void test_keys_are_pinned(void **state)
{
    (void)state;
    struct ssh_target place = plain_place();
    struct str line = line_of(&place, &(struct ssh_session){.command = STR("uptime; id")});
    assert_like(line, "ssh -T -o BatchMode=yes -o StrictHostKeyChecking=yes "
                      "-o UserKnownHostsFile=/state/known_hosts -o GlobalKnownHostsFile=/dev/null "
                      "-o HostKeyAlias=i-0f2 *-o ForwardAgent=no *-o IdentitiesOnly=yes "
                      "-o IdentityFile=/state/key -o PreferredAuthentications=publickey "
                      "*-l ubuntu -- 198.51.100.7 uptime; id");
}

static void test_ways_and_forwards(void **state)
{
    (void)state;
    struct ssh_forward forwards[] = {{8265, 8265}, {10001, 10001}};
    struct ssh_target place = plain_place();
    place.jump = STR("me@bastion");
    place.control = "/run/control";
    struct str line = line_of(&place, &(struct ssh_session){.is_interactive = true,
                                                            .has_no_command = true,
                                                            .forwards = forwards,
                                                            .forward_count = 2});
    assert_like(line,
                "ssh -tt -N -o BatchMode=no *-o ProxyJump=me@bastion *ControlPath=/run/control "
                "*-L 127.0.0.1:8265:localhost:8265 -L 127.0.0.1:10001:localhost:10001 *");
    place.port = 2222;
    place.is_near = true;
    assert_like(line_of(&place, &(struct ssh_session){.is_master = true}),
                "*-o ControlMaster=auto *-o ControlPersist=no "
                "*-o KexAlgorithms=curve25519-sha256,* -o Port=2222 *");
    assert_like(
        line_of(&place, &(struct ssh_session){.has_no_command = true, .is_background = true}),
        "ssh -T -N -f *-o ControlMaster=auto *-o ControlPersist=60 *");
    assert_like(line_of(&place, &(struct ssh_session){.is_end = true}), "ssh -T -O stop -o *");
    struct ssh_target alone = place;
    alone.control = NULL;
    assert_like(line_of(&alone, &(struct ssh_session){.log = "/state/log"}),
                "ssh -T -E /state/log -o LogLevel=VERBOSE -o ControlPath=none -o *");
    place.is_client = true;
    assert_like(line_of(&place, &(struct ssh_session){0}),
                "ssh -T -o *-o ControlMaster=no -o ControlPath=/run/control *");
    place.proxy_command = STR("nc %h %p");
    assert_like(line_of(&place, &(struct ssh_session){0}), "*-o ProxyCommand=nc %h %p -o *");
}

static void test_names_that_would_be_options(void **state)
{
    (void)state;
    const struct str bad[] = {
        STR("-oProxyCommand=x"), STR(""), STR("a b"), STR("a\nb"), STR("$(id)"), STR("a\0b")};
    const char *const *argv;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        struct ssh_target place = plain_place();
        place.address = bad[i];
        assert_false(ssh_argv(&place, &(struct ssh_session){0}, &arena, &argv, &err));
        place = plain_place();
        place.user = bad[i];
        assert_false(ssh_argv(&place, &(struct ssh_session){0}, &arena, &argv, &err));
        assert_int_equal(err.kind, ERR_CONFIG);
    }
}

static void test_for_rsync(void **state)
{
    (void)state;
    struct err err = {0};
    struct str text;
    struct ssh_target place = plain_place();
    assert_true(ssh_for_rsync(&place, &arena, &text, &err));
    assert_like(text, "'ssh' '-T' '-o' 'BatchMode=yes' * '-o' 'IdentityFile=/state/key' "
                      "*'ServerAliveCountMax=3'");
    place.proxy_command = STR("sh -c 'x'");
    assert_true(ssh_for_rsync(&place, &arena, &text, &err));
    assert_like(text, "* 'ProxyCommand=sh -c ''x'''");
}

/* ssh replaces "%%" and "%h", then a shell reads the words. */
static void test_proxy_through_a_machine(void **state)
{
    (void)state;
    struct err err = {0};
    struct str text;
    struct ssh_target place = plain_place();
    assert_true(ssh_for_proxy(&place, &arena, &text, &err));
    assert_like(text, "ssh -W '[%h]:%p' -T -o BatchMode=yes * -o IdentityFile=/state/key *-l *");
    place.user = STR("o");
    place.identity = "/home/o'neil/a b/100%";
    place.proxy_command = STR("sh -c 'nc %h %p'");
    assert_true(ssh_for_proxy(&place, &arena, &text, &err));
    assert_like(text, "* -o 'IdentityFile=\"/home/o'\"'\"'neil/a b/100%%%%\"' *");
    assert_like(text, "* -o 'ProxyCommand=sh -c '\"'\"'nc %%h %%p'\"'\"'' -l o -- *");
}

static void test_paths_are_quoted(void **state)
{
    (void)state;
    struct ssh_target place = plain_place();
    place.known_hosts = "/home/a b/100%/Z%C3%BCrich";
    place.identity = "/home/o'neil/\"x\"/a\\b";
    place.control = "/run/a=b#c";
    struct str line = line_of(&place, &(struct ssh_session){0});
    assert_true(str_find(line, "UserKnownHostsFile=\"/home/a b/100%%/Z%%C3%%BCrich\"") != SIZE_MAX);
    assert_true(str_find(line, "IdentityFile=\"/home/o'neil/\\\"x\\\"/a\\\\b\"") != SIZE_MAX);
    assert_true(str_find(line, "ControlPath=\"/run/a=b#c\"") != SIZE_MAX);
}

static void test_paths_that_ssh_cannot_use(void **state)
{
    (void)state;
    const char *const bad[] = {"/home/${USER}/x", "/home/a\nb"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct ssh_target places[] = {plain_place(), plain_place(), plain_place()};
        places[0].known_hosts = bad[i];
        places[1].identity = bad[i];
        places[2].control = bad[i];
        for (size_t k = 0; k < ARRAY_LEN(places); k++) {
            const char *const *argv;
            struct err err = {0};
            assert_false(ssh_argv(&places[k], &(struct ssh_session){0}, &arena, &argv, &err));
            assert_true(str_starts(str_from(err.text), "ssh cannot use the path "));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_pinned),
        cmocka_unit_test(test_ways_and_forwards),
        cmocka_unit_test(test_names_that_would_be_options),
        cmocka_unit_test(test_for_rsync),
        cmocka_unit_test(test_proxy_through_a_machine),
        cmocka_unit_test(test_paths_are_quoted),
        cmocka_unit_test(test_paths_that_ssh_cannot_use),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
