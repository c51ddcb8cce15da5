/* test_boot.c: what happens on the head after a reboot. */
#include "app/head/service_resume.h"
#include "app/head/supervisor/boot.h"
#include "io/file.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void ray_is_started_once_after_a_reboot(void **state)
{
    static const struct {
        const char *boot, *seen, *tried;
        bool is_alive, is_due;
    } cases[] = {
        {"b2", "b1", "", false, true},
        {"b3", "b1", "b2", false, true},  /* the boot before that failed */
        {"b2", "b1", "b2", false, false}, /* it was tried in this boot */
        {"b2", "b1", "", true, false},    /* another process started it */
        {"b1", "b1", "", false, false},   /* stopped by hand in this boot */
        {"b1", "", "", false, false},     /* never ran: `up` starts it */
        {"", "b1", "", false, false},     /* this system does not tell */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct resume_view view = {str_from(cases[i].boot), str_from(cases[i].seen),
                                   str_from(cases[i].tried), cases[i].is_alive};
        assert_int_equal(resume_is_due(&view), cases[i].is_due);
    }
}

static void the_script_runs_as_the_user(void **state)
{
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_str(boot_script(STR("/home/a b/shoal"), STR("/home/a b/it's"), "u", &arena),
               "#!/bin/sh\n"
               "# By Shoal: starts the service of a cluster.\n"
               "[ ! -e '/home/a b/it'\\''s'/stood-down ] || exit 0\n"
               "exec su -s /bin/sh 'u' -c ''\\''/home/a b/shoal'\\'' autoscaler --background "
               "--folder '\\''/home/a b/it'\\''\\'\\'''\\''s'\\'''\n");
    arena_clear(&arena);
}

static void a_service_that_stood_down_waits_for_up(void **state)
{
    char folder[] = "/tmp/shoal-boot-XXXXXX", path[64];
    struct stat status;
    struct arena arena;
    struct err err;
    (void)state;
    arena_init(&arena);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/" BOOT_STOOD_DOWN, folder);
    assert_true(boot_set(folder, true, &err)); /* nothing to remove */
    assert_true(boot_set(folder, false, &err));
    assert_int_equal(stat(path, &status), 0);
    assert_true(boot_set(folder, true, &err));
    assert_int_equal(stat(path, &status), -1);

    assert_int_equal(boot_why_not(folder, &arena).len, 0);
    assert_true(boot_note(folder, "no systemd", &err));
    assert_str(boot_why_not(folder, &arena), "no systemd");
    assert_true(boot_note(folder, NULL, &err));
    assert_true(boot_note(folder, NULL, &err)); /* nothing to remove */
    assert_int_equal(boot_why_not(folder, &arena).len, 0);
    assert_int_equal(rmdir(folder), 0);
    assert_false(boot_set(folder, false, &err));
    assert_false(boot_note(folder, "no systemd", &err)); /* there is no such folder */
    assert_int_equal(boot_id(&arena).len, 24);
    assert_true(str_eq(boot_id(&arena), boot_id(&arena)));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ray_is_started_once_after_a_reboot),
        cmocka_unit_test(the_script_runs_as_the_user),
        cmocka_unit_test(a_service_that_stood_down_waits_for_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
