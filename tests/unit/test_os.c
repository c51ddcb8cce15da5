/* test_os.c: what os.h promises, on the system that runs the test. */
#include "io/os.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void the_clock_moves_forward(void **state)
{
    (void)state;
    int64_t before = os_monotonic_ms();
    usleep(2000);
    assert_true(before > 0);
    assert_in_range(os_monotonic_ms() - before, 1, 60000);
}

static void a_boot_has_one_identifier(void **state)
{
    char first[64] = "not set";
    char again[64];
    (void)state;
    os_boot_id(first, sizeof(first));
    os_boot_id(again, sizeof(again));
    assert_string_equal(first, again);
    assert_null(strpbrk(first, " \n"));
}

static void the_path_is_that_of_this_program(void **state)
{
    char path[PATH_MAX];
    (void)state;
    assert_true(os_program_path(path, sizeof(path)));
    assert_int_equal(path[0], '/');
    assert_string_equal(strrchr(path, '/'), "/test_os");
    assert_int_equal(access(path, X_OK), 0);
}

static void a_path_that_does_not_fit_is_an_error(void **state)
{
    char path[4];
    (void)state;
    errno = 0;
    assert_false(os_program_path(path, sizeof(path)));
    assert_int_equal(errno, ENAMETOOLONG);
}

static void children_do_not_inherit_descriptors(void **state)
{
    (void)state;
    int made = os_socket(AF_INET, SOCK_STREAM, 0);
    assert_true(made > STDERR_FILENO);
    assert_true(fcntl(made, F_GETFD) & FD_CLOEXEC);
    close(made);
    int plain = open("/dev/null", O_RDONLY);
    if (os_close_on_exec_all()) { /* not on every system */
        assert_true(fcntl(plain, F_GETFD) & FD_CLOEXEC);
    }
    assert_false(fcntl(STDERR_FILENO, F_GETFD) & FD_CLOEXEC);
    close(plain);
}

static void a_copy_has_exactly_the_given_bytes(void **state)
{
    char got[32] = "";
    FILE *from = tmpfile();
    FILE *to = tmpfile();
    (void)state;
    assert_true(from && to);
    assert_int_equal(write(fileno(from), "the state of a slot", 19), 19);
    assert_int_equal(lseek(fileno(from), 4, SEEK_SET), 4);
    assert_true(os_copy_bytes(fileno(from), fileno(to), 5));
    assert_int_equal(pread(fileno(to), got, sizeof(got), 0), 5);
    assert_string_equal(got, "state");
    errno = 0;
    assert_false(os_copy_bytes(fileno(from), fileno(to), 100)); /* it ends before */
    assert_int_equal(errno, EIO);
    (void)fclose(from);
    (void)fclose(to);
}

static void a_signal_of_a_process_is_sent(void **state)
{
    sigset_t set;
    sigset_t before;
    bool is_sent = false;
    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before);
    kill(getpid(), SIGTERM);
    assert_int_equal(os_wait_signal(&set, &is_sent), SIGTERM);
    assert_true(is_sent);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_moves_forward),
        cmocka_unit_test(a_boot_has_one_identifier),
        cmocka_unit_test(the_path_is_that_of_this_program),
        cmocka_unit_test(a_path_that_does_not_fit_is_an_error),
        cmocka_unit_test(children_do_not_inherit_descriptors),
        cmocka_unit_test(a_copy_has_exactly_the_given_bytes),
        cmocka_unit_test(a_signal_of_a_process_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
