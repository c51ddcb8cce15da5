/* chart.c: draws scales, axes and curves. */
#include "cli/simulate/chart.h"

#include "base/utf8.h"

#include <math.h>

#define MINUTE (INT64_C(60) * 1000)
#define HOUR (60 * MINUTE)

/* In SVG units; the page scales the picture. */
enum { WIDTH = 560, HEIGHT = 240, LEFT = 50, RIGHT = 14, TOP = 32, BOTTOM = 30, STRIPS = 72 };

void html_add(struct buf *out, struct str text)
{
    AUTO_BUF struct buf visible;
    buf_init(&visible, text.len * 4 + 16);
    utf8_add_visible(&visible, text, false);
    for (size_t i = 0; i < visible.len; i++) {
        switch (visible.ptr[i]) {
        case '&':
            buf_add_c(out, "&amp;");
            break;
        case '<':
            buf_add_c(out, "&lt;");
            break;
        case '>':
            buf_add_c(out, "&gt;");
            break;
        case '"':
            buf_add_c(out, "&quot;");
            break;
        case '\'':
            buf_add_c(out, "&#39;");
            break;
        case ' ': /* no line break between a number and its unit */
            buf_add_c(out, i + 1 < visible.len && visible.ptr[i + 1] == '%' ? "&#160;" : " ");
            break;
        default:
            buf_add_char(out, visible.ptr[i]);
        }
    }
}

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

/* ---- scales ---- */

/* 1, 2 or 5 times a power of ten, so that about `parts` of them make `most`. */
static double nice_step(double most, int parts, double least)
{
    double raw = fmax(most / parts, least);
    double power = pow(10, floor(log10(raw)));
    double rest = raw / power;
    double step = rest <= 1.0001 ? 1 : rest <= 2.0001 ? 2 : rest <= 5.0001 ? 5 : 10;
    return step * power;
}

static double least_step(enum chart_kind kind)
{
    return kind == CHART_NODES || kind == CHART_PENDING ? 1 : 0.01;
}

struct scale {
    double step;
    double top; /* value at the upper edge */
    int64_t duration;
};

static struct scale scale_of(const struct chart *chart)
{
    double most = fmax(chart->most, least_step(chart->kind));
    double step = nice_step(most, 4, least_step(chart->kind));
    return (struct scale){step, ceil(most / step - 1e-9) * step, chart->duration};
}

static double x_of(const struct scale *scale, int64_t at)
{
    return LEFT + (double)at / (double)scale->duration * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct scale *scale, double value)
{
    return HEIGHT - BOTTOM - value / scale->top * (HEIGHT - TOP - BOTTOM);
}

/* ---- axes ---- */

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

static void simulate_chart_add_number(struct buf *out, enum chart_kind kind, double value,
                                      double step)
{
    bool is_money = kind == CHART_RATE || kind == CHART_SPENT;
    if (value >= 10000) {
        buf_addf(out, "%s%gk", is_money ? "$" : "", value / 1000);
    } else {
        int digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
        buf_addf(out, "%s%.*f", is_money ? "$" : "", is_money ? digits : 0, value);
    }
}

static void add_y_axis(struct buf *out, const struct chart *chart, const struct scale *scale)
{
    for (double value = 0; value <= scale->top + scale->step / 2; value += scale->step) {
        double y = y_of(scale, value);
        buf_addf(out,
                 "<path class=\"%s\" d=\"M%d %.1fH%d\"/><text class=\"y\" x=\"%d\" y=\"%.1f\">",
                 value > 0 ? "grid" : "base", LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 4);
        simulate_chart_add_number(out, chart->kind, value, scale->step);
        buf_add_c(out, "</text>");
    }
    buf_addf(out, "<text class=\"unit\" x=\"%d\" y=\"14\">%s</text>", LEFT - 40,
             unit_of(chart->kind));
}

static int64_t time_step(int64_t duration)
{
    static const int64_t steps[] = {MINUTE,      2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE,
                                    30 * MINUTE, HOUR,       2 * HOUR,   3 * HOUR,    4 * HOUR,
                                    6 * HOUR,    12 * HOUR,  24 * HOUR,  48 * HOUR,   168 * HOUR};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (duration / steps[i] <= 6) {
            return steps[i];
        }
    }
    return duration / 6;
}

/* Hours are used up to three days: "24h" next to "20h" reads better than "1d". */
static struct str tick_text(struct arena *arena, int64_t at, int64_t step)
{
    if (at == 0) {
        return STR("0");
    }
    return step >= HOUR && step < 24 * HOUR ? arena_printf(arena, "%lldh", (long long)(at / HOUR))
                                            : format_time(arena, at);
}

static void add_x_axis(struct buf *out, struct arena *arena, const struct scale *scale)
{
    int64_t step = time_step(scale->duration);
    for (int64_t at = 0; at <= scale->duration; at += step) {
        double x = x_of(scale, at);
        const char *side = at == 0 ? "start" : scale->duration - at < step / 4 ? "end" : "middle";
        buf_addf(out,
                 "<path class=\"tick\" d=\"M%.1f %dv5\"/>"
                 "<text class=\"x\" text-anchor=\"%s\" x=\"%.1f\" y=\"%d\">%.*s</text>",
                 x, HEIGHT - BOTTOM, side, x, HEIGHT - 8, STR_ARG(tick_text(arena, at, step)));
    }
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
static void add_edge(struct buf *out, const struct chart *chart, const struct scale *scale,
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
        double x = x_of(scale, measure->samples[i].at);
        double y = y_of(scale, value);
        bool is_end = n == 0 || n + 1 == measure->sample_count;
        if (n == 0) {
            buf_addf(out, "%s%.1f %.1f", is_upper ? "M" : "L", x, y);
        } else if (!has_steps) {
            buf_addf(out, "L%.1f %.1f", x, y);
        } else if (value != before || is_end) {
            /* Backwards, the step is at the start of the later value. */
            double corner = is_upper ? x : x_of(scale, measure->samples[i + 1].at);
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

static void add_curves(struct buf *out, const struct chart *chart, const struct scale *scale)
{
    static const char *const names[CHART_KIND_COUNT] = {"", "pending", "rate", "spent"};
    size_t layers = chart->kind == CHART_NODES ? chart->figures->type_count : 1;
    for (size_t i = 0; i < chart->other_count; i++) {
        struct chart other = *chart;
        other.figures = &chart->others[i];
        if (other.figures != chart->figures) {
            buf_add_c(out, "<path class=\"line ghost\" d=\"");
            add_edge(out, &other, scale, 0, true);
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
        add_edge(out, chart, scale, i, true);
        add_edge(out, chart, scale, i, false);
        buf_add_c(out, "Z\"/>");
        if (chart->kind != CHART_NODES) {
            buf_addf(out, "<path class=\"line %s\" d=\"", names[chart->kind]);
            add_edge(out, chart, scale, i, true);
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
    double width = (double)(WIDTH - LEFT - RIGHT) / (double)(strips > 0 ? strips : 1);
    for (size_t i = 0; i < strips; i++) {
        buf_addf(out,
                 "<rect class=\"hit\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>",
                 LEFT + (double)i * width, TOP, width, HEIGHT - TOP - BOTTOM);
        add_reading(out, arena, chart, (2 * i + 1) * samples / (2 * strips));
        buf_add_c(out, "</title></rect>");
    }
}

void chart_add(struct buf *out, struct arena *arena, const struct chart *chart)
{
    struct scale scale = scale_of(chart);
    buf_addf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s over time, planner ",
             WIDTH, HEIGHT, unit_of(chart->kind));
    html_add(out, str_from(chart->planner));
    buf_add_c(out, "\">");
    add_y_axis(out, chart, &scale);
    add_curves(out, chart, &scale);
    add_x_axis(out, arena, &scale);
    add_strips(out, arena, chart);
    buf_add_c(out, "</svg>");
}
