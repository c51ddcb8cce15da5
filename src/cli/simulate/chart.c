/* chart.c: draws scales, axes and curves. */
#include "cli/simulate/chart.h"

#include "cli/page/axes.h"
#include "cli/page/page.h"

#include <math.h>

enum { STRIPS = 72 };

/* ---- values ---- */

static double simulate_chart_value_of(enum chart_kind kind, const struct measure *measure,
                                      size_t sample)
{
    const struct sample *at = &measure->samples[sample];
    double sum = 0;
    switch (kind) {
    case CHART_NODES:
        for (size_t i = 0; i < measure->type_count; i++) {
            sum += (double)at->nodes[i];
        }
        return sum;
    case CHART_PENDING:
        return (double)at->pending;
    case CHART_RATE:
        return (double)at->price / 1e6;
    case CHART_SPENT:
        return (double)at->spent / 1e6;
    case CHART_KIND_COUNT:
        break;
    }
    return 0;
}

double chart_most(enum chart_kind kind, const struct figures *figures)
{
    double most = 0;
    for (size_t i = 0; i < figures->measure->sample_count; i++) {
        most = fmax(most, simulate_chart_value_of(kind, figures->measure, i));
    }
    return most;
}

/* ---- axes ---- */

static double least_step(enum chart_kind kind)
{
    return kind == CHART_NODES || kind == CHART_PENDING ? 1 : 0.01;
}

static struct axes axes_of(const struct chart *chart)
{
    bool is_money = chart->kind == CHART_RATE || chart->kind == CHART_SPENT;
    return axes_make(chart->most, least_step(chart->kind), chart->duration, is_money);
}

static const char *unit_of(enum chart_kind kind)
{
    static const char *const units[CHART_KIND_COUNT] = {
        [CHART_NODES] = "nodes",
        [CHART_PENDING] = "tasks and bundles",
        [CHART_RATE] = "US$ per hour",
        [CHART_SPENT] = "US$",
    };
    return units[kind];
}

/* ---- curves ---- */

/* The lower and upper edge of a layer: the sum of all layers below it, and that plus its own
 * value. */
static void layer_of(const struct chart *chart, size_t layer, size_t sample, double *ret_low,
                     double *ret_high)
{
    const struct measure *measure = chart->figures->measure;
    *ret_low = 0;
    if (chart->kind != CHART_NODES) {
        *ret_high = simulate_chart_value_of(chart->kind, measure, sample);
        return;
    }
    for (size_t i = 0; i < layer; i++) {
        *ret_low += (double)measure->samples[sample].nodes[i];
    }
    *ret_high = *ret_low + (double)measure->samples[sample].nodes[layer];
}

/* One edge of a layer, from left to right or back. Machine counts are drawn as steps, money as a
 * continuous line. */
static void add_edge(struct buf *out, const struct chart *chart, const struct axes *axes,
                     size_t layer, bool is_upper)
{
    const struct measure *measure = chart->figures->measure;
    bool has_steps = chart->kind != CHART_SPENT;
    double before = -1;
    for (size_t n = 0; n < measure->sample_count; n++) {
        size_t i = is_upper ? n : measure->sample_count - 1 - n;
        double low;
        double high;
        layer_of(chart, layer, i, &low, &high);
        double value = is_upper ? high : low;
        double x = axes_x(axes, measure->samples[i].at);
        double y = axes_y(axes, value);
        bool is_end = n == 0 || n + 1 == measure->sample_count;
        if (n == 0) {
            buf_addf(out, "%s%.1f %.1f", is_upper ? "M" : "L", x, y);
        } else if (!has_steps) {
            buf_addf(out, "L%.1f %.1f", x, y);
        } else if (value != before || is_end) {
            /* Backwards, the step is at the start of the later value. */
            double corner = is_upper ? x : axes_x(axes, measure->samples[i + 1].at);
            buf_addf(out, "H%.1fV%.1f", corner, y);
            if (is_end) {
                buf_addf(out, "H%.1f", x);
            }
        }
        before = value;
    }
}

static bool is_layer_used(const struct chart *chart, size_t layer)
{
    return chart->kind != CHART_NODES || chart->figures->types[layer].node_ms > 0;
}

static void add_curves(struct buf *out, const struct chart *chart, const struct axes *axes)
{
    static const char *const names[CHART_KIND_COUNT] = {"", "pending", "rate", "spent"};
    size_t layers = chart->kind == CHART_NODES ? chart->figures->type_count : 1;
    for (size_t i = 0; i < chart->other_count; i++) {
        struct chart other = *chart;
        other.figures = &chart->others[i];
        if (other.figures != chart->figures) {
            buf_add_c(out, "<path class=\"line ghost\" d=\"");
            add_edge(out, &other, axes, 0, true);
            buf_add_c(out, "\"/>");
        }
    }
    for (size_t i = 0; i < layers; i++) {
        if (!is_layer_used(chart, i)) {
            continue;
        }
        if (chart->kind == CHART_NODES) {
            buf_addf(out, "<path class=\"area c%zu\" d=\"", i % CHART_COLOURS);
        } else {
            buf_addf(out, "<path class=\"area soft %s\" d=\"", names[chart->kind]);
        }
        add_edge(out, chart, axes, i, true);
        add_edge(out, chart, axes, i, false);
        buf_add_c(out, "Z\"/>");
        if (chart->kind != CHART_NODES) {
            buf_addf(out, "<path class=\"line %s\" d=\"", names[chart->kind]);
            add_edge(out, chart, axes, i, true);
            buf_add_c(out, "\"/>");
        }
    }
}

/* ---- values under the pointer ---- */

static void add_reading(struct buf *out, struct arena *arena, const struct chart *chart,
                        size_t sample)
{
    const struct measure *measure = chart->figures->measure;
    const struct sample *at = &measure->samples[sample];
    buf_addf(out, "%.*s: ", STR_ARG(format_time(arena, at->at)));
    double value = simulate_chart_value_of(chart->kind, measure, sample);
    if (chart->kind == CHART_RATE || chart->kind == CHART_SPENT) {
        buf_addf(out, "$%.2f%s", value, chart->kind == CHART_RATE ? " per hour" : "");
        return;
    }
    buf_addf(out, "%.0f %s", value, chart->kind == CHART_NODES ? "nodes" : "pending");
    for (size_t i = 0; chart->kind == CHART_NODES && i < measure->type_count; i++) {
        if (at->nodes[i] > 0) {
            buf_addf(out, "&#10;%lld ", (long long)at->nodes[i]);
            html_add(out, chart->figures->types[i].facts->name);
        }
    }
}

static void add_strips(struct buf *out, struct arena *arena, const struct chart *chart)
{
    size_t samples = chart->figures->measure->sample_count;
    size_t strips = samples < STRIPS ? samples : STRIPS;
    double width = (double)(AXES_WIDTH - AXES_LEFT - AXES_RIGHT) /
                   (double)(strips > 0 ? strips : 1);
    for (size_t i = 0; i < strips; i++) {
        buf_addf(
            out, "<rect class=\"hit\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>",
            AXES_LEFT + (double)i * width, AXES_TOP, width, AXES_HEIGHT - AXES_TOP - AXES_BOTTOM);
        add_reading(out, arena, chart, (2 * i + 1) * samples / (2 * strips));
        buf_add_c(out, "</title></rect>");
    }
}

void chart_add(struct buf *out, struct arena *arena, const struct chart *chart)
{
    struct axes axes = axes_of(chart);
    struct str label = arena_printf(arena, "%s over time, planner %s", unit_of(chart->kind),
                                    chart->planner);
    axes_begin(out, &axes, label, unit_of(chart->kind));
    add_curves(out, chart, &axes);
    axes_add_time(out, arena, &axes);
    add_strips(out, arena, chart);
    buf_add_c(out, "</svg>");
}
