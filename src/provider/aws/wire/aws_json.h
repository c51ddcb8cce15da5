/* aws_json.h: the JSON request body of SSM, Pricing and others. */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "provider/param.h"

/* Appends one object. `input` may be NULL: an empty one. Fails for text that is not UTF-8, for a
 * tree deeper than QUERY_DEPTH_MAX, and if it does not fit. */
bool aws_json_write(const struct param *input, struct buf *out, struct err *err) MUST_USE;
