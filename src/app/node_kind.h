/* node_kind.h: what the node_config of a node type asks for, whatever its provider. */
#pragma once

#include "base/str.h"
#include "config/config.h"

#include <stdbool.h>

/* The instance type; empty for a machine of the user's own. */
struct str node_kind_machine(const struct config_node_type *type);
bool node_kind_is_spot(const struct config_node_type *type);
