/*
 * top_table.h: the nodes as table rows. Pure.
 *
 * Columns are added by importance as far as they fit, then numbers next to the bars, then optional
 * details.
 */
#pragma once

#include "cli/top/top_line.h"
#include "cli/top/top_view.h"

struct top_rows {
    const struct node_view *const *nodes; /* visible nodes */
    size_t count;
    size_t chosen; /* index of the selected one; SIZE_MAX: none */
};

/* A header and one line per node. */
void top_table_draw(struct buf *out, const struct top_model *model, const struct top_view *look,
                    const struct top_rows *rows, struct arena *arena);
