/* version_check.h: may a node with these versions join a cluster with those? By Ray's rule. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>

struct version_pair {
    struct str ray, python; /* empty: not known, and not compared */
};

/*
 * Ray wants the same Ray and the same Python to its last number, or, with `only_minor`
 * (RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL=minor), only to its second. Words for people are added to
 * `out`, also for what only deserves a warning.
 */
bool version_check(struct version_pair here, struct version_pair there, bool only_minor,
                   struct buf *out);
