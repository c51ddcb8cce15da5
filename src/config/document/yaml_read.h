/*
 * yaml_read.h: a YAML file as a tree of values, each remembering its place.
 *
 * Accepts what PyYAML's safe_load accepts and means the same by it, within caps that no cluster
 * file comes near: a hostile file is refused in milliseconds.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"
#include "config/document/value.h"

enum {
    YAML_BYTES_MAX = 4 * 1024 * 1024, /* size of a file */
    YAML_DEPTH_MAX = 100,             /* lists and maps inside each other */
    YAML_EXPANSION_MAX = 20 * 1000, /* values that aliases and merges may add, long text as more */
};

/*
 * Reads the one document in `source`. On failure adds the one finding that says why and returns
 * NULL. An empty file is a null value. The tree points into `arena`, and its places to `source`.
 */
struct value *yaml_read(struct arena *arena, const struct source *source,
                        struct diag_list *diags) MUST_USE;
