/* place.h: a position in a file. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Line and column start at 1; columns are in characters. `width` is the number of characters to
 * underline, at least 1. Line 0: not from a file (created by us).
 */
struct place {
    const struct source *source;
    uint32_t line;
    uint32_t column;
    uint32_t width;
};

/* The content of a file; its owner must keep it valid as long as places point to it. */
struct source {
    struct str name; /* as given by the user, or "(aws defaults)" */
    struct str text;
    bool is_built_in; /* one of our default files: never blamed for a problem */
};

/* One line without its line end; empty if there is no such line. */
struct str source_line(const struct source *source, uint32_t line);

/* True if it is in the user's own file. */
bool place_is_users(struct place place);
