/* prepare_local.h: the on-premise case: machines listed by address, one node type for all. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/*
 * Adds the single node type and its worker counts to `root`, as Ray does. True if the file was
 * prepared already (it has that node type): Ray then uses it unchanged.
 */
bool prepare_local(struct arena *arena, struct value *root, struct diag_list *diags) MUST_USE;
