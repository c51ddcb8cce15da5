/*
 * cluster_file.h: from the FILE of a command line to its text.
 *
 * FILE is a path, "-" for standard input, or (once the HTTP client is there) a URL, as `ray up`
 * takes one. This is the seam where that client will go.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/document/place.h"

/* The text lives in the arena. */
bool cluster_file_read(struct arena *arena, const char *file, struct source *ret_source,
                       struct err *err) MUST_USE;
