/* print.h: prints the result of a simulation as text and as JSON. */
#pragma once

#include "base/buf.h"
#include "cli/simulate/figures.h"
#include "cli/simulate/spread.h"

void print_figures_text(struct buf *out, struct arena *arena, const struct result *result,
                        const struct figures *figures, const struct spread *spreads);

/* The events around explain_at, for each planner. */
void print_explain_text(struct buf *out, struct arena *arena, const struct result *result);

/* The whole result as one object. */
bool print_json(struct buf *out, struct arena *arena, const struct result *result,
                const struct figures *figures, const struct spread *spreads,
                struct err *err) MUST_USE;

/* The line without its leading time, which has its own column. */
struct str print_line_body(struct str line);
