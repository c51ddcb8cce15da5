/* script_text.h: the shell scripts that are embedded in the program. */
#pragma once

#include "base/buf.h"

/* Adds a script (`contact.sh`, `gce_end.sh`, `notebook.sh`) without its comments and indentation:
 * user-data and command lines are limited in size. */
void script_text_add(struct buf *out, const char *name);
