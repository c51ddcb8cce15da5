/*
 * prepare.h: a cluster file filled out as Ray fills it out.
 *
 * The order is Ray's: the on-premise special case, the provider's defaults under the file, legacy
 * keys, command lists, the docker section, worker counts, then resources from the machine types.
 * Where Ray stops with an exception we add a finding and go on, so that the user sees everything
 * at once; whether there was any error is then Ray's verdict.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/*
 * `root` is what the file holds; it is changed in place and parts of it live on in the result.
 * Returns NULL only when it is not a map at all; with errors the result is a best effort.
 */
struct value *prepare_config(struct arena *arena, struct value *root,
                             struct diag_list *diags) MUST_USE;
