/* prepare_local.h: the on-premise case: machines given by address, one node type for all. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/*
 * Adds the one node type and its worker counts to `root`, as Ray does. True when the file was
 * prepared already (it names that node type itself): Ray then takes it as it is.
 */
bool prepare_local(struct arena *arena, struct value *root, struct diag_list *diags) MUST_USE;
