/* columns.h: formats text for terminal columns: truncated with an ellipsis, padded; ages, money. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

/* Adds at most `width` columns of the text's first line, with control characters made visible; a
 * longer text ends with an ellipsis. Returns the columns used. */
size_t columns_add(struct buf *out, struct str text, size_t width);

/* The same, padded with blanks to `width`. */
void columns_add_padded(struct buf *out, struct str text, size_t width);

/*
 * The text with lines that are wider than `width` folded between words; colours take no room. A
 * word that is wider than the line stays whole, so that it can be copied. What continues stands
 * below the text behind a label ("  why       ..."), else below the line's own beginning.
 * Width 0: as it is.
 */
void columns_fold(struct buf *out, struct str text, size_t width);

/* "12s", "3m", "2h", "19d": the largest suitable unit. */
void columns_add_age(struct buf *out, int64_t ms);

/* "$0.58/h"; with a trailing + if a part is unknown, "?" if all of it is. */
void columns_add_hourly(struct buf *out, int64_t micro_dollars, bool is_whole);

/* Columns and lines of the terminal behind a stream; 80 by 24 if unknown. */
struct screen_size {
    size_t columns, lines;
};
struct screen_size columns_of_screen(int descriptor);
