/*
 * status_parts.h: what stands between a reply and its text.
 *
 *     status_read.c  bytes to a sheet
 *     status_text.c  the sheet to words
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "ray/tally.h"

enum { STATUS_FAILURES_MAX = 20 };

/* One line of "Recent failures". */
struct status_failure {
    struct str text;
    int64_t asked_s;
    size_t order;
};

struct status_sheet {
    struct arena *arena;
    bool is_broken;
    struct tally active, idle, launching; /* by node type */
    struct tally uses;                    /* by resource */
    struct tally demands;                 /* by shape; part: through placement groups */
    struct tally groups;                  /* by "STRATEGY|STATE"; text: the shapes of the last */
    struct buf pending, constraints, dead;
    size_t dead_count;
    struct status_failure *failures;
    size_t failure_count, failure_capacity;
};

/* False: the bytes are no such reply. */
bool status_read(struct status_sheet *sheet, struct str reply) MUST_USE;

/* "CPU_group_ID" and "CPU_group_3_ID" are a placement group's. False: it is no group's, and
 * `*ret_name` is the name itself. */
bool status_split_group(struct str resource, struct str *ret_name, bool *ret_is_indexed);
