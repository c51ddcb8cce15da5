/* place.h: where in which file something was written. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Line and column count from 1, columns in characters. `width` is how many characters to
 * underline, at least 1. Line 0 means "not from any file" (made by us).
 */
struct place {
    const struct source *source;
    uint32_t line;
    uint32_t column;
    uint32_t width;
};

/* A file as it was read; whoever read it keeps it alive as long as places point to it. */
struct source {
    struct str name; /* as the user gave it, or "(aws defaults)" */
    struct str text;
    bool is_built_in; /* one of our default files: never blamed for a problem */
};

/* The text of one line, without its line end; empty when there is no such line. */
struct str source_line(const struct source *source, uint32_t line);

/* Is it in the user's own file, and not in our defaults or nowhere? */
bool place_is_users(struct place place);
