/*
 * legacy.h: keys of old cluster files that Ray's current schema rejects.
 *
 * We convert them to their current equivalents with a warning, so that a file from 2019 still
 * works; `shoal config` prints the modern form.
 */
#pragma once

#include "base/arena.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/* Converts initial_workers, autoscaling_mode and target_utilization_fraction to upscaling_speed, or
 * drops them. */
void legacy_convert_scaling(struct arena *arena, struct value *root, struct diag_list *diags);

/*
 * Converts head_node and worker_nodes of a file without available_node_types, merged with the
 * provider's defaults, to two node types with Ray's names. A missing one is the provider's default
 * type; `default_head` is the name of the default head type.
 */
void legacy_convert_nodes(struct arena *arena, struct value *config,
                          const struct value *default_head, struct diag_list *diags);

/* Removes the remaining head_node and worker_nodes, with a warning if they have content. */
void legacy_drop_nodes(struct value *config, struct diag_list *diags);
