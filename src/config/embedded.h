/* embedded.h: the data files of this folder as they were at build time (see meson.build, which
 * turns them into embedded_data.c). */
#pragma once

#include "base/str.h"

struct str embedded_ec2_types(void);
struct str embedded_ec2_params(void);
struct str embedded_ec2_prices(void);

/* Ray's defaults for a provider, as YAML; the empty view for a provider that has none. */
struct str embedded_defaults(struct str provider_type);
