/*
 * retention.h: how long a cluster keeps logs and records.
 *
 * Files and rows of a terminated instance are removed after a day, or earlier when there are many.
 * A test shortens the limits with the variable that test_times.h describes.
 */
#pragma once

#include <stdint.h>

struct retention {
    int64_t node_ms;       /* files and rows of a terminated instance ("keep_node") */
    int64_t node_count;    /* most such instances; the oldest are removed first ("keep_nodes") */
    int64_t sweep_ms;      /* between two sweeps for old ones ("sweep") */
    int64_t first_ms;      /* until the first sweep; never longer than sweep_ms */
    int64_t launch_ms;     /* settled launches ("keep_launch") */
    int64_t entry_count;   /* history of the controller ("keep_entries") */
    int64_t event_count;   /* events for users ("keep_events") */
    int64_t service_bytes; /* size of service.log, and of service.log.1 ("keep_log") */
};

struct retention retention_make(void);

/* Old rows are removed after this many new ones, so that not every write pays for it. */
int64_t retention_trim_after(int64_t count);
