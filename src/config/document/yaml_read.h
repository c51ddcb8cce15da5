/*
 * yaml_read.h: reads a YAML file as a tree of values with positions.
 *
 * Accepts the same input as PyYAML's safe_load with the same meaning, within limits far above any
 * cluster file: a hostile file is rejected within milliseconds.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"
#include "config/document/value.h"

enum {
    YAML_BYTES_MAX = 4 * 1024 * 1024, /* file size */
    YAML_DEPTH_MAX = 100,             /* nesting of lists and maps */
    YAML_EXPANSION_MAX = 20 * 1000, /* values added by aliases and merges; long text is weighted */
};

/*
 * Reads the single document in `source`. On failure adds one finding and returns NULL. An empty
 * file is a null value. The tree is allocated in `arena` and its places point to `source`.
 */
struct value *yaml_read(struct arena *arena, const struct source *source,
                        struct diag_list *diags) MUST_USE;
