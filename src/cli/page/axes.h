/*
 * axes.h: the scales and axes of a curve over time, as inline SVG.
 *
 * The page (page_style.c) defines colours and fonts: the SVG only uses classes, so that the same
 * picture works in light and dark mode.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* In SVG units; the page scales the picture. */
enum {
    AXES_WIDTH = 560,
    AXES_HEIGHT = 240,
    AXES_LEFT = 50,
    AXES_RIGHT = 14,
    AXES_TOP = 32,
    AXES_BOTTOM = 30,
};

struct axes {
    double step;
    double top;       /* value at the upper edge */
    int64_t duration; /* milliseconds; at least 1 */
    bool is_money;
};

/* `most` is the largest value, `least_step` the smallest distance of two lines. */
struct axes axes_make(double most, double least_step, int64_t duration, bool is_money);

double axes_x(const struct axes *axes, int64_t at);
double axes_y(const struct axes *axes, double value);

/* Opens the SVG with the lines of the values; adds those of the time. The caller closes it. */
void axes_begin(struct buf *out, const struct axes *axes, struct str label, const char *unit);
void axes_add_time(struct buf *out, struct arena *arena, const struct axes *axes);
