/* quantity.h: parses the quantities of a workload file: "1h30m", "4GiB", "90%". Strict. */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* 100 years, so that sums of a few do not overflow. */
#define QUANTITY_MS_MAX (INT64_C(100) * 366 * 24 * 3600 * 1000)

/* "90s", "1h30m", "2.5h", "250ms"; a plain number is in seconds. Returns milliseconds. */
bool quantity_duration(struct str text, int64_t *ret_ms) MUST_USE;

/* Converts seconds to milliseconds; false if negative, not a number, or too large. */
bool quantity_seconds(double seconds, int64_t *ret_ms) MUST_USE;

/* "4GiB", "4Gi", "512MB", "1.5T"; a plain number is in bytes. Returns bytes. */
bool quantity_bytes(struct str text, double *ret_bytes) MUST_USE;

/* "90%" or "0.9" gives 900; false outside 0 to 100 %. */
bool quantity_share(struct str text, int64_t *ret_permille) MUST_USE;
bool quantity_fraction(double fraction, int64_t *ret_permille) MUST_USE;
