/*
 * node_params.h: converts a cluster file into the input of a provider.
 *
 * Converts the parts of the file that only the cloud interprets (`provider`, `auth`, every
 * node_config) into trees of parameters. Null values are omitted. A value that no cloud accepts,
 * such as a number with a fraction, is rejected with its position.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "provider/provider.h"

/* NULL is treated as an empty map. Fails with ERR_CONFIG: "cluster.yaml:7: ...". */
bool node_params_from(const struct value *value, struct arena *arena, struct param **ret_param,
                      struct err *err) MUST_USE;

/*
 * The result points into `arena` and the configuration. `ssh_from`, `access`, `firewall`, `tags`,
 * `permissions_boundary` and `head_policies` of metadata.shoal become parameters of the provider.
 * `type_images`: those of a handover (type_zones.h), or empty.
 */
bool node_params_cluster(const struct config *config, struct str type_images, struct arena *arena,
                         struct provider_cluster *ret_cluster, struct err *err) MUST_USE;

/*
 * The position in the file of a finding's key: "available_node_types.gpu.node_config.ImageId", with
 * "[2]" for the third item of a list. A key that is not in the file has the position of its nearest
 * ancestor that is; if there is none, line 0.
 */
struct place node_params_place(const struct value *tree, struct str path);
