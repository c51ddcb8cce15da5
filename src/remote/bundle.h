/*
 * bundle.h: everything that is to be done on one node, in one piece, as it travels there.
 *
 * A bundle is JSON, so that whoever looks at a node can read it. Steps run in their order; one that
 * failed ends the bundle. What a step is, with all steps before it, makes its key: a step whose key
 * was done before is not done again, and a change re-runs everything behind it.
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
    STEP_KEY_SIZE = 65, /* 64 hexadecimal digits and a zero byte */
};

struct step_variable {
    struct str name, value;
};

struct step {
    struct str name;    /* for people: "set-up 3 of 5" */
    struct str command; /* for the user's login shell */
    const struct step_variable *variables;
    size_t variable_count;
    int64_t deadline_ms; /* 0: none */
    int64_t attempts;    /* so often at most, at once after a failure; 0: once */
    bool is_always;      /* done again every time, such as starting Ray */
};

struct bundle {
    const struct step *steps;
    size_t count;
};

bool bundle_write(const struct bundle *bundle, struct buf *out, struct err *err) MUST_USE;

/* Strict: what it does not know, it refuses. Everything lives in `arena`. */
bool bundle_read(struct str text, struct arena *arena, struct bundle *ret_bundle,
                 struct err *err) MUST_USE;

/* The key of each step, `count` of them; that of the last one is the bundle's own. */
void bundle_keys(const struct bundle *bundle, char (*ret_keys)[STEP_KEY_SIZE]);
