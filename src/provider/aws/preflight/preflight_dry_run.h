/*
 * preflight_dry_run.h: the calls of `up` as dry runs: EC2 says whether it would carry them out.
 *
 * A launch is written by the same code as the real one, because an account may require a tag, a
 * disk or an option. Only what does not exist yet is left out: the cluster's own key pair, group
 * and instance profile.
 */
#pragma once

#include "provider/aws/preflight/preflight_evaluate.h"

/* False if a type cannot be launched as it is: the findings say why. */
bool preflight_dry_launch(const struct provider_cluster *cluster, size_t type,
                          const struct aws_type_facts *facts, struct arena *arena,
                          struct param **ret_input);

/* With a name that does not exist. NULL: `up` does not make it. */
struct param *preflight_dry_making(const struct provider_cluster *cluster,
                                   enum preflight_making making, const struct aws_facts *facts,
                                   struct arena *arena);
