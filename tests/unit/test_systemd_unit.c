/* test_systemd_unit.c: the supervisor's systemd unit. */
#include "app/head/supervisor/systemd_unit.h"

#include "base/buf.h"
#include "unit.h"

#include <string.h>

static struct str joined(const char *const *words, struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 4096);
    for (size_t i = 0; words[i]; i++) {
        buf_addf(&out, "%s%s", i > 0 ? "|" : "", words[i]);
    }
    return arena_str(arena, buf_str(&out));
}

static struct unit_setup usual(void)
{
    return (struct unit_setup){
        .program = STR("/home/u/.shoal/bin/shoal"),
        .folder = STR("/home/u/.shoal/cluster"),
        .sudo = STR("/usr/bin/sudo"),
        .user = 1000,
        .group = 1001,
    };
}

static void the_unit_starts_at_boot(void **state)
{
    struct arena arena;
    struct str text;
    struct err err;
    struct unit_setup setup = usual();
    (void)state;
    arena_init(&arena);
    assert_true(unit_text(&setup, &arena, &text, &err));
    assert_str(text, "[Unit]\n"
                     "Description=Shoal cluster service\n"
                     "After=network.target\n"
                     "StartLimitIntervalSec=0\n"
                     "ConditionPathExists=!/home/u/.shoal/cluster/stood-down\n"
                     "\n"
                     "[Service]\n"
                     "Restart=on-failure\n"
                     "RestartSec=1\n"
                     "TimeoutStopSec=15\n"
                     "OOMScoreAdjust=-500\n"
                     "LimitCORE=0\n"
                     "UMask=0077\n"
                     "ProtectSystem=full\n"
                     "ProtectControlGroups=yes\n"
                     "KeyringMode=private\n"
                     "User=1000\n"
                     "Group=1001\n"
                     "ExecStart=\"/home/u/.shoal/bin/shoal\" autoscaler --supervise --folder "
                     "\"/home/u/.shoal/cluster\"\n"
                     "\n"
                     "[Install]\n"
                     "WantedBy=multi-user.target\n");
    arena_clear(&arena);
}

static void paths_keep_their_meaning(void **state)
{
    struct arena arena;
    struct str text;
    struct err err;
    struct unit_setup setup = usual();
    (void)state;
    arena_init(&arena);
    setup.folder = STR("/home/a b/50%/$x\"\\");
    assert_true(unit_text(&setup, &arena, &text, &err));
    assert_true(str_find(text, "ConditionPathExists=!/home/a b/50%%/$x\"\\/stood-down\n") !=
                SIZE_MAX);
    assert_true(str_find(text, "--folder \"/home/a b/50%%/$$x\\\"\\\\\"\n") != SIZE_MAX);
    setup.folder = STR("/home/a\nUser=0");
    assert_false(unit_text(&setup, &arena, &text, &err));
    assert_int_equal(err.kind, ERR_CONFIG);
    arena_clear(&arena);
}

static void a_user_asks_by_sudo(void **state)
{
    struct arena arena;
    struct unit_setup setup = usual();
    (void)state;
    arena_init(&arena);
    assert_like(joined(unit_argv(&setup, "/f/unit", &arena), &arena),
                "/usr/bin/sudo|-n|sh|-c|install -m 644 \"$1\" \"/etc/systemd/system/$2\" && "
                "systemctl --quiet enable \"$2\" && systemctl --no-block restart \"$2\"|sh|"
                "/f/unit|shoal-*.service");
    const char *const argv[] = {"/bin/shoal", "node", "resume", NULL};
    assert_like(joined(unit_words_beside(&setup, argv, &arena), &arena),
                "/usr/bin/sudo|-n|systemd-run|--quiet|--unit=shoal-*-ray|--description=*|"
                "--uid=1000|--gid=1001|--property=KillMode=process|--property=RemainAfterExit=yes|"
                "--|/bin/shoal|node|resume");
    setup.sudo = STR("");
    assert_true(str_starts(joined(unit_argv(&setup, "/f/unit", &arena), &arena), "sh|-c|"));
    assert_true(
        str_starts(joined(unit_words_beside(&setup, argv, &arena), &arena), "systemd-run|"));
    arena_clear(&arena);
}

static void each_folder_has_its_own(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct str one = unit_name(STR("/home/a/.shoal/cluster"), &arena);
    struct str two = unit_name(STR("/home/b/.shoal/cluster"), &arena);
    assert_int_equal(one.len, strlen("shoal-12345678"));
    assert_false(str_eq(one, two));
    assert_true(str_eq(one, unit_name(STR("/home/a/.shoal/cluster"), &arena)));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_unit_starts_at_boot),
        cmocka_unit_test(paths_keep_their_meaning),
        cmocka_unit_test(a_user_asks_by_sudo),
        cmocka_unit_test(each_folder_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
