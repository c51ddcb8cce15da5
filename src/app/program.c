/* program.c: what only Linux can be asked about this program: its file, its parent, its
 * descriptors. */
#include "app/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DELETED " (deleted)"
enum { DESCRIPTORS_MAX = 1024 }; /* where the kernel cannot close them all at once */

/* One that was replaced by a newer one while it runs bears a mark. */
static struct str without_mark(struct str path)
{
    return str_ends(path, DELETED) ? str_sub(path, 0, path.len - strlen(DELETED)) : path;
}

static struct str base_name(struct str path)
{
    size_t at = path.len;
    while (at > 0 && path.ptr[at - 1] != '/') {
        at--;
    }
    return str_sub(path, at, path.len);
}

bool program_path(struct arena *arena, struct str *ret_path, struct err *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path));
    if (len < 0 || (size_t)len == sizeof(path)) {
        return err_set(err, ERR_IO, "cannot tell where this program lies: /proc/self/exe: %s",
                       len < 0 ? strerror(errno) : "too long");
    }
    *ret_path = arena_str(arena, without_mark((struct str){path, (size_t)len}));
    return true;
}

/* Who owns the folder of a process is whom it runs as. */
bool program_is_same(int64_t pid)
{
    char folder[64];
    char link[80];
    char path[PATH_MAX];
    struct stat about;
    struct str own;
    struct err err;
    struct arena arena;
    snprintf(folder, sizeof(folder), "/proc/%lld", (long long)pid);
    snprintf(link, sizeof(link), "%s/exe", folder);
    ssize_t len = readlink(link, path, sizeof(path));
    if (stat(folder, &about) != 0 || about.st_uid != getuid() || len <= 0) {
        return false;
    }
    arena_init(&arena);
    bool is_same = program_path(&arena, &own, &err) &&
                   str_eq(base_name(own), base_name(without_mark((struct str){path, (size_t)len})));
    arena_clear(&arena);
    return is_same;
}

void program_end_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

void program_close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0) == 0) {
        return;
    }
#endif
    for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS_MAX; fd++) {
        close(fd);
    }
}

static void leave_streams(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++) {
        dup2(nothing, fd);
    }
    program_close_others();
}

bool program_leave(int *ret_errno)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t again = fork(); /* no leader of a session, so that no terminal can become its own */
        if (again != 0) {
            _exit(again < 0 ? errno : 0);
        }
        leave_streams();
        return true;
    }
    if (child < 0) {
        *ret_errno = errno;
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    *ret_errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    return false;
}

/* execv() changes nothing; its type is from before const. */
void program_become(const char *const *argv)
{
    union {
        const char *const *given;
        char *const *wanted;
    } words = {.given = argv};
    execv(argv[0], words.wanted);
}
