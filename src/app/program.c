/* program.c: what only Linux can be asked about this program: its file, its parent, its
 * descriptors. */
#include "app/program.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 1024 }; /* where the kernel cannot close them all at once */

bool program_path(struct arena *arena, struct str *ret_path, struct err *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path));
    if (len < 0 || (size_t)len == sizeof(path)) {
        return err_set(err, ERR_IO, "cannot tell where this program lies: /proc/self/exe: %s",
                       len < 0 ? strerror(errno) : "too long");
    }
    struct str found = {path, (size_t)len};
    if (str_ends(found, " (deleted)")) { /* replaced by a newer one while it runs */
        found.len -= strlen(" (deleted)");
    }
    *ret_path = arena_str(arena, found);
    return true;
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

/* execv() changes nothing; its type is from before const. */
void program_become(const char *const *argv)
{
    union {
        const char *const *given;
        char *const *wanted;
    } words = {.given = argv};
    execv(argv[0], words.wanted);
}
