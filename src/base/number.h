/* number.h: numbers as text, the way Python writes them (our files and hashes must match its). */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/str.h"

/* Strict: the whole text is one decimal number, no blanks, no "inf"; else false. */
bool number_parse(struct str text, double *ret_value) MUST_USE;

/* The shortest text that reads back as the same double: "1.0", "1e-07", "inf", "nan". */
void number_add_double(struct buf *buf, double value);

/*
 * An unsigned integer of any size in `base` (2 to 16), as decimal text without leading zeros.
 * `digits` holds digits of that base only and at least one. Values of more than
 * NUMBER_DIGITS_MAX decimal digits give the empty view (Python refuses to print them too).
 */
enum { NUMBER_DIGITS_MAX = 4300 };
struct str number_to_decimal(struct arena *arena, struct str digits, unsigned base);

/* `value * factor + term` for a decimal text; the empty view past NUMBER_DIGITS_MAX. */
struct str number_multiply_add(struct arena *arena, struct str value, uint32_t factor,
                               uint32_t term);
