/* shell_words.h: a line cut into words along a shell's quotes and backslashes, and nothing else of
 * a shell: no variables, no globs, no comments. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Each word is followed by a zero byte. False when a quote or a backslash has no end. */
bool shell_words(struct str text, struct arena *arena, struct str **ret_words,
                 size_t *ret_count) MUST_USE;
