/* test_ray_monitor.c: which process is Ray's own autoscaler. */
#include "app/head/ray/ray_monitor.h"

#include "io/file.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE "/opt/venv/lib/python3.11/site-packages/ray/autoscaler"

/* "|" is written for the zero bytes between words. */
static bool is_one(const char *text)
{
    char words[1000];
    size_t len = strlen(text);
    assert_true(len < sizeof(words));
    for (size_t i = 0; i < len; i++) {
        words[i] = text[i] == '|' ? '\0' : text[i];
    }
    return ray_monitor_is((struct str){words, len}, STR("10.0.0.4:6379"));
}

static void the_words_that_ray_starts_it_with(void **state)
{
    (void)state;
    assert_true(is_one("/opt/venv/bin/python3.11|-u|" PLACE "/_private/monitor.py|--logs-dir=/tmp|"
                       "--gcs-address=10.0.0.4:6379|--autoscaling-config=/root/a.yaml|"));
    assert_true(is_one("python|-u|" PLACE "/v2/monitor.py|--gcs-address=127.0.0.1:6379|"
                       "--autoscaling-config=/root/a.yaml|--monitor-ip=10.0.0.4|"));
}

static void what_only_looks_like_it(void **state)
{
    (void)state;
    const char *const others[] = {
        "",
        "python|-u|" PLACE "/v2/monitor.py|",
        "python|-u|" PLACE "/v2/monitor.py|--gcs-address=10.0.0.4:6379|", /* it does not act */
        "python|-u|" PLACE "/v2/monitor.py|--gcs-address=10.0.0.4:6379|--autoscaling-config=|",
        /* of another cluster on this machine */
        "python|-u|" PLACE "/v2/monitor.py|--gcs-address=10.0.0.4:6380|--autoscaling-config=x|",
        "python|-u|" PLACE "/v2/monitor.py|--gcs-address=10.0.0.4:16379|--autoscaling-config=x|",
        "python|-u|" PLACE "/v2/monitor.py|--autoscaling-config=x|",
        /* command lines of other programs */
        "grep|/monitor.py|--autoscaling-config=x|--gcs-address=10.0.0.4:6379|",
        "vim|-u|/tmp/monitor.py|--autoscaling-config=x|--gcs-address=10.0.0.4:6379|",
        "sh|-c|python -u " PLACE "/v2/monitor.py --autoscaling-config=x|",
        "python|-u|mine.py|" PLACE "/v2/monitor.py|--gcs-address=10.0.0.4:6379|"
        "--autoscaling-config=x|",
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_false(is_one(others[i]));
    }
}

/* ---- among processes ---- */

enum { OTHER_USER = 65534 };

static char script[200];

static const char *const parts[] = {"", "/ray", "/ray/autoscaler", "/ray/autoscaler/v2"};

static int make_script(void **state)
{
    static char folder[] = "/tmp/shoal-monitor-XXXXXX";
    char path[100];
    struct err err;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        snprintf(path, sizeof(path), "%s%s", folder, parts[i]);
        assert_true(i == 0 || mkdir(path, 0755) == 0);
        assert_int_equal(chmod(path, 0755), 0);
    }
    snprintf(script, sizeof(script), "%s/monitor.py", path);
    assert_true(file_write(script, STR("read line\n"), 0644, &err));
    *state = folder;
    return 0;
}

static int remove_script(void **state)
{
    char path[100];
    unlink(script);
    for (size_t i = ARRAY_LEN(parts); i > 0; i--) {
        snprintf(path, sizeof(path), "%s%s", (const char *)*state, parts[i - 1]);
        rmdir(path);
    }
    return 0;
}

/* A process with exactly the command line of a monitor, which waits for input forever. */
static pid_t start_process(uid_t user, int input)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (dup2(input, STDIN_FILENO) == 0 && (user == geteuid() || setuid(user) == 0)) {
            execl("/bin/bash", "python", "-u", script, "--gcs-address=127.0.0.1:64999",
                  "--autoscaling-config=x", NULL);
        }
        _exit(1);
    }
    for (int i = 0; i < 500; i++) { /* until its command line is set */
        char path[64];
        char words[200] = "";
        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        FILE *file = fopen(path, "r");
        size_t size = file ? fread(words, 1, sizeof(words) - 1, file) : 0;
        if (file) {
            fclose(file);
        }
        if (size > 10 && strcmp(words, "python") == 0) {
            return pid;
        }
        usleep(10000);
    }
    fail_msg("the process did not start");
    return pid;
}

static int found_while_one_runs(uid_t user)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = start_process(user, ends[0]);
    int found = ray_monitor_find(STR("10.0.0.4:64999"));
    int elsewhere = ray_monitor_find(STR("10.0.0.4:64998"));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(elsewhere, 0);
    assert_true(found == 0 || found == pid);
    return found;
}

static void one_of_another_user_does_not_count(void **state)
{
    (void)state;
    assert_true(found_while_one_runs(geteuid()) > 0);
    if (geteuid() == 0) { /* only root can become another user */
        assert_int_equal(found_while_one_runs(OTHER_USER), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_that_ray_starts_it_with),
        cmocka_unit_test(what_only_looks_like_it),
        cmocka_unit_test_setup_teardown(one_of_another_user_does_not_count, make_script,
                                        remove_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
