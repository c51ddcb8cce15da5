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

/*
 * A base-60 number, "190:20:30", each part decimal with blanks around it allowed; the first part
 * digits only. The empty view when a part is not a number, or past NUMBER_DIGITS_MAX.
 */
struct str number_from_sixties(struct arena *arena, struct str text);
