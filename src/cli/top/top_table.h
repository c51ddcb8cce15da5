/*
 * top_table.h: the nodes as rows. Pure.
 *
 * A narrow screen shows what matters most; each column that fits is added in the order of what
 * matters, then numbers beside the bars, then what is nice to have.
 */
#pragma once

#include "cli/top/top_look.h"
#include "cli/top/top_pen.h"

struct top_rows {
    const struct node_view *const *nodes; /* that are shown, from the first to the last */
    size_t count;
    size_t chosen; /* which of them; SIZE_MAX: none */
};

/* A line of titles, and one for each node. */
void top_table_draw(struct buf *out, const struct top_model *model, const struct top_look *look,
                    const struct top_rows *rows, struct arena *arena);
