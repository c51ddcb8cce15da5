/* step_counter.c: maps the file of counters. */
#include "app/train/step_counter.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNTER_BYTES = 64 };
enum { AT_STEPS = 0, AT_FIRST = 8, AT_LAST = 16, AT_BEGUN = 24, AT_JOINED = 32, AT_STOPPED = 40 };
enum { AT_BUSY = 48 };

bool step_counter_open(struct step_counter *counter, const char *path, struct err *err)
{
    step_counter_close(counter);
    unlink(path); /* an older replica keeps its own */
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void *memory = MAP_FAILED;
    if (file >= 0 && (errno = posix_fallocate(file, 0, COUNTER_BYTES)) == 0) {
        memory = mmap(NULL, COUNTER_BYTES, PROT_READ, MAP_SHARED, file, 0);
    }
    int fault = errno;
    if (file >= 0) {
        close(file);
    }
    if (memory == MAP_FAILED) {
        return err_set(err, ERR_IO, "%s: %s", path, strerror(fault));
    }
    counter->memory = memory;
    return true;
}

void step_counter_close(struct step_counter *counter)
{
    if (counter->memory) {
        union {
            const void *given;
            void *wanted;
        } memory = {.given = counter->memory};
        munmap(memory.wanted, COUNTER_BYTES);
        counter->memory = NULL;
    }
}

static uint64_t counter_word(const struct step_counter *counter, size_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)counter->memory + at, sizeof(word));
    return le64toh(word);
}

/* Only plausible times: a torn or foreign value must not confuse reports. */
static double counter_time(const struct step_counter *counter, size_t at)
{
    uint64_t word = counter_word(counter, at);
    double value;
    memcpy(&value, &word, sizeof(value));
    return value > 0 && value < 1e12 ? value : 0;
}

struct step_counts step_counter_read(const struct step_counter *counter)
{
    struct step_counts counts = {0};
    if (!counter->memory) {
        return counts;
    }
    uint64_t steps = counter_word(counter, AT_STEPS);
    counts.steps = steps > INT64_MAX ? 0 : (int64_t)steps;
    counts.first = counter_time(counter, AT_FIRST);
    counts.last = counter_time(counter, AT_LAST);
    counts.begun = counter_time(counter, AT_BEGUN);
    counts.joined = counter_time(counter, AT_JOINED);
    counts.stopped = counter_time(counter, AT_STOPPED);
    counts.busy = counter_time(counter, AT_BUSY);
    return counts;
}
