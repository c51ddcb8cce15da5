/* aws_json.h: the parameters of a call as the JSON body that SSM, Pricing and others take. */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "provider/param.h"

/* Appends one object. `input` may be NULL: an empty one. Fails for text that is not UTF-8, for a
 * tree deeper than QUERY_DEPTH_MAX, and when it does not fit. */
bool aws_json_write(const struct param *input, struct buf *out, struct err *err) MUST_USE;
