/* os_macos.c: os.h for macOS. It was compiled and linked, but never run: docs/dev/macos.md. */
#include "io/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <time.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 * 1024 };

/* This clock is mach_continuous_time(), which counts sleep. CLOCK_MONOTONIC counts it too, but is
 * computed from the wall clock. */
int64_t os_monotonic_ms(void)
{
    return (int64_t)(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW) / 1000000);
}

void os_boot_id(char *ret_id, size_t size)
{
    size_t used = size;
    if (sysctlbyname("kern.bootsessionuuid", ret_id, &used, NULL, 0) != 0) {
        used = 0;
    }
    ret_id[used < size ? used : size - 1] = '\0';
}

/* dyld knows the path by which the program was started. */
bool os_program_path(char *ret_path, size_t size)
{
    char given[PATH_MAX];
    char resolved[PATH_MAX];
    uint32_t given_size = sizeof(given);
    if (_NSGetExecutablePath(given, &given_size) != 0) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (!realpath(given, resolved)) {
        return false;
    }
    if (strlen(resolved) >= size) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(ret_path, resolved, strlen(resolved) + 1);
    return true;
}

/* It never waits here. */
uint64_t os_seed(void)
{
    uint64_t seed = 0;
    return getentropy(&seed, sizeof(seed)) == 0 ? seed : (uint64_t)getpid();
}

/* Not in one step: only one thread of this program starts children. */
int os_socket(int family, int type, int protocol)
{
    int fd = socket(family, type, protocol);
    if (fd >= 0) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
}

/* libuv starts children in a way that closes them (POSIX_SPAWN_CLOEXEC_DEFAULT). */
bool os_close_on_exec_all(void)
{
    return false;
}

bool os_copy_bytes(int from, int to, int64_t size)
{
    static char piece[PIECE_BYTES];
    while (size > 0) {
        size_t most = size < PIECE_BYTES ? (size_t)size : PIECE_BYTES;
        errno = EIO;
        ssize_t got = read(from, piece, most);
        for (ssize_t done = 0, sent = 0; done < got; done += sent) {
            sent = write(to, piece + done, (size_t)(got - done));
            if (sent <= 0) {
                return false;
            }
        }
        if (got <= 0) {
            return false;
        }
        size -= got;
    }
    return true;
}

/* There is no sigwaitinfo(), so the sender is unknown. The keyboard sends only two signals. */
int os_wait_signal(const sigset_t *set, bool *ret_is_sent)
{
    int number = 0;
    int problem = sigwait(set, &number);
    bool is_key = number == SIGINT || number == SIGQUIT;
    *ret_is_sent = !is_key || tcgetpgrp(STDIN_FILENO) != getpgrp();
    return problem == 0 ? number : -1;
}
