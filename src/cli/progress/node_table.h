/* node_table.h: the table of nodes that `status` prints. */
#pragma once

#include "app/head/ctl/ctl.h"
#include "app/model/node_view.h"
#include "base/arena.h"
#include "base/buf.h"

/* A header and one line per node. The last column is truncated at `width` columns; 0: never. */
void table_print_nodes(struct buf *out, struct arena *arena, const struct node_view *nodes,
                       size_t count, int64_t now_ms, size_t width, bool colour);
