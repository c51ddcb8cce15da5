/*
 * cluster_file.h: reads the FILE argument of a command.
 *
 * FILE is a path, or "-" for standard input. URLs, which `ray up` accepts, are rejected with a
 * hint.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/document/place.h"

/* The text lives in `arena`. */
bool cluster_file_read(struct arena *arena, const char *file, struct source *ret_source,
                       struct err *err) MUST_USE;
