/*
 * step_event.h: what happens to a bundle on its node, a line of JSON each.
 *
 * Written by the runner into a file, copied by the follower to its standard output, read by whoever
 * set the node up, at the other end of an ssh connection that may have broken in between.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum step_event_kind {
    STEP_BUNDLE_BEGAN, /* `key`: of the bundle; `count` steps; `run`: which time it is done */
    STEP_BEGAN,
    STEP_SKIPPED, /* done before */
    STEP_DONE,
    STEP_FAILED, /* `status` or `signal`, or late; `tail`: the last lines it said */
    STEP_BUNDLE_DONE,
    STEP_BUNDLE_FAILED,
    STEP_AGAIN, /* as STEP_FAILED, and it is tried again at once */
    STEP_SAID,  /* `tail`: a line of its output */
    STEP_EVENT_KIND_COUNT
};

struct step_event {
    enum step_event_kind kind;
    int64_t wall_ms;
    struct str key;
    struct str run;
    size_t count;
    size_t step; /* from 0 */
    struct str name;
    int64_t took_ms;
    int status, signal;
    bool is_late; /* ended at its deadline */
    struct str tail;
};

/* With its newline. */
void step_event_write(const struct step_event *event, struct buf *out);

/* One line with or without its newline; texts live in `arena`. */
bool step_event_read(struct str line, struct arena *arena, struct step_event *ret_event,
                     struct err *err) MUST_USE;
