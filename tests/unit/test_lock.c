/* test_lock.c: a lock that another process has is something else than a lock that cannot be had. */
#include "io/lock.h"

#include "scratch.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/shoal-lock-XXXXXX";
static char path[64];

/* From now on, both operations on locks fail in this process, as on a network file system. */
static bool forbid_locks(unsigned error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_GETLK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* What the kind of error is when the system refuses with `error`. */
static enum err_kind kind_of(unsigned error)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct err err = {0};
        struct lock *lock;
        bool ok = forbid_locks(error) && !lock_take(path, "me", &lock, &err) &&
                  strstr(err.text, path) && !lock_is_held(path) &&
                  (err.kind == ERR_EXISTS || strstr(err.text, strerror((int)error)));
        _exit(ok ? (int)err.kind : 255);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
    return (enum err_kind)WEXITSTATUS(status);
}

static void only_a_held_lock_is_in_use(void **state)
{
    (void)state;
    assert_int_equal(kind_of(EAGAIN), ERR_EXISTS);
    assert_int_equal(kind_of(EACCES), ERR_EXISTS);
    assert_int_equal(kind_of(ENOLCK), ERR_IO);
    assert_int_equal(kind_of(EINVAL), ERR_IO);
    assert_int_equal(kind_of(EIO), ERR_IO);
}

static void held_and_free(void **state)
{
    struct err err = {0};
    struct lock *lock;
    struct lock *second;
    (void)state;
    assert_false(lock_is_held(path)); /* no such file */
    assert_true(lock_take(path, "me, pid 1", &lock, &err));
    assert_true(lock_is_held(path));
    assert_false(lock_take(path, "you", &second, &err));
    assert_int_equal(err.kind, ERR_EXISTS);
    assert_non_null(strstr(err.text, "in use by me, pid 1"));
    lock_drop(lock);
    assert_false(lock_is_held(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_and_free),
        cmocka_unit_test(only_a_held_lock_is_in_use),
    };
    if (!mkdtemp(folder)) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/lock", folder);
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    return scratch_remove(folder) == 0 ? status : 1;
}
