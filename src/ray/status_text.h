/*
 * status_text.h: the output of `ray status`, from the same GCS reply (GetClusterStatus).
 *
 * Identical character by character, except that the resources of one request, which Ray prints in
 * arbitrary order, are sorted.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

/* `asked_us` is the time of the request, in microseconds since 1970; shown in the local time zone,
 * as Ray does. No newline at the end. ERR_PROTOCOL for malformed replies. */
bool ray_status_text(struct str reply, int64_t asked_us, struct buf *out, struct err *err) MUST_USE;
