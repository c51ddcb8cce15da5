/* columns.h: text in columns of a terminal: cut with an ellipsis, padded, ages, money. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

/* At most `width` columns of the text's first line, what a terminal could take amiss made visible;
 * a text that is too long ends with an ellipsis. Returns the columns that were used. */
size_t columns_add(struct buf *out, struct str text, size_t width);

/* The same, with blanks up to `width`. */
void columns_add_padded(struct buf *out, struct str text, size_t width);

/* "12s", "3m", "2h", "19d": the largest unit that says something. */
void columns_add_age(struct buf *out, int64_t ms);

/* "$0.58/h"; a + behind it when a part is not known, "?" when nothing is. */
void columns_add_hourly(struct buf *out, int64_t micro_dollars, bool is_whole);

/* How many columns and lines the terminal behind a stream has; 80 by 24 when it does not say. */
struct screen_size {
    size_t columns, lines;
};
struct screen_size columns_of_screen(int descriptor);
