/* os_linux.c: os.h for Linux. */
#include "io/os.h"

#include "base/rng.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DELETED " (deleted)"

enum { PIECE_BYTES = 1 << 30 }; /* of one call */

/* CLOCK_MONOTONIC would stop while the machine is suspended. */
int64_t os_monotonic_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void os_boot_id(char *ret_id, size_t size)
{
    ret_id[0] = '\0';
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (!fgets(ret_id, (int)size, file)) {
            ret_id[0] = '\0';
        }
        ret_id[strcspn(ret_id, "\n ")] = '\0';
        (void)fclose(file);
    }
}

/* The kernel appends a mark to the path of a running program whose file was replaced. */
bool os_program_path(char *ret_path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", ret_path, size);
    if (len < 0 || (size_t)len == size) {
        errno = len < 0 ? errno : ENAMETOOLONG;
        return false;
    }
    struct str path = {ret_path, (size_t)len};
    ret_path[str_ends(path, DELETED) ? path.len - strlen(DELETED) : path.len] = '\0';
    return true;
}

uint64_t os_seed(void)
{
    static uint64_t count;
    uint64_t seed;
    struct timespec now = {0};
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed)) {
        return seed;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    struct rng rng = {(uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^
                      (uint64_t)getpid() << 40 ^ ++count};
    return rng_next(&rng);
}

int os_socket(int family, int type, int protocol)
{
    return socket(family, type | SOCK_CLOEXEC, protocol);
}

bool os_close_on_exec_all(void)
{
#ifdef SYS_close_range
    enum { ON_EXEC = 4 }; /* CLOSE_RANGE_CLOEXEC, which older headers lack */
    return syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, ON_EXEC) == 0;
#else
    return false;
#endif
}

bool os_copy_bytes(int from, int to, int64_t size)
{
    while (size > 0) {
        errno = EIO;
        ssize_t sent = sendfile(to, from, NULL, (size_t)(size < PIECE_BYTES ? size : PIECE_BYTES));
        if (sent <= 0) {
            return false;
        }
        size -= sent;
    }
    return true;
}

int os_wait_signal(const sigset_t *set, bool *ret_is_sent)
{
    siginfo_t info = {0};
    int number = sigwaitinfo(set, &info);
    *ret_is_sent = info.si_code <= 0;
    return number;
}
