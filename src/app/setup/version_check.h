/* version_check.h: decides by Ray's rule whether a node's versions match those of the cluster. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>

struct version_pair {
    struct str ray, python; /* empty if unknown; then not compared */
};

/*
 * Ray requires the same Ray and the same Python version, or, with `only_minor`
 * (RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL=minor), the same minor version of Python. Appends errors
 * and warnings to `out`.
 */
bool version_check(struct version_pair here, struct version_pair there, bool only_minor,
                   struct buf *out);
