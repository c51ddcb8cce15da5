/* records.h: how the probes are spoken to: records on standard input, each a decimal length, a
 * line end and that many bytes. One line of answer per record. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* The next record; false at the end of the input. */
bool record_next(struct buf *record);
