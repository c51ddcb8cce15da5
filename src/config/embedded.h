/* embedded.h: the data files of this folder, and the example workloads, as they were at build time
 * (see meson.build, which turns them into embedded_data.c). */
#pragma once

#include "base/str.h"

struct str embedded_ec2_types(void);
struct str embedded_ec2_params(void);
struct str embedded_ec2_prices(void);

/* Ray's defaults for a provider, as YAML; the empty view for a provider that has none. */
struct str embedded_defaults(struct str provider_type);

/* An example workload, as YAML; the empty view for a name that is none. */
struct str embedded_workload(struct str name);

/* Their names by position from 0; the empty view behind the last. */
struct str embedded_workload_name(size_t position);
