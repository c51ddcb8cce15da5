/*
 * step_event.h: the events of a bundle on its node, one line of JSON each.
 *
 * The runner writes them to a file, the follower copies them to its standard output, and the
 * node_session at the other end of the ssh connection reads them, also after reconnecting.
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
    STEP_BUNDLE_BEGAN, /* `key` of the bundle; `count` steps; `run`: id of the request */
    STEP_BEGAN,
    STEP_SKIPPED, /* was done already */
    STEP_DONE,
    STEP_FAILED, /* `status`, `signal` or is_late; `tail`: the last lines of output */
    STEP_BUNDLE_DONE,
    STEP_BUNDLE_FAILED,
    STEP_AGAIN, /* like STEP_FAILED, but the step is retried immediately */
    STEP_SAID,  /* `tail`: one line of output */
    STEP_EVENT_KIND_COUNT
};

struct step_event {
    enum step_event_kind kind;
    int64_t wall_ms;
    struct str key;
    struct str run;
    size_t count;
    size_t step; /* counted from 0 */
    struct str name;
    int64_t took_ms;
    int status, signal;
    bool is_late; /* stopped at its deadline */
    struct str tail;
};

/* The name used in the JSON line, for example "began". */
const char *step_event_word(enum step_event_kind kind);

/* Includes the newline. */
void step_event_write(const struct step_event *event, struct buf *out);

/* Reads one line, with or without its newline. Strings are allocated in `arena`. */
bool step_event_read(struct str line, struct arena *arena, struct step_event *ret_event,
                     struct err *err) MUST_USE;
