/* test_os.c: what os.h promises, on the system that runs the test. */
#include "io/os.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#endif

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

#ifdef __linux__
/* As early in the boot of a machine: random numbers are not ready. A call that would wait for them
 * ends the process. */
static bool random_is_not_ready(void)
{
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, GRND_NONBLOCK, 2, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
    };

    struct sock_fprog filter = {ARRAY_LEN(rows), rows};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void a_seed_does_not_wait_for_random_numbers(void **state)
{
    enum { COUNT = 100 };
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t seeds[COUNT];
        bool ok = random_is_not_ready();
        for (size_t i = 0; i < COUNT; i++) {
            seeds[i] = os_seed();
            for (size_t before = 0; before < i; before++) {
                ok = ok && seeds[before] != seeds[i];
            }
        }
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
#endif

static void seeds_differ(void **state)
{
    (void)state;
    assert_true(os_seed() != os_seed());
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
        cmocka_unit_test(seeds_differ),
#ifdef __linux__
        cmocka_unit_test(a_seed_does_not_wait_for_random_numbers),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
