/* file_limit.c: the soft limit up to the hard one, and back for children. */
#include "io/file_limit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STARTING_TAKES = 16 }; /* descriptors that starting a child opens for a moment */

/* Of the process, as the limit itself is. */
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

/* What we have open stays open; but a process with many files needs room for those of the start. */
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
