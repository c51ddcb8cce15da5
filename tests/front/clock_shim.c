/*
 * clock_shim.c: a process with LD_PRELOAD=this reads its clocks with an offset that a test may
 * change while it runs.
 *
 * The file $SHOAL_CLOCK_FILE holds two integers of eight bytes, in milliseconds: the offset of
 * CLOCK_REALTIME (a clock that is set wrong) and the offset of CLOCK_BOOTTIME. CLOCK_MONOTONIC is
 * never moved: as in a suspended machine, it does not see the time that the other two jump over.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { WALL, BOOT, OFFSETS };

static const volatile int64_t *offsets; /* NULL: none */

__attribute__((constructor)) static void map_file(void)
{
    const char *path = getenv("SHOAL_CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *map = mmap(NULL, OFFSETS * sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        offsets = map == MAP_FAILED ? NULL : map;
        close(file);
    }
}

static void add_ms(struct timespec *time, int64_t ms)
{
    const int64_t second = 1000000000;
    int64_t ns = time->tv_nsec + ms % 1000 * 1000000;
    int64_t carry = ns < 0 ? -1 : ns / second;
    time->tv_sec += ms / 1000 + carry;
    time->tv_nsec = ns - carry * second;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = (int)syscall(SYS_clock_gettime, clock, time);
    if (status != 0 || !offsets) {
        return status;
    }
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        add_ms(time, offsets[WALL]);
    } else if (clock == CLOCK_BOOTTIME) {
        add_ms(time, offsets[BOOT]);
    }
    return 0;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    int status = clock_gettime(CLOCK_REALTIME, &now);
    *ret_time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return status;
}

time_t time(time_t *ret_time)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time) {
        *ret_time = now.tv_sec;
    }
    return now.tv_sec;
}
