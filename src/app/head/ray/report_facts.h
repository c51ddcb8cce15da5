/* report_facts.h: what a report to Ray says, out of what the service knows. Pure. */
#pragma once

#include "app/core_setup.h"
#include "app/view.h"
#include "ray/gcs.h"
#include "ray/report.h"

enum { REPORT_FAILURES_MAX = 32 };

/* The last launch of each type that did not go well, until one does. */
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

/* False: there are too many types already. */
bool report_failures_note(struct report_failures *failures, const struct report_failure *failure);
/* False: none was noted. */
bool report_failures_forget(struct report_failures *failures, uint32_t type);
struct ray_failed_request *report_failures_list(const struct report_failures *failures,
                                                const struct type_facts *facts,
                                                struct arena *arena);

/* Machines that are asked for and not there yet: one row for each type. */
struct report_requests {
    struct ray_pending_request *items;
    size_t count, capacity;
};

void report_requests_add(struct report_requests *requests, const struct type_facts *facts,
                         int64_t asked_s, struct arena *arena);

/* "setting up, step 2 of 5" */
struct str report_details(const struct node_view *view, struct arena *arena);

/* Ray drops a report whose version is smaller than that of the last one, also of an earlier
 * process of ours; a wall clock that was set back must not stop the versions. */
int64_t report_version(int64_t last, int64_t wall_ms);

/* The node types; as many as the settings have. */
struct gcs_group *report_groups(const struct core_settings *settings, struct arena *arena);
