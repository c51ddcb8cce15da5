/* process_facts.h: resource usage of this process. */
#pragma once

#include <stdint.h>

/* Unknown values are -1. */
struct process_facts {
    double cpu_s;
    int64_t resident_bytes;
    int64_t open_files;
    int64_t began_ms; /* wall clock, since 1970 */
};

/* `began_ms` is passed through: the system's start time does not survive a changed clock. */
struct process_facts process_facts_now(int64_t began_ms);
