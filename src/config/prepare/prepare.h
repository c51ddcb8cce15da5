/*
 * prepare.h: fills in defaults as Ray does.
 *
 * The order is Ray's: the on-premise special case, the provider's defaults, legacy keys, command
 * lists, the docker section, worker counts, then resources from instance types. Where Ray raises an
 * exception we add a finding and continue, so that the user sees everything at once; Ray would
 * reject the file if there is any error.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/*
 * `root` is the content of the file; it is modified, and parts of it become part of the result.
 * Returns NULL only if it is not a map; with errors the result is a best effort.
 */
struct value *prepare_config(struct arena *arena, struct value *root,
                             struct diag_list *diags) MUST_USE;
