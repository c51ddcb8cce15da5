/* embedded.h: the data files of this folder and the example workloads, embedded at build time
 * (meson.build generates embedded_data.c). */
#pragma once

#include "base/str.h"

struct str embedded_ec2_types(void);
struct str embedded_ec2_params(void);
struct str embedded_ec2_prices(void);
struct str embedded_gce_fields(void);

/* Ray's defaults for a provider, as YAML; empty if there are none. */
struct str embedded_defaults(struct str provider_type);

/* An example workload, as YAML; empty if there is none of that name. */
struct str embedded_workload(struct str name);

/* The name of an example by its position from 0; empty after the last. */
struct str embedded_workload_name(size_t position);
