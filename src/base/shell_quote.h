/* shell_quote.h: quotes a word for POSIX shells. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* Like Python's shlex.quote(). The word must not contain a NUL. */
void shell_quote(struct buf *out, struct str word);
