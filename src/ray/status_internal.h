/*
 * status_internal.h: the data between a reply and its text.
 *
 *     status_read.c  parses bytes into a sheet
 *     status_text.c  formats the sheet
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "ray/counter.h"

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
    struct counter active, idle, launching; /* by node type */
    struct counter uses;                    /* by resource */
    struct counter demands;                 /* by shape; part: from placement groups */
    /* By "STRATEGY|STATE"; text: the shapes of the last one. */
    struct counter groups;
    struct buf pending, constraints, dead;
    size_t dead_count;
    struct status_failure *failures;
    size_t failure_count, failure_capacity;
};

/* False for malformed replies. */
bool status_read(struct status_sheet *sheet, struct str reply) MUST_USE;

/* "CPU_group_ID" and "CPU_group_3_ID" belong to a placement group. False otherwise; then
 * `*ret_name` is the name itself. */
bool status_split_group(struct str resource, struct str *ret_name, bool *ret_is_indexed);
