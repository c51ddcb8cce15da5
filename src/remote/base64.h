/* base64.h: bytes as text, with padding, in one line or in many. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stddef.h>

/* `line_len` 0: one line, and no line end behind it. Else every line ends, the last one too. */
void base64_add(struct buf *out, struct str bytes, size_t line_len);
