/* print.h: the result of a simulation for a terminal and for programs. */
#pragma once

#include "base/buf.h"
#include "cli/simulate/figures.h"
#include "cli/simulate/spread.h"

void print_figures_text(struct buf *out, struct arena *arena, const struct result *result,
                        const struct figures *figures, const struct spread *spreads);

/* What happened around wish->explain_at, for each planner. */
void print_explain_text(struct buf *out, struct arena *arena, const struct result *result);

/* Everything, in one object. */
bool print_json(struct buf *out, struct arena *arena, const struct result *result,
                const struct figures *figures, const struct spread *spreads,
                struct err *err) MUST_USE;

/* The line without the time in front of it, which stands in a column of its own. */
struct str print_line_body(struct str line);
