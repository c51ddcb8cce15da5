/* number.h: formats and parses numbers like Python, because our files and hashes must match. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/str.h"

/* Strict: the whole text must be one decimal number, without blanks or "inf". */
bool number_parse(struct str text, double *ret_value) MUST_USE;

/* The shortest text that reads back as the same double: "1.0", "1e-07", "inf", "nan". */
void number_add_double(struct buf *buf, double value);

/*
 * Converts an unsigned integer of any size in `base` (2 to 16) to decimal without leading zeros.
 * `digits` must have at least one digit and only digits of that base. Returns the empty view for
 * more than NUMBER_DIGITS_MAX decimal digits (Python refuses to print them too).
 */
enum { NUMBER_DIGITS_MAX = 4300 };
struct str number_to_decimal(struct arena *arena, struct str digits, unsigned base);

/*
 * Converts a base-60 number, "190:20:30". Each part is decimal and may have blanks around it; the
 * first part has digits only. Returns the empty view if a part is not a number or the result
 * exceeds NUMBER_DIGITS_MAX.
 */
struct str number_from_sixties(struct arena *arena, struct str text);
