/*
 * node_params.h: from a cluster file to what a provider is opened with.
 *
 * The parts of the file that only a cloud reads (`provider`, `auth`, every node_config) as trees of
 * parameters. What stands for nothing (null) is left out. A value that no cloud would take, such as
 * a number with a fraction, is refused with its place.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "provider/provider.h"

/* NULL stands for an empty map. Fails with ERR_CONFIG: "cluster.yaml:7: ...". */
bool node_params_from(const struct value *value, struct arena *arena, struct param **ret_param,
                      struct err *err) MUST_USE;

/*
 * Everything lives in `arena` and in the configuration. metadata.shoal.ssh_from becomes `ssh_from`
 * among the provider's parameters.
 */
bool node_params_cluster(const struct config *config, struct arena *arena,
                         struct provider_cluster *ret_cluster, struct err *err) MUST_USE;

/*
 * Where a finding's key stands in the file: "available_node_types.gpu.node_config.ImageId", with
 * "[2]" for the third item of a list. A key that is not written there has the place of the nearest
 * one above it that is; nothing of the path in the file: line 0.
 */
struct place node_params_place(const struct value *tree, struct str path);
