/*
 * step_counter.h: counters that a replica writes to a file in memory after every step.
 *
 * 64 bytes, little-endian; python/runner.py has the layout.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct step_counts {
    int64_t steps;
    double first, last; /* wall time of the end of the first and the last step, in seconds */
    double begun;       /* when the script began */
    double joined;      /* when the process group was ready; 0: it has none */
    double stopped;     /* when the script got its first signal to stop; 0: it got none */
    double busy;        /* seconds of all steps */
};

struct step_counter {
    const void *memory; /* NULL: closed */
};

/* Creates the file, or sets an existing one to zero. */
bool step_counter_open(struct step_counter *counter, const char *path, struct err *err) MUST_USE;
void step_counter_close(struct step_counter *counter);
/* All zero if closed. */
struct step_counts step_counter_read(const struct step_counter *counter);
