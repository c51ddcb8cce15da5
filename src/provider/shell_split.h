/* shell_split.h: splits a line at blanks, with a shell's quotes and backslashes but no other shell
 * syntax: no variables, globs or comments. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Each word is NUL-terminated. False if a quote or a backslash is not closed. */
bool shell_split(struct str text, struct arena *arena, struct str **ret_words,
                 size_t *ret_count) MUST_USE;
