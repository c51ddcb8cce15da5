/* axes.c: draws scales and axes. */
#include "cli/page/axes.h"

#include "cli/page/page.h"
#include "cli/simulate/figures.h"

#include <math.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

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

struct axes axes_make(double most, double least_step, int64_t duration, bool is_money)
{
    double high = fmax(most, least_step);
    double step = nice_step(high, 4, least_step);
    return (struct axes){step, ceil(high / step - 1e-9) * step, duration > 0 ? duration : 1,
                         is_money};
}

double axes_x(const struct axes *axes, int64_t at)
{
    return AXES_LEFT + (double)at / (double)axes->duration * (AXES_WIDTH - AXES_LEFT - AXES_RIGHT);
}

double axes_y(const struct axes *axes, double value)
{
    return AXES_HEIGHT - AXES_BOTTOM - value / axes->top * (AXES_HEIGHT - AXES_TOP - AXES_BOTTOM);
}

/* ---- values ---- */

static void axes_add_number(struct buf *out, const struct axes *axes, double value)
{
    const char *sign = axes->is_money ? "$" : "";
    if (value >= 10000) {
        buf_addf(out, "%s%gk", sign, value / 1000);
    } else {
        int digits = axes->step < 0.1 ? 2 : axes->step < 1 ? 1 : 0;
        buf_addf(out, "%s%.*f", sign, digits, value);
    }
}

void axes_begin(struct buf *out, const struct axes *axes, struct str label, const char *unit)
{
    buf_addf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", AXES_WIDTH, AXES_HEIGHT);
    html_add(out, label);
    buf_add_c(out, "\">");
    for (double value = 0; value <= axes->top + axes->step / 2; value += axes->step) {
        double y = axes_y(axes, value);
        buf_addf(out,
                 "<path class=\"%s\" d=\"M%d %.1fH%d\"/><text class=\"y\" x=\"%d\" y=\"%.1f\">",
                 value > 0 ? "grid" : "base", AXES_LEFT, y, AXES_WIDTH - AXES_RIGHT, AXES_LEFT - 8,
                 y + 4);
        axes_add_number(out, axes, value);
        buf_add_c(out, "</text>");
    }
    buf_addf(out, "<text class=\"unit\" x=\"%d\" y=\"14\">%s</text>", AXES_LEFT - 40, unit);
}

/* ---- time ---- */

static int64_t time_step(int64_t duration)
{
    static const int64_t steps[] = {
        SECOND,     2 * SECOND, 5 * SECOND,  10 * SECOND, 20 * SECOND, 30 * SECOND, MINUTE,
        2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,        2 * HOUR,
        3 * HOUR,   4 * HOUR,   6 * HOUR,    12 * HOUR,   24 * HOUR,   48 * HOUR,   168 * HOUR};
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

void axes_add_time(struct buf *out, struct arena *arena, const struct axes *axes)
{
    int64_t step = time_step(axes->duration);
    for (int64_t at = 0; at <= axes->duration; at += step) {
        double x = axes_x(axes, at);
        const char *side = at == 0 ? "start" : axes->duration - at < step / 4 ? "end" : "middle";
        buf_addf(out,
                 "<path class=\"tick\" d=\"M%.1f %dv5\"/>"
                 "<text class=\"x\" text-anchor=\"%s\" x=\"%.1f\" y=\"%d\">%.*s</text>",
                 x, AXES_HEIGHT - AXES_BOTTOM, side, x, AXES_HEIGHT - 8,
                 STR_ARG(tick_text(arena, at, step)));
    }
}
