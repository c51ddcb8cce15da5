/* node_reason.h: the name of a node, and why it is being terminated, as text. Pure. */
#pragma once

#include "app/control/controller.h"

/* "head", or "worker-2". */
struct str node_reason_name(const struct managed_node *managed_node, struct arena *arena);

/* Is it drained, terminated or given up? */
bool node_reason_is_ending(const struct node *node);
/* Is that a failure, and not a decision? */
bool node_reason_is_failure(const struct node *node);
/* Why a node is being terminated; empty if it is not. */
struct str node_reason_text(const struct node *node, struct arena *arena);
/* The text of REASON_NOTICE. */
struct str node_reason_notice(const struct managed_node *managed_node);
