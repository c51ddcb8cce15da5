/*
 * failure.h: a node that failed, for people: what it did, what that said, where to read more, what
 * is left running, what to do next.
 *
 *     error: worker-2 (i-0c1, m5.large) failed in set-up step 3 of 5
 *
 *       command   pip install torch==9.9                  (cluster.yaml:31)
 *       said      ERROR: No matching distribution found for torch==9.9
 *       log       shoal logs cluster.yaml worker-2        (whole output)
 *       cost      $0.01 so far
 */
#pragma once

#include "app/view.h"
#include "base/buf.h"
#include "config/document/diag.h"
#include "config/document/value.h"

#include <stddef.h>

struct failure_scene {
    const char *file;         /* as the user gave it */
    const struct value *tree; /* the configuration: where a command stands */
    const struct node_view *nodes;
    size_t node_count;
    int64_t now_ms; /* wall clock */
    struct diag_style style;
};

/* Every node that failed, a few of them at length, then what is fine and what to do. Nothing when
 * none has failed. */
void failure_print_all(struct buf *out, const struct failure_scene *scene);
