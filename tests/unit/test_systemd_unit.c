/* test_systemd_unit.c: the command that makes the supervisor a unit of systemd. */
#include "app/head/keep/systemd_unit.h"

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

static void a_user_asks_by_sudo(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    struct unit_setup setup = {
        .program = STR("/home/u/.shoal/bin/shoal"),
        .folder = STR("/home/u/.shoal/cluster"),
        .runner = STR("/usr/bin/systemd-run"),
        .sudo = STR("/usr/bin/sudo"),
        .user = 1000,
        .group = 1001,
    };
    assert_like(joined(unit_words(&setup, &arena), &arena),
                "/usr/bin/sudo|-n|/usr/bin/systemd-run|--quiet|--collect|--no-block|--unit=shoal-*|"
                "--description=*|--uid=1000|--gid=1001|--property=Restart=on-failure|"
                "--property=RestartSec=1|--property=StartLimitIntervalSec=0|"
                "--property=OOMScoreAdjust=-500|--property=TimeoutStopSec=15|"
                "--property=DefaultDependencies=no|--property=Before=shutdown.target|"
                "--property=Conflicts=shutdown.target|--|"
                "/home/u/.shoal/bin/shoal|autoscaler|--supervise|--folder|/home/u/.shoal/cluster");
    setup.sudo = STR("");
    assert_true(str_starts(joined(unit_words(&setup, &arena), &arena), "/usr/bin/systemd-run|"));
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
        cmocka_unit_test(a_user_asks_by_sudo),
        cmocka_unit_test(each_folder_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
