/* retention.c: the limits, and their changes by tests. */
#include "app/retention.h"

#include "app/test_times.h"
#include "base/attr.h"

#define HOUR_MS (INT64_C(3600) * 1000)

struct retention retention_make(void)
{
    struct retention keep = {
        .node_ms = 24 * HOUR_MS,
        .node_count = 500,
        .sweep_ms = HOUR_MS,
        .first_ms = INT64_C(60) * 1000,
        .launch_ms = 24 * HOUR_MS,
        .entry_count = 20000,
        .event_count = 5000,
        .service_bytes = INT64_C(10) * 1000 * 1000,
    };
    const struct test_time known[] = {
        {"keep_node", &keep.node_ms},        {"keep_nodes", &keep.node_count},
        {"sweep", &keep.sweep_ms},           {"keep_launch", &keep.launch_ms},
        {"keep_entries", &keep.entry_count}, {"keep_events", &keep.event_count},
        {"keep_log", &keep.service_bytes},
    };
    test_times_read(known, ARRAY_LEN(known));
    keep.first_ms = keep.sweep_ms < keep.first_ms ? keep.sweep_ms : keep.first_ms;
    return keep;
}

int64_t retention_trim_after(int64_t count)
{
    return count / 10 > 0 ? count / 10 : 1;
}
