/* program.h: the program that is running. Each system tells it in its own way: the one file of this
 * layer that knows which. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

/* Its full path, links followed, whatever it was called by. */
bool program_path(struct arena *arena, struct str *ret_path, struct err *err) MUST_USE;
