/* test_require.c: a broken invariant stops the program and says which one. */
#include "base/require.h"

#include "base/str.h"
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_relation_that_holds_costs_nothing(void **state)
{
    int count = 0;
    (void)state;
    require(++count == 1, "evaluated once");
    assert_int_equal(count, 1);
}

static void a_broken_relation_aborts(void **state)
{
    char text[512] = "";
    int ends[2];
    int status = 0;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        volatile int two = 2;
        require(two == 3, "two is three");
        _exit(0);
    }
    close(ends[1]);
    for (size_t len = 0; len < sizeof(text) - 1;) {
        ssize_t got = read(ends[0], text + len, sizeof(text) - 1 - len);
        if (got <= 0) {
            break;
        }
        len += (size_t)got;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_like(
        str_from(text),
        "shoal: internal error: *: broken invariant: two is three (two == 3)\nThis is a bug in "
        "shoal. Please report it with the command you ran.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relation_that_holds_costs_nothing),
        cmocka_unit_test(a_broken_relation_aborts),
    };
    return cmocka_run_group_tests_name("require", tests, NULL, NULL);
}
