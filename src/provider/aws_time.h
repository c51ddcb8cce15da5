/*
 * aws_time.h: AWS's timestamp formats. A moment is in seconds since 1970 UTC; years 1 to 9999 are
 * supported. Reads no clock.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { AWS_TIME_SIZE = 17 }; /* "20261115T081557Z" and a NUL */

/* The format for signatures. A moment outside the years 1 to 9999 is clamped. */
void aws_time_basic(int64_t moment, char ret_text[AWS_TIME_SIZE]);

/* "2026-11-15T08:15:57Z", for files. */
enum { AWS_TIME_ISO_SIZE = 21 };
void aws_time_iso(int64_t moment, char ret_text[AWS_TIME_ISO_SIZE]);

/*
 * ISO 8601: "2026-11-15T08:15:57Z", with 't' or a blank for 'T', with a fraction of a second
 * (dropped), with "+01:00", "+0100", "UTC" or nothing (UTC) for 'Z'. The whole text must match.
 */
bool aws_time_parse(struct str text, int64_t *ret_moment) MUST_USE;

/* The format of HTTP's Date: "Sun, 15 Nov 2026 08:15:57 GMT". The whole text must match. */
bool aws_time_parse_http(struct str text, int64_t *ret_moment) MUST_USE;
