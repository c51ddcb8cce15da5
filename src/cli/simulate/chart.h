/*
 * chart.h: one curve of a simulated run as inline SVG.
 *
 * Colours and fonts are the page's (report.c): the SVG only names classes, so that one picture is
 * right in light and in dark. Pointing at it shows the numbers, without a script.
 */
#pragma once

#include "base/buf.h"
#include "cli/simulate/figures.h"

enum chart_kind {
    CHART_NODES,   /* machines by type, stacked */
    CHART_PENDING, /* requests that wait */
    CHART_RATE,    /* dollars per hour */
    CHART_SPENT,   /* dollars since the beginning */
    CHART_KIND_COUNT,
};

enum { CHART_COLOURS = 8 };

struct chart {
    enum chart_kind kind;
    const struct figures *figures;
    int64_t duration; /* milliseconds */
    double most;      /* the end of the scale; the same for all planners, to be compared */
    const char *planner;
    const struct figures *others; /* drawn behind it as dashed lines, itself left out */
    size_t other_count;
};

/* The largest value of the curve. */
double chart_most(enum chart_kind kind, const struct figures *figures);

void chart_add(struct buf *out, struct arena *arena, const struct chart *chart);

/* Text from a file, safe inside HTML and its attributes. */
void html_add(struct buf *out, struct str text);
