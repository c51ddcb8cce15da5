/*
 * failure.h: describes a failed node: its command, the output, where to read more, what is still
 * running, and what to do next.
 *
 *     error: worker-2 (i-0c1, m5.large) failed in setup command 3 of 5
 *
 *       command   pip install torch==9.9                  (cluster.yaml:31)
 *       output    ERROR: No matching distribution found for torch==9.9
 *       log       shoal logs cluster.yaml worker-2        (whole output)
 *       cost      $0.01 so far
 */
#pragma once

#include "app/model/node_view.h"
#include "base/buf.h"
#include "config/document/diag.h"
#include "config/document/value.h"

#include <stddef.h>

struct failure_scene {
    const char *file;         /* path as given by the user */
    const struct value *tree; /* the configuration, to find the position of a command */
    const struct node_view *nodes;
    size_t node_count;
    int64_t now_ms; /* wall clock, ms */
    struct diag_style style;
};

/* Lists every failed node, a few in detail, then what is fine and what to do. Empty if none
 * failed. */
void failure_print_all(struct buf *out, const struct failure_scene *scene);
