/*
 * legacy.h: keys of old cluster files that Ray now rejects by its own schema.
 *
 * We turn them into what they mean today, with a warning, so that a file of 2019 still starts a
 * cluster; `shoal config` prints the modern form.
 */
#pragma once

#include "base/arena.h"
#include "config/document/diag.h"
#include "config/document/value.h"

/* initial_workers, autoscaling_mode, target_utilization_fraction: to upscaling_speed or nothing. */
void legacy_convert_scaling(struct arena *arena, struct value *root, struct diag_list *diags);

/*
 * head_node and worker_nodes of a file without available_node_types, merged with the provider's
 * defaults: two node types under the names Ray gives them. A missing side takes the provider's
 * type for it, of which `default_head` names the head's.
 */
void legacy_convert_nodes(struct arena *arena, struct value *config,
                          const struct value *default_head, struct diag_list *diags);

/* Whatever is left of head_node and worker_nodes goes; a warning where it said something. */
void legacy_drop_nodes(struct value *config, struct diag_list *diags);
