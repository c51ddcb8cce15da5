/* process_facts.h: what this process costs its machine. */
#pragma once

#include <stdint.h>

/* What is not known is -1. */
struct process_facts {
    double cpu_s;
    int64_t resident_bytes;
    int64_t open_files;
    int64_t began_ms; /* wall clock, since 1970 */
};

/* `began_ms` is the caller's: no system says it in a way that survives a changed clock. */
struct process_facts process_facts_now(int64_t began_ms);
