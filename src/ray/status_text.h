/*
 * status_text.h: what `ray status` prints, out of the same reply of the GCS (GetClusterStatus).
 *
 * Letter for letter, with one difference: where Ray writes the resources of one request in no
 * particular order, they are sorted here.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

/* `asked_us` is when it was asked for, in microseconds since 1970; shown in the machine's own time
 * zone, as Ray does. No newline at the end. ERR_PROTOCOL for bytes that are not such a reply. */
bool ray_status_text(struct str reply, int64_t asked_us, struct buf *out, struct err *err) MUST_USE;
