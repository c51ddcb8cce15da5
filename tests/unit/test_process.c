/* test_process.c: this process and its child, as other processes see them. */
#include "io/process.h"

#include "unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A name with everything that makes "stat" hard to parse. */
static const char hard_name[] = "a) Z 1 (b";

static pid_t start_child(void)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool ok = setpgid(0, 0) == 0 && prctl(PR_SET_NAME, hard_name) == 0;
        _exit(ok && write(ends[1], "", 1) == 1 ? (pause(), 0) : 1);
    }
    assert_true(pid > 0);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static bool count_own(void *context, int64_t pid)
{
    *(int *)context += pid == (int64_t)getpid();
    return true;
}

static bool stop_at_first(void *context, int64_t pid)
{
    (void)pid;
    ++*(int *)context;
    return false;
}

static void test_each_is_told_once_until_it_is_enough(void **state)
{
    (void)state;
    int own = 0, first = 0;
    process_each(count_own, &own);
    process_each(stop_at_first, &first);
    assert_int_equal(own, 1);
    assert_int_equal(first, 1);
}

static void test_kin_of_a_child_whatever_its_name(void **state)
{
    (void)state;
    pid_t child = start_child();
    struct process_parentage kin = process_parentage(child);
    assert_true(process_is_named(child, hard_name));
    assert_int_equal(kin.parent, getpid());
    assert_int_equal(kin.group, child);
    assert_false(kin.has_ended);
    kill(child, SIGKILL);
    siginfo_t how;
    assert_int_equal(waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT), 0);
    assert_true(process_parentage(child).has_ended);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(process_parentage(child).parent, 0);
    assert_false(process_is_named(child, hard_name));
}

static void test_what_is_too_long_is_not_read(void **state)
{
    (void)state;
    AUTO_BUF struct buf text;
    buf_init(&text, 1024 * 1024);
    assert_true(process_read(getpid(), "cmdline", &text));
    assert_non_null(strstr(text.ptr, "test_process"));
    assert_true(process_read(getpid(), "comm", &text)); /* replaces the program */
    assert_string_equal(text.ptr, "test_process\n");
    assert_true(process_read_line(getpid(), &text));
    assert_true(text.len > 0 && memchr(text.ptr, '\0', text.len) == NULL);
    buf_clear(&text);
    buf_init(&text, 4);
    assert_false(process_read(getpid(), "comm", &text));
    assert_false(process_read(getpid(), "no-such-file", &text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_told_once_until_it_is_enough),
        cmocka_unit_test(test_kin_of_a_child_whatever_its_name),
        cmocka_unit_test(test_what_is_too_long_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
