/* file_limit.c: raises the soft limit to the hard limit and restores it for children. */
#include "io/file_limit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STARTING_TAKES = 16 }; /* descriptors open for a moment while a child starts */

/* Process-wide, like the limit itself. */
static struct rlimit before, raised;
static bool is_raised;

void file_limit_raise(void)
{
    struct rlimit limit;
    if (is_raised || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) {
        return;
    }
    before = limit;
    limit.rlim_cur = limit.rlim_max;
    raised = limit;
    is_raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void file_limit_restore(void)
{
    if (is_raised) {
        is_raised = setrlimit(RLIMIT_NOFILE, &before) != 0;
    }
}

/* Open descriptors stay open, but a process that has many of them needs room to start a child. */
void file_limit_begin_child(void)
{
    struct rlimit limit = before;
    if (!is_raised) {
        return;
    }
    int next = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (next >= 0) {
        close(next);
        rlim_t needed = (rlim_t)next + STARTING_TAKES;
        limit.rlim_cur = limit.rlim_cur > needed ? limit.rlim_cur : needed;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void file_limit_end_child(void)
{
    if (is_raised) {
        setrlimit(RLIMIT_NOFILE, &raised);
    }
}
