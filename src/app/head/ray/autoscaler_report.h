/* autoscaler_report.h: the content of a report to Ray. Pure. */
#pragma once

#include "app/core_setup.h"
#include "app/model/node_view.h"
#include "ray/gcs.h"
#include "ray/report.h"

enum { REPORT_FAILURES_MAX = 32 };

/* The last failed launch of each type, until one succeeds. */
struct report_failure {
    uint32_t type;
    int64_t count;
    int64_t asked_ms, failed_ms; /* wall clock */
    char reason[300];
};

struct report_failures {
    struct report_failure items[REPORT_FAILURES_MAX];
    size_t count;
};

/* False if there are too many types. */
bool report_failures_note(struct report_failures *failures, const struct report_failure *failure);
/* False if there was none. */
bool report_failures_forget(struct report_failures *failures, uint32_t type);
struct ray_failed_request *report_failures_list(const struct report_failures *failures,
                                                const struct type_facts *facts,
                                                struct arena *arena);

/* Requested machines that do not exist yet, one row per type. */
struct report_requests {
    struct ray_pending_request *items;
    size_t count, capacity;
};

void report_requests_add(struct report_requests *requests, const struct type_facts *facts,
                         int64_t asked_s, struct arena *arena);

/* "setup, step 2 of 5" */
struct str report_details(const struct node_view *view, struct arena *arena);

/* Ray drops a report with a smaller version than the last one, also across processes. So versions
 * follow the wall clock, but never decrease if it is set back. */
int64_t report_version(int64_t last, int64_t wall_ms);

/* One group per node type of the settings. */
struct gcs_group *report_groups(const struct core_settings *settings, struct arena *arena);
