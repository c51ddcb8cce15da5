/*
 * bundle.h: all setup steps of one node, in the form sent to it.
 *
 * A bundle is JSON, so that it is readable on the node. Steps run in order; a failed step ends the
 * bundle. The key of a step is a hash of the step and all steps before it: a step whose key is
 * marked done is skipped, and a change re-runs everything after it.
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

enum {
    BUNDLE_BYTES_MAX = 4 << 20,
    BUNDLE_STEPS_MAX = 1000,
    STEP_ATTEMPTS_MAX = 100,
    STEP_KEY_SIZE = 65, /* 64 hexadecimal digits and a NUL */
};

/* The one variable that is not part of any key: it does not change what a step leaves behind, so
 * the steps after it need not run again. */
#define STEP_KEEP_VARIABLE "SHOAL_KEEP_RUNNING"

struct step_variable {
    struct str name, value;
};

struct step {
    struct str name;    /* shown to users: "setup 3 of 5" */
    struct str command; /* run in the user's login shell */
    /* A shell command that runs `command`, from its standard input, in another place, such as a
     * container; empty: here. A step that was done in another place (step_run.h) runs again. */
    struct str inside;
    const struct step_variable *variables;
    size_t variable_count;
    int64_t deadline_ms; /* 0: no limit */
    int64_t attempts;    /* maximum number of tries, without a pause between them; 0: one */
    bool is_always;      /* never skipped, for example starting Ray */
};

struct bundle {
    const struct step *steps;
    size_t count;
};

bool bundle_write(const struct bundle *bundle, struct buf *out, struct err *err) MUST_USE;

/* Rejects unknown fields. The result is allocated in `arena`. */
bool bundle_read(struct str text, struct arena *arena, struct bundle *ret_bundle,
                 struct err *err) MUST_USE;

/* Writes one key per step. The key of the last step is the key of the bundle. */
void bundle_keys(const struct bundle *bundle, char (*ret_keys)[STEP_KEY_SIZE]);
