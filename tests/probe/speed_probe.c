/*
 * speed_probe.c: how fast this processor is at the moment.
 *
 * Prints the nanoseconds of a fixed piece of work, the mean of five. Benchmarks compare with it: a
 * virtual machine whose host is busy does the same work several times slower, and part of the lost
 * time is counted as its own.
 *
 * The work is arithmetic and branches on a table that fits the first cache: a busy host slows that
 * down most.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { WORDS = 1 << 12, STEPS = 1 << 20, TRIES = 5 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint32_t walk(uint32_t table[WORDS], uint32_t state)
{
    for (int i = 0; i < STEPS; i++) {
        state = state * 1664525 + 1013904223;
        uint32_t *word = &table[state >> 20];
        *word += state;
        if (*word & 1) {
            state ^= *word;
        }
    }
    return state;
}

int main(void)
{
    static uint32_t table[WORDS];
    uint32_t state = walk(table, 1); /* not counted: it maps the table's pages */
    int64_t began = now_ns();
    for (int i = 0; i < TRIES; i++) {
        state = walk(table, state);
    }
    int64_t spent = now_ns() - began;
    printf("%" PRId64 " %" PRIu32 "\n", spent / TRIES, state); /* the state: so that it is needed */
    return 0;
}
