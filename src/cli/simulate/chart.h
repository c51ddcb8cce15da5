/*
 * chart.h: draws one curve of a simulated run as inline SVG.
 *
 * The page (report.c) defines colours and fonts: the SVG only uses classes, so that the same
 * picture works in light and dark mode. Hovering shows the values, without a script.
 */
#pragma once

#include "base/buf.h"
#include "cli/simulate/figures.h"

enum chart_kind {
    CHART_NODES,   /* machines by type, stacked */
    CHART_PENDING, /* waiting requests */
    CHART_RATE,    /* dollars per hour */
    CHART_SPENT,   /* dollars since the start */
    CHART_KIND_COUNT,
};

enum { CHART_COLOURS = 8 };

struct chart {
    enum chart_kind kind;
    const struct figures *figures;
    int64_t duration; /* milliseconds */
    double most;      /* upper end of the scale; the same for all planners */
    const char *planner;
    const struct figures *others; /* drawn behind it as dashed lines, except itself */
    size_t other_count;
};

/* The maximum of the curve. */
double chart_most(enum chart_kind kind, const struct figures *figures);

void chart_add(struct buf *out, struct arena *arena, const struct chart *chart);
