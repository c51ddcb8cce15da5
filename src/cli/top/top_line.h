/* top_line.h: writes one line of the screen from left to right, never beyond its end. Pure. */
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

struct top_line {
    struct buf *out;
    size_t columns; /* screen width */
    size_t used;
    bool colour;
};

/* As much of the first line of `text` as fits, with an ellipsis if truncated. "": no style. */
void top_line_text(struct top_line *pen, const char *style, struct str text);
void top_line_c(struct top_line *pen, const char *style, const char *text);
void top_line_gap(struct top_line *pen, size_t columns);
/* In exactly `width` columns, padded on the right or the left. */
void top_line_cell(struct top_line *pen, const char *style, struct str text, size_t width,
                   bool is_right);
/* Moves right so that `width` columns remain. */
void top_line_go_right(struct top_line *pen, size_t width);
/* `used` of `total` as a bar of `width` columns. */
void top_line_bar(struct top_line *pen, const char *style, double used, double total, size_t width);
void top_line_end(struct top_line *pen); /* ends the line */

/* "3/4", "2.5/16G": counts, or bytes for memory. */
void top_add_amounts(struct buf *out, double used, double total, bool is_bytes);
