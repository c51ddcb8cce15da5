/* table.h: the nodes of a cluster as `status` prints them. */
#pragma once

#include "app/head/channel/ctl.h"
#include "app/view.h"
#include "base/arena.h"
#include "base/buf.h"

/* A line for each node, below a line of titles; what stands at its end is cut at `width` columns,
 * 0: never. */
void table_print_nodes(struct buf *out, struct arena *arena, const struct node_view *nodes,
                       size_t count, int64_t now_ms, size_t width, bool colour);
