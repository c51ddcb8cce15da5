/* test_failpoint.c: a process dies at the named point, once, and records the points it passed. */
#include "io/failpoint.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program;
static char folder[] = "/tmp/shoal-failpoint-XXXXXX";

/* ---- the process that may die ---- */

static void act(void)
{
    failpoint("take", NULL, NULL);
    for (int i = 0; i < 3; i++) {
        failpoint("aws", "RunInstances", "before");
        failpoint("aws", "RunInstances", "after");
    }
    failpoint("file", "some/folder/i-0123456789abcdef0.12", "before");
}

/* The status of "PROGRAM VERB WORD" with these variables. */
static int run(const char *const *words, const char *const *env)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        union {
            const char *const *given;
            char *const *wanted;
        } argv = {words}, variables = {env};
        execve(program, argv.wanted, variables.wanted);
        _exit(127);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_up(const char *variable)
{
    return run((const char *const[]){"test", "up", "file.yaml", NULL},
               (const char *const[]){variable, NULL});
}

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static const char *variable(const char *name, const char *file)
{
    static char text[512];
    snprintf(text, sizeof(text), "%s=%s", name, path_of(file));
    return text;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* ---- tests ---- */

static void test_it_dies_at_a_named_point(void **state)
{
    (void)state;
    assert_int_equal(run_up("SHOAL_FAILPOINT=up:take"), -SIGKILL);
    assert_int_equal(run_up("SHOAL_FAILPOINT=up:aws:RunInstances:after"), -SIGKILL);
    assert_int_equal(run_up("SHOAL_FAILPOINT=up:aws:RunInstances:before#3"), -SIGKILL);
    assert_int_equal(run_up("SHOAL_FAILPOINT=up:file:i-*.*:before"), -SIGKILL);
}

static void test_other_names_let_it_live(void **state)
{
    (void)state;
    assert_int_equal(run_up("UNRELATED=1"), 0);
    assert_int_equal(run_up("SHOAL_FAILPOINT=up:aws:RunInstances:before#4"), 0);
    assert_int_equal(run_up("SHOAL_FAILPOINT=up:aws:RunInstances"), 0);
    assert_int_equal(run_up("SHOAL_FAILPOINT=down:take"), 0);
    assert_int_equal(run_up("SHOAL_FAILPOINT="), 0);
}

static void test_node_and_autoscaler_are_told_apart(void **state)
{
    (void)state;
    const char *const *wants = (const char *const[]){"SHOAL_FAILPOINT=node-serve:take", NULL};
    assert_int_equal(run((const char *const[]){"test", "node", "serve", NULL}, wants), -SIGKILL);
    assert_int_equal(run((const char *const[]){"test", "node", "gate", NULL}, wants), 0);
    wants = (const char *const[]){"SHOAL_FAILPOINT=autoscaler-folder:take", NULL};
    assert_int_equal(run((const char *const[]){"test", "autoscaler", "--folder", NULL}, wants),
                     -SIGKILL);
    assert_int_equal(run((const char *const[]){"test", "autoscaler", "--background", NULL}, wants),
                     0);
}

static void test_one_process_dies_for_a_file(void **state)
{
    (void)state;
    put("wanted", "up:aws:RunInstances:after#2\n");
    assert_int_equal(run_up(variable("SHOAL_FAILPOINT_FILE", "wanted")), -SIGKILL);
    assert_int_equal(access(path_of("wanted"), F_OK), -1);
    assert_int_equal(run_up(variable("SHOAL_FAILPOINT_FILE", "wanted")), 0);
}

static void test_points_are_written_down(void **state)
{
    (void)state;
    char line[256];
    const char *name = line;
    size_t count = 0;
    assert_int_equal(run_up(variable("SHOAL_FAILPOINT_LOG", "log")), 0);
    FILE *file = fopen(path_of("log"), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        name = strchr(line, ' ');
        assert_non_null(name);
        count++;
    }
    fclose(file);
    unlink(path_of("log"));
    assert_int_equal(count, 8);
    assert_string_equal(name, " up:file:i-*.*:before");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_dies_at_a_named_point),
        cmocka_unit_test(test_other_names_let_it_live),
        cmocka_unit_test(test_node_and_autoscaler_are_told_apart),
        cmocka_unit_test(test_one_process_dies_for_a_file),
        cmocka_unit_test(test_points_are_written_down),
    };
    if (argc > 1) {
        act();
        return 0;
    }
    program = argv[0];
    if (!mkdtemp(folder)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
