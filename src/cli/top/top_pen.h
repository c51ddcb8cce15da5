/* top_pen.h: one line of the screen, written from left to right and never beyond its end. Pure. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define TOP_BOLD "\033[1m"
#define TOP_DIM "\033[2m"
#define TOP_RED "\033[1;31m"
#define TOP_GREEN "\033[32m"
#define TOP_YELLOW "\033[33m"
#define TOP_CYAN "\033[36m"
#define TOP_REVERSE "\033[7m"
#define TOP_RESET "\033[0m"

struct top_pen {
    struct buf *out;
    size_t columns; /* of the screen */
    size_t used;
    bool colour;
};

/* As much of its first line as fits, and an ellipsis where it is cut. "": no style. */
void top_pen_text(struct top_pen *pen, const char *style, struct str text);
void top_pen_c(struct top_pen *pen, const char *style, const char *text);
void top_pen_gap(struct top_pen *pen, size_t columns);
/* In so many columns; blanks behind it, or before it. */
void top_pen_cell(struct top_pen *pen, const char *style, struct str text, size_t width,
                  bool is_right);
/* Goes on so that `width` columns are left for what comes. */
void top_pen_go_right(struct top_pen *pen, size_t width);
/* used of total, as a bar of so many columns. */
void top_pen_bar(struct top_pen *pen, const char *style, double used, double total, size_t width);
void top_pen_end(struct top_pen *pen); /* of the line */

/* "3/4", "2.5/16G": amounts of what is counted or, as memory is, measured in bytes. */
void top_add_amounts(struct buf *out, double used, double total, bool is_bytes);
